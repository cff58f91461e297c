"""Which files globs name, what they refuse, and in what time."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.formats import fields
from llmdo.syntax import discovery
from llmdo.syntax.discovery import RefusedPath, find


def never(_path: str) -> bool:
    return False


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in ("a.worker", "w/b.worker", "w/x/c.worker", "w/.d.worker", ".e/f.worker", "v/g.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.worker", ["a.worker"]),
        ("w/*.worker", ["w/b.worker"]),
        ("*/*.worker", ["w/b.worker"]),
        ("**/*.worker", ["a.worker", "w/b.worker", "w/x/c.worker"]),
        ("w/**", ["w/b.worker", "w/x/c.worker"]),
        ("w/**/[!b].worker", ["w/x/c.worker"]),
        ("[a-b].worker", ["a.worker"]),
        ("[b-a].worker", []),
        ("?/?.py", ["v/g.py"]),
        ("gone/*.worker", []),
    ],
)
def test_a_glob_names_its_files_and_no_hidden_ones(pattern: str, paths: list[str], root: Path) -> None:
    (glob,) = find(root, [pattern], never).values()
    assert (glob.paths, glob.refused) == (paths, [])


def test_several_globs_are_looked_for_together_and_each_gets_its_own(root: Path) -> None:
    patterns = ["*.worker", "w/*.worker", "**/*.py", "w/**"]
    together = find(root, patterns, never)
    assert together == {pattern: find(root, [pattern], never)[pattern] for pattern in patterns}


def test_what_is_ignored_is_not_entered_and_not_named(root: Path) -> None:
    globs = find(root, ["**/*.worker"], lambda path: path in ("w/x/", "a.worker"))
    assert globs["**/*.worker"].paths == ["w/b.worker"]


def test_what_a_glob_names_but_nothing_may_read_is_reported(root: Path) -> None:
    (root / "w" / "link.worker").symlink_to(root / "a.worker")
    (root / "w" / "a:b.worker").touch()
    (root / "w" / "other").symlink_to(root)
    globs = find(root, ["w/*.worker", "w/*.py"], never)
    assert [(path, problem.code) for path, problem in globs["w/*.worker"].refused] == [
        ("w/a:b.worker", "LDO105"),
        ("w/link.worker", "LDO107"),
    ]
    assert globs["w/*.py"].refused == []


def test_a_glob_that_starts_in_a_link_says_so(root: Path) -> None:
    (root / "link").symlink_to(root / "w")
    ((path, refused),) = find(root, ["link/*.worker"], never)["link/*.worker"].refused
    assert (path, refused.code) == ("link", "LDO107")


@given(st.text(st.characters(exclude_characters="/") | st.sampled_from("a.~:*\\\x00\x7f\ud800"), min_size=1))
def test_a_name_is_fit_exactly_where_the_formats_can_say_it(name: str) -> None:
    if name.startswith("."):
        return  # hidden: never looked at
    (matches,) = (note for note in fields.Path.__metadata__ if isinstance(note, fields.Matches))
    is_fit = re.fullmatch(matches.pattern, name) is not None and not re.search("[\ud800-\udfff]", name)
    assert (discovery.unfit(name) is None) == is_fit


def test_no_glob_is_slow_on_any_name(root: Path) -> None:
    for number in range(200):
        (root / ("a" * 240 + str(number))).touch()
    start = time.process_time()
    find(root, ["**/" + "*a" * 100 + "*b", "**/*/" * 2 + "[ab]*" * 50 + "c"], never)
    assert time.process_time() - start < 5


def test_a_gitignore_is_heeded_and_one_that_would_be_slow_is_a_problem(root: Path) -> None:
    assert discovery.git_ignored(root)[1] == ()
    (root / ".gitignore").write_text("# x\n*.py\n!v/\n", encoding="utf-8")
    ignored, problems = discovery.git_ignored(root)
    assert (ignored("v/g.py"), ignored("a.worker"), problems) == (True, False, ())
    (root / ".gitignore").write_text("*.py\n" + "*a" * 50 + "\n", encoding="utf-8")
    ignored, (problem,) = discovery.git_ignored(root)
    assert ignored("v/g.py"), "the other lines hold"
    assert (problem.code, problem.at.path, problem.at.span and problem.at.span.line) == (
        "LDO105",
        ".gitignore",
        2,
    )


@pytest.mark.parametrize(
    "line",
    [
        "a\\",
        "C:\\Ops\\",
        "!",
        "!a\\",
        "[z-a]",
        "[[:x:]]",
        "[",
        "a[",
        "[]",
        "[!",
        "***",
        "a/**/",
        "**/",
        "!v/**/",
    ],
)
def test_a_line_that_git_takes_for_no_pattern_is_none_and_the_others_hold(root: Path, line: str) -> None:
    names = ["v/g.py", "x.log", "a", "a\\", "[z-a]", "xzy", "a/b", "C:\\Ops\\", "!"]
    text = f"v/*\n{line}\n*.log\n"
    (root / ".gitignore").write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", root], check=True)
    asked = ["git", "-C", root, "check-ignore", "--no-index", "-z", "--stdin"]
    given = subprocess.run(asked, input="\0".join(names).encode(), stdout=subprocess.PIPE, check=False)
    by_git = {each for each in given.stdout.decode().split("\0") if each}
    ignored, problems = discovery.git_ignored(root)
    assert ({name for name in names if ignored(name)}, problems) == (by_git, ())


def test_a_file_is_read_through_no_link_and_only_up_to_its_limit(root: Path) -> None:
    (root / "w" / "link").symlink_to(root / "v")
    (root / "v" / "g.py").write_bytes(b"x" * 11)
    assert discovery.read(root, "v/g.py", limit=11) == b"x" * 11
    for path in ("w/link/g.py", "../v/g.py", "/etc/passwd", "w", "gone"):
        assert isinstance(discovery.read(root, path), RefusedPath), path
    assert isinstance(discovery.read(root, "v/g.py", limit=10), RefusedPath)
