"""Differences between a journal and the present, in words: of requests, and of repeated calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmdo.runtime.recording.encoding import ending_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from llmdo.journal import JournalEntry
    from llmdo.runtime.recording.encoding import Encoding


QUOTED = 200  # characters of what a tool returned

_WORDS = {
    "model": "the model is `{after}`, it was `{before}`",
    "instructions": "its prompt changed",
    "tools": "its tools changed",
    "native": "its provider-side tools changed",
    "settings": "the settings of its model changed",
}


def difference(recorded: Mapping[str, Any], current: Mapping[str, Any], *, accepts_drift: bool) -> str | None:
    """The difference between two requests; None if there is none, or only an accepted one."""
    drifted = [
        phrase.format(before=recorded.get(key), after=current.get(key))
        for key, phrase in _WORDS.items()
        if recorded.get(key) != current.get(key)
    ]
    if drifted and not accepts_drift:
        return "; ".join(drifted)
    return _difference_of_parts(recorded["parts"], current["parts"])


def _difference_of_parts(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> str | None:
    """The first difference between the new parts of two requests, in words."""
    for old, new in zip(before, after, strict=False):
        if list(old) != list(new):
            return f"{_part(new)} differs from the recorded {_part(old)}"
    if len(before) != len(after):
        longer = max(before, after, key=len)
        state = "is new" if len(after) > len(before) else "is missing"
        return f"{_part(longer[min(len(before), len(after))])} {state}"
    return None


def excerpt(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def _part(part: Sequence[str]) -> str:
    kind, tool, _ = part
    words = {"user-prompt": "input", "tool-return": "result", "retry-prompt": "correction"}
    label = words.get(kind, kind)
    return f"{label} of `{tool}`" if tool else label


async def rerun(
    path: str, recorded: JournalEntry, work: Callable[[], Awaitable[object]], encoding: Encoding
) -> str | None:
    """The changed ending of the call at `path`, without secrets; None if unchanged."""
    try:
        now = ("success", encoding.result(await work()).body)
    except Exception as error:
        outcome, data = ending_of(error)
        now = (outcome, encoding.plain(data).body)
    before = (recorded.outcome, encoding.secrets.whole(recorded.body, recorded.spans))
    if now == before:
        return None
    shown = [
        f"{outcome} {excerpt(encoding.redaction.text(body.decode()))}" for outcome, body in (now, before)
    ]
    return f"{path}: {shown[0]}, it was {shown[1]}"
