"""Foreign projects: `--from FORMAT DIR` checked and asked about, and `scan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import foreign
from llmdo.base.codes import CODES, SEVERITIES
from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.nearest import is_team_file
from llmdo.base.request_fields import argument, option
from llmdo.base.values import dataclass, field, replace
from llmdo.extensions.spec import AUTO
from llmdo.foreign import findings, flows
from llmdo.foreign.known import formats, table_of
from llmdo.foreign.summary import summary_of
from llmdo.foreign.team import together
from llmdo.services.root import extensions_here

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.foreign.lines import Line
    from llmdo.foreign.summary import ProjectSummary
    from llmdo.reach.flows import FlowRow
    from llmdo.services.own_teams import OwnTeam
    from llmdo.services.root import Tell


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignOutcome:
    """The result of a check of a foreign project."""

    findings: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    root: Path
    format: str


def check(origin: tuple[str, str]) -> ForeignOutcome:
    """The findings about the project, and the reasons why parts could not be read.

    Raises:
        LlmdoError: There is no such project, or no such format.
    """
    name, folder = origin
    return check_of(foreign.read(name, Path(folder), extensions=extensions_here()))


def check_of(read: Foreign) -> ForeignOutcome:
    """The same of a project that was read."""
    return ForeignOutcome(
        findings=findings.check(read),
        files=read.team.files,
        root=read.root,
        format=read.team.format,
    )


def opened(origin: tuple[str, str], tell: Tell) -> Foreign:
    """The project that `--from` names. A warning says if unreadable files may be missing in the answer."""
    name, folder = origin
    read = foreign.read(name, Path(folder), extensions=extensions_here())
    unread = sum(problem.severity == "error" for problem in read.team.problems)
    guessed = sum(problem.code == "LDO150" for problem in read.team.problems)
    for number, problem in ((unread, "could not be read"), (guessed, "had to be guessed at")):
        if number:
            places = "1 place" if number == 1 else f"{number} places"
            tell(f"warning: {places} {problem} (`llmdo check --from {name} {folder}` shows them)")
    return read


def table(name: str) -> tuple[Line, ...]:
    """The capabilities of each tool of a format, with sources.

    Raises:
        LlmdoError: There is no table of it.
    """
    known = formats(extensions_here())
    if name not in known:
        raise LlmdoError(
            f"there is no table of `{name}`" if name else "a code, or `--from FORMAT`, is missing",
            hint=f"there are tables of {', '.join(known)}",
        )
    return table_of(known[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """The folder to look at, or a list of many, and the findings to fail on."""

    folder: str = field(default=".", metadata=argument("[DIR]", "A folder, or one file."))
    fail_on: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Exit 1 on a finding of this code, or of this severity or a graver one; may be repeated.",
            metavar="SEVERITY|CODE",
        ),
    )
    many: str | None = field(
        default=None,
        metadata=option(
            "Scan each project of a list instead: lines `owner/name@COMMIT CLONE`.", metavar="LIST"
        ),
    )
    to: str | None = field(
        default=None,
        metadata=option("The new folder for the pages about the projects of a list.", metavar="FOLDER"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOutcome:
    """The result of a scan."""

    project: Foreign
    summary: ProjectSummary
    failing: tuple[Diagnostic, ...]
    """The findings by which it fails."""
    own: tuple[OwnTeam, ...] = ()
    """The teams of llmdo in it."""

    @property
    def flows(self) -> Mapping[str, FlowRow]:
        """The flow of each agent with a finding about one (LDO552, LDO555)."""
        return {name: flow.row for name, flow in flows.worst_flows(self.project).items()}


def scan(request: ScanRequest) -> ScanOutcome:
    """The projects in a folder, of all formats.

    Raises:
        LlmdoError: There is nothing of any format, or it should fail on an unknown code or severity.
    """
    require_known(request.fail_on)
    folder = Path(request.folder)
    if is_team_file(request.folder):
        nothing = foreign.foreign_of(folder.parent.absolute(), together(()), ())
        return scan_of(replace(nothing, own=(folder.name,)), request.fail_on)
    return scan_of(foreign.read(AUTO, folder, extensions=extensions_here()), request.fail_on)


def require_known(fail_on: tuple[str, ...]) -> None:
    """Check that each word of `--fail-on` is a severity or a code."""
    for name in fail_on:
        if name not in (*SEVERITIES, *CODES):
            hint = (
                did_you_mean(name, (*SEVERITIES, *CODES))
                or f"{', '.join(SEVERITIES)}, or a code such as LDO552"
            )
            raise LlmdoError(f"`{name}` is neither a severity nor a code", hint=hint)


def scan_at(path: Path, revision: str, fail_on: tuple[str, ...]) -> ScanOutcome:
    """The scan of a clone at a git revision, from git's objects alone; without agents it says so.

    Raises:
        LlmdoError: There is no such clone or revision.
    """
    extensions = extensions_here()
    return scan_of(foreign.read(AUTO, path, revision, may_be_empty=True, extensions=extensions), fail_on)


def scan_of(project: Foreign, fail_on: tuple[str, ...] = ()) -> ScanOutcome:
    """The scan of a project that was read."""
    every = findings.check(project)
    own = _own_teams(project)
    judged = (*every, *(finding for team in own for finding in team.findings))
    return ScanOutcome(
        project=project,
        summary=summary_of(project, every),
        failing=tuple(each for each in judged if _fails(each, fail_on)),
        own=own,
    )


def _own_teams(project: Foreign) -> tuple[OwnTeam, ...]:
    if not project.own:
        return ()
    from llmdo.services.own_teams import teams_in  # what only few projects need

    return tuple(teams_in(project.root, project.own))


def _fails(finding: Diagnostic, fail_on: tuple[str, ...]) -> bool:
    severe = SEVERITIES[
        : 1 + max((SEVERITIES.index(each) for each in fail_on if each in SEVERITIES), default=-1)
    ]
    return finding.code in fail_on or finding.severity in severe
