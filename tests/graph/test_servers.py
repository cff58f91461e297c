"""MCP servers in the files: which server, which tools, and what a call raises."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from llmdo.base.source import Source
from llmdo.graph import servers, toolkit
from llmdo.graph.described import Definition, Identity, Server
from llmdo.graph.resolved import Graph
from llmdo.graph.toolset import ToolFacts, ToolsetFacts
from llmdo.policy.authority import Capability
from llmdo.workspace import lock
from llmdo.workspace.lock.layout import layout
from llmdo.workspace.reading import load
from llmdo.workspace.resolve import resolve

ADD = Definition(
    title="Add",
    description='Adds two numbers.\nNo more\u200b than "that".',
    input='{\n "properties": {},\n "type": "object"\n}',
    output='{\n "type": "integer"\n}',
    hints=("readOnlyHint: true",),
)


def facts(*tools: str) -> ToolsetFacts:
    tool_facts = {
        name: ToolFacts(digest=servers.digest_of(name, ADD), capabilities=None, hook=False, definition=ADD)
        for name in tools
    }
    return ToolsetFacts(
        is_class=False,
        dynamic=False,
        tools=tool_facts,
        identity=Identity(name="calc", version="1.0", instructions="Be nice.\nAlways."),
    )


def graph_of(root: Path, table: str, known: ToolsetFacts | None = None) -> Graph:
    (root / "main.worker").write_text("---\nname: main\nentry: true\ntoolsets: [calc]\n---\nGo.\n")
    (root / "llmdo.toml").write_text(
        f'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n[toolsets.calc]\n{table}\n'
    )
    return resolve(load(root), {"mcp:calc": known} if known else {})


def raised(graph: Graph) -> dict[str, list[str]]:
    return {
        name: [str(capability) for capability in tool.capabilities]
        for name, tool in graph.toolsets["calc"].tools.items()
    }


def test_whether_a_tool_may_run_twice_is_declared_like_what_it_raises_and_locked(tmp_path: Path) -> None:
    stated = '{ get = "safe", "get_*" = "safe", "*_all" = "ask", "*" = "safe", set = "ask" }'
    tools = ("get", "get_all", "get_one", "set", "other")
    graph = graph_of(tmp_path, f'mcp = {{ command = "calc" }}\nretry = {stated}', facts(*tools))
    retries = {name: tool.retry for name, tool in graph.toolsets["calc"].tools.items()}
    assert retries == {"get": "safe", "get_all": "ask", "get_one": "safe", "other": "safe", "set": "ask"}
    assert lock.read(Source("llmdo.lock", lock.dump(graph))).graph == graph
    silent = graph_of(tmp_path, 'mcp = { command = "calc" }', facts(*tools))
    assert {tool.retry for tool in silent.toolsets["calc"].tools.values()} == {None}
    [drift] = lock.drift(silent, graph)
    assert drift.changes[0] == "tool `get` changed whether it may run twice"


def test_a_server_that_nobody_asked_yet_has_calls_of_any_name(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, 'mcp = { command = "calc" }\ncapabilities = { "read_*" = ["mcp.read"] }')
    assert raised(graph) == {"*": ["data.untrusted", "mcp.call"], "read_*": ["data.untrusted", "mcp.read"]}
    assert graph.toolsets["calc"].dynamic


def test_a_locked_server_has_exactly_the_tools_that_it_had(tmp_path: Path) -> None:
    table = 'mcp = { url = "https://x" }\ncapabilities = { "read_*" = ["mcp.read"], "r*" = ["fs.read"], sum = [] }'
    graph = graph_of(tmp_path, table, facts("add", "read_all", "sum"))
    assert raised(graph) == {
        "add": ["data.untrusted", "mcp.call", "net.connect"],
        "read_all": ["data.untrusted", "fs.read", "mcp.read"],
        "sum": ["data.untrusted"],
    }
    assert not graph.toolsets["calc"].dynamic


def test_starting_a_server_is_a_tool_of_its_own_in_reach(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, 'mcp = { command = "calc" }\nprefix = "my"', facts("add"))
    tools = toolkit.tools_of(graph, None, graph.workers["main"].uses[0])
    assert {name: list(map(str, tool.capabilities)) for name, tool in tools.items()} == {
        "my_add": ["data.untrusted", "mcp.call"],
        "(start)": ["mcp.start"],
    }


def test_a_lock_keeps_what_a_server_said_and_its_launch(tmp_path: Path) -> None:
    table = (
        'mcp = { command = "calc", args = ["-q"], env = { B = "${B}", A = "x${A}" }, cwd = "d" }\n'
        'include = ["b*", "a*"]\nexclude = ["ab"]\ntimeout-s = 2.5\ninstructions = true\nprefix = "my"'
    )
    graph = graph_of(tmp_path, table, facts("add"))
    assert graph.toolsets["calc"].server == Server(
        command="calc",
        args=("-q",),
        env=("A=x${A}", "B"),
        cwd="d",
        include=("a*", "b*"),
        exclude=("ab",),
    )
    text = lock.dump(graph)
    assert '    "Adds two numbers.",\n    "No more\\u200b than \\"that\\".",\n' in text
    again = lock.read(Source("llmdo.lock", text))
    assert again.problems == ()
    assert again.graph == graph
    assert lock.facts(again.graph, graph_of(tmp_path, table)) == {"mcp:calc": facts("add")}


@pytest.mark.parametrize(
    "table", ['mcp = { command = "calc", args = ["--other"] }', 'mcp = { command = "calc" }\nexclude = ["a"]']
)
def test_what_another_server_said_is_not_kept(tmp_path: Path, table: str) -> None:
    before = graph_of(tmp_path, 'mcp = { command = "calc" }', facts("add"))
    assert lock.facts(before, graph_of(tmp_path, table)) == {}


def test_a_text_edited_in_the_lock_makes_it_stale(tmp_path: Path) -> None:
    table = 'mcp = { command = "calc" }'
    edited = lock.dump(graph_of(tmp_path, table, facts("add"))).replace("Adds two", "Adds all")
    read = lock.read(Source("llmdo.lock", edited)).graph
    current = graph_of(tmp_path, table)
    assert read is not None
    assert lock.drift(read, resolve(load(tmp_path), lock.facts(read, current))) != ()


@pytest.mark.parametrize("text", ["a\u202eb", "tag \U000e0041", "\\U0001f600 \\\U000e0041", "é ok", "\u00a0"])
def test_what_does_not_show_is_spelled_out_in_a_lock_and_read_back(text: str) -> None:
    written = layout({"version": 1, "revision": 1, "a": [text]})
    assert all(character.isprintable() or character == "\n" for character in written)
    assert tomllib.loads(written)["a"] == [text]


@pytest.mark.parametrize(
    ("pattern", "tool", "fits"),
    [("read_*", "read_", True), ("*_*", "a_b", True), ("read", "reader", False), ("a.b", "axb", False)],
)
def test_a_pattern_is_a_name_in_which_a_star_is_anything(pattern: str, tool: str, fits: bool) -> None:
    assert servers.fits(tool, pattern) is fits
    assert servers.is_wanted(Server(command="c", include=(pattern,)), tool) is fits
    assert servers.is_wanted(Server(command="c", exclude=(pattern,)), tool) is not fits


def test_a_declared_tool_never_loses_the_mark_that_its_result_may_be_hostile() -> None:
    assert Capability("data.untrusted") in servers.raised(Server(command="c"), {"a": []}, "a")
