"""No test patches a module or class of the product: what a test has to reach comes in as a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PATCHERS = {"setattr", "delattr", "setitem", "delitem", "patch", "object", "dict", "multiple"}


def imported(tree: ast.AST) -> set[str]:
    """The names that stand for something of the product."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "llmdo":
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {
                alias.asname or "llmdo" for alias in node.names if alias.name.partition(".")[0] == "llmdo"
            }
    return names


def owner(node: ast.AST) -> str:
    """The name that an expression such as `module.Class.__dict__["x"]` begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def patches(source: str) -> Iterator[str]:
    """The statements that set something of the product, also in programs that are written as text."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # a text that is no program
        return
    ours = imported(tree)
    looped = {
        name.id
        for loop in ast.walk(tree)
        if isinstance(loop, ast.For)
        and {each.id for each in ast.walk(loop.iter) if isinstance(each, ast.Name)} & ours
        for name in ast.walk(loop.target)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if owner(node) in ours:
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and node.args and called(node) in PATCHERS:
            target = node.args[0]
            name = target.value if isinstance(target, ast.Constant) else None
            if owner(target) in ours | looped or str(name).partition(".")[0] == "llmdo":
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "llmdo" in node.value:
            yield from patches(node.value)


def called(node: ast.Call) -> str:
    """The last name of the function that is called."""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def test_no_test_patches_the_product() -> None:
    patched = [
        f"{path.relative_to(TESTS)}: {patch}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != Path(__file__)
        for patch in patches(path.read_text(encoding="utf-8"))
    ]
    assert patched == [], "hand it in as a parameter, or reach the limit as it is"


@pytest.mark.parametrize(
    "source",
    [
        "from llmdo.runtime import webhook\nmonkeypatch.setattr(webhook, 'PAUSES', ())",
        "from llmdo.runtime.webhook import Receiver\nwith patch.object(Receiver, 'of'): pass",
        "import llmdo.syntax.discovery\nllmdo.syntax.discovery.MAX_ENTRIES = 20",
        "from llmdo.cli import app\napp.command_line = cache(app.command_line)",
        "from llmdo.journal import Runs\nRuns.__init__.__kwdefaults__['seconds'] = 1",
        "from llmdo.journal import Runs\ndel Runs.find",
        "monkeypatch.setattr('llmdo.journal.workers.ALIVE', 1)",
        "from llmdo import cli\nfor one, name in [(cli, 'A')]:\n    monkeypatch.setattr(one, name, 1)",
        "PROGRAM = '''\nfrom llmdo.journal import workers\nworkers.ALIVE = 1\n'''",
    ],
)
def test_a_patch_is_found(source: str) -> None:
    assert [*patches(source)]


@pytest.mark.parametrize(
    "source",
    [
        "import sys\nmonkeypatch.setattr(sys, 'argv', ['llmdo'])",
        "monkeypatch.setenv('LLMDO_STORE', '')",
        "from llmdo.graph import Graph\ngraph = Graph()\nseen[graph] = Graph.name",
        "import os\nmonkeypatch.setattr(os, 'fsync', None)",
    ],
)
def test_what_is_not_of_the_product_may_be_set(source: str) -> None:
    assert not [*patches(source)]
