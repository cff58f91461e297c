"""Findings as text with the source line underlined, and as one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.codes import SEVERITIES
from llmdo.base.colour import painted, plain
from llmdo.base.diagnostic import place, shown
from llmdo.render.excerpt import drawn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.base.colour import Paint, Shade
    from llmdo.base.diagnostic import Diagnostic, Related
    from llmdo.base.source import Location
    from llmdo.render.report import Lines

_SHADES: dict[str, Shade] = {"error": "bad", "warning": "asks", "note": "note"}


def text(findings: Sequence[Diagnostic], lines: Lines, *, colour: bool = False) -> str:
    """Every finding with its place, the source line underlined, related places and hint; then a summary line."""
    paint = painted if colour else plain
    blocks = ["".join(f"{line}\n" for line in _block(finding, lines, paint)) for finding in findings]
    return "\n".join([*blocks, summary(findings) + "\n"])


def summary(findings: Sequence[Diagnostic]) -> str:
    """The number of findings of each severity, in words."""
    counts = [
        f"{number} {severity}{'s' if number != 1 else ''}"
        for severity in SEVERITIES
        if (number := sum(finding.severity == severity for finding in findings))
    ]
    return ", ".join(counts) if counts else "no findings"


def concise(findings: Iterable[Diagnostic]) -> str:
    """One line a finding: `path:line:column: severity[code]: message`."""
    return "".join(
        f"{place(finding.at)}: {finding.severity}[{finding.code}]: {shown(finding.message)}\n"
        for finding in findings
    )


def _block(finding: Diagnostic, lines: Lines, paint: Paint) -> Iterator[str]:
    shade = _SHADES[finding.severity]
    label = paint(shade, f"{finding.severity}[{finding.code}]")
    yield f"{label}: {shown(finding.message)}"
    width = max(
        (len(str(at.span.line)) for at in (finding.at, *(other.at for other in finding.related)) if at.span),
        default=1,
    )
    yield from _excerpt(finding.at, None, lines, width, paint, shade)
    for related in finding.related:
        yield from _related(related, lines, width, paint)
    if finding.hint:
        yield f"{' ' * width} {paint('gutter', '=')} hint: {shown(finding.hint)}"


def _related(related: Related, lines: Lines, width: int, paint: Paint) -> Iterator[str]:
    yield from _excerpt(related.at, related.message, lines, width, paint, "gutter")


def _excerpt(
    at: Location, note: str | None, lines: Lines, width: int, paint: Paint, shade: Shade
) -> Iterator[str]:
    arrow = "-->" if note is None else ":::"
    yield f"{' ' * width}{paint('gutter', arrow)} {place(at)}"
    label = shown(note) if note else ""
    source = lines(at.path) if at.span else ()
    if at.span is None or at.span.line > len(source):
        if label:
            yield f"{' ' * width} {paint('gutter', '=')} {label}"
        return
    line, before, underline = drawn(source[at.span.line - 1], at.span)
    bar = paint("gutter", "|")
    yield f"{' ' * width} {bar}"
    yield f"{at.span.line:>{width}} {bar} {line}"
    yield f"{' ' * width} {bar} {before}{paint(shade, f'{underline} {label}'.rstrip())}"
