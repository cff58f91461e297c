"""References by text in the files of a workspace: Python files, modules of packages, models, targets of paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from llmdo.base import parts
from llmdo.base.diagnostic import finding
from llmdo.base.parts import table, tables, text, texts
from llmdo.base.values import replace
from llmdo.syntax import discovery
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping
    from pathlib import Path

    from llmdo.base.cache import Seen
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.syntax.document import Document
    from llmdo.workspace.modules import Module
    from llmdo.workspace.worker_file import WorkerFile


def python_file(reference: str) -> str | None:
    """The workspace file of `FILE.py:NAME`; None for `package.module:NAME`."""
    path = reference.rpartition(":")[0]
    return path if path.endswith(".py") else None


def package_files(reference: str) -> tuple[str, str]:
    """The possible files of the module of `package.module:NAME` in the workspace."""
    stem = reference.partition(":")[0].replace(".", "/")
    return f"{stem}.py", f"{stem}/__init__.py"


def module_files(reference: str) -> tuple[str, ...]:
    """The possible files of the module of a reference in the workspace: two for one of a package."""
    path = python_file(reference)
    return (path,) if path else package_files(reference)


def located(reference: str, modules: Container[str]) -> str:
    """The reference as FILE.py:NAME if its module is one of `modules`; otherwise unchanged."""
    path = next((path for path in module_files(reference) if path in modules), None)
    return f"{path}:{reference.rpartition(':')[2]}" if path else reference


def globs_of(manifest: Mapping[str, Json]) -> frozenset[str]:
    """The globs by which a new file would become a part of the workspace."""
    workspace = table(manifest, "workspace")
    listed = [*texts(workspace.get("workers")), *texts(workspace.get("toolset-modules"))]
    for toolset in tables(manifest, "toolsets").values():
        listed += texts(toolset.get("sources"))
    return frozenset(filter(discovery.is_useful, listed))


def class_path(name: str) -> str | None:
    """The FILE.py:NAME or package.module:NAME by which a header's line names a toolset; None for a plain name.

    A dotted path may have a dot before the class as well.
    """
    if ":" in name:
        return name
    module, dot, attribute = name.rpartition(".")
    return f"{module}:{attribute}" if dot else None


class ClassPath(NamedTuple):
    """A line of a header that names a toolset by the path of its class."""

    written: str
    reference: str
    """The path as FILE.py:NAME or package.module:NAME."""
    at: Place


def class_paths(workers: Iterable[WorkerFile]) -> Iterator[ClassPath]:
    """Those lines of the headers of `workers`; few workers have one, so the others cost little."""
    for worker in workers:
        listed = worker.header.get("toolsets")
        names = "\n".join(texts(listed) or table(listed))
        if "." in names or ":" in names:
            for name, place in worker.toolsets:
                if reference := class_path(name):
                    yield ClassPath(name, reference, place)


def references_of(workers: tuple[WorkerFile, ...]) -> Iterator[tuple[str, Place]]:
    """The Python files that `workers` name, with their places."""
    for worker in workers:
        yield from worker.references
    for model, place in models_of(workers):
        yield from _model_file(model, place)


def manifest_references(document: Document, manifest: Mapping[str, Json]) -> Iterator[tuple[str, Place]]:
    """The Python files that the manifest names, with their places."""
    for name, toolset in tables(manifest, "toolsets").items():
        if path := python_file(text(toolset.get("python"))):
            yield path, Place(document, ("toolsets", name, "python"))
    for name, worker in tables(manifest, "workers").items():
        if "python" not in worker:
            continue
        yield text(worker["python"]).rpartition(":")[0], Place(document, ("workers", name, "python"))
    for name, entry in tables(manifest, "entries").items():
        if path := python_file(text(entry.get("function"))):
            yield path, Place(document, ("entries", name, "function"))
    for model, place in named_models(document, manifest):
        yield from _model_file(model, place)


def models_of(workers: Iterable[WorkerFile]) -> Iterator[tuple[str, Place]]:
    """The models that headers name, with their places."""
    for worker in workers:
        if model := text(worker.header.get("model")):
            yield model, Place(worker.document, ("model",))


def named_models(document: Document, manifest: Mapping[str, Json]) -> Iterator[tuple[str, Place]]:
    """The models that the manifest names, with their places."""
    for name, entry in tables(manifest, "entries").items():
        if model := text(entry.get("model")):
            yield model, Place(document, ("entries", name, "model"))
    if model := text(table(manifest, "workspace").get("model")):
        yield model, Place(document, ("workspace", "model"))
    for alias, chain in table(manifest, "models").items():
        for number, model in enumerate([chain] if isinstance(chain, str) else texts(chain)):
            yield (
                model,
                Place(document, ("models", alias) if isinstance(chain, str) else ("models", alias, number)),
            )


def _model_file(model: str, place: Place) -> Iterator[tuple[str, Place]]:
    if model.startswith("python:") and (path := python_file(model.removeprefix("python:"))):
        yield path, place


def wrong_targets(
    root: Path, document: Document, manifest: Mapping[str, Json], seen: Seen | None
) -> Iterator[Diagnostic]:
    """Findings about the root, and about targets that are missing, outside, or of another kind than their alias."""
    stated = text(table(manifest, "workspace").get("root")).rstrip("/")
    within: Seen | None = seen
    if stated:
        from llmdo.workspace.root import examined  # which few workspaces need

        if refused := examined(root, stated, seen):
            at = document.value("workspace", "root")
            hint = "no run starts without it, and what `[paths]` names in it is not looked for"
            is_missing = refused.code == "LDO113"
            yield finding(refused.code, at, f"`{stated}` {refused.reason}", hint=hint if is_missing else None)
            return
        root, within = root / stated, {}
    where = f" in `{stated}`" if stated else ""
    yield from _wrong_targets(root, document, table(manifest, "paths"), within, where)
    if stated and seen is not None:
        seen.update({f"{stated}/{path}": facts for path, facts in (within or {}).items()})


def _wrong_targets(
    root: Path, document: Document, paths: Mapping[str, Json], seen: Seen | None, where: str
) -> Iterator[Diagnostic]:
    for alias, stated in paths.items():
        target = text(stated)
        at = document.value("paths", alias)
        if alias.endswith("/") != target.endswith("/"):
            yield finding(
                "LDO103",
                at,
                f"`{alias}` and `{target}` are not both files or both folders",
                hint="a folder ends in `/`",
            )
        elif refused := discovery.exists(root, target, seen):
            yield finding(refused.code, at, f"`{target}` {refused.reason}{where}")
        elif target.endswith("/") != (root / target).is_dir():
            kind = "a file" if target.endswith("/") else "a folder"
            yield finding("LDO103", at, f"`{target}` is {kind}{where}")


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
