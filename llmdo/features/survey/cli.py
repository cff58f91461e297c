"""`llmdo scan --many LIST`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, shown
from llmdo.cli.console import CANNOT_GO_ON, FINDINGS, FINE, put, say
from llmdo.features.survey import kinds, listed
from llmdo.features.survey import survey as surveys
from llmdo.render.amounts import counted
from llmdo.services.foreign import require_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.cli.scanning import ScanOptions
    from llmdo.features.survey.survey import Survey
    from llmdo.features.survey.surveyed import SurveyedProject


def scan(options: ScanOptions, many: str) -> int:
    """Scans the projects of a list, prints the table, writes the pages and returns the exit code.

    Raises:
        LlmdoError: The list cannot be used, or the pages cannot be written.
    """
    request = options.request
    if request.folder != ".":
        raise LlmdoError(f"`{request.folder}` conflicts with `--many`", hint="the list names the folders")
    if options.format == "markdown":
        raise LlmdoError("`--many` prints text or JSON", hint="`--to FOLDER` writes pages to read")
    require_known(request.fail_on)
    projects = listed.read(many)
    if request.to is not None:
        surveys.require_empty(request.to)
    survey = surveys.survey(projects, request.fail_on, say)
    if request.to is not None:
        say(f"wrote {counted(surveys.write(survey, request.to), 'page')} into {request.to}")
    if options.format == "json":
        put(surveys.as_json(survey), end="", as_json=True)
    else:
        put("\n".join(_table(survey)))
    return CANNOT_GO_ON if not survey.is_whole else FINDINGS if survey.fails else FINE


def _table(survey: Survey) -> Iterator[str]:
    """A line for each project."""
    for each in survey.projects:
        yield f"{each.listed.repository}@{each.listed.short}: {shown(', '.join(_facts(each)))}"
        if each.hint:
            yield f"  hint: {shown(each.hint)}"


def _facts(project: SurveyedProject) -> Iterator[str]:
    if project.problem:
        yield project.problem
        return
    of = f" ({', '.join(project.formats)})" if project.formats else ""
    yield counted(project.agents, "agent") + of
    yield from (f"{kinds.kind(code).name} ({number:,})" for code, number in project.kinds)
    if project.unread:
        yield f"{project.unread:,} not read"
