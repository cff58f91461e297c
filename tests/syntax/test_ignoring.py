"""What is ignored without a library is what the library ignores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from llmdo.syntax.globs import plain
from tests.support.laws import tried

names = st.sampled_from(["a", "b", "a.b", ".b", "b.", "-", "A", "a-b", "x.log", ".log", "build"])
lines = st.one_of(
    names,
    st.builds("{}/".format, names),
    st.builds("/{}".format, names),
    st.builds("/{}/".format, names),
    st.sampled_from(["*.log", "*.b", "*.a.b", "", "# a", "#", "*.-"]),
)
odd = st.sampled_from(
    ["!a", "a/b", "*", "**", "a*", "*.l?g", "a ", " a", "\\#a", "[a]", ".", "..", "./", "a//", "*.log/", "/"]
)
paths = st.builds(
    "{}{}".format, st.lists(names, min_size=1, max_size=4).map("/".join), st.sampled_from(["", "/"])
)


@tried(700)
@given(st.lists(lines, max_size=5), st.lists(paths, min_size=1, max_size=6))
def test_a_path_is_ignored_exactly_where_git_ignores_it(
    given_lines: list[str], given_paths: list[str]
) -> None:
    ignored, spec = plain(given_lines), GitIgnoreSpec.from_lines(given_lines)
    assert ignored is not None
    assert {path: ignored(path) for path in given_paths} == {
        path: spec.match_file(path) for path in given_paths
    }


@given(st.lists(lines, max_size=2), odd, st.lists(lines, max_size=2))
def test_what_is_more_than_names_and_endings_is_left_to_the_library(
    before: list[str], line: str, after: list[str]
) -> None:
    assert plain([*before, line, *after]) is None


@pytest.mark.parametrize("line", ["name\r", "na\u00efve", "a\tb", "a\x00"])
def test_odd_characters_are_left_to_the_library(line: str) -> None:
    assert plain([line]) is None
