"""Transcripts of Claude Code, in the form of 2.0.42 to 2.1: `projects/FOLDER/*.jsonl`.

A line is a message. Those of an agent have its `agentId` and are in `agent-ID.jsonl`, beside the session's file or in
its `subagents/`; newer versions name the agent in `agent-ID.meta.json`, in others the result of the call that started
it has its id.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.features.hook.events import ClientEvent
from llmdo.features.hook.transcripts.recorded import (
    RecordedCall,
    RecordedContext,
    Transcript,
    files_below,
    home,
    is_within,
    mapping,
    objects,
    word,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FORMAT = "claude"

_META = ".meta.json"


def places(root: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The files that may be of sessions in the project: its folders are named by their paths."""
    above = home(environ, "CLAUDE_CONFIG_DIR", ".claude")
    projects = Path(f"{above}/projects")
    if above is None or not projects.is_dir():
        return
    name = re.sub(r"[^A-Za-z0-9]", "-", root)
    for folder in sorted(projects.iterdir()):
        if folder.name == name or folder.name.startswith(f"{name}-"):
            yield from files_below(str(folder), ".jsonl", _META)


def recognizes(record: Mapping[str, object]) -> bool:
    """Whether it is a line of such a transcript."""
    return "sessionId" in record or "agentType" in record or "leafUuid" in record or "snapshot" in record


def recording(records: Iterable[Mapping[str, object]], name: str, root: str) -> Transcript:
    """What one file records."""
    calls: list[RecordedCall] = []
    contexts: dict[str, RecordedContext] = {}
    done: set[str] = set()
    session, elsewhere = "", 0
    for record in records:
        if name.endswith(_META):
            agent = word(record.get("agentType")) or None
            context = name.removesuffix(_META).removeprefix("agent-")
            contexts[context] = RecordedContext(agent=agent, started_by=word(record.get("toolUseId")) or None)
            continue
        session = word(record.get("sessionId")) or session
        context = word(record.get("agentId")) or session
        for block in objects(mapping(record.get("message")).get("content")):
            if block.get("type") == "tool_use" and record.get("type") == "assistant":
                if not is_within(record.get("cwd"), root):
                    elsewhere += 1
                    continue
                contexts.setdefault(context, _context(context, session))
                calls.append(_call(block, context, session, word(record["cwd"])))
            elif block.get("type") == "tool_result" and block.get("is_error") is not True:
                key = word(block.get("tool_use_id"))
                done.add(key)
                if started := word(mapping(record.get("toolUseResult")).get("agentId")):
                    contexts[started] = RecordedContext(parent=context, started_by=key)
    return Transcript(
        client=FORMAT,
        session=session,
        calls=tuple(calls),
        contexts=contexts,
        done=frozenset(done),
        elsewhere=elsewhere,
    )


def _context(context: str, session: str) -> RecordedContext:
    return RecordedContext(parent=None if context == session else session, is_main=context == session)


def _call(block: Mapping[str, object], context: str, session: str, folder: str) -> RecordedCall:
    event = ClientEvent(
        kind="call",
        session=session,
        folder=folder,
        context=context,
        tool=word(block.get("name")),
        arguments=mapping(block.get("input")),
    )
    return RecordedCall(key=word(block.get("id")), event=event)
