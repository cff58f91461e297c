"""A recorded call that runs once more, held against how it ended then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.runtime.recording.difference import excerpt
from llmdo.runtime.recording.retold import ending_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from llmdo.journal import JournalEntry
    from llmdo.runtime.recording.encoding import Encoding


async def rerun(
    path: str, recorded: JournalEntry, work: Callable[[], Awaitable[object]], encoding: Encoding
) -> str | None:
    """How the call at `path` ends now, where it is not how it is recorded: a sentence without secrets."""
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
