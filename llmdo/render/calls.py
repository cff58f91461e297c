"""The calls of a run in full, with decisions and results, and the requests to its models with their answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, shown
from llmdo.render.excerpt import frame_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.journal.decided import DecidedCall
    from llmdo.journal.requests import MessagePart, ShownRequest
    from llmdo.journal.tree import Node

HEAD, TAIL = 400, 200
"""The number of shown characters of a long value at its start, and at its end."""

IN_LINE = 100
"""The largest number of characters of a value on the line of its name."""

MOST = 30  # arguments of one call that are shown unless all are wanted

UNKNOWN = "not in the journal"


def lines(node: Node, *, whole: bool) -> Iterator[str]:
    """All known facts of a call; long values shortened unless `whole`."""
    if node.worker is not None:
        yield from value("input", node.input, whole=whole)
    for decision in node.decisions:
        yield from _decision(decision, whole=whole)
    if not node.decisions:
        yield from _undecided(node, whole=whole)
    for answer in node.answers:
        yield from _answer(answer)
    yield from (f"  {probe(each)}" for each in node.probes)
    if node.outcome == "success":
        yield from value("result", node.result, whole=whole)
    elif node.outcome not in ("", "denied") and node.result is not None:
        yield from value("error", node.result, whole=whole)
    if node.hint:
        yield from value("hint", node.hint, whole=whole)
    if node.frames:
        yield from (f"  {line}" for line in frame_lines(node.frames))


def probe(asked: Mapping[str, object]) -> str:
    """The probe's answer about a call that did not finish, in a line."""
    return shown(str(asked["why"] or f"its probe `{asked['probe']}` said: {asked['answer']}"))


def value(name: str, content: object, *, whole: bool) -> Iterator[str]:
    """A value after its name; below it, each line behind a bar, if it is long or has several lines.

    Omitted lines are counted, in a line without a bar.
    """
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    if len(text) <= IN_LINE and "\n" not in text:
        yield f"  {shown(name)}: {shown(json.dumps(content, ensure_ascii=False))}"
        return
    left_out = len(text) - HEAD - TAIL
    is_cut = left_out > 0 and not whole
    yield f"  {shown(name)}: {len(text):,} characters"
    yield from _barred(text[:HEAD] if is_cut else text)
    if is_cut:
        yield f"    ... {left_out:,} characters left out: `--whole` shows them ..."
        yield from _barred(text[-TAIL:])


def _barred(text: str) -> Iterator[str]:
    return (f"    | {shown(line)}" for line in text.split("\n"))


def _arguments(arguments: object, *, whole: bool) -> Iterator[str]:
    if isinstance(arguments, dict):
        names = list(arguments) if whole else list(arguments)[:MOST]
        for name in names:
            yield from value(f"argument {name if whole else excerpt(name)}", arguments[name], whole=whole)
        if len(names) < len(arguments):
            yield f"  {len(arguments) - len(names):,} arguments left out: `--whole` shows them"
        if not arguments:
            yield "  no arguments"
    else:
        yield from value("arguments", arguments, whole=whole)


def _decision(call: DecidedCall, *, whole: bool) -> Iterator[str]:
    if call.tool:
        yield f"  {shown(call.tool)} of {shown(call.toolset)}, called by {shown(call.worker) or 'code'}"
    yield from _arguments(dict(call.arguments), whole=whole)
    yield f"  raises: {_listed(call.raised)}"
    verdict = "allowed" if call.allowed else "denied"
    yield f"  {verdict} by {shown(call.by)}; the rules say {call.decision}"
    yield from (f"    because {shown(reason)}" for reason in call.why)
    if call.changed is not None:
        yield from value("wanted instead", dict(call.changed), whole=whole)
    if call.refusal:
        yield from value("shown to its model", call.refusal, whole=whole)


def _undecided(node: Node, *, whole: bool) -> Iterator[str]:
    """The arguments of a call that waits for a decision, or on which nobody ever decided."""
    question: Mapping[str, object] = node.question or {}
    if question:
        yield from _arguments(question.get("arguments"), whole=whole)
        raised = question.get("capabilities")
        yield f"  raises: {_listed(raised) if isinstance(raised, list) else UNKNOWN}"
        only = ", which only a person at a terminal may give" if question.get("terminal_only") else ""
        yield "  was asked about, and not decided on yet" if node.answers else f"  waits for an answer{only}"
        reasons = question.get("reasons")
        if isinstance(reasons, list):
            yield from (f"    because {shown(str(each))}" for each in reasons)
    elif node.written is not None:
        yield from _arguments(_parsed(node.written), whole=whole)
        yield "  not decided on"
    elif node.worker is None:
        yield f"  arguments: {UNKNOWN}"


def _listed(raised: Iterable[object]) -> str:
    return ", ".join(shown(str(each)) for each in raised) or "nothing"


def _parsed(written: object) -> object:
    """A model's text as the object that it encodes; as it is if it encodes none."""
    try:
        parsed = json.loads(written) if isinstance(written, str) else written
    except (ValueError, RecursionError):
        return written
    return parsed if isinstance(parsed, dict) else written


def _answer(answer: Mapping[str, object]) -> Iterator[str]:
    verdict = "allowed" if answer.get("allowed") else "refused"
    where = " at a terminal" if answer.get("at_terminal") else ""
    reason = answer.get("told") or answer.get("reason")
    yield f"  {verdict} by {shown(str(answer.get('by')))}{where}" + (
        f": {shown(str(reason))}" if reason else ""
    )


_NAMES = {"user-prompt": "input", "tool-return": "result", "retry-prompt": "correction", "text": "text"}


def request_title(request: ShownRequest) -> str:
    """Which request it is."""
    return f"{request.path}: request {request.number} of {request.worker} to {request.model}"


def request_lines(request: ShownRequest, *, whole: bool) -> Iterator[str]:
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
        yield from _part_of_request("given", part, whole=whole)
    for part in request.answered:
        yield from _part_of_request("answered", part, whole=whole)


def _part_of_request(verb: str, part: MessagePart, *, whole: bool) -> Iterator[str]:
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
