"""The commands about foreign projects: `--from FORMAT DIR`. `check` of one runs without the command-line library."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from llmdo import foreign
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.cli.console import FINDINGS, FINE, has_colour, put, say
from llmdo.cli.sources import repository_folder, source_lines
from llmdo.foreign import findings
from llmdo.render.formats import FOR_PEOPLE, Format, rendered
from llmdo.render.report import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.diff import Difference
    from llmdo.foreign import Foreign
    from llmdo.reach import Row
    from llmdo.render import diff as differences

WORKTREE = "worktree"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRequest:
    """What `llmdo check --from` was asked for."""

    origin: tuple[str, str]
    format: Format = "text"
    strict: bool = False


def parse(words: Sequence[str]) -> ForeignRequest | None:
    """The options in `words`; None for anything unusual, which the command-line library then answers."""
    found: dict[str, object] = {}
    waiting = iter(words)
    for word in waiting:
        if word == "--from":
            found["origin"] = (next(waiting, ""), next(waiting, ""))
        elif word == "--strict":
            found["strict"] = True
        elif word.startswith("--format"):
            found["format"] = word.partition("=")[2] or next(waiting, "")
        else:
            return None
    origin, form = found.get("origin"), found.get("format", "text")
    if not isinstance(origin, tuple) or "" in origin or form not in get_args(Format):
        return None
    return ForeignRequest(**found)  # type: ignore[arg-type]  # the values were looked at


def check(options: ForeignRequest) -> int:
    """Checks the project, prints the findings and returns the exit code."""
    try:
        read = foreign.read(options.origin[0], Path(options.origin[1]))
    except LlmdoError as error:
        if options.format not in FOR_PEOPLE:
            sys.stdout.write(rendered(Report(error=error), options.format))
        raise
    root = foreign.root_of(Path(options.origin[1]))
    report = Report(
        findings=findings.check(read),
        lines=source_lines(root),
        files=read.team.files,
        folder=repository_folder(root, os.environ),
        strict=options.strict,
        colour=has_colour(sys.stdout),
        read_from=read.team.format,
    )
    sys.stdout.write(rendered(report, options.format))
    said = foreign.not_enforced(read.team.format)
    if options.format in FOR_PEOPLE:
        put(said)
    else:
        say(said)
    return FINDINGS if any(map(report.fails, report.findings)) else FINE


def opened(origin: tuple[str, str]) -> Foreign:
    """The project that `--from` names. What could not be read may be missing in the answer, and that is said."""
    form, folder = origin
    read = foreign.read(form, Path(folder))
    unread = sum(one.severity == "error" for one in read.team.problems)
    guessed = sum(one.code == "LDO150" for one in read.team.problems)
    for number, what in ((unread, "could not be read"), (guessed, "had to be guessed at")):
        if number:
            places = "1 place" if number == 1 else f"{number} places"
            say(f"warning: {places} {what} (`llmdo check --from {form} {folder}` shows them)")
    return read


def reach(read: Foreign, reached: Sequence[tuple[str, tuple[Row, ...]]], form: str) -> str:
    """The reach of these agents as text or as a page of Markdown."""
    from llmdo.render import foreign as render

    groups = render.alike(reached)
    if form == "text":
        return render.text(read.team.format, groups)
    return render.page(read, groups, findings.check(read))


def compared(origin: tuple[str, str], before: str, after: str) -> tuple[Difference, differences.Sides]:
    """The project at one revision against the same at another, or as it is on disk."""
    from dataclasses import replace

    from llmdo.diff import diff
    from llmdo.graph.resolved import Graph
    from llmdo.render.diff import Sides

    form, folder = origin[0], Path(origin[1])
    now = foreign.read(form, folder, None if after == WORKTREE else after)
    then = foreign.read(form, folder, before, may_be_empty=True)
    has_baseline = bool(then.team.agents)
    if not has_baseline:
        say(f"no baseline: nothing of {form} is at `{before}`, so everything is new")
    found = diff(then.graph if has_baseline else Graph(settings=now.graph.settings), now.graph)
    # The other facts are how we put it, not what the files say.
    told = tuple(change for change in found.changes if change.route[0] in ("entry", "worker"))
    sides = Sides(before=before, after=after, has_baseline=has_baseline, read_from=now.team.format)
    return replace(found, changes=told), sides


def table(form: str) -> str:
    """What each tool of a format can do, with sources."""
    from llmdo.foreign.tables import TABLES

    if form not in TABLES:
        raise LlmdoError(
            f"there is no table of `{form}`" if form else "a code, or `--from FORMAT`, is missing",
            hint=f"there are tables of {', '.join(TABLES)}",
        )
    from llmdo.render.foreign import table as drawn

    return drawn(TABLES[form])


def import_project(form: str, folder: Path, target: Path) -> int:
    """Writes the import, prints what it could not carry over, and returns the exit code."""
    from llmdo.render.foreign import report
    from llmdo.scaffold import importing

    read = opened((form, str(folder)))
    done = importing.import_project(read, target)
    put(report(done, target.as_posix()), end="")
    written = f", write what {importing.MODULE} stands for" if importing.MODULE in done.paths else ""
    say(f"next: read {target.as_posix()}/llmdo.toml{written}, then `llmdo lock`")
    return FINDINGS if any(one.severity == "error" for one in done.findings) else FINE
