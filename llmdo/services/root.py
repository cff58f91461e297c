"""The workspace of a command, or several of one repository, and what several requests ask for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.nearest import MANIFEST, TEAM_FILES, is_team_file, manifest_in, nearest
from llmdo.base.request_fields import argument, option
from llmdo.base.source import Location
from llmdo.base.values import dataclass, field, replace
from llmdo.services.invalid import require_extensions
from llmdo.syntax import discovery, toml
from llmdo.workspace.extensions import read_extensions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.extensions.spec import Extension

if TYPE_CHECKING:
    Tell = Callable[[str], None]
    """Takes a line for the person who waits."""


SOURCES = option("Run the workspace, or the code that an imported run brought.")
RUN = argument("RUN", "A run's id, a unique start or end of one, or `last`.")
ENTRY = argument("[ENTRY]", "One entry; all where left out.")
DEBUG = option("For a failure in code, show all frames, not only the workspace's own.")
MODELS = option("The model of workers that name none, or of one.", "--model", metavar="[WORKER=]MODEL")
MAX_DEPTH = option("Fewer delegations in a chain than the workspace allows.", least=0)
LOCKED = option("Refuse unless llmdo.lock is current. Default where CI is set.")
SELECT = option(
    "NAME, +NAME, NAME+, 2+NAME, toolset:NAME, cap:CAPABILITY, path:GLOB, state:modified[:REV]; a comma intersects.",
    metavar="SELECTOR",
)
PROJECT = option("The workspace's folder, instead of looking upwards from here.", metavar="DIR", last=True)
ORIGIN = option(
    "A project of another tool, read as it is: claude, codex, copilot, cursor, docker-agent, fast-agent, gemini, "
    "gh-aw, github-actions, kiro, llm-do, mcp, opencode, qwen, roo, skills or auto.",
    "--from",
    metavar="FORMAT DIR",
    last=True,
)


def root_folder(project: str | None) -> Path:
    """The workspace's root: `project`, else `LLMDO_PROJECT`, else found by walking up from here.

    Raises:
        LlmdoError: There is none.
    """
    from llmdo.workspace.root import find_root, is_workspace

    chosen = project or os.environ.get("LLMDO_PROJECT")
    if not chosen:
        try:
            return find_root(Path.cwd())
        except LlmdoError as error:
            if others := agents_file(Path.cwd()):
                raise LlmdoError(error.message, hint=_scanned(*others)) from None
            raise
    folder = Path(chosen)
    if folder.suffix in TEAM_SUFFIXES and folder.is_file():
        return team_folder(folder)
    if folder.name == MANIFEST and folder.is_file():
        return folder.parent.absolute()
    if not is_workspace(folder):
        raise LlmdoError(f"`{chosen}` has no `{MANIFEST}`", hint="`--project` names the folder that holds it")
    return folder.absolute()


TEAM_SUFFIXES = (".yaml", ".yml", ".md")


def team_folder(file: Path) -> Path:
    """The folder of a team in one file, which is its manifest.

    Raises:
        LlmdoError: It is no such file, or another one is the manifest of its folder.
    """
    if file.name not in TEAM_FILES:
        hint = f"a team in one file is called {' or '.join(f'`{name}`' for name in TEAM_FILES)}"
        raise LlmdoError(f"`{file}` does not have the name of a team", hint=hint)
    if not is_team_file(str(file)):
        hint = (
            f"the first key of a team is `team: NAME`; `llmdo scan {file.parent}` reads files of other tools"
        )
        raise LlmdoError(f"`{file}` is no team of llmdo", hint=hint)
    if (manifest := manifest_in(str(file.parent))) != file.name:
        message = f"`{file}` is not read, because `{manifest}` is the manifest of its folder"
        raise LlmdoError(message, hint="move it to a folder of its own")
    return file.parent.absolute()


def agents_file(folder: Path) -> tuple[str, str] | None:
    """A file of agents of another tool in `folder`, and whose it is; None if there is none at its usual place.

    Files that only their content tells, such as any `.yaml`, are not looked for.
    """
    from llmdo.foreign.known import formats  # only where there is no workspace

    for form in formats().values():
        for pattern in (each.removeprefix("**/") for each in form.files):
            if pattern.startswith(("*/", "*.yaml", "*.yml", "*.prompt")):
                continue
            if file := next(folder.glob(pattern), None):
                return file.relative_to(folder).as_posix(), form.product
    return None


def _scanned(file: str, tool: str) -> str:
    return (
        f"`llmdo scan` shows what the agents of {tool} in `{file}` can reach; `llmdo init` starts a workspace"
    )


ROOT = option(PROJECT["option"].help, "--project", metavar="DIR", last=True, by=root_folder)
"""The same folder as a `Path`, found where none is named."""


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
    patterns = [f"**/{name}" for name in (MANIFEST, *TEAM_FILES)]
    matches = discovery.find(cwd, patterns, ignored)
    folders = {(cwd / path).parent for pattern in patterns for path in matches[pattern].paths}
    if not (named := sorted(folder for folder in folders if manifest_in(str(folder)))):
        raise LlmdoError(f"there is no `{MANIFEST}` in or below this folder")
    return tuple(named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspaces:
    """The workspaces of a command that may be for several."""

    projects: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "The workspace's folder, instead of looking upwards from here; may be repeated.",
            "--project",
            metavar="DIR",
            last=True,
        ),
    )
    everything: bool = field(
        default=False,
        metadata=option(
            "All workspaces in and below this folder, but in what is hidden or git ignores.",
            "--all",
            last=True,
        ),
    )

    @property
    def first(self) -> str | None:
        """The folder of one, if it is named."""
        return self.projects[0] if self.projects else None

    @property
    def roots(self) -> tuple[Path, ...]:
        """Them, if more than the usual one is meant; none otherwise.

        Raises:
            LlmdoError: There is none, or a named one has no manifest.
        """
        if not self.everything and len(self.projects) < 2:
            return ()
        return roots(self.projects, Path.cwd(), everything=self.everything)


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


def extensions_here() -> tuple[Extension, ...]:
    """The extensions that the nearest manifest names, from the current folder upwards; none without a manifest.

    Raises:
        LlmdoError: One of them is not loaded, or the person's own policy cannot be used.
    """
    root = nearest(str(Path.cwd()), MANIFEST)
    if not root:
        return ()
    source, unread = discovery.read_source(Path(root), MANIFEST)
    if unread or "extensions" not in source.text:
        return ()
    problems: list[Diagnostic] = []
    loaded = read_extensions(Path(root), toml.parse(source), problems)
    require_extensions(problems)
    return tuple(each.extension for each in loaded)
