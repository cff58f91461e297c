"""The files of a workspace that take the place of a model: recordings, and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.diagnostic import finding
from llmdo.base.values import replace
from llmdo.graph.models import recording_file, script_file
from llmdo.syntax import discovery

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.syntax.document import Place
    from llmdo.workspace.script import ModelScript
    from llmdo.workspace.source_files import SourceFiles

MAX_RECORDING = 256 * 1024 * 1024  # bytes: each check reads all of it


def read_model_files(
    models: Iterable[tuple[str, Place]], files: SourceFiles, problems: list[Diagnostic], unread: set[str]
) -> tuple[dict[str, str], tuple[ModelScript, ...]]:
    """The digest of each file that `models` name, and the scripts among them.

    Faults are added to `problems`, files of which nothing can be used to `unread`.
    """
    named: dict[str, Place] = {}
    for model, place in models:
        if file := recording_file(model) or script_file(model):
            named.setdefault(file, place)
    digests: dict[str, str] = {}
    scripts: list[ModelScript] = []
    for path, place in named.items():
        if script_file(f"script:{path}"):
            script, faults = _script(path, files)
            # One of the whole file is at the place that names it.
            problems.extend(each if each.at.span else replace(each, at=place.location) for each in faults)
            if script is None:
                unread.add(path)
            else:
                scripts.append(script)
                digests[path] = script.digest
            continue
        content = discovery.read(files.root, path, limit=MAX_RECORDING, seen=files.seen)
        if isinstance(content, discovery.RefusedPath):
            problems.append(finding(content.code, place.location, f"`{path}` {content.reason}"))
            unread.add(path)
        else:
            digests[path] = digest.of_bytes(content)
    return digests, tuple(scripts)


def _script(path: str, files: SourceFiles) -> tuple[ModelScript | None, tuple[Diagnostic, ...]]:
    from llmdo.workspace import script as reading  # which few workspaces need

    source, problems = files.source(path, limit=reading.MAX_SCRIPT)
    if problems:
        return None, problems
    script = reading.parse(source)
    return script, script.problems
