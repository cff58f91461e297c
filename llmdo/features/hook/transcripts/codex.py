"""Transcripts of Codex, in the form of 0.65 to 0.116: `sessions/YYYY/MM/DD/rollout-*.jsonl`, one for each thread.

The first line says where the thread began and which one started it. Tools are called otherwise there than for hooks.
Whether a person refused a call is not said in a form of its own: a call with an output counts as carried out.
"""

from __future__ import annotations

import json
import shlex
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
    word,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FORMAT = "codex"

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_SHELLS = ("exec_command", "shell", "shell_command", "local_shell", "container.exec")
_AGENTS = ("multi_agent_v1", "collaboration")


def places(root: str, environ: Mapping[str, str]) -> Iterator[str]:  # noqa: ARG001
    """The files of all sessions: the first line of each says of which project it is."""
    if above := home(environ, "CODEX_HOME", ".codex"):
        yield from (
            path
            for path in files_below(f"{above}/sessions", ".jsonl")
            if Path(path).name.startswith("rollout-")
        )


def recognizes(record: Mapping[str, object]) -> bool:
    """Whether it is a line of such a transcript."""
    return isinstance(record.get("payload"), dict) and "type" in record


def recording(records: Iterable[Mapping[str, object]], name: str, root: str) -> Transcript:
    """What one file records."""
    context, folder, elsewhere = name, "", 0
    contexts: dict[str, RecordedContext] = {}
    calls: list[RecordedCall] = []
    done: set[str] = set()
    for record in records:
        payload, kind = mapping(record.get("payload")), record.get("type")
        if kind == "session_meta" and not contexts:  # a thread that was forked repeats those of its parent
            context = word(payload.get("id")) or name
            contexts[context] = _context(payload)
            if not is_within(payload.get("cwd"), root):
                return Transcript(client=FORMAT, session=context, is_elsewhere=True)
        if kind in ("session_meta", "turn_context"):
            folder = word(payload.get("cwd")) or folder
        elif kind == "response_item" and payload.get("type") in _CALLS:
            if is_within(folder, root):
                calls.append(_call(payload, context, folder))
            else:
                elsewhere += 1
        elif kind == "response_item" and word(payload.get("type")).endswith("_output"):
            done.add(word(payload.get("call_id")))
    return Transcript(
        client=FORMAT,
        session=context,
        calls=tuple(calls),
        contexts=contexts,
        done=frozenset(done),
        elsewhere=elsewhere,
    )


def _context(payload: Mapping[str, object]) -> RecordedContext:
    source = mapping(payload.get("source")).get("subagent")
    if source is None:
        return RecordedContext(is_main=True)
    spawn = mapping(mapping(source).get("thread_spawn"))
    agent = word(spawn.get("agent_role")) or word(payload.get("agent_role")) or word(source) or "default"
    return RecordedContext(agent=agent, parent=word(spawn.get("parent_thread_id")) or None)


def _call(payload: Mapping[str, object], context: str, folder: str) -> RecordedCall:
    tool, arguments = word(payload.get("name")), _arguments(payload)
    leaves = (
        arguments.get("sandbox_permissions") == "require_escalated"
        or arguments.get("with_escalated_permissions") is True
    )
    space = word(payload.get("namespace"))
    if tool in _SHELLS or payload["type"] == "local_shell_call":
        tool, arguments = "Bash", {"command": _command(payload, arguments)}
    elif tool == "apply_patch":
        arguments = {"command": arguments.get("input", arguments.get("command"))}
    elif space.startswith("mcp__"):
        tool = f"{space}__{tool}"
    elif space in _AGENTS:
        tool = tool.removeprefix(f"{space}.")
    event = ClientEvent(
        kind="question" if leaves else "call",
        session=context,
        folder=folder,
        context=context,
        tool=tool,
        arguments=arguments,
    )
    return RecordedCall(key=word(payload.get("call_id")), event=event)


def _arguments(payload: Mapping[str, object]) -> Mapping[str, object]:
    if payload["type"] == "custom_tool_call":
        return {"input": payload.get("input")}
    try:
        return mapping(json.loads(word(payload.get("arguments"))))
    except (ValueError, RecursionError):
        return {}


def _command(payload: Mapping[str, object], arguments: Mapping[str, object]) -> object:
    """The command of a shell, which some versions record with the shell in front."""
    command = (
        mapping(payload.get("action")).get("command") or arguments.get("cmd") or arguments.get("command")
    )
    if not isinstance(command, list):
        return command
    parts = [word(each) for each in command]
    return parts[2] if len(parts) == 3 and parts[1] in ("-c", "-lc") else shlex.join(parts)
