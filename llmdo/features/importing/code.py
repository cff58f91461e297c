"""Copies of a project's own Python, which is never run here: the unchanged text, then the toolsets offered to llmdo."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base import resources
from llmdo.base.values import dataclass
from llmdo.syntax.module import outline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.team import Code
    from llmdo.policy.authority import Capability

_ADAPTER = "llm-do"
_PACKAGE = "llm_do"
_TAKEN = ("from_llm_do.py", f"{_PACKAGE}/", "tools/imported", "workers/")
"""The beginnings of paths that the import uses itself."""


@dataclass(frozen=True, slots=True)
class OfferedToolset:
    """A toolset that a copied file has, or an installed module."""

    module: str
    """The path of the file, or package.module."""
    expression: str
    """The expression for it, at the end of the file; the class, for an installed module."""
    capability: Capability
    is_installed: bool = False

    def reference(self, name: str) -> str:
        """FILE.py:NAME or package.module:NAME of the toolset `name`."""
        return f"{self.module}:{self.expression if self.is_installed else _attribute(name)}"


def is_free(path: str) -> bool:
    """Whether a Python file of the project may lie at `path` in the workspace."""
    return not path.startswith(_TAKEN)


def started_by(function: str) -> str:
    """FILE.py:NAME of the entry for the project's function FILE.py:NAME that starts a run."""
    path, _, name = function.rpartition(":")
    return f"{path}:{_attribute(name)}"


def copies(
    code: Iterable[Code], names: Mapping[str, str], offered: Mapping[str, OfferedToolset]
) -> dict[str, str]:
    """Path to text of the copies, and of what they import. `names` is each agent's identity to its worker's name."""
    files = {}
    for file in code:
        own = {name: offer for name, offer in offered.items() if offer.module == file.source.path}
        tail = "".join(_tail(file, own, names))
        files[file.source.path] = file.source.text.rstrip("\n") + "\n" + tail if tail else file.source.text
        if tail:
            files.update(_adapters())
        elif any(name.partition(".")[0] == _PACKAGE for name in outline(file.source).imports):
            files.update(_adapters(_PACKAGE))
    return files


def _tail(code: Code, offered: Mapping[str, OfferedToolset], names: Mapping[str, str]) -> Iterator[str]:
    """The text appended to a file that offers something."""
    if not offered and not code.functions:
        return
    yield "\n\n# From here on by `llmdo import`: what llmdo is offered of the above.\n"
    imported = ["started"] if code.functions else []
    if offered:
        imported.append("offered")
        if "FunctionToolset" in code.source.text:
            imported.append("FunctionToolset")
    yield f"from from_llm_do import {', '.join(sorted(imported))}  # noqa: E402\n\n"
    agents = {called: names[identity] for called, identity in code.agents.items() if identity in names}
    yield f"llmdo_agents = {json.dumps(agents)}\n"
    for name, offer in sorted(offered.items()):
        yield f"{_attribute(name)} = offered({offer.expression}, llmdo_agents)\n"
    for name in sorted(code.functions):
        yield f"\n\nasync def {_attribute(name)}(runtime, input):\n"
        yield f"    return await started({name}, runtime, input, llmdo_agents)\n"


def _attribute(name: str) -> str:
    return f"llmdo_{name}"


def _adapters(below: str = "") -> dict[str, str]:
    """Path to text of the Python that copies import."""
    root = resources.folder("adapters") / _ADAPTER
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*.py"))
        if path.is_relative_to(root / below)
    }
