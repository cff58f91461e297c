"""The scan of one project of a list, as a row of the table and a page."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.features.survey import kinds, project
from llmdo.render import page
from llmdo.render import scan as render
from llmdo.render.foreign import alike
from llmdo.services import foreign
from llmdo.syntax import commits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.features.survey.listed import ListedProject
    from llmdo.render.page import Reached

WORST = 3  # capabilities in a row


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedProject:
    """A project with the result of its scan, or with the reason why there is none."""

    listed: ListedProject
    problem: str | None = None
    hint: str | None = None
    formats: tuple[str, ...] = ()
    agents: int = 0
    unasked: tuple[str, ...] = ()
    """The worst capabilities that an agent has without a question, in words."""
    kinds: tuple[tuple[str, int], ...] = ()
    """The codes of findings, each with its number."""
    asked: int = 0
    """Findings about what a person is asked first."""
    unread: int = 0
    """Files not read, or only in part."""
    fails: bool = False
    """Whether a finding is one that `--fail-on` names."""
    scan: str = ""
    """The scan as JSON, `llmdo.scan/1`."""
    page: str = ""
    """The page about it."""


def survey(listed: ListedProject, fail_on: tuple[str, ...] = ()) -> SurveyedProject:
    """The scan of a project, or a sentence about a clone or a commit that is not there."""
    clone = Path(listed.clone)
    if not ((clone / ".git").exists() or (clone / "HEAD").is_file()):
        return SurveyedProject(
            listed=listed,
            problem=f"there is no clone at `{listed.clone}`",
            hint=f"`git clone {listed.address} {listed.clone}`",
        )
    try:
        commits.commit_of(clone, listed.commit)
    except LlmdoError as error:
        hint = f"`git -C {listed.clone} fetch --depth 1 origin {listed.commit}`"
        return SurveyedProject(listed=listed, problem=error.message, hint=hint)
    try:
        outcome = foreign.scan_at(clone, listed.commit, fail_on)
    except LlmdoError as error:
        return SurveyedProject(listed=listed, problem=error.message, hint=error.hint)
    read, summary = outcome.project, outcome.summary
    groups = alike((each, read.analysis.of(each)) for each in read.graph.entries.values())
    reached = tuple(page.reached(read, groups))
    numbers = Counter(each.code for cause in summary.causes for each in cause.findings)
    return SurveyedProject(
        listed=listed,
        formats=tuple(team.format for team in read.teams if team.agents),
        agents=summary.agents,
        unasked=tuple(_worst(reached)),
        kinds=tuple(sorted(numbers.items())),
        asked=sum(cause.number for cause in summary.asked),
        unread=sum(cause.number for cause in summary.unread),
        fails=bool(outcome.failing),
        scan=render.rendered(outcome, "json"),
        page=project.document(listed, outcome, reached),
    )


def _worst(reached: Iterable[Reached]) -> Iterator[str]:
    """The worst capabilities without a question, in words: one of commands, one of files, and so on."""
    first_of: dict[str, str] = {}
    for line in reached:
        if line.unasked:
            name = line.best.capability.name
            first_of.setdefault(name.partition(".")[0], kinds.ability(name))
    yield from list(first_of.values())[:WORST]
