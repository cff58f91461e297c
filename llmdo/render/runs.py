"""Past runs: a list, one as a tree, or their usage added up, as text, JSON or Markdown."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from llmdo.base.colour import PAPER
from llmdo.base.diagnostic import excerpt, shown
from llmdo.base.jsonable import document
from llmdo.journal.decided import IN_FULL
from llmdo.journal.tree import walk
from llmdo.render import calls
from llmdo.render.amounts import counted, money, tokens
from llmdo.render.excerpt import frame_lines
from llmdo.services.runs import TREE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.backtrace import Frame
    from llmdo.base.colour import Screen, Shade
    from llmdo.journal.requests import ShownRequest
    from llmdo.journal.run_item import RunItem
    from llmdo.journal.summary import Summary
    from llmdo.journal.totals import By, Total
    from llmdo.journal.tree import Node
    from llmdo.services.runs import Detail


LONGEST = 100  # characters of a text that a tree quotes
BELOW = " " * 6
AFTER_ENTRY = 4  # the columns of a row up to its entry, which stay together
GAP = "  "  # between columns
LEAST_TITLE = 24  # characters: with less room for it, it is on a line of its own

_SHADES: dict[str, Shade] = {
    "completed": "good",
    "truncated": "asks",
    "failed": "bad",
    "stopped": "bad",
    "interrupted": "asks",
    "waiting": "asks",
    "running": "note",
    "cancelled": "note",
}


def listed(runs: Iterable[Summary], screen: Screen = PAPER) -> str:
    """A line for each run with item and title; if the screen is too narrow, these, duration and usage are below it."""
    runs = tuple(runs)
    rows = [
        (
            shown(run.run),
            shown(run.status),
            _when(run.began),
            shown(run.entry),
            _lasted(run.began, run.ended),
            _spent(run),
        )
        for run in runs
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    needed = min(max((len(run.heading) for run in runs), default=0), LEAST_TITLE)
    columns = screen.columns or sys.maxsize
    room = columns - len(GAP.join("".ljust(width) for width in widths)) - (len(GAP) if needed else 0)
    is_folded = room < needed
    front = AFTER_ENTRY if is_folded else len(widths)
    lines = []
    for run, row in zip(runs, rows, strict=True):
        title = shown(run.heading)
        cells = [*map(str.ljust, row, widths)]
        cells[1] = screen.paint(_SHADES.get(row[1], "note"), row[1]) + " " * (len(cells[1]) - len(row[1]))
        lines.append(GAP.join([*cells[:front], *([] if is_folded else [_cut(title, room)])]).rstrip())
        if is_folded and title:
            lines.append(BELOW + _cut(title, columns - len(BELOW)))
        if is_folded:
            lines.append(BELOW + ", ".join(filter(None, row[front:])))
    return "".join(f"{line}\n" for line in lines)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"


def listed_as_json(runs: Iterable[Summary]) -> str:
    """The document `llmdo.runs/1`."""
    return document("llmdo.runs/1", {"runs": runs}, in_ascii=True)


def as_text(
    run: Summary, roots: Mapping[str, Node], detail: Detail = TREE, requests: Sequence[ShownRequest] = ()
) -> str:
    """The run and its tree, or its calls in full."""
    lines = [f"run {run.run}: entry {run.entry}, {run.status}, {_when(run.began)}, {_spent(run)}"]
    heads = (
        run.title,
        _item(run.item) if run.item else "",
        f"goes on from run {run.continues}" if run.continues else "",
        f"the output is not complete: {run.truncated}" if run.truncated else "",
        _quoted(run.error or ""),
        f"hint: {run.hint}" if run.hint else "",
    )
    lines += [f"  {head}" for head in heads if head]
    if _shows_own(run.frames, roots):
        lines += [f"  {line}" for line in frame_lines(run.frames)]
    if detail.calls:
        for node in walk(roots):
            lines += ["", ", ".join((node.path, *_facts(node, run)))]
            lines += [f"  {_failed(attempt)}" for attempt in node.attempts]
            lines += calls.lines(node, whole=detail.whole)
    elif not detail.messages:
        for node in roots.values():
            lines += _branch(node, 0, run)
    for request in requests:
        lines += ["", calls.request_title(request), *calls.request_lines(request, whole=detail.whole)]
    return "".join(f"{shown(line)}\n" for line in lines)


def as_markdown(
    run: Summary, roots: Mapping[str, Node], detail: Detail = TREE, requests: Sequence[ShownRequest] = ()
) -> str:
    """The same for a pull request or an issue: one table, and the calls in full on request."""
    lines = [
        f"### Run `{run.run}`: entry `{_cell(run.entry)}`, {run.status}",
        "",
        f"{_when(run.began)}, {_spent(run)}" + (f", goes on from `{run.continues}`" if run.continues else ""),
        *((_cell(run.title),) if run.title else ()),
        *((_cell(_item(run.item)),) if run.item else ()),
        "",
        "| call | after | took | ended | decided | used |",
        "| --- | ---: | ---: | --- | --- | --- |",
    ]
    for node in walk(roots):
        used = _used(node) if node.requests else ""
        after = f"{_since(run.began, node.began):.2f} s"
        row = (after, _took(node, run), _ended(node, run), _decided(node), used)
        lines.append(f"| {_cell(node.path)} | {' | '.join(map(_cell, row))} |")
    failed = [
        f"* {_cell(node.path)}: {_cell(_failed(attempt))}"
        for node in walk(roots)
        for attempt in node.attempts
    ]
    if failed:
        lines += ["", *failed]
    if run.truncated:
        lines += ["", f"the output is not complete: {_cell(run.truncated)}"]
    if run.error:
        lines += ["", _cell(_quoted(run.error)), *([f"hint: {_cell(run.hint)}"] if run.hint else [])]
    crashes = [run.frames] if _shows_own(run.frames, roots) else []
    if not detail.calls:
        crashes += [node.frames for node in walk(roots) if _shows_own(node.frames, node.children)]
    for crash in crashes:
        lines += ["", *(f"    {line}" for line in frame_lines(crash))]
    for node in walk(roots) if detail.calls else ():
        lines += ["", f"#### {_cell(node.path)}", ""]
        lines += [f"    {line}" for line in calls.lines(node, whole=detail.whole)]
    for request in requests:
        lines += ["", f"#### {_cell(calls.request_title(request))}", ""]
        lines += [f"    {line}" for line in calls.request_lines(request, whole=detail.whole)]
    return "".join(f"{shown(line)}\n" for line in lines)


def as_json(
    run: Summary, roots: Mapping[str, Node], detail: Detail = TREE, requests: Sequence[ShownRequest] = ()
) -> str:
    """The document `llmdo.runs.show/1`, in which nothing is shortened."""
    more = {"messages": requests} if detail.messages else {}
    part = IN_FULL if detail.calls else ""
    return document("llmdo.runs.show/1", run, {"calls": roots.values(), **more}, part=part, in_ascii=True)


def _branch(node: Node, depth: int, run: Summary) -> Iterator[str]:
    """The lines of a call."""
    margin = "  " * (depth + 1)
    answer = f": {_quoted(node.answer)}" if node.answer else ""
    yield f"{margin}{node.name}  {', '.join(_facts(node, run))}{answer}"
    for attempt in node.attempts:
        yield f"{margin}  {_failed(attempt)}"
    yield from (f"{margin}  {calls.probe(each)}" for each in node.probes)
    if _shows_own(node.frames, node.children):
        yield from (f"{margin}  {line}" for line in frame_lines(node.frames))
    for child in node.children.values():
        yield from _branch(child, depth + 1, run)


def _facts(node: Node, run: Summary) -> list[str]:
    """A call's start, duration, usage, decision and end."""
    took = _took(node, run)
    facts = (
        f"+{_since(run.began, node.began):.2f} s",
        f"took {took}" if took else "",
        _used(node) if node.requests else "",
        _decided(node),
        _ended(node, run),
    )
    return [fact for fact in facts if fact]


def _over(node: Node, run: Summary) -> float | None:
    """The end of the run, for the entry's worker alone: nothing else is kept of the worker's end."""
    return run.ended if node.worker and "/" not in node.path else None


def _took(node: Node, run: Summary) -> str:
    """The duration of a call, without the time in which it waited for a person; nothing if it did not end."""
    over = _over(node, run)
    if not (node.outcome or over):
        return ""
    waited = f", and waited {node.waited:.2f} s for a person" if node.waited else ""
    return f"{max(0.0, _since(node.began, over or node.ended) - node.waited):.2f} s{waited}"


def _ended(node: Node, run: Summary) -> str:
    return node.outcome or ("" if _over(node, run) or node.only_decided else "not ended")


def _shows_own(crash: Sequence[Frame], below: Mapping[str, Node]) -> bool:
    """Whether no call below shows these frames, which would be nearer to their origin."""
    return bool(crash) and all(node.frames != crash for node in walk(below))


def _failed(attempt: Mapping[str, object]) -> str:
    """A request that was not answered, in a line."""
    message = f": {_quoted(str(attempt['message']))}" if attempt["message"] else ""
    return f"request {attempt['request']} to {attempt['model']} failed, {attempt['error']}{message}"


def _used(node: Node) -> str:
    cost = [money(node.cost_usd)] if node.cost_usd else []
    return ", ".join(
        [counted(node.requests, "request"), *tokens(node.input_tokens, node.output_tokens), *cost]
    )


def _decided(node: Node) -> str:
    """Who let it run or did not; nothing if the rules allowed it without asking."""
    return "; ".join(
        f"{'allowed' if call.allowed else 'denied'} by {call.by}"
        for call in node.decisions
        if not call.allowed or call.by != "rules"
    )


def _spent(run: Summary) -> str:
    spent = [counted(run.requests, "request"), *tokens(run.input_tokens, run.output_tokens)]
    if run.cost_usd:
        spent.append(money(run.cost_usd))
    if run.denied:
        spent.append(f"{run.denied} denied")
    if run.turn > 1:
        spent.append(f"turn {run.turn} of a conversation")
    if run.questions:
        spent.append(counted(run.questions, "question") + " waiting")
    return ", ".join(spent)


def _item(item: RunItem) -> str:
    """What the run is for, and the command that shows all of that."""
    if item.eval is None:
        return f"item {item.key} of batch {item.batch}; `llmdo batch show {item.batch}` lists all"
    part = f"a question to {item.judge}" if item.judge else f"case {item.case}, run {item.trial},"
    return f"{part} of eval {item.eval}; `llmdo eval show {item.evaluation}` shows all"


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[:LONGEST] + "..."


def _cell(text: str) -> str:
    """`text` within one cell of a table, without Markdown syntax."""
    return "".join(
        f"\\{character}" if character in "|<>[]*_" else "'" if character == "`" else character
        for character in text
    )


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}Z"


def _lasted(began: float, ended: float | None) -> str:
    return "" if ended is None else f"{_since(began, ended):.1f} s"


def _since(earlier: float, later: float) -> float:
    """The seconds between two times; 0 if the clock was set back."""
    return max(0.0, later - earlier)


_HEADS = ("runs", "requests", "tokens", "cost", "seconds", "failures", "questions", "answers")
_LONGEST_NAME = 60  # characters


def totals_as_text(totals: Sequence[Total], by: By) -> str:
    """A line for each name."""
    rows = [(by, *_HEADS), *map(_row, totals)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in rows
    )


def totals_as_json(totals: Sequence[Total], by: By) -> str:
    """The document `llmdo.runs.stats/1`; null is a value that nobody measured, priced or asks."""
    return document("llmdo.runs.stats/1", {"by": by, "totals": totals}, in_ascii=True)


def _row(total: Total) -> tuple[str, ...]:
    tokens = f"{total.input_tokens:,} + {total.output_tokens:,}"
    return (
        excerpt(total.name, _LONGEST_NAME),
        f"{total.runs:,}",
        f"{total.requests:,}",
        _amount(tokens, total.unmeasured, is_known=total.is_measured),
        _amount(money(total.cost_usd), total.unpriced, is_known=total.is_priced),
        f"{total.seconds:,.1f}",
        f"{total.failures:,}",
        *("-" if number is None else f"{number:,}" for number in (total.questions, total.answers)),
    )


def _amount(known: str, unknown: int, *, is_known: bool) -> str:
    if not is_known:
        return "unknown"
    return f"{known}, unknown of {counted(unknown, 'request')}" if unknown else known
