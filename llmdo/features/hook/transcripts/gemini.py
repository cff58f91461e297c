"""Transcripts of Gemini CLI, in the form of 0.56: `tmp/PROJECT/chats/*.jsonl`, and `session-*.json` of older versions.

The first line says of which project they are, by the digest of its path. Which agent a file of agents is about is not
said: its calls count for the session, as they do for the hook.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.features.hook.events import ClientEvent
from llmdo.features.hook.transcripts.recorded import (
    RecordedCall,
    RecordedContext,
    Transcript,
    files_below,
    home,
    mapping,
    objects,
    word,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FORMAT = "gemini"


def places(root: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The files of the project's sessions: its folder is named by its digest, or says itself of which project it is."""
    above = home(environ, "GEMINI_CLI_HOME", "")
    base = Path(above or "/") / ".gemini/tmp"
    if above is None or not base.is_dir():
        return
    for folder in sorted(base.iterdir()):
        if folder.name == _digest(root) or _root_in(f"{folder}/.project_root") == root:
            yield from files_below(f"{folder}/chats", ".jsonl", ".json")


def _root_in(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(10_000).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _digest(root: str) -> str:
    return sha256(root.encode("utf-8", "surrogateescape")).hexdigest()


def recognizes(record: Mapping[str, object]) -> bool:
    """Whether it is a line of such a transcript."""
    return "projectHash" in record


def recording(records: Iterable[Mapping[str, object]], name: str, root: str) -> Transcript:
    """What one file records; a message that was changed is there again as a whole."""
    session, is_here, elsewhere = name, False, 0
    calls: dict[str, RecordedCall] = {}
    done: set[str] = set()
    for record in records:
        if "projectHash" in record:
            session = word(record.get("sessionId")) or session
            if record["projectHash"] != _digest(root):
                return Transcript(client=FORMAT, session=session, is_elsewhere=True)
            is_here = True
        updated = mapping(record.get("$set")).get("messages")
        for message in (record, *objects(record.get("messages")), *objects(updated)):
            for call in objects(message.get("toolCalls")):
                if not is_here:
                    elsewhere += 1
                    continue
                key = f"{session} {word(call.get('id'))}"
                calls[key] = _call(call, key, session, root)
                if call.get("status") == "success":
                    done.add(key)
    return Transcript(
        client=FORMAT,
        session=session,
        calls=tuple(calls.values()),
        contexts={session: RecordedContext(is_main=True)},
        done=frozenset(done),
        elsewhere=elsewhere,
    )


def _call(call: Mapping[str, object], key: str, session: str, root: str) -> RecordedCall:
    tool = word(call.get("name"))
    event = ClientEvent(
        kind="call",
        session=session,
        folder=root,
        context=session,
        tool=tool,
        arguments=mapping(call.get("args")),
        server=tool.removeprefix("mcp_").partition("_")[0] if tool.startswith("mcp_") else None,
    )
    return RecordedCall(key=key, event=event)
