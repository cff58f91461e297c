"""The path map: which file a name stands for, and that it never leads outside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.toolsets.paths import PathMap, PathRefused, normalise

PATHS = PathMap.of(
    {
        "path/to/deck.txt": "input/deck.txt",
        "decks/": "input/",
        "decks/old/": "archive/2024",
        "all/": ".",
        "./odd//": "./real/./place/",
    }
)


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("path/to/deck.txt", "input/deck.txt"),
        ("./path//to/deck.txt", "input/deck.txt"),
        ("decks/acme.md", "input/acme.md"),
        ("decks", "input"),
        ("decks/", "input"),
        ("decks/old/a.md", "archive/2024/a.md"),
        ("decks/older", "input/older"),
        ("decksx/a", "decksx/a"),
        ("all/x", "x"),
        ("all", "."),
        ("odd/a", "real/place/a"),
        ("input/deck.txt", "input/deck.txt"),
        (".", "."),
        ("./", "."),
    ],
)
def test_a_path_stands_for_its_alias_or_for_itself(path, real):
    assert PATHS.resolve(path) == real


def test_an_exact_alias_goes_before_a_folder_that_holds_it():
    paths = PathMap.of({"decks/": "input/", "decks/a.md": "other/b.md"})
    assert paths.resolve("decks/a.md") == "other/b.md"


def test_a_target_is_not_resolved_again():
    paths = PathMap.of({"a": "b", "b": "c", "x/": "y/", "y/": "z/"})
    assert paths.resolve("a") == "b"
    assert paths.resolve("x/1") == "y/1"


def test_an_override_replaces_an_alias_however_it_is_spelled():
    paths = PATHS.with_overrides({"./decks//": "fresh/", "path/to/deck.txt": "today.txt"})
    assert paths.resolve("decks/a") == "fresh/a"
    assert paths.resolve("decks/old/a") == "archive/2024/a"
    assert paths.resolve("path/to/deck.txt") == "today.txt"
    assert PATHS.resolve("decks/a") == "input/a"


@pytest.mark.parametrize("path", ["", "/a", "..", "a/../b", "~", "~/a", "a\0b", "a\nb", "x" * 5000])
def test_a_path_that_is_none_inside_the_workspace_is_refused(path):
    with pytest.raises(PathRefused):
        PATHS.resolve(path)


@pytest.mark.parametrize("aliases", [{"a": "../b"}, {"../a": "b"}, {"a/": "/etc/"}, {"a": ""}, {"a": "b\0"}])
def test_a_map_that_leads_outside_cannot_be_made(aliases):
    with pytest.raises(PathRefused):
        PathMap.of(aliases)
    with pytest.raises(PathRefused):
        PATHS.with_overrides(aliases)


text = st.lists(st.sampled_from(["a", "b", "..", ".", "/", "~", "\0", "//", "é", "."]), max_size=8).map(
    "".join
)


@given(st.dictionaries(text, text, max_size=4), text)
def test_what_a_path_stands_for_is_always_inside(aliases, path):
    try:
        real = PathMap.of(aliases).resolve(path)
    except PathRefused:
        return
    assert normalise(real) == real
    assert not real.startswith(("/", "~"))
    assert ".." not in real.split("/")


@given(st.dictionaries(text, text, max_size=4))
def test_a_map_without_an_override_is_the_same_map(aliases):
    try:
        paths = PathMap.of(aliases)
    except PathRefused:
        return
    assert paths.with_overrides({}) == paths
