"""Several workspaces of one repository in one command: their selection, and their findings as seen from one folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Location
from llmdo.base.values import replace
from llmdo.services.root import root_folder
from llmdo.syntax import discovery
from llmdo.workspace.root import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic

ELSEWHERE = "package:"
"""The prefix of a path in no workspace."""


def roots(projects: Sequence[str], cwd: Path, *, everything: bool) -> tuple[Path, ...]:
    """The named workspaces, each once; `everything` are those whose manifests lie in or below `cwd`.

    Hidden folders, links and files that git ignores are left out.

    Raises:
        LlmdoError: There is none, or a named one has no manifest.
    """
    if everything and projects:
        raise LlmdoError("`--all` finds the workspaces itself", hint="leave out `--project`")
    if not everything:
        return tuple(dict.fromkeys(map(root_folder, projects)))
    ignored, _ = discovery.git_ignored(cwd)
    pattern = f"**/{MANIFEST}"
    paths = discovery.find(cwd, [pattern], ignored)[pattern].paths
    if not paths:
        raise LlmdoError(f"there is no `{MANIFEST}` in or below this folder")
    return tuple((cwd / path).parent for path in paths)


def prefix_of(root: Path, cwd: Path) -> str:
    """The prefix of a path of the workspace at `root` as seen from `cwd`: empty, or with a slash at the end."""
    relative = os.path.relpath(root, cwd).replace(os.sep, "/")
    return "" if relative == "." else f"{relative}/"


def seen_from(finding: Diagnostic, prefix: str) -> Diagnostic:
    """A finding with `prefix` before its paths, except before those in no workspace."""
    related = tuple(replace(other, at=_moved(other.at, prefix)) for other in finding.related)
    fix = finding.fix and replace(finding.fix, at=_moved(finding.fix.at, prefix))
    return replace(finding, at=_moved(finding.at, prefix), related=related, fix=fix)


def _moved(at: Location, prefix: str) -> Location:
    return at if at.path.startswith(ELSEWHERE) else Location(f"{prefix}{at.path}", at.span)
