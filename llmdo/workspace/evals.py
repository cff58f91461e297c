"""The evaluations of a workspace, as far as reading it needs them: the judging code, and the protected files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.syntax import discovery
from llmdo.workspace.references import python_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.base.cache import Seen
    from llmdo.base.values import Json
    from llmdo.workspace.source_files import SourceFiles

FOLDER = "evals"
SUFFIX = ".yaml"
MAX_FILE = 4 * 1024 * 1024  # bytes of one eval
RECORDINGS = "recordings"
"""The folder in which `llmdo runs test` looks for exported runs."""
GOVERNING = frozenset({f"{FOLDER}/*{SUFFIX}", f"{FOLDER}/*.json", f"{RECORDINGS}/**"})
"""The files that decide whether a run passes."""


def path_of(name: str) -> str:
    """The file of the eval of that name, as a path of the workspace."""
    return f"{FOLDER}/{name}{SUFFIX}"


def names(root: Path, seen: Seen | None = None) -> list[str]:
    """The evals of the workspace at `root`."""
    if discovery.exists(root, FOLDER, seen):
        return []
    listed = discovery.names(root, FOLDER, seen)
    return [
        name.removesuffix(SUFFIX) for name in listed if name.endswith(SUFFIX) and not name.startswith(".")
    ]


def judging_files(files: SourceFiles) -> tuple[str, ...]:
    """The Python files that evals name as judges, sorted; faults of an eval are reported when it is run."""
    if not (listed := names(files.root, files.seen)):
        return ()
    from llmdo.syntax import yaml_file  # which few workspaces need

    named: set[str] = set()
    for name in listed:
        source, problems = files.source(path_of(name), limit=MAX_FILE)
        data = None if problems else yaml_file.parse(source).data
        tables = [parts.table(data, "evaluators")]
        tables += [
            parts.table(parts.table(case), "evaluators")
            for case in parts.items(parts.table(data).get("cases"))
        ]
        named.update(path for table in tables for path in _files(table))
    return tuple(sorted(named))


def _files(table: Mapping[str, Json]) -> Iterator[str]:
    value = table.get("function")
    for reference in (value,) if isinstance(value, str) else parts.texts(value):
        if path := python_file(reference):
            yield path
