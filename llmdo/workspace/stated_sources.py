"""The files named by the `sources` of a toolset: its module imports them without its text saying so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import finding
from llmdo.base.values import replace
from llmdo.workspace.references import located, module_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.syntax.document import Document
    from llmdo.workspace.modules import Module
    from llmdo.workspace.references import ClassPath


def with_sources(
    sources: Mapping[str, list[str]],
    document: Document,
    manifest: Mapping[str, Json],
    naming: tuple[Iterable[str], Iterable[ClassPath]],
    modules: Mapping[str, Module],
) -> tuple[Mapping[str, Module], list[Diagnostic]]:
    """`modules`, extended by the `sources` that the tables of toolsets name, and the problems of these.

    `naming` are the listed modules, and the toolsets that headers name by the path of a class.
    """
    tables = parts.tables(manifest, "toolsets")
    extended, problems = dict(modules), []
    for name, paths in sources.items():
        python = parts.text(tables[name].get("python")) or next(_modules_of(name, *naming, modules), "")
        candidates = module_files(python) if python else ()
        path = next((candidate for candidate in candidates if candidate in modules), None)
        if path is None:
            at = document.key("toolsets", name, "sources")
            message = f"no file of the workspace is known to be the module of `{name}`"
            hint: str | None = 'say which it is: `python = "FILE.py:ATTRIBUTE"`'
            if "mcp" in tables[name]:
                message, hint = f"`sources` is for toolsets in Python, and `{name}` is not one", None
            problems.append(finding("LDO103", at, message, hint=hint))
        else:
            together = {*extended[path].sources, *paths} - {path}
            extended[path] = replace(extended[path], sources=tuple(sorted(together)))
    return extended, problems


def _modules_of(
    name: str, listed: Iterable[str], named: Iterable[ClassPath], modules: Mapping[str, Module]
) -> Iterator[str]:
    """References to the modules that show the toolset `name`, or in which a header names it by a path."""
    yield from (f"{path}:" for path in listed if name in modules[path].outline.toolsets)
    for _, reference, _ in named:
        if reference.rpartition(":")[2] == name:
            yield located(reference, modules)
