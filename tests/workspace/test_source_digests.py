"""The digest of a Python file stands for the file and for all files of the workspace that it imports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.source import Source
from llmdo.syntax import module, toml
from llmdo.workspace.modules import Module
from llmdo.workspace.resolve import resolve
from llmdo.workspace.workspace import Workspace
from tests.support.laws import tried
from tests.support.work import calls_made

NAMES = "abcdefg"


def digests(texts: Mapping[str, str]) -> Mapping[str, str]:
    """The digest of each module, given its text by its name."""
    sources = [Source(f"{name}.py", text) for name, text in sorted(texts.items())]
    workspace = Workspace(
        root=Path(),
        document=toml.parse(Source("llmdo.toml", "")),
        manifest=None,
        workers=(),
        toolset_modules=tuple(source.path for source in sources),
        modules={source.path: Module(source, module.outline(source)) for source in sources},
        has_lock=False,
        lock=None,
        problems=(),
    )
    return {path.removesuffix(".py"): digest for path, digest in resolve(workspace).modules.items()}


def written(imports: Mapping[str, list[str]], last: str = "") -> dict[str, str]:
    """Modules that import each other so; `last` gets one line more."""
    return {
        name: "".join(f"import {other}\n" for other in others) + ("x = 1\n" if name == last else "")
        for name, others in imports.items()
    }


@tried(300)
@given(
    st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3), min_size=1),
    st.data(),
)
def test_a_digest_changes_exactly_where_a_file_changes_that_is_imported(
    imports: dict[str, list[str]], data: st.DataObject
) -> None:
    edited = data.draw(st.sampled_from(sorted(imports)))
    before, after = digests(written(imports)), digests(written(imports, edited))
    for name in imports:
        below, waiting = {name}, [name]
        while waiting:
            new = {imported for imported in imports[waiting.pop()] if imported in imports} - below
            below |= new
            waiting.extend(new)
        assert (before[name] != after[name]) == (edited in below)


def test_a_new_import_of_a_file_that_was_there_changes_the_digest() -> None:
    before = digests({"a": "x = 1\n", "b": "y = 1\n"})
    after = digests({"a": "x = 1\nimport b\n", "b": "y = 1\n"})
    assert before["a"] != after["a"]
    assert before["b"] == after["b"]


def test_a_relative_import_runs_the_packages_around_it_so_they_count() -> None:
    texts = {"a/b/c": "from .d import x\n", "a/b/d": "x = 1\n", "a/__init__": "", "a/b/__init__": ""}
    before = digests(texts)
    for package in ("a/__init__", "a/b/__init__"):
        assert digests({**texts, package: "import os\n"})["a/b/c"] != before["a/b/c"]
    above = digests({**texts, "a/b/c": "from ..e import x\n", "a/e": "x = 1\n"})
    changed = digests(
        {**texts, "a/b/c": "from ..e import x\n", "a/e": "x = 1\n", "a/__init__": "import os\n"}
    )
    assert above["a/b/c"] != changed["a/b/c"]


@pytest.mark.long
def test_each_module_of_a_long_chain_is_looked_at_once() -> None:
    def chain(length: int) -> dict[str, str]:
        return {f"m{number:04}": f"import m{number + 1:04}\n" for number in range(length)}

    digests(chain(10))
    small, large = (calls_made(lambda length=length: digests(chain(length))) for length in (500, 2_000))
    assert large < 4.5 * small
