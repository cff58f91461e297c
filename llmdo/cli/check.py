"""`llmdo check`, without the command-line library: it runs on every keystroke."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from llmdo import checks
from llmdo.base import cache, resources
from llmdo.base.cache import Fingerprint
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.cli import quick
from llmdo.cli.console import FINDINGS, FINE, has_colour, root_folder, say, say_error
from llmdo.cli.sources import repository_folder, source_lines
from llmdo.render import formats
from llmdo.render.formats import FOR_PEOPLE, Format
from llmdo.render.report import Report
from llmdo.workspace import project
from llmdo.workspace.reading import LOCK, MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.workspace.project import Project

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

_NOT_KEPT = frozenset({"LDO105", "LDO107", "LDO537"})
"""Findings about what was not looked at as a whole: too many files, links, files that nobody may read; and about a
secret, of which no copy is kept."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What `llmdo check` was asked for."""

    project: str | None = None
    locked: bool = False
    format: Format = "text"
    strict: bool = False
    fix: bool = False
    no_cache: bool = False
    select: tuple[str, ...] = ()
    """Selectors: only findings about these workers, and about the entries that reach them."""
    base: str = "HEAD"
    """What `state:modified` compares with."""


def parse(words: Sequence[str]) -> CheckRequest | None:
    """The options in `words`; None for anything unusual, which the command-line library then answers."""
    found = quick.options(words)
    if found is None or found.get("format", "text") not in get_args(Format):
        return None
    return CheckRequest(**found)  # type: ignore[arg-type]  # the names are those that `quick` knows


def run(options: CheckRequest) -> int:
    """Checks the workspace, prints the findings and returns the exit code."""
    locked = quick.is_locked(flag=options.locked, environ=os.environ)
    try:
        root = root_folder(options.project)
        if options.fix:
            _mend(root)
        fingerprint = Fingerprint()
        read = project.read(root, seen=fingerprint.seen)
        found = checks.check(read, locked=locked)
    except LlmdoError as error:
        if options.format not in FOR_PEOPLE:
            _print(Report(error=error), options.format)
        raise
    findings = checks.reported(read, found)
    if options.select:
        findings = _selected(read, findings, options, root)
    report = Report(
        findings=findings,
        lines=source_lines(root),
        files=(MANIFEST, *(worker.document.source.path for worker in read.workspace.workers), LOCK),
        folder=repository_folder(root, os.environ),
        strict=options.strict,
        colour=has_colour(sys.stdout),
    )
    text = _print(report, options.format)
    del (
        read,
        found,
    )  # what is remembered takes its place: else both together would be the most that a check holds
    code = FINDINGS if any(map(report.fails, report.findings)) else FINE
    if (
        options.format in quick.REMEMBERED
        and not (options.no_cache or options.select)
        and _is_seen(report, fingerprint)
    ):
        asked = cache.question(
            locked=locked, strict=options.strict, form=options.format, colour=report.colour
        )
        _remember(root, asked, (code, text), fingerprint)
    return code


def _is_seen(report: Report, fingerprint: Fingerprint) -> bool:
    """Whether all that the findings are about was looked at, so that a change of it is noticed."""
    places = (place for one in report.findings for place in (one.at, *(other.at for other in one.related)))
    return all(at.path in fingerprint.seen for at in places if at.span) and _NOT_KEPT.isdisjoint(
        one.code for one in report.findings
    )


def _selected(
    read: Project, findings: Iterable[Diagnostic], options: CheckRequest, root: Path
) -> tuple[Diagnostic, ...]:
    """The findings about what was selected, and those about files that cannot be read.

    The latter are printed as well where a selector means nothing: it may name what is in such a file.
    """
    from llmdo.cli.graph import selected
    from llmdo.reach import selectors

    unread = tuple(one for one in findings if checks.is_about_unread(read, one))
    try:
        selection = selected(read, options.select, options.base, read.gaps.files)
    except LlmdoError as error:
        if unread or options.format not in FOR_PEOPLE:
            _print(Report(findings=unread, lines=source_lines(root), error=error), options.format)
        raise
    paths = {read.graph.workers[name].path for name in selection.workers}
    entries = selectors.entries_of(read.graph, selection)
    return tuple(one for one in findings if one in unread or one.at.path in paths or one.subject in entries)


def _mend(root: Path) -> None:
    from llmdo.services import fixing  # what edits and what relocks is only loaded for it

    try:
        for sentence in fixing.fix(root):
            say(sentence)
    except LlmdoError as error:
        say_error(error)  # what is left to fix is among the findings


def _remember(root: Path, asked: str, answer: tuple[int, str], fingerprint: Fingerprint) -> None:
    if not cache.is_off(os.environ):
        code = [module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] in _OURS]
        schemas = [
            str(resources.folder("schemas") / f"{form}.json") for form in ("manifest", "worker", "lock")
        ]
        top = os.path.abspath(root)  # noqa: PTH100  # as `quick` has it: no link is resolved
        cache.keep(top, asked, answer, fingerprint, [*filter(None, code), *schemas], os.environ)


def _print(report: Report, form: Format) -> str:
    """What was printed."""
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


def rendered(found: Sequence[Diagnostic], root: Path, form: Format) -> str:
    """Some findings about the workspace at `root` in a format, without what a whole check says besides."""
    report = Report(findings=tuple(found), lines=source_lines(root), colour=has_colour(sys.stdout))
    return formats.rendered(report, form)
