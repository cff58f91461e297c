"""Globs, against a slow matcher that is plainly right; in one go and name by name."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.syntax.globs import Glob, escape


def walked(pattern: str, path: str) -> bool:
    """Whether a walk to `path`, one name at a time, ends in a match."""
    glob = Glob(pattern)
    state = glob.before
    for name in path.split("/"):
        state = glob.step(state, name)
    return glob.is_match(state)


def slowly_matches(parts: list[str], names: list[str], *, hides: bool) -> bool:
    """The definition; where `hides` holds, a hidden name is matched only by a part with a dot."""
    if not parts or not names:
        return not parts and not names
    is_hidden = hides and names[0].startswith(".")
    if parts[0] == "**":
        takes_name = not is_hidden and (
            slowly_matches(parts, names[1:], hides=hides) or (len(parts) == 1 and len(names) == 1)
        )
        return takes_name or (len(parts) > 1 and slowly_matches(parts[1:], names, hides=hides))
    if is_hidden and not parts[0].startswith("."):
        return False
    return fnmatchcase(names[0], parts[0]) and slowly_matches(parts[1:], names[1:], hides=hides)


names = st.text("ab.-", min_size=1, max_size=4)
parts = st.one_of(
    st.just("**"),
    st.text("ab.*?-", min_size=1, max_size=4),
    st.sampled_from(["[ab]", "[!a]*", "[a-b]?", "[!.]b", "*[.-]a"]),
)


@given(st.lists(parts, min_size=1, max_size=5), st.lists(names, min_size=1, max_size=5))
def test_both_ways_of_matching_agree_with_the_definition(pattern: list[str], path: list[str]) -> None:
    glob, text = "/".join(pattern), "/".join(path)
    assert Glob(glob).matches(text) == slowly_matches(pattern, path, hides=False)
    assert walked(glob, text) == slowly_matches(pattern, path, hides=True)


@given(st.lists(parts, min_size=1, max_size=3), st.lists(names, min_size=1, max_size=3))
def test_whatever_matches_ends_as_the_glob_says(pattern: list[str], path: list[str]) -> None:
    glob, text = Glob("/".join(pattern)), "/".join(path)
    assert not glob.matches(text) or (text.endswith(glob.ending) and glob.core in text)


@given(st.text("a/[]!*-", max_size=6))
def test_what_is_escaped_knows_no_classes(text: str) -> None:
    assert Glob(escape(text.replace("*", ""))).matches(text.replace("*", ""))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**/*", "a", True),
        ("**/*", "a/b/c", True),
        ("*", "a/b", False),
        ("*.md", "x.md", True),
        ("*.md", ".md", False),
        (".*", ".env", True),
        ("**/*", ".git/config", False),
        (".git/**", ".git/a/config", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**", "a", False),
        ("**", "a/b", True),
        ("[ab].md", "a.md", True),
        ("[[]ab].md", "[ab].md", True),
        ("[z-a]", "[z-a]", True),
        ("A", "a", False),
    ],
)
def test_a_pattern_matches_as_documented(pattern: str, path: str, *, expected: bool) -> None:
    assert walked(pattern, path) is expected


@pytest.mark.parametrize("pattern", ["a[!b]c", "a[+-9]c", "a[/]c", "a?c", "a*c"])
def test_nothing_within_a_name_matches_a_slash(pattern: str) -> None:
    assert not Glob(pattern).matches("a/c")


@pytest.mark.parametrize("pattern", ["**", "a/**", "*/*", "a/?", "a/[!b]"])
def test_a_line_end_in_a_name_hides_no_file(pattern: str) -> None:
    assert Glob(pattern).matches("a/\n")


@pytest.mark.parametrize("pattern", ["*a" * 100 + "b", "/".join(["**", "a*"] * 30) + "/b"])
def test_a_hostile_pattern_takes_no_time(pattern: str) -> None:
    start = time.process_time()
    assert not walked(pattern, "/".join(["a" * 200] * 60))
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("pattern", "start", "levels"),
    [
        ("*.md", "", 1),
        ("a/b/*.md", "a/b", 3),
        ("a/*/b.md", "a", 3),
        ("a/**/b.md", "a", None),
        ("a/b", "a", 2),
    ],
)
def test_a_pattern_says_where_to_look(pattern: str, start: str, levels: int | None) -> None:
    assert (Glob(pattern).start, Glob(pattern).levels) == (start, levels)
