"""A run as it grows, and its calls and requests in full, as data for a page: values drawn, and complete."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from llmdo.base.values import fields
from llmdo.base.visible import visible
from llmdo.render.calls import probe
from llmdo.render.drawn import drawn, drawn_arguments, drawn_line, drawn_texts, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.backtrace import Frame
    from llmdo.base.values import Json
    from llmdo.journal.decided import DecidedCall
    from llmdo.journal.requests import MessagePart, ShownRequest
    from llmdo.journal.tree import Node
    from llmdo.services.watching import Growth, RunEvent


def growth(grown: Growth) -> dict[str, Json]:
    """The growth of a run; events as flat objects."""
    return {
        "position": grown.position,
        "is_running": grown.is_running,
        "status": grown.status,
        "has_more": grown.has_more,
        "events": [_event(event) for event in grown.events],
    }


def _event(event: RunEvent) -> dict[str, Json]:
    return {
        "n": event.number,
        "at": event.at,
        "kind": event.kind,
        "path": event.path,
        "step": event.step,
        "outcome": event.outcome,
        **event.facts,
    }


def call(node: Node) -> dict[str, Json]:
    """A call, without the calls below it."""
    failed = node.outcome not in ("", "success", "denied")
    return {
        "path": node.path,
        "worker": node.worker,
        "outcome": node.outcome,
        "began": node.began,
        "ended": node.ended,
        "input": drawn("input", node.input) if node.worker is not None else None,
        "written": None if node.written is None else drawn_arguments(_parsed(node.written)),
        "decisions": [_decision(decision) for decision in node.decisions],
        "question": None if node.question is None else _question(node.question),
        "answers": [_answer(answer) for answer in node.answers],
        "result": None if node.result is None else drawn("error" if failed else "result", node.result),
        "hint": None if node.hint is None else drawn_line(node.hint),
        "frames": [_frame(frame) for frame in node.frames],
        "attempts": [
            {name: drawn_line(str(value)) for name, value in each.items()} for each in node.attempts
        ],
        "probes": [drawn_line(probe(each)) for each in node.probes],
        "models": drawn_texts(node.models),
        "requests": node.requests,
        "input_tokens": node.input_tokens,
        "output_tokens": node.output_tokens,
        "cost_usd": None if node.cost_usd is None else str(node.cost_usd),
    }


def _decision(decided: DecidedCall) -> dict[str, Json]:
    return {
        **{name: visible(getattr(decided, name)) for name in ("worker", "toolset", "tool", "by")},
        "decision": decided.decision,
        "allowed": decided.allowed,
        "arguments": drawn_arguments(dict(decided.arguments)),
        "raised": drawn_texts(decided.raised),
        "declared": drawn_texts(decided.declared),
        "why": drawn_texts(decided.why),
        "refusal": None if decided.refusal is None else drawn_line(decided.refusal),
        "changed": None if decided.changed is None else drawn_arguments(dict(decided.changed)),
    }


def _question(question: Mapping[str, object]) -> dict[str, Json]:
    texts = {name: drawn_texts(cast("list[object]", question[name])) for name in ("capabilities", "reasons")}
    return {
        **texts,
        "arguments": drawn_arguments(question["arguments"]),
        "terminal_only": bool(question["terminal_only"]),
    }


def _answer(answer: Mapping[str, object]) -> dict[str, Json]:
    return {
        "allowed": bool(answer.get("allowed")),
        "by": drawn_line(str(answer.get("by"))),
        "at_terminal": bool(answer.get("at_terminal")),
        "lasts": bool(answer.get("lasts")),
        "edited": answer.get("arguments") is not None,
        "reason": drawn_line(str(answer.get("told") or "")),
    }


def request(shown: ShownRequest) -> dict[str, Json]:
    """One request to a model and its answer; null for a part of which only a digest is known."""
    return {
        "path": shown.path,
        "number": shown.number,
        "worker": visible(shown.worker),
        "model": visible(shown.model),
        "after": visible(shown.after),
        "instructions": None if shown.instructions is None else drawn("instructions", shown.instructions),
        "tools": None if shown.tools is None else [_tool(tool) for tool in shown.tools],
        "given": [_part(part) for part in shown.parts],
        "answered": [_part(part) for part in shown.answered],
    }


def _tool(tool: Mapping[str, object]) -> dict[str, Json]:
    name = str(tool.get("name"))
    return {"name": named(name), "definition": drawn(name, dict(tool))}


def _part(part: MessagePart) -> dict[str, Json]:
    value = _parsed(part.value) if part.kind == "tool-call" else part.value
    return {
        "kind": visible(part.kind),
        "tool": visible(part.tool),
        "call": part.call,
        "value": None if value is None else drawn("arguments" if part.kind == "tool-call" else "text", value),
    }


def _frame(frame: Frame) -> dict[str, Json]:
    return {each.name: as_json(getattr(frame, each.name)) for each in fields(frame)}


def _parsed(written: object) -> object:
    """A model's text as the data that it encodes; as it is if it encodes none."""
    try:
        return json.loads(written) if isinstance(written, str) else written
    except (ValueError, RecursionError):
        return written


def as_json(data: object) -> Json:
    """Plain data of ours, whose types are known elsewhere."""
    return cast("Json", data)
