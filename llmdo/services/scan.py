"""`scan`: the files of other tools in a folder, and the findings about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import foreign
from llmdo.base.diagnostic import CODES, LlmdoError, did_you_mean
from llmdo.base.request_fields import argument, option
from llmdo.base.values import dataclass, field
from llmdo.extensions.spec import AUTO
from llmdo.foreign import findings, flows
from llmdo.foreign.summary import summary_of
from llmdo.services.extensions import extensions_here

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.foreign.summary import ProjectSummary
    from llmdo.reach.flows import FlowRow

SEVERITIES = ("error", "warning", "note")
"""The gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """The folder to look at, and the findings to fail on."""

    folder: str = field(default=".", metadata=argument("[DIR]", "A folder, or one file."))
    fail_on: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Exit 1 on a finding of this code, or of this severity or a graver one; may be repeated.",
            metavar="SEVERITY|CODE",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOutcome:
    """The result of a scan."""

    project: Foreign
    summary: ProjectSummary
    failing: tuple[Diagnostic, ...]
    """The findings by which it fails."""

    @property
    def flows(self) -> Mapping[str, FlowRow]:
        """The flow of each agent with a finding about one (LDO552)."""
        return flows.gravest_flows(self.project)


def scan(request: ScanRequest) -> ScanOutcome:
    """The projects in a folder, of all formats.

    Raises:
        LlmdoError: There is nothing of any format, or it should fail on an unknown code or severity.
    """
    for name in request.fail_on:
        if name not in (*SEVERITIES, *CODES):
            hint = (
                did_you_mean(name, (*SEVERITIES, *CODES))
                or f"{', '.join(SEVERITIES)}, or a code such as LDO552"
            )
            raise LlmdoError(f"`{name}` is neither a severity nor a code", hint=hint)
    project = foreign.read(AUTO, Path(request.folder), extensions=extensions_here())
    every = findings.check(project)
    return ScanOutcome(
        project=project,
        summary=summary_of(project, every),
        failing=tuple(each for each in every if _fails(each, request.fail_on)),
    )


def _fails(finding: Diagnostic, fail_on: tuple[str, ...]) -> bool:
    severe = SEVERITIES[
        : 1 + max((SEVERITIES.index(each) for each in fail_on if each in SEVERITIES), default=-1)
    ]
    return finding.code in fail_on or finding.severity in severe
