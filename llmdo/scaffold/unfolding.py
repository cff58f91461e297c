"""`init --from team.yaml`: a team in one file as a workspace, with a manifest and a file for each worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.nearest import MANIFEST
from llmdo.base.parts import table
from llmdo.graph.inventory import Inventory
from llmdo.scaffold import files
from llmdo.scaffold.template import with_lines, write_new
from llmdo.workspace import project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmdo.base.values import Json
    from llmdo.workspace.project import Project
    from llmdo.workspace.worker_file import WorkerFile

WORKERS = "workers"
_COPIED = frozenset({"policy", "program", "python", "recording"})
"""The kinds of files that a workspace brings along."""


def unfold(team: Path, directory: Path, *, force: bool) -> tuple[str, ...]:
    """Makes `directory` the workspace of the team whose file is the manifest of the folder `team`.

    Every entry reaches the same there. The code of the team is copied, but not the files that its tools work on, nor
    the comments. Returns the paths of the written files, in order.

    Raises:
        LlmdoError: `check` finds errors in the team, or something is in the way. Nothing was written then.
    """
    read = project.read(team)
    if error := next((each for each in checks.check(read) if each.severity == "error"), None):
        raise LlmdoError(
            error.message, hint="`llmdo check` shows all errors of the team", at=error.at, exit_code=1
        )
    contents = {MANIFEST: _manifest(read).encode()}
    contents |= {f"{WORKERS}/{file.name}.worker": _worker(file).encode() for file in _inline(read)}
    if team.resolve() != directory.resolve():
        contents |= dict(_copied(read))
    return write_new(directory, with_lines(directory, contents), force=force)


def _inline(read: Project) -> list[WorkerFile]:
    return [file for file in read.workspace.workers if file.is_inline]


def _copied(read: Project) -> Iterator[tuple[str, bytes]]:
    """The files of the team that it executes or obeys, with their contents."""
    for item in Inventory.of(read.graph).items:
        if item.kind in _COPIED and item.digest and not item.name.endswith("/"):
            content = files.read(read.workspace.root, item.name)
            if content is None:
                raise LlmdoError(f"`{item.name}` of the team is gone", exit_code=1)
            yield item.name, content


def _manifest(read: Project) -> str:
    stated = dict(read.workspace.manifest or {})
    own = {**table(stated.pop("workspace")), "workers": [f"{WORKERS}/*.worker"]}
    text = f"schema = {files.toml(stated.pop('schema'))}\n\n[workspace]\n{_lines(own)}"
    return text + "".join(_tables(stated))


def _tables(tables: Mapping[str, Json], *above: str) -> Iterator[str]:
    """Each table with its plain values, and those below the first level as tables of their own."""
    for name, value in tables.items():
        below = {key: part for key, part in table(value).items() if isinstance(part, Mapping)}
        plain = {key: part for key, part in table(value).items() if key not in below}
        if above:
            below, plain = {}, dict(table(value))
        if plain or not below:
            yield f"\n[{files.toml_key(*above, name)}]\n{_lines(plain)}"
        yield from _tables(below, *above, name)


def _lines(values: Mapping[str, Json]) -> str:
    return "".join(f"{files.toml_key(key)} = {files.toml(value)}\n" for key, value in values.items())


def _worker(file: WorkerFile) -> str:
    header = "".join(_header(file.header))
    return f"---\n{header}---\n{file.prompt or ''}"


def _header(header: Mapping[str, Json]) -> Iterator[str]:
    for key, value in header.items():
        if isinstance(value, Mapping) and value:
            below = (f"  {files.yaml_word(name)}: {files.yaml(part)}\n" for name, part in value.items())
            yield "".join((f"{key}:\n", *below))
        else:
            yield f"{key}: {files.yaml_word(value) if isinstance(value, str) else files.yaml(value)}\n"
