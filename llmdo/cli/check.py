"""`llmdo check`, without the command-line library: it runs on every keystroke."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from llmdo import checks, discovery, project
from llmdo.cli.console import FINDINGS, FINE, has_colour, is_locked, root_folder, say, say_error
from llmdo.diagnostic import LlmdoError
from llmdo.render import report as reports
from llmdo.render.report import FOR_PEOPLE, Format, Report
from llmdo.values import dataclass
from llmdo.workspace import LOCK, MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llmdo.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class Options:
    """What `llmdo check` was asked for."""

    project: str | None = None
    locked: bool = False
    format: Format = "text"
    strict: bool = False
    fix: bool = False


def parse(words: Sequence[str]) -> Options | None:
    """The options in `words`; None for anything unusual, which the command-line library then answers."""
    values: dict[str, str | bool] = {}
    waiting = iter(words)
    for word in waiting:
        name, equals, value = word.partition("=")
        if word in ("--locked", "--strict", "--fix"):
            values[word[2:]] = True
        elif name in ("--project", "--format"):
            given = value if equals else next(waiting, None)
            if given is None or (name == "--format" and given not in get_args(Format)):
                return None
            values[name[2:]] = given
        else:
            return None
    return Options(**values)  # type: ignore[arg-type]  # the names are those just matched


def run(options: Options) -> int:
    """Checks the workspace, prints the findings and returns the exit code."""
    try:
        root = root_folder(options.project)
        if options.fix:
            _mend(root)
        read = project.read(root)
        found = checks.check(read, locked=is_locked(flag=options.locked, environ=os.environ))
    except LlmdoError as error:
        if options.format not in FOR_PEOPLE:
            _print(Report(error=error), options.format)
        raise
    report = Report(
        findings=checks.reported(read, found),
        lines=source_lines(root),
        files=(MANIFEST, *(worker.document.source.path for worker in read.workspace.workers), LOCK),
        folder=repository_folder(root, os.environ),
        strict=options.strict,
        colour=has_colour(sys.stdout),
    )
    _print(report, options.format)
    return FINDINGS if any(map(report.fails, report.findings)) else FINE


def _mend(root: Path) -> None:
    from llmdo import mending  # what edits and what relocks is only loaded for it

    try:
        for sentence in mending.mend(root):
            say(sentence)
    except LlmdoError as error:
        say_error(error)  # what is left to mend is among the findings


def _print(report: Report, form: Format) -> None:
    stream = sys.stdout
    if form not in FOR_PEOPLE and hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    stream.write(reports.rendered(report, form))
    if form == "github":
        _add_step_summary(report, os.environ)


def _add_step_summary(report: Report, environ: Mapping[str, str]) -> None:
    from llmdo.render.github import step_summary

    if path := environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(path).open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(step_summary(report))
        except OSError as error:
            say(f"note: no step summary was written: {error.strerror}")


def repository_folder(root: Path, environ: Mapping[str, str]) -> str:
    """Where the workspace is in the repository that a CI service checked out: `agents/`, empty for the top."""
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        if top := environ.get(name):
            folder = Path(os.path.realpath(root))
            if folder.is_relative_to(os.path.realpath(top)):
                path = folder.relative_to(os.path.realpath(top)).as_posix()
                return "" if path == "." else f"{path}/"
    return ""


def rendered(found: Sequence[Diagnostic], root: Path, form: Format) -> str:
    """Some findings about the workspace at `root` in a format, without what a whole check says besides."""
    report = Report(findings=tuple(found), lines=source_lines(root), colour=has_colour(sys.stdout))
    return reports.rendered(report, form)


def source_lines(root: Path) -> Callable[[str], Sequence[str]]:
    """The lines of the workspace's files, each read once."""

    @cache
    def lines(path: str) -> Sequence[str]:
        return discovery.read_source(root, path, limit=16 * discovery.MAX_FILE)[0].text.split("\n")

    return lines
