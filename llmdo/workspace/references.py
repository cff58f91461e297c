"""What the files of a workspace refer to by text: files of Python, modules of packages, and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.parts import table, text
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.values import Json
    from llmdo.formats.documents import ManifestFile
    from llmdo.syntax.document import Document
    from llmdo.workspace.worker_file import WorkerFile


def python_file(reference: str) -> str | None:
    """The workspace file of `FILE.py:NAME`; None for `package.module:NAME`."""
    path = reference.rpartition(":")[0]
    return path if path.endswith(".py") else None


def package_files(reference: str) -> tuple[str, str]:
    """Where the module of `package.module:NAME` would be if it were a file of the workspace."""
    stem = reference.partition(":")[0].replace(".", "/")
    return f"{stem}.py", f"{stem}/__init__.py"


def module_files(reference: str) -> tuple[str, ...]:
    """Where the module of a reference is, if it is a file of the workspace: one of a package has two places."""
    path = python_file(reference)
    return (path,) if path else package_files(reference)


def references_of(workers: tuple[WorkerFile, ...]) -> Iterator[tuple[str, Place]]:
    """The Python files that `workers` name, and where."""
    for worker in workers:
        yield from worker.references
    for model, place in models_of(workers):
        yield from _model_file(model, place)


def manifest_references(document: Document, manifest: ManifestFile) -> Iterator[tuple[str, Place]]:
    """The Python files that the manifest names, and where."""
    for name, toolset in toolset_tables(manifest).items():
        if path := python_file(text(toolset.get("python"))):
            yield path, Place(document, ("toolsets", name, "python"))
    for name, worker in manifest.get("workers", {}).items():
        yield text(worker["python"]).rpartition(":")[0], Place(document, ("workers", name, "python"))
    for name, entry in manifest.get("entries", {}).items():
        if path := python_file(text(entry.get("function"))):
            yield path, Place(document, ("entries", name, "function"))
    for model, place in named_models(document, manifest):
        yield from _model_file(model, place)


def toolset_tables(manifest: ManifestFile) -> Mapping[str, Mapping[str, Json]]:
    """What the manifest says of each toolset, the built-in one among them."""
    return {name: table(stated) for name, stated in {**manifest.get("toolsets", {})}.items()}


def models_of(workers: Iterable[WorkerFile]) -> Iterator[tuple[str, Place]]:
    """The models that headers name, and where."""
    for worker in workers:
        if model := text(worker.header.get("model")):
            yield model, Place(worker.document, ("model",))


def named_models(document: Document, manifest: ManifestFile) -> Iterator[tuple[str, Place]]:
    """The models that the manifest names, and where."""
    for name, entry in manifest.get("entries", {}).items():
        if model := text(entry.get("model")):
            yield model, Place(document, ("entries", name, "model"))
    if model := text(manifest["workspace"].get("model")):
        yield model, Place(document, ("workspace", "model"))
    for alias, chain in manifest.get("models", {}).items():
        for number, model in enumerate([chain] if isinstance(chain, str) else chain):
            yield (
                model,
                Place(document, ("models", alias) if isinstance(chain, str) else ("models", alias, number)),
            )


def _model_file(model: str, place: Place) -> Iterator[tuple[str, Place]]:
    if model.startswith("python:") and (path := python_file(model.removeprefix("python:"))):
        yield path, place
