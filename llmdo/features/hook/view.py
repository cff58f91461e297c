"""Sessions of other clients: a list of them, and the decisions of one in their order."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from llmdo.features.hook import kept
from llmdo.features.page.endpoints import Endpoint, Inquiry, RequestError
from llmdo.render import drawn as render
from llmdo.render.audit import word_of
from llmdo.services.sessions import kept_sessions, session_audit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json
    from llmdo.features.page.subject import Subject

MOST_SESSIONS = 100
MOST_DECISIONS = 200  # of a session at a time
LONGEST = 20_000  # characters of arguments: the hook keeps some hundreds of each
LONGEST_TEXT = 1000
MOST_TEXTS = 20
STOPPED = "stopped"


def listed(subject: Subject, inquiry: Inquiry) -> object:
    """The sessions of the project, the last one first."""
    del inquiry
    notes: list[str] = []
    request = kept.SessionsRequest(root=subject.with_runs, limit=MOST_SESSIONS)
    sessions = kept.listed(request, notes.append)
    return {
        "sessions": sessions,
        "most": MOST_SESSIONS if len(sessions) == MOST_SESSIONS else None,
        "notes": notes,
    }


def about(subject: Subject, inquiry: Inquiry) -> object:
    """One session: some of its decisions after a number of them, or of those that stopped a call."""
    name = inquiry.text("session")
    # By its whole id: what a request says never becomes a path.
    session = kept_sessions(subject.with_runs, os.environ).get(name)
    if session is None:
        raise RequestError(404, "this project has no such session", hint="`llmdo hook sessions` lists all")
    audit = session_audit(session)[1]
    only = inquiry.parameters.get("only", "")
    if only not in ("", STOPPED):
        raise RequestError(400, f"`{STOPPED}` is the only choice of decisions")
    chosen = [
        record
        for record in audit.records
        if record.get("kind") == "decided" and (not only or word_of(record) != "allowed")
    ]
    after = _after(inquiry)
    return {
        "session": kept.summary(session, audit),
        "head": audit.last.head,
        "chosen": len(chosen),
        "decisions": [_decision(record) for record in chosen[after : after + MOST_DECISIONS]],
        "most": MOST_DECISIONS,
    }


def _after(inquiry: Inquiry) -> int:
    text = inquiry.parameters.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise RequestError(400, f"`{text}` is not a number of decisions")
    return int(text)


def _decision(record: Mapping[str, object]) -> dict[str, Json]:
    names = ("time", "path", "worker", "toolset", "tool", "by")
    number = record.get("n")
    return {
        "number": number if isinstance(number, int) else 0,
        **{name: render.drawn_line(_short(record.get(name))) for name in names},
        "word": word_of(record),
        "is_left": record.get("left") is True,
        "why": _texts(record.get("reasons")),
        "raised": _texts(record.get("capabilities")),
        "labels": _texts(record.get("labels")),
        "arguments": _arguments(record.get("arguments")),
    }


def _texts(value: object) -> list[Json]:
    values = value if isinstance(value, list) else []
    more = [f"and {len(values) - MOST_TEXTS:,} more"] if len(values) > MOST_TEXTS else []
    return render.drawn_texts([*map(_short, values[:MOST_TEXTS]), *more])


def _arguments(value: object) -> list[dict[str, Json]]:
    """The arguments, each drawn; more than llmdo keeps of a call as a text that is cut."""
    text = json.dumps(value)
    if len(text) <= LONGEST:
        return render.drawn_arguments(value)
    return [render.drawn("arguments", f"{text[:LONGEST]}... ({len(text):,} characters)")]


def _short(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}... ({len(text):,} characters)"


ENDPOINTS = (
    Endpoint(path="/api/sessions", answer=listed),
    Endpoint(path="/api/session", answer=about, parameters=("session", "after", "only")),
)
