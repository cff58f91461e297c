"""The folders and hosts that a call is about, by arguments that say it in other ways than usual."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from llmdo.features.hook.events import Access, ClientEvent

if TYPE_CHECKING:
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
