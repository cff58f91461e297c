"""Frames of a failure as text: each place with its source line underlined, in the manner of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.base.source import Span
from llmdo.render.excerpt import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.base.backtrace import Frame


def lines(frames: Sequence[Frame]) -> Iterator[str]:
    """The innermost frame, then who called it."""
    width = max((len(str(frame.line)) for frame in frames), default=1)
    blank = " " * width
    for number, frame in enumerate(frames):
        arrow = ":::" if number else "-->"
        yield f"{blank}{arrow} {shown(frame.path)}:{frame.line}:{frame.column} in {shown(frame.function)}"
        if frame.source:
            span = Span(frame.line, frame.column, frame.line, frame.end_column)
            source, before, mark = drawn(frame.source, span)
            yield f"{blank} |"
            yield f"{frame.line:>{width}} | {source}"
            yield f"{blank} | {before}{mark}"
