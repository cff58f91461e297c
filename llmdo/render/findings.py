"""Findings as text with the source line underlined, as one line each, and as JSON."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING

from llmdo.diagnostic import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmdo.diagnostic import Diagnostic, LlmdoError, Related
    from llmdo.source import Location

    Lines = Callable[[str], Sequence[str]]
    """The lines of a file of the workspace, without their ends; none for a file that cannot be shown."""

_COLOURS = {"error": "31;1", "warning": "33;1", "note": "36;1", "dim": "34;1"}


def text(findings: Sequence[Diagnostic], lines: Lines, *, colour: bool = False) -> str:
    """Every finding with its place, the source line underlined, related places and hint; then a summary line."""
    paint = _paint if colour else _plain
    blocks = ["".join(f"{line}\n" for line in _block(finding, lines, paint)) for finding in findings]
    return "\n".join([*blocks, summary(findings) + "\n"])


def summary(findings: Sequence[Diagnostic]) -> str:
    """How many findings there are of each severity, in words."""
    counts = [
        f"{number} {severity}{'s' if number != 1 else ''}"
        for severity in ("error", "warning", "note")
        if (number := sum(finding.severity == severity for finding in findings))
    ]
    return ", ".join(counts) if counts else "no findings"


def concise(findings: Iterable[Diagnostic]) -> str:
    """One line a finding: `path:line:column: severity[code]: message`."""
    return "".join(
        f"{place(finding.at)}: {finding.severity}[{finding.code}]: {shown(finding.message)}\n"
        for finding in findings
    )


def place(at: Location) -> str:
    """`path:line:column`, or the path alone for a whole file."""
    return f"{shown(at.path)}:{at.span.line}:{at.span.column}" if at.span else shown(at.path)


def to_json(findings: Sequence[Diagnostic], status: str, *, error: LlmdoError | None = None) -> str:
    """The findings in the form `llmdo.check/1`; `status` is `clean`, `findings` or, with an `error`, `error`."""
    document: dict[str, object] = {
        "schema": "llmdo.check/1",
        "status": status,
        "findings": [
            {
                "code": finding.code,
                "name": finding.name,
                "severity": finding.severity,
                **_where(finding.at),
                "message": finding.message,
                "hint": finding.hint,
                "related": [{**_where(one.at), "message": one.message} for one in finding.related],
            }
            for finding in findings
        ],
    }
    if error:
        document["error"] = {"message": error.message, "hint": error.hint}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _where(at: Location) -> dict[str, object]:
    span = at.span
    return {
        "path": at.path,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "end_line": span.end_line if span else None,
        "end_column": span.end_column if span else None,
    }


def _plain(_colour: str, words: str) -> str:
    return words


def _paint(colour: str, words: str) -> str:
    return f"\x1b[{_COLOURS[colour]}m{words}\x1b[0m"


def _block(finding: Diagnostic, lines: Lines, paint: Callable[[str, str], str]) -> Iterator[str]:
    label = paint(finding.severity, f"{finding.severity}[{finding.code}]")
    yield f"{label}: {shown(finding.message)}"
    width = max(
        (len(str(at.span.line)) for at in (finding.at, *(one.at for one in finding.related)) if at.span),
        default=1,
    )
    yield from _excerpt(finding.at, None, lines, width, paint, finding.severity)
    for related in finding.related:
        yield from _related(related, lines, width, paint)
    if finding.hint:
        yield f"{' ' * width} {paint('dim', '=')} hint: {shown(finding.hint)}"


def _related(related: Related, lines: Lines, width: int, paint: Callable[[str, str], str]) -> Iterator[str]:
    yield from _excerpt(related.at, related.message, lines, width, paint, "dim")


def _excerpt(
    at: Location,
    note: str | None,
    lines: Lines,
    width: int,
    paint: Callable[[str, str], str],
    colour: str,
) -> Iterator[str]:
    arrow = "-->" if note is None else ":::"
    yield f"{' ' * width}{paint('dim', arrow)} {place(at)}"
    if at.span is None:
        if note:
            yield f"{' ' * width} {paint('dim', '=')} {shown(note)}"
        return
    found = lines(at.path)
    if at.span.line > len(found):
        return
    line = found[at.span.line - 1]
    last = at.span.end_column if at.span.end_line == at.span.line else len(line) + 1
    before, marked = line[: at.span.column - 1], line[at.span.column - 1 : last - 1]
    bar = paint("dim", "|")
    shown_before, shown_marked = _drawn(before), _drawn(marked)
    rest = _drawn(line[last - 1 :])
    underline = "^" * max(1, columns(shown_marked))
    yield f"{' ' * width} {bar}"
    yield f"{at.span.line:>{width}} {bar} {_cut(shown_before + shown_marked + rest)}"
    note_text = f" {shown(note)}" if note else ""
    yield f"{' ' * width} {bar} {' ' * columns(shown_before)}{paint(colour, underline + note_text)}"


MAX_LINE = 400  # columns of an excerpt: a longer line is cut, and says so


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + " ..."


def _drawn(text: str) -> str:
    """`text` as a terminal shows it: tabs as four spaces, what is invisible spelled out."""
    return shown(text.replace("\t", "    "))


def columns(text: str) -> int:
    """How many terminal columns `text` takes; wide characters take two, combining ones none."""
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
