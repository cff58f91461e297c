"""An audit as text for people and as the JSON document `llmdo.audit/1`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import shown
from llmdo.base.jsonable import document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.journal.audit import Audit
    from llmdo.services.runs import AuditOutcome


def rendered(
    outcome: AuditOutcome, form: Literal["text", "json", "jsonl"], *, verified: bool
) -> Iterable[str]:
    """The lines of an audit in a format; as text its decisions, or the verdict on its chain."""
    if form == "jsonl":
        return outcome.lines
    if form == "json":
        return [document("llmdo.audit/1", outcome, in_ascii=True).removesuffix("\n")]
    return verdict(outcome.audit) if verified else decisions(outcome.audit)


def verdict(audit: Audit) -> Iterator[str]:
    """Whether the chain holds; if not, every fault with its line."""
    if not audit.faults:
        yield f"the chain holds: {len(audit.records)} records, head {audit.last.head}"
        if audit.is_session:
            yield "a session has no last record: `--head` tells whether some were cut off at the end"
        if audit.entries:
            later = f", {audit.after} of them after the last record" if audit.after else ""
            yield f"the journal holds: {audit.entries.number} entries{later}"
        if audit.redacted:
            yield f"redacted: {audit.redacted}, which an export took a secret out of"
    if audit.is_open:
        yield "the last line is no whole record: it is still being written, or a kill left it"
    for fault in audit.faults:
        yield shown(f"line {fault.line}: {fault.message}" if fault.line else fault.message)


def decisions(audit: Audit) -> Iterator[str]:
    """The decisions in their order: who let which call through, by which rule or answer."""
    for record in audit.records:
        for line in _lines(record):
            yield shown(line)


def _lines(record: Mapping[str, object]) -> Iterator[str]:
    at = str(record.get("time", ""))[11:19]
    words = {name: _text(value) for name, value in record.items()}
    match record.get("kind"):
        case "run_started":
            yield f"{at} run {words.get('run')}: entry {words.get('entry')}, approvals {words.get('mode')}"
            if record.get("isolation"):
                yield f"         {words['isolation']}"
            if record.get("limits"):
                yield f"         new limits: {json.dumps(record['limits'])}"
        case "decided":
            raised = words.get("capabilities") or "nothing"
            yield f"{at} {word_of(record):<7} {words.get('path')} by {words.get('by')}, raises {raised}"
            yield f"         {words.get('tool')} of {words.get('toolset')} {json.dumps(record.get('arguments'))}"
            if record.get("changed") is not None:
                yield f"         became {json.dumps(record['changed'])}"
            yield from (f"         because {_text(reason)}" for reason in _list(record.get("reasons")))
        case "probed":
            why = f": {words['why']}" if record.get("why") else ""
            yield f"{at} probed  {words.get('path')} by `{words.get('probe')}`, {words.get('answer')}{why}"
        case "tool_finished":
            result = f"{words.get('bytes')} bytes, sha256 {words.get('sha256')}"
            yield f"{at} {words.get('outcome', ''):<7} {words.get('path')}: {result}"
        case "run_finished":
            why = f": {words['error']}" if record.get("error") else ""
            yield f"{at} run {words.get('status')}{why}"


def word_of(record: Mapping[str, object]) -> str:
    """What became of a decided call, in a word: `allowed`, `asks`, `changed` or `denied`."""
    if record.get("by") == "client":
        return "asks"
    if record.get("changed") is not None:
        return "changed"
    return "allowed" if record.get("allowed") is True else "denied"


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
