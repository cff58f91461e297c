"""Patterns, against a slow matcher that is plainly right."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.toolsets.globs import parse_pattern
from llmdo.toolsets.refusal import PathRefused


def matches(pattern: str, path: str) -> bool:
    parsed = parse_pattern(pattern)
    state = parsed.start
    for name in path.split("/"):
        state = parsed.step(state, name)
    return parsed.matches(state)


def name_matches(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(name_matches(pattern[1:], name[taken:]) for taken in range(len(name) + 1))
    return bool(name) and pattern[0] in ("?", name[0]) and name_matches(pattern[1:], name[1:])


def slow_matches(parts: list[str], names: list[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        longer = bool(names) and not names[0].startswith(".") and slow_matches(parts, names[1:])
        return longer or slow_matches(parts[1:], names)
    if not names or (names[0].startswith(".") and not parts[0].startswith(".")):
        return False
    return name_matches(parts[0], names[0]) and slow_matches(parts[1:], names[1:])


names = st.text("ab.[", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
parts = st.one_of(st.just("**"), st.text("ab.*?[", min_size=1, max_size=4)).filter(
    lambda part: part not in (".", "..")
)


@given(st.lists(parts, min_size=1, max_size=5), st.lists(names, min_size=1, max_size=5))
def test_the_matcher_agrees_with_the_definition(pattern, path):
    assert matches("/".join(pattern), "/".join(path)) == slow_matches(pattern, path)


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
        ("**", "a/b", True),
        ("[ab].md", "a.md", False),
        ("[ab].md", "[ab].md", True),
        ("A", "a", False),
        ("./a//b", "a/b", True),
    ],
)
def test_a_pattern_matches_as_documented(pattern, path, expected):
    assert matches(pattern, path) is expected


@pytest.mark.parametrize("pattern", ["*a" * 100 + "b", "/".join(["**", "a*"] * 30) + "/b"])
def test_a_hostile_pattern_takes_no_time(pattern):
    start = time.process_time()
    assert not matches(pattern, "/".join(["a" * 200] * 60))
    assert time.process_time() - start < 1


@pytest.mark.parametrize("pattern", ["..", "a/../b", "/a", "~", ""])
def test_a_pattern_that_is_no_path_inside_is_refused(pattern):
    with pytest.raises(PathRefused):
        parse_pattern(pattern)
