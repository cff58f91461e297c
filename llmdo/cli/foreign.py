"""`llmdo check --from FORMAT DIR`, without the command-line library, as a check of a workspace."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, get_args

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.cli.console import FINDINGS, FINE, has_colour, put, say
from llmdo.cli.sources import repository_folder, source_lines
from llmdo.foreign import not_enforced
from llmdo.render.formats import FOR_PEOPLE, Format, rendered
from llmdo.render.report import Report
from llmdo.services import foreign

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignOptions:
    """The options of `llmdo check --from`."""

    origin: tuple[str, str]
    format: Format = "text"
    strict: bool = False


def parse(words: Sequence[str]) -> ForeignOptions | None:
    """The options in `words`; None for anything unusual, which the command-line library then answers."""
    named: dict[str, object] = {}
    waiting = iter(words)
    for word in waiting:
        if word == "--from":
            named["origin"] = (next(waiting, ""), next(waiting, ""))
        elif word == "--strict":
            named["strict"] = True
        elif word.startswith("--format"):
            named["format"] = word.partition("=")[2] or next(waiting, "")
        else:
            return None
    origin, form = named.get("origin"), named.get("format", "text")
    if not isinstance(origin, tuple) or "" in origin or form not in get_args(Format):
        return None
    return ForeignOptions(**named)  # type: ignore[arg-type]  # the values were looked at


def check(options: ForeignOptions) -> int:
    """Checks the project, prints the findings and returns the exit code."""
    try:
        outcome = foreign.check(options.origin)
    except LlmdoError as error:
        if options.format not in FOR_PEOPLE:
            sys.stdout.write(rendered(Report(error=error), options.format))
        raise
    report = Report(
        findings=outcome.findings,
        lines=source_lines(outcome.root),
        files=outcome.files,
        folder=repository_folder(outcome.root, os.environ),
        strict=options.strict,
        colour=has_colour(sys.stdout),
        read_from=outcome.format,
    )
    sys.stdout.write(rendered(report, options.format))
    tell = put if options.format in FOR_PEOPLE else say
    tell(not_enforced(outcome.format))
    return FINDINGS if any(map(report.fails, report.findings)) else FINE
