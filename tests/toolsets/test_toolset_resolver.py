"""From a line of a worker's header to a toolset."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import WrapperToolset

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Source, Span
from llmdo.graph import builtin
from llmdo.graph.resolved import Graph
from llmdo.graph.settings import Settings
from llmdo.graph.toolset import Toolset
from llmdo.graph.worker import Use
from llmdo.policy.authority import Authority
from llmdo.syntax.document import Document, Place
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.filesystem import FilesystemToolset
from llmdo.toolsets.paths import PathMap
from llmdo.toolsets.problems import Problems
from llmdo.toolsets.python import Modules
from llmdo.toolsets.resolver import MAKERS, ToolsetResolver
from llmdo.workspace.root import Folders
from tests.support.listed import listed

LOOSE = "the configuration of `loose` does not fit its class"
NOBODY = Authority(base=())

HEADER = Document(
    Source("workers/main.worker", "---\nname: main\ntoolsets:\n  calc: {}\n---\n"),
    {},
    lambda: {("toolsets", "calc"): (Span(4, 3, 4, 7), Span(4, 9, 4, 11))},
)
MODULE = """
from pydantic_ai import FunctionToolset

calc = FunctionToolset()
number = 3

@calc.tool_plain
def one() -> int:
    return 1

class Store(FunctionToolset):
    def __init__(self, folder: str, tags: list[str] | None = None):
        super().__init__()
        if folder == "bad":
            raise ValueError("no such folder")
        self.folder, self.tags = folder, tags

class Whole(FunctionToolset):
    def __init__(self, config):
        super().__init__()
        self.config = config

    @classmethod
    def configure(cls, config):
        if config.get("of") == "text":
            return "no toolset"
        if config.get("of") == "nothing":
            raise ValueError("of nothing")
        return cls(config)

class Loose(FunctionToolset):
    def configure(self, config):
        return self
"""


def use(name: str, **config: object) -> Use:
    return Use(name=name, config=config, at=Place(HEADER, ("toolsets", "calc"), of_key=True))


@pytest.fixture
def resolver(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "tools.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("raise ValueError('broken')")
    attributes = {
        "calc": "tools.py:calc",
        "store": "tools.py:Store",
        "whole": "tools.py:Whole",
        "loose": "tools.py:Loose",
        "number": "tools.py:number",
        "lost": "tools.py:lost",
        "broken": "broken.py:x",
        "again": "broken.py:x",
    }
    at = Place(HEADER, ())
    toolsets = {
        name: Toolset(name=name, kind="python", at=at, python=python) for name, python in attributes.items()
    }
    toolsets["remote"] = Toolset(name="remote", kind="mcp", at=at)
    graph = Graph(
        settings=Settings(name="w", built_in=3, default="needs_approval", max_depth=5), toolsets=toolsets
    )
    with Root.open(tmp_path) as files, Modules(tmp_path, files, listed(tmp_path)) as modules:
        yield ToolsetResolver(
            graph, Folders(tmp_path), files, modules, PathMap.of({"decks/": "input/"}), {"tools.py"}
        )


def error_of(resolver: ToolsetResolver, line: Use) -> LlmdoError:
    with pytest.raises(LlmdoError) as caught:
        resolver.make(line, NOBODY)
    return caught.value


def test_the_filesystem_is_made_from_its_configuration(resolver, tmp_path: Path):
    (tmp_path / "input").mkdir()
    (tmp_path / "input/a.md").write_text("deck")
    toolset = resolver.make(use("filesystem", read=["input/**"]), NOBODY)
    assert isinstance(toolset, FilesystemToolset)
    assert asyncio.run(toolset.read_file("decks/a.md")) == "deck"
    capabilities = toolset.get_capabilities("write_file", {"path": "tools.py", "content": ""}, None, {})
    assert {capability.name for capability in capabilities} == {"fs.write", "fs.write.protected"}


def test_an_instance_is_shared_and_never_wrapped(resolver):
    toolset = resolver.make(use("calc"), NOBODY)
    assert toolset is resolver.make(use("calc"), NOBODY)
    assert not isinstance(toolset, WrapperToolset)
    model = TestModel(call_tools=["one"])
    assert "1" in asyncio.run(Agent(model, toolsets=[toolset]).run("go")).output


def test_a_class_is_made_anew_for_every_call_with_its_own_configuration(resolver):
    tags = ["a"]
    line = use("store", folder="x", tags=tags)
    first, second = resolver.make(line, NOBODY), resolver.make(line, NOBODY)
    first.tags.append("b")
    assert first is not second
    assert (second.folder, second.tags, tags) == ("x", ["a"], ["a"])


def test_a_class_may_take_its_configuration_whole_and_as_a_copy(resolver):
    tags = ["a"]
    line = use("whole", folder="x", tags=tags)
    first, second = resolver.make(line, NOBODY), resolver.make(line, NOBODY)
    first.config["tags"].append("b")
    assert first is not second
    assert (second.config, tags) == ({"folder": "x", "tags": ["a"]}, ["a"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (use("calc", n=1), "`calc` is one instance that all workers share, so it takes no configuration"),
        (
            use("store"),
            "the configuration of `store` does not fit its class: missing a required argument: 'folder'",
        ),
        (
            use("store", folder="x", tag=1),
            "the configuration of `store` does not fit its class: got an unexpected keyword argument 'tag'",
        ),
        (use("store", folder="bad"), "making the toolset `store` raised ValueError: no such folder"),
        (use("whole", of="nothing"), "making the toolset `whole` raised ValueError: of nothing"),
        (
            use("whole", of="text"),
            "making the toolset `whole` raised LlmdoError: `configure` of `Whole` returned no toolset, but str",
        ),
        (
            use("loose"),
            f"{LOOSE}: `configure` is not a class method: write `@classmethod` above it",
        ),
        (use("nowhere"), "there is no toolset `nowhere`"),
        (use("remote"), "`remote` is an MCP server, not a Python toolset"),
    ],
)
def test_a_line_that_does_not_fit_is_reported_at_its_place(resolver, line, message):
    error = error_of(resolver, line)
    assert error.message == message
    assert error.at.path == "workers/main.worker"
    assert error.at.span == Span(4, 3, 4, 7)


def test_what_is_no_toolset_is_reported(resolver):
    assert error_of(resolver, use("number")).message == "`tools.py:number` is not a toolset"
    assert error_of(resolver, use("lost")).message == "`tools.py` has no attribute `lost`"


def test_all_that_cannot_be_loaded_is_reported_at_once_and_once(resolver):
    names = ["filesystem", "summarizer", "calc", "lost", "broken", "again", "store"]
    with pytest.raises(Problems) as caught:
        resolver.preload([use(name) for name in names])
    assert [problem.message for problem in caught.value.problems] == [
        "`tools.py` has no attribute `lost`",
        "importing `broken.py` raised ValueError: broken",
        "the configuration of `store` does not fit its class: missing a required argument: 'folder'",
    ]


def test_what_can_be_loaded_is_not_made_by_preloading(resolver):
    resolver.preload([use("calc"), use("store", folder="bad")])


def test_every_built_in_toolset_is_known_and_made() -> None:
    assert set(MAKERS) == builtin.NAMES


@pytest.mark.parametrize("name", sorted(builtin.NAMES))
def test_a_built_in_tool_declares_all_that_its_calls_always_raise(name: str) -> None:
    for tool in builtin.tools(name, {}).values():
        groups = builtin.raised_always(name, tool)
        assert groups
        assert {capability for group in groups for capability in group} <= set(tool.capabilities)
