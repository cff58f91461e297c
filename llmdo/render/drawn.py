"""Values of calls and messages for a page: complete, with nothing in them that hides or pretends."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, cast

from llmdo.base import digest
from llmdo.base.jsonable import as_json
from llmdo.base.visible import scripts, visible, without_runs
from llmdo.render.calls import probe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.values import Json
    from llmdo.journal.decided import DecidedCall
    from llmdo.journal.requests import MessagePart, ShownRequest
    from llmdo.journal.tree import Node

MOST_ALIKE = 3
"""The most alike lines in a row that are all drawn; of more, one is drawn with their number."""


def drawn(name: str, value: object) -> dict[str, Json]:
    """A value with its name: its lines, of many alike a pair of their number and the line."""
    if isinstance(value, str):
        text = value
        lines = [without_runs(visible(line, prose="\n" in text)) for line in text.split("\n")]
    else:
        text = json.dumps(value, indent=2)  # in ASCII alone: nothing in it needs to be made visible
        lines = [without_runs(line) for line in text.split("\n")]
    size = text.encode("utf-8", "surrogatepass")
    return {
        "name": named(name),
        "kind": "text" if isinstance(value, str) else "data",
        "bytes": len(size),
        "sha256": digest.of_bytes(size).removeprefix("sha256:"),
        "lines": [*counted(lines)],
        "scripts": [*scripts("".join(lines))] if isinstance(value, str) else [],
    }


def drawn_arguments(arguments: object) -> list[dict[str, Json]]:
    """The arguments of a call, each drawn; a value that is no object is drawn as a whole."""
    if isinstance(arguments, dict):
        return [drawn(str(name), value) for name, value in arguments.items()]
    return [drawn("arguments", arguments)]


def named(name: str) -> str:
    """A name that anybody may have chosen, drawn so that it cannot look like a name with its value."""
    return name if name.isascii() and name.isidentifier() else json.dumps(name)


def drawn_line(text: str) -> str:
    """A text in one line, with every line break spelled out."""
    return visible(text, prose=True)


def counted(lines: Iterable[str]) -> Iterator[Json]:
    """The lines; many alike are a pair of their number and the line, so that they push nothing out of sight."""
    for line, alike in groupby(lines):
        number = sum(1 for _ in alike)
        if number <= MOST_ALIKE:
            yield from [line] * number
        else:
            yield [number, line]


def drawn_texts(texts: Iterable[object]) -> list[Json]:
    """Sentences, each in one line."""
    return [drawn_line(str(text)) for text in texts]


def drawn_names(table: Mapping[str, object], *names: str) -> dict[str, Json]:
    """Those of the texts in `table`, each in one line; empty if there is none."""
    return {name: visible(str(table.get(name) or "")) for name in names}


def call(node: Node) -> dict[str, Json]:
    """A call, without the calls below it."""
    failed = node.outcome not in ("", "success", "denied")
    return {
        "path": node.path,
        "worker": node.worker,
        "outcome": node.outcome,
        "began": node.began,
        "ended": node.ended,
        "waited": node.waited,
        "input": drawn("input", node.input) if node.worker is not None else None,
        "written": None if node.written is None else drawn_arguments(_parsed(node.written)),
        "decisions": [_decision(decision) for decision in node.decisions],
        "question": None if node.question is None else _question(node.question),
        "answers": [_answer(answer) for answer in node.answers],
        "result": None if node.result is None else drawn("error" if failed else "result", node.result),
        "hint": None if node.hint is None else drawn_line(node.hint),
        "frames": as_json(node.frames),
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


def request(asking: ShownRequest) -> dict[str, Json]:
    """One request to a model and its answer; null for a part of which only a digest is known."""
    return {
        "path": asking.path,
        "number": asking.number,
        "worker": visible(asking.worker),
        "model": visible(asking.model),
        "after": visible(asking.after),
        "instructions": None if asking.instructions is None else drawn("instructions", asking.instructions),
        "tools": None if asking.tools is None else [_tool(tool) for tool in asking.tools],
        "given": [_part(part) for part in asking.parts],
        "answered": [_part(part) for part in asking.answered],
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


def _parsed(written: object) -> object:
    """A model's text as the data that it encodes; as it is if it encodes none."""
    try:
        return json.loads(written) if isinstance(written, str) else written
    except (ValueError, RecursionError):
        return written
