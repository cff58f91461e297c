"""Runs of the past: a list of them, or one as a tree, as text, JSON or Markdown."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import shown
from llmdo.base.values import fields
from llmdo.render import frames
from llmdo.render.amounts import counted, money, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.backtrace import Frame
    from llmdo.journal.summary import Node, Summary

LONGEST = 100  # characters of a text that a tree quotes


def listed(found: Iterable[Summary]) -> str:
    """A line for each run."""
    rows = [
        (one.run, one.status, _when(one.began), shown(one.entry), _lasted(one.began, one.ended), _spent(one))
        for one in found
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in rows
    )


def listed_as_json(found: Iterable[Summary]) -> str:
    """The document `llmdo.runs/1`."""
    return _json({"schema": "llmdo.runs/1", "runs": [summary_record(one) for one in found]})


def summary_record(one: Summary) -> dict[str, Any]:
    """A run as plain data; times in ISO 8601."""
    said = {each.name: getattr(one, each.name) for each in fields(one)}
    return {
        **said,
        "frames": [_plain(frame) for frame in one.frames],
        "began": _iso(one.began),
        "ended": None if one.ended is None else _iso(one.ended),
        "cost_usd": None if one.cost_usd is None else str(one.cost_usd),
    }


def as_text(one: Summary, roots: Mapping[str, Node]) -> str:
    """The run and its tree."""
    lines = [f"run {one.run}: entry {one.entry}, {one.status}, {_when(one.began)}, {_spent(one)}"]
    if one.error:
        lines.append(f"  {_quoted(one.error)}")
    if one.hint:
        lines.append(f"  hint: {one.hint}")
    if _shows_own(one.frames, roots):
        lines += [f"  {line}" for line in frames.lines(one.frames)]
    for node in roots.values():
        lines += _branch(node, 0, one)
    return "".join(f"{shown(line)}\n" for line in lines)


def as_markdown(one: Summary, roots: Mapping[str, Node]) -> str:
    """The same for a pull request or an issue: one table."""
    lines = [
        f"### Run `{one.run}`: entry `{_cell(one.entry)}`, {one.status}",
        "",
        f"{_when(one.began)}, {_spent(one)}",
        "",
        "| call | after | took | ended | decided | used |",
        "| --- | ---: | ---: | --- | --- | --- |",
    ]
    for node in _walk(roots):
        used = _used(node) if node.requests else ""
        after = f"{_since(one.began, node.began):.2f} s"
        row = (after, _took(node, one), _ended(node, one), _decided(node), used)
        lines.append(f"| {_cell(node.path)} | {' | '.join(map(_cell, row))} |")
    failed = [
        f"* {_cell(node.path)}: {_cell(_failed(one))}" for node in _walk(roots) for one in node.attempts
    ]
    if failed:
        lines += ["", *failed]
    if one.error:
        lines += ["", _cell(_quoted(one.error)), *([f"hint: {_cell(one.hint)}"] if one.hint else [])]
    crashes = [one.frames] if _shows_own(one.frames, roots) else []
    crashes += [node.frames for node in _walk(roots) if _shows_own(node.frames, node.children)]
    for crash in crashes:
        lines += ["", *(f"    {line}" for line in frames.lines(crash))]
    return "".join(f"{shown(line)}\n" for line in lines)


def as_json(one: Summary, roots: Mapping[str, Node]) -> str:
    """The document `llmdo.runs.show/1`."""
    return _json(
        {
            "schema": "llmdo.runs.show/1",
            **summary_record(one),
            "calls": [node_record(node) for node in roots.values()],
        }
    )


def node_record(node: Node) -> dict[str, Any]:
    """A call and all below it as plain data."""
    said = {each.name: getattr(node, each.name) for each in fields(node)}
    return {
        **said,
        "frames": [_plain(frame) for frame in node.frames],
        "began": _iso(node.began),
        "ended": _iso(node.ended),
        "cost_usd": None if node.cost_usd is None else str(node.cost_usd),
        "children": [node_record(child) for child in node.children.values()],
    }


def _plain(frame: Frame) -> dict[str, Any]:
    return {each.name: getattr(frame, each.name) for each in fields(frame)}


def _branch(node: Node, depth: int, one: Summary) -> Iterator[str]:
    """The lines of a call."""
    margin = "  " * (depth + 1)
    said = f": {_quoted(node.told)}" if node.told else ""
    took = _took(node, one)
    facts = [
        f"+{_since(one.began, node.began):.2f} s",
        f"took {took}" if took else "",
        _used(node) if node.requests else "",
        _decided(node),
        _ended(node, one),
    ]
    yield f"{margin}{node.name}  {', '.join(fact for fact in facts if fact)}{said}"
    for attempt in node.attempts:
        yield f"{margin}  {_failed(attempt)}"
    if _shows_own(node.frames, node.children):
        yield from (f"{margin}  {line}" for line in frames.lines(node.frames))
    for child in node.children.values():
        yield from _branch(child, depth + 1, one)


def _over(node: Node, one: Summary) -> float | None:
    """When the run ended, for the entry's worker alone: that is all that is kept of the worker's end."""
    return one.ended if node.worker and "/" not in node.path else None


def _took(node: Node, one: Summary) -> str:
    """How long a call took; nothing where it did not end."""
    over = _over(node, one)
    return f"{_since(node.began, over or node.ended):.2f} s" if node.outcome or over else ""


def _ended(node: Node, one: Summary) -> str:
    return node.outcome or ("" if _over(node, one) or node.only_decided else "not ended")


def _shows_own(crash: Sequence[Frame], below: Mapping[str, Node]) -> bool:
    """Whether no call below shows these frames, which would be nearer to where they belong."""
    return bool(crash) and all(node.frames != crash for node in _walk(below))


def _walk(nodes: Mapping[str, Node]) -> Iterator[Node]:
    for node in nodes.values():
        yield node
        yield from _walk(node.children)


def _failed(attempt: Mapping[str, Any]) -> str:
    """A request that was not answered, in a line."""
    said = f": {_quoted(attempt['message'])}" if attempt["message"] else ""
    return f"request {attempt['request']} to {attempt['model']} failed, {attempt['error']}{said}"


def _used(node: Node) -> str:
    cost = [money(node.cost_usd)] if node.cost_usd is not None else []
    return ", ".join(
        [counted(node.requests, "request"), *tokens(node.input_tokens, node.output_tokens), *cost]
    )


def _decided(node: Node) -> str:
    """Who let it run or did not; nothing where the rules allowed it without asking."""
    return "; ".join(
        f"{'allowed' if call.allowed else 'denied'} by {call.by}"
        for call in node.decisions
        if not call.allowed or call.by != "rules"
    )


def _spent(one: Summary) -> str:
    spent = [counted(one.requests, "request"), *tokens(one.input_tokens, one.output_tokens)]
    if one.cost_usd is not None:
        spent.append(money(one.cost_usd))
    if one.denied:
        spent.append(f"{one.denied} denied")
    if one.questions:
        spent.append(counted(one.questions, "question") + " waiting")
    return ", ".join(spent)


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[:LONGEST] + "..."


def _cell(text: str) -> str:
    """`text` within one cell of a table, with nothing in it that Markdown reads."""
    return "".join(f"\\{one}" if one in "|<>[]*_" else "'" if one == "`" else one for one in text)


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}Z"


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def _lasted(began: float, ended: float | None) -> str:
    return "" if ended is None else f"{_since(began, ended):.1f} s"


def _since(earlier: float, later: float) -> float:
    """The seconds between two times; 0 where the clock was set back."""
    return max(0.0, later - earlier)


def _json(document: Mapping[str, Any]) -> str:
    # ASCII alone: a terminal is shown no control or bidi character.
    return json.dumps(document, indent=2, default=str) + "\n"
