"""`llmdo serve commands`, used by a real client of the protocol."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from llmdo.features.mcp_server.commands import TOOLS, command_tools, server

MANIFEST = """
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]

[entries.main]
worker = "main"
"""
WORKER = "---\nname: main\nmodel: test\ntoolsets: { shell: {} }\n---\nDo it.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(MANIFEST)
    (tmp_path / "main.worker").write_text(WORKER)
    return tmp_path


def using(root: Path, work: Callable[[Client], Any]) -> Any:
    async def session() -> Any:
        async with Client(server(root), mode="legacy") as connected:
            return await work(connected)

    return asyncio.run(session())


def call(root: Path, tool: str, **arguments: object) -> Any:
    return using(root, lambda client: client.call_tool(tool, arguments))


def test_every_command_is_a_tool_with_the_words_of_its_options(root: Path) -> None:
    tools = {tool.name: tool for tool in using(root, lambda client: client.list_tools()).tools}
    assert [*tools] == [*TOOLS]
    assert tools["reach"].input_schema["properties"]["target"]["type"] == "array"
    assert tools["check"].input_schema["properties"]["locked"] == {
        "type": "boolean",
        "description": "Require a current lock. Default where CI is set.",
    }
    assert tools["reach"].input_schema["properties"]["select"]["items"] == {"type": "string"}
    assert all(tool.annotations.read_only_hint for tool in tools.values())


def test_answers_are_those_of_the_commands(root: Path) -> None:
    reach = call(root, "reach", name="main")
    assert not reach.is_error, reach.content
    rows = reach.structured_content["entries"][0]["rows"]
    assert [row["capability"] for row in rows] == ["proc.exec.unlisted"]
    assert "main" in call(root, "reach", name="main", target=["proc.exec.unlisted"]).content[0].text
    (root / "main.worker").write_text(WORKER.replace("shell", "shel"))
    check = call(root, "check", strict=True)
    assert not check.is_error, "findings are an answer"
    assert "LDO" in check.content[0].text


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("run", {}, "there is no command `run`"),
        ("check", {"fix": True}, "`check` takes no `fix`"),
        ("check", {"project": "/etc"}, "`check` takes no `project`"),
        ("check", {"strict": "yes"}, "`strict` is true or false"),
        ("reach", {"name": ["main"]}, "`name` is a text"),
        ("reach", {"select": "main"}, "`select` is a list of texts"),
        ("reach", {"name": "main", "target": "x"}, "`target` is a list of texts"),
        ("reach", {"name": "--from=claude"}, "--from=claude"),
        ("diff", {"before": "--output=diff.txt"}, "diff.txt"),
    ],
)
def test_nothing_else_can_be_asked_for(
    root: Path, name: str, arguments: dict[str, object], message: str
) -> None:
    reply = call(root, name, **arguments)
    assert reply.is_error
    assert message in reply.content[0].text
    assert sorted(each.name for each in root.iterdir() if each.name != ".llmdo") == [
        "llmdo.toml",
        "main.worker",
    ]


def test_a_value_of_an_option_is_no_other_option(root: Path) -> None:
    tool = command_tools(root)["check"]
    assert tool.words({"select": ["--fix", "x"]}) == [
        "check",
        "--format=json",
        f"--project={root}",
        "--select=--fix",
        "--select=x",
        "--",
    ]


@pytest.mark.long
def test_a_client_over_stdio_uses_the_command(root: Path) -> None:
    words = ["-P", "-m", "llmdo", "serve", "commands", "--project", str(root)]
    program = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))

    async def session() -> Any:
        async with Client(program, mode="legacy") as connected:
            return await connected.call_tool("explain", {"code": "LDO301"})

    assert "LDO301" in asyncio.run(session()).content[0].text
