"""`check`, `lock` and `diff` over several workspaces of a repository: one report, and the worst of their exit codes."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, shown
from llmdo.cli.console import CANNOT_GO_ON, FINDINGS, FINE, has_colour, put, say, say_error
from llmdo.cli.sources import repository_folder, source_lines
from llmdo.render.report import Report
from llmdo.services.root import prefix_of, seen_from

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.cli.check import CheckOptions
    from llmdo.render.report import Lines
    from llmdo.services.diff import DiffOutcome
    from llmdo.services.root import Tell


def check(options: CheckOptions, roots: Sequence[Path]) -> int:
    """Checks workspaces, prints one report with paths as seen from here, and returns the exit code."""
    from llmdo.cli import check as single

    cwd = Path.cwd()
    findings: list[Diagnostic] = []
    files: list[str] = []
    lines = {}
    for root in roots:
        prefix, outcome = prefix_of(root, cwd), single.outcome_of(options, str(root))
        lines[prefix] = source_lines(root, outcome.fingerprint.seen)
        findings += (seen_from(finding, prefix) for finding in outcome.findings)
        files += (f"{prefix}{file}" for file in outcome.files)
        if outcome.problem:
            raise outcome.problem
    report = Report(
        findings=tuple(findings),
        lines=_lines(lines),
        files=tuple(files),
        folder=repository_folder(cwd, os.environ),
        strict=options.strict,
        colour=has_colour(sys.stdout),
    )
    single.print_report(report, options.format)
    return FINDINGS if any(map(report.fails, findings)) else FINE


def _lines(by_prefix: Mapping[str, Lines]) -> Lines:
    """The lines of the files of several workspaces; a file belongs to the nearest one above it."""
    prefixes = sorted(by_prefix, key=len, reverse=True)

    def lines(path: str) -> Sequence[str]:
        prefix = next((each for each in prefixes if path.startswith(each)), None)
        return () if prefix is None else by_prefix[prefix](path.removeprefix(prefix))

    return lines


def each(roots: Sequence[Path], work: Callable[[Path], int]) -> int:
    """Does the work for each workspace, after printing its name; the worst exit code."""
    cwd = Path.cwd()
    worst = FINE
    for root in roots:
        say(f"{shown(prefix_of(root, cwd) or './')}:")
        try:
            code = work(root)
        except LlmdoError as error:
            say_error(error)
            code = error.exit_code
        worst = max(worst, code)
    return worst


def diff(
    roots: Sequence[Path],
    form: str,
    compare: Callable[[Path, Tell], tuple[DiffOutcome, int]],
    *,
    verbose: bool,
) -> int:
    """Compares workspaces and prints the differences, one after the other or as one document; the worst exit code.

    Paths are as seen from here, and other messages begin with their workspace.
    """
    from llmdo.render import diff as render

    cwd = Path.cwd()
    worst, documents, texts = FINE, [], []
    for root in roots:
        folder = prefix_of(root, cwd)
        name = folder or "./"
        try:
            outcome, code = compare(root, _tell_about(name))
            outcome = replace(outcome, sides=replace(outcome.sides, folder=folder))
            text = render.rendered(outcome, form, verbose=verbose)  # type: ignore[arg-type]  # one of its formats
        except LlmdoError as error:
            code = CANNOT_GO_ON
            text = render.error_json(error) if form == "json" else ""
            say(f"{shown(name)}:")
            say_error(error)
        worst = max(worst, code)
        if form == "json":
            documents.append({"workspace": name, **json.loads(text)})
        elif text:
            title = f"## `{name}`\n\n" if form == "markdown" else f"{shown(name)}:\n"
            texts.append(f"{title}{text}")
    if form == "json":
        put(json.dumps({"workspaces": documents}, indent=2), as_json=True)
    else:
        put("\n".join(texts), end="")
    return worst


def _tell_about(name: str) -> Tell:
    """Tells a person about the workspace of that name."""
    return lambda line: say(f"{shown(name)}: {line}")
