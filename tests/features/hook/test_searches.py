"""The folders and hosts that a call is about, by arguments that say it in other ways than usual."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from llmdo.features.hook.events import Access, ClientEvent
from llmdo.features.hook.searching import holds_secrets

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.features.hook.events import Client


def access(client: str, tool: str, **arguments: object) -> Access:
    event = ClientEvent(kind="call", session="1", folder="/project", tool=tool, arguments=arguments)
    protocol: Client = import_module(f"llmdo.features.hook.clients.{client}")
    return protocol.access(event)


GLOBS = pytest.mark.parametrize(
    ("client", "tool", "folder"),
    [("gemini", "glob", "dir_path"), ("opencode", "glob", "path"), ("copilot", "glob", "path")],
)


@GLOBS
@pytest.mark.parametrize(
    "pattern", ["/etc/*", "~/x/*", "a/../../b", "{/etc,docs}/*", "{docs,~}/*", "@(x|/etc)/*"]
)
def test_a_pattern_that_may_leave_the_folder_is_about_any(
    client: str, tool: str, folder: str, pattern: str
) -> None:
    assert access(client, tool, pattern=pattern, **{folder: "docs"}).folders == ("/",)


@GLOBS
@pytest.mark.parametrize("pattern", ["*", "**/*.{md,txt}", "a/b*", "x~"])
def test_any_other_pattern_is_about_its_folder(client: str, tool: str, folder: str, pattern: str) -> None:
    assert access(client, tool, pattern=pattern, **{folder: "docs"}).folders == ("docs",)
    assert access(client, tool, pattern=pattern).folders == (".",)


@pytest.mark.parametrize(
    ("client", "tool", "names"),
    [
        ("gemini", "grep_search", "include_pattern"),
        ("opencode", "grep", "include"),
        ("copilot", "grep", "glob"),
    ],
)
def test_what_is_looked_for_in_files_is_no_path_but_their_names_are(
    client: str, tool: str, names: str
) -> None:
    assert access(client, tool, pattern="/a/../..").folders == (".",)
    assert access(client, tool, pattern="x", **{names: "/etc/*"}).folders == ("/",)


@pytest.mark.parametrize(
    ("prompt", "host"),
    [
        ("Sum up https://example.com/a please.", "https://example.com/a"),
        ("https://example.com/a and HTTPS://EVIL.example", None),
        ("https://example.com/a and evil.example", None),
        ("Sum up evil.example", None),
        ("nothing", None),
    ],
)
def test_a_prompt_is_about_one_host_where_nothing_else_can_be_one(prompt: str, host: str | None) -> None:
    assert access("gemini", "web_fetch", prompt=prompt).host == host


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in (".git/config", "src/a.py", "src/lib/b.py", "docs/a.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x\n")
    return tmp_path


def holds(root: Path, folder: str = "", *names: str, heeds_ignores: bool = True) -> bool:
    return holds_secrets(str(root), folder, names, heeds_ignores=heeds_ignores)


def test_a_search_finds_secrets_only_where_there_are_some(root: Path) -> None:
    assert not holds(root)
    (root / "src/lib/.env").write_text("KEY=x\n")
    assert holds(root)
    assert holds(root, "src")
    assert holds(root, "src/lib/.env")
    assert not holds(root, "docs")
    assert holds(root, "nowhere/.ssh")


@pytest.mark.parametrize(
    ("names", "is_found"),
    [
        (("*.py",), False),
        ((".env*",), True),
        (("*.{py,env}",), True),
        (("*.{py,md}",), False),
        (("src/**",), True),
        (("**/*.PY",), False),
        (("!*.py",), True),
        (("[.]env",), True),
        (("*.py", ".e?v"), True),
    ],
)
def test_a_search_by_names_finds_those_alone(root: Path, names: tuple[str, ...], is_found: bool) -> None:
    (root / "src/.env").write_text("KEY=x\n")
    assert holds(root, "", *names) is is_found


def test_a_search_passes_over_what_git_ignores_but_not_if_it_names_it(root: Path) -> None:
    (root / "src/.env").write_text("KEY=x\n")
    (root / ".gitignore").write_text(".env\n")
    assert not holds(root)
    assert not holds(root, "src")
    assert holds(root, "src", ".env")
    assert holds(root, "src", heeds_ignores=False)
    assert holds(root, "src/.env")
    (root / ".git").rename(root / "git")
    assert holds(root)  # no repository, so nothing is ignored


@pytest.mark.parametrize("place", [".ignore", ".rgignore", "src/.gitignore"])
def test_what_other_files_take_back_is_searched(root: Path, place: str) -> None:
    (root / "src/.env").write_text("KEY=x\n")
    (root / ".gitignore").write_text(".env\n")
    (root / place).write_text("!.env\n")
    assert holds(root)
    assert holds(root, "src")


def test_a_folder_that_is_ignored_as_a_whole_is_left_out_unless_it_is_named(root: Path) -> None:
    for folder in ("build", "cache"):
        (root / folder).mkdir()
        (root / folder / "a.pem").write_text("x\n")
    (root / ".gitignore").write_text("build/\n")
    (root / "cache/.gitignore").write_text("*\n")
    assert not holds(root)
    assert holds(root, "build")
    assert not holds(root, "cache")  # what it ignores is all below it


def test_links_and_gits_own_folder_are_left_out(root: Path) -> None:
    (root / "src/.env").symlink_to(root / "docs/a.md")
    assert not holds(root)
    assert holds(root, "", heeds_ignores=False)  # `.git` is among it
    assert holds(root, ".git")


def test_a_search_of_too_much_may_find_anything(root: Path) -> None:
    assert not holds_secrets(str(root), "", (), heeds_ignores=True, most=50)
    assert holds_secrets(str(root), "", (), heeds_ignores=True, most=3)


SEARCHES = [
    ("claude", "Grep", {"pattern": "x"}, (), True),
    ("claude", "Grep", {"pattern": "x", "glob": "*.py"}, ("*.py",), True),
    ("claude", "Glob", {"pattern": "*"}, None, True),
    ("copilot", "rg", {"pattern": "x"}, (), True),
    ("copilot", "glob", {"pattern": "*"}, None, True),
    ("gemini", "grep_search", {"pattern": "x", "no_ignore": True}, (), False),
    ("gemini", "grep_search", {"pattern": "x", "include_pattern": "*.py"}, ("*.py",), True),
    ("gemini", "glob", {"pattern": "*"}, None, True),
    ("gemini", "read_many_files", {"include": ["docs/*", ".env"]}, ("docs/*", ".env"), False),
    ("opencode", "grep", {"pattern": "x", "include": "*.py"}, ("*.py",), True),
    ("opencode", "list", {}, None, True),
]


@pytest.mark.parametrize(("client", "tool", "arguments", "names", "heeds_ignores"), SEARCHES)
def test_a_call_says_in_which_files_it_looks(
    client: str, tool: str, arguments: dict[str, object], names: tuple[str, ...] | None, heeds_ignores: bool
) -> None:
    asked = access(client, tool, **arguments)
    assert (asked.names, asked.heeds_ignores) == (names, heeds_ignores)


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("src/**/*.py", "./src"),
        ("*.{py,md}", "./"),
        ("/etc/*", "/etc"),
        ("../x/*", "/"),
        ("{/etc,docs}/*", "/"),
        ("src/{~/x,a}", "/"),
        ("@(a|/etc)/*", "/"),
    ],
)
def test_a_pattern_of_claude_code_is_about_the_folder_that_it_begins_with(pattern: str, folder: str) -> None:
    assert access("claude", "Glob", pattern=pattern).folders == (folder,)
