"""`llmdo check`, without the command-line library: it runs on every keystroke."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, get_args

from llmdo.base import cache, resources
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.base.values import dataclass, field
from llmdo.cli import quick, restating
from llmdo.cli.console import FINDINGS, FINE, has_colour, say, say_error
from llmdo.cli.sources import repository_folder, source_lines
from llmdo.render import formats
from llmdo.render.formats import FOR_PEOPLE, Format
from llmdo.render.report import Report
from llmdo.services import check
from llmdo.services.check import CheckRequest
from llmdo.services.root import SELECT, root_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.services.check import CheckOutcome
    from llmdo.workspace.source_files import Memory

_OURS = frozenset(
    {
        "attr",
        "attrs",
        "jsonschema",
        "jsonschema_specifications",
        "llmdo",
        "pathspec",
        "referencing",
        "rpds",
        "yaml",
    }
)
"""The packages whose code decides about the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """The options of `llmdo check`."""

    project: str | None = None
    locked: bool = field(default=False, metadata=option("Require a current lock. Default where CI is set."))
    strict: bool = field(default=False, metadata=option("Warnings fail as well."))
    fix: bool = field(
        default=False,
        metadata=option("Fix misspelt keys and names, and a stale lock, which imports toolset modules."),
    )
    no_cache: bool = field(
        default=False, metadata=option("Neither use nor keep what the last clean check saw.")
    )
    select: tuple[str, ...] = field(default=(), metadata=SELECT)
    format: Format = field(default="text", metadata=option("How findings are printed."))


def parse(words: Sequence[str]) -> CheckOptions | None:
    """The options in `words`; None for anything unusual, which the command-line library then answers."""
    named = quick.options(words)
    if named is None or named.get("format", "text") not in get_args(Format):
        return None
    return CheckOptions(**named)  # type: ignore[arg-type]  # the names are those that `quick` knows


def run(options: CheckOptions, memory: Memory | None = None) -> int:
    """Checks the workspace, prints the findings and returns the exit code; `memory` is of earlier checks."""
    locked = quick.is_locked(flag=options.locked, environ=os.environ)
    outcome = outcome_of(options, options.project, memory)
    report = _report(outcome, options)
    text = ""
    if outcome.problem is None or outcome.findings or options.format not in FOR_PEOPLE:
        text = print_report(report, options.format)
    if outcome.problem:
        raise outcome.problem
    code = FINDINGS if any(map(report.fails, report.findings)) else FINE
    is_whole = not (options.no_cache or options.select)
    shown = {at.path for finding in outcome.findings for at in finding.places}
    if (
        options.format in quick.REMEMBERED
        and is_whole
        and outcome.is_seen
        and outcome.fingerprint.holds(str(outcome.root), shown)  # else its lines were not shown
    ):
        question = cache.CheckQuestion(
            locked=locked, strict=options.strict, form=options.format, colour=report.colour
        )
        _remember(outcome, question, (code, text, restating.as_values(outcome.findings)))
    return code


def outcome_of(options: CheckOptions, project: str | None, memory: Memory | None = None) -> CheckOutcome:
    """The findings of a check of one workspace, once the fixable ones are fixed, if that is asked for.

    Raises:
        LlmdoError: The check cannot be made, which a format for programs says as well.
    """
    locked = quick.is_locked(flag=options.locked, environ=os.environ)
    try:
        if options.fix:
            _fix(root_folder(project))
        return check.check(CheckRequest(project=project, locked=locked, select=options.select), memory)
    except LlmdoError as error:
        if options.format not in FOR_PEOPLE:
            print_report(Report(error=error), options.format)
        raise


def _report(outcome: CheckOutcome, options: CheckOptions) -> Report:
    lines = source_lines(outcome.root, outcome.fingerprint.seen)
    if outcome.problem:
        return Report(findings=outcome.findings, lines=lines, error=outcome.problem)
    return Report(
        findings=outcome.findings,
        lines=lines,
        files=outcome.files,
        folder=repository_folder(outcome.root, os.environ),
        strict=options.strict,
        colour=has_colour(sys.stdout),
    )


def _fix(root: Path) -> None:
    from llmdo.cli.trusting import consent_here
    from llmdo.services import fixing  # what edits and what relocks is only loaded for it

    try:
        for sentence in fixing.fix(root, consent_here()):
            say(sentence)
    except LlmdoError as error:
        say_error(error)  # what is left to fix is among the findings


def _remember(outcome: CheckOutcome, question: cache.CheckQuestion, answer: cache.Answer) -> None:
    if not cache.is_off(os.environ):
        code = [module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] in _OURS]
        schemas = [
            str(resources.folder("schemas") / f"{form}.json")
            for form in ("manifest", "worker", "team", "lock")
        ]
        top = os.path.abspath(outcome.root)  # noqa: PTH100  # as `quick` has it: no link is resolved
        files = [*filter(None, code), *schemas]
        meanings = check.meanings(outcome)
        cache.keep(top, question, answer, outcome.fingerprint, files, os.environ, meanings)


def print_report(report: Report, form: Format) -> str:
    """Prints a report; returns the printed text."""
    stream = sys.stdout
    if form not in FOR_PEOPLE and hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    text = formats.rendered(report, form)
    stream.write(text)
    if form == "github":
        _add_step_summary(report, os.environ)
    return text


def _add_step_summary(report: Report, environ: Mapping[str, str]) -> None:
    from llmdo.render.github import step_summary

    if path := environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(path).open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(step_summary(report))
        except OSError as error:
            say(f"note: no step summary was written: {error.strerror}")


def rendered(findings: Sequence[Diagnostic], root: Path, form: Format) -> str:
    """Some findings about the workspace at `root` in a format, without the other parts of a check's report."""
    report = Report(findings=tuple(findings), lines=source_lines(root), colour=has_colour(sys.stdout))
    return formats.rendered(report, form)


def show_findings(findings: Sequence[Diagnostic], root: Path, stream: TextIO) -> None:
    """Prints the findings that hinder another command, as text."""
    stream.write(rendered(findings, root, "text"))
