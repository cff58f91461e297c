"""The requests to the models of a run and their answers, as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.render.calls import UNKNOWN, value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.journal.requests import MessagePart, ShownRequest

_NAMES = {"user-prompt": "input", "tool-return": "result", "retry-prompt": "correction", "text": "text"}


def title(request: ShownRequest) -> str:
    """Which request it is."""
    return f"{request.path}: request {request.number} of {request.worker} to {request.model}"


def lines(request: ShownRequest, *, whole: bool) -> Iterator[str]:
    """The additions to a model's request since the one before, and the answer."""
    if request.after:
        yield f"  after {shown(request.after)}"
    if request.instructions is None:
        yield f"  instructions: {UNKNOWN}, which has their digest"
    elif request.number == 1 or whole:
        yield from value("instructions", request.instructions, whole=whole)
    if request.tools is None:
        yield f"  tools: {UNKNOWN}"
    else:
        names = ", ".join(shown(str(tool.get("name"))) for tool in request.tools)
        yield f"  tools: {names or 'none'}"
        if whole:
            for tool in request.tools:
                yield from value(
                    f"tool {tool.get('name')}", json.dumps(tool, ensure_ascii=False), whole=whole
                )
    for part in request.parts:
        yield from _part("given", part, whole=whole)
    for part in request.answered:
        yield from _part("answered", part, whole=whole)


def _part(verb: str, part: MessagePart, *, whole: bool) -> Iterator[str]:
    if part.kind == "tool-call":
        name = f"{verb} call of {part.tool} at {part.call}"
    else:
        name = f"{verb} {_NAMES.get(part.kind, part.kind)}" + (
            f" of {part.call or part.tool}" if part.tool else ""
        )
    if part.value is None:
        yield f"  {shown(name)}: {UNKNOWN}, which has its digest"
    else:
        yield from value(name, part.value, whole=whole)
