"""The waiting questions: in a line each, as `llmdo.approve/1`, and drawn as `llmdo.inbox/1` and `llmdo.question/1`."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from llmdo.base import jsonable
from llmdo.base.diagnostic import excerpt, shown
from llmdo.base.visible import visible, without_runs
from llmdo.render import provenance
from llmdo.render.amounts import since
from llmdo.render.drawn import counted, drawn_arguments, drawn_names, drawn_texts, named
from llmdo.services.inbox import like_calls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.base.values import Json
    from llmdo.journal.questions import Waiting
    from llmdo.services.answering import ApproveOutcome
    from llmdo.services.inbox import LikeCalls, Pending, PendingCall, ProposedChange

    Calls = Mapping[tuple[str, str], PendingCall]
    """Questions in full, by run and call path."""

LONGEST = 200  # characters of the arguments that a line of the list quotes


def listed(pending: Sequence[Pending]) -> dict[str, Json]:
    """The document of all waiting questions, a line each, and which of them are about like calls.

    Fields that an answer has to repeat are only in a question's own document.
    """
    return {
        "schema": "llmdo.inbox/1",
        "waiting": [_line(each) for each in pending],
        "groups": [_group(group) for group in like_calls(pending)],
    }


def listed_as_json(pending: Sequence[Pending], calls: Calls, now: float) -> str:
    """The same as text, with what is known about each call."""
    known = {
        place: {"provenance": provenance.as_data(call.provenance), "waits": [*provenance.waits(call, now)]}
        for place, call in calls.items()
    }
    whole = listed(pending)
    lines = [{**_line(each), **known.get((each.run.run, each.question.path), {})} for each in pending]
    return f"{json.dumps({**whole, 'waiting': lines}, indent=2)}\n"


def _group(group: LikeCalls) -> dict[str, Json]:
    """Like calls: what is the same in all of them, the names of the arguments that are not, and the calls."""
    like = group.questions
    return {
        **drawn_names(like.questions[0].record, "worker", "toolset", "tool"),
        "reasons": drawn_texts(like.reasons),
        "raises": drawn_texts(like.raises),
        "obstacle": group.obstacle,
        "same": drawn_arguments(dict(like.arguments.same)),
        "differing": [named(name) for name in like.arguments.names],
        "calls": [{"run": each.run.run, "path": each.question.path} for each in group.calls],
    }


def like(group: LikeCalls, calls: Sequence[PendingCall]) -> dict[str, Json]:
    """The document of like calls, with all of each of them."""
    return {"schema": "llmdo.like/1", **_group(group), "calls": [question(each) for each in calls]}


def as_text(groups: Sequence[LikeCalls], calls: Calls, now: float) -> str:
    """The waiting questions as lines, like calls together: each with its title, its place, and what is known of it."""
    lines: list[str] = []
    for group in groups:
        like = group.questions
        record, same = like.questions[0].record, like.arguments.same if len(group.calls) > 1 else {}
        lines += ["", f"{record['tool']} of {record['toolset']}, asked by `{record['worker']}`"]
        lines += [f"  {reason}" for reason in like.reasons]
        if same:
            lines.append(f"  in all {len(group.calls):,}: {_excerpt(same)}")
        for each, own in zip(group.calls, like.arguments.rows, strict=True):
            waits = since(now - each.question.entry.at)
            only = "  (at a terminal only)" if each.question.terminal_only else ""
            lines.append(f"  {waits:>6}  {each.run.heading or each.run.entry}{only}")
            lines.append(f"          {_excerpt(own if same else each.question.record['arguments'])}")
            lines.append(f"          run {each.run.run}, {each.question.path}")
            if call := calls.get((each.run.run, each.question.path)):
                lines += [f"          {line}" for line in provenance.lines(call, now)]
    return "".join(f"{shown(line)}\n" for line in lines[1:])


def question(call: PendingCall) -> dict[str, Json]:
    """The document of one question, all of it."""
    waiting = call.pending.question
    record = waiting.record
    return {
        "schema": "llmdo.question/1",
        **_line(call.pending),
        "digest": waiting.key,
        "arguments": drawn_arguments(record["arguments"]),
        "given": record["arguments"],
        "capabilities": drawn_texts(record["capabilities"]),
        "asking": drawn_texts(record["asking"]),
        "reasons": drawn_texts(record["reasons"]),
        "advice": drawn_texts(record["advice"]),
        "variables": [*waiting.variables],
        "change": None if call.change is None else _change(call.change),
        "provenance": provenance.as_data(call.provenance),
        "waits": [*provenance.waits(call, time.time())],
    }


def _line(pending: Pending) -> dict[str, Json]:
    run, waiting = pending.run, pending.question
    record = waiting.record
    return {
        "run": run.run,
        "entry": visible(run.entry),
        "title": visible(run.title, prose=True),
        "item": jsonable.as_json(run.item),
        "status": run.status,
        "path": waiting.path,
        "asked": waiting.entry.at,
        **drawn_names(record, "worker", "toolset", "tool"),
        "callers": [[visible(path), visible(worker)] for path, worker in pending.callers],
        "excerpt": _excerpt(record["arguments"]),
        "why": drawn_texts(record["reasons"][:1]),
        "terminal_only": waiting.terminal_only,
        "by_tool": bool(record["by_tool"]),
        "obstacle": pending.obstacle,
    }


def _excerpt(arguments: object) -> str:
    """Arguments in short, in one line."""
    pairs = arguments.items() if isinstance(arguments, dict) else ()
    texts = (f"{name}: {value if isinstance(value, str) else json.dumps(value)}" for name, value in pairs)
    return excerpt(" ".join(", ".join(texts).split()), LONGEST)


def _change(change: ProposedChange) -> dict[str, Json]:
    lines = [without_runs(line[:1] + visible(line[1:], prose=True)) for line in change.lines]
    return {
        "path": visible(change.path),
        "note": visible(change.note, prose=True),
        "lines": [*counted(lines)],
    }


def described(question: Waiting) -> str:
    """A question in a line, for a list."""
    record = question.record
    arguments = json.dumps(record["arguments"], ensure_ascii=True)
    only = ", at a terminal only" if question.terminal_only else ""
    return shown(f"{question.path}: {record['tool']} {arguments}: {'; '.join(record['reasons'])}{only}")


def as_json(outcome: ApproveOutcome) -> str:
    """The document."""
    return jsonable.document("llmdo.approve/1", outcome, in_ascii=True)
