"""`llmdo hook CLIENT`: one event of a client, answered. Whatever goes wrong denies the call and says what to do."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

from llmdo.base.nearest import MANIFEST, nearest
from llmdo.base.values import replace
from llmdo.features.hook import packed
from llmdo.features.hook.access import UnknownToolError
from llmdo.features.hook.clients import NAMES
from llmdo.features.hook.deciding import HookAnswer, decided_by, refusal_record
from llmdo.features.hook.events import MAIN_CONTEXT, UnreadableEventError, can_ask
from llmdo.features.hook.session import (
    NoSessionError,
    SessionFile,
    SessionState,
    UnknownCallerError,
    note_topmost,
    topmost,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.features.hook.deciding import HookDecision
    from llmdo.features.hook.events import Client, ClientEvent

REFUSALS = (UnreadableEventError, UnknownToolError, UnknownCallerError, NoSessionError)
"""What denies a call with a sentence of its own."""
MAX_EVENT = 16 * 1024 * 1024  # bytes
SECONDS = 20
"""How long an answer may take; the settings let the client wait longer."""


class _TooSlowError(Exception):
    """An answer that took too long."""


def answered(words: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """The exit code of `llmdo hook` with these words; None if they name no client whose event is to be answered."""
    if not words or words[0] not in NAMES or not {*words[1:]} <= {"--locked"}:
        return None
    try:
        client = import_module(f"llmdo.features.hook.clients.{words[0]}")
        output, code = _reply(client, environ, locked="--locked" in words)
        sys.stdout.write(output)
        sys.stdout.flush()
    except BaseException as error:  # a hook that fails lets the call through
        sys.stderr.write(
            f"llmdo: denied, as its hook failed ({type(error).__name__}): run `llmdo hook doctor`\n"
        )
        return 2
    return code


def _reply(client: Client, environ: Mapping[str, str], *, locked: bool) -> tuple[str, int]:
    """What is printed in the client's words, and the exit code."""
    signal = import_module("_signal")  # without the enumerations of `signal`, which take a millisecond
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.alarm(SECONDS)
    is_question, tool = False, ""
    try:
        event = event_in(client, _event_text())
        is_question, tool = event.kind == "question", event.tool
        answer = answer_to(client, event, environ, locked=locked)
    except REFUSALS as error:
        answer = HookAnswer(decision="blocked", reason=f"{error}")
    except _TooSlowError:
        answer = HookAnswer(decision="blocked", reason=f"no decision within {SECONDS} seconds: try again")
    except MemoryError:
        answer = HookAnswer(decision="blocked", reason="there is not enough memory for a decision")
    except RecursionError:
        answer = HookAnswer(decision="blocked", reason="the event is nested too deeply")
    except Exception as error:  # a hook that fails lets the call through
        answer = HookAnswer(
            decision="blocked", reason=f"{type(error).__name__}: {error}: run `llmdo hook doctor`"
        )
    signal.alarm(0)
    if answer.decision == "allowed" or answer.is_left:
        return "", 0
    decision, why = "deny", f"denied by llmdo: {answer.reason}"
    if answer.decision == "needs_approval" and can_ask(client, tool):
        decision, why = "ask", f"llmdo asks: {answer.reason}"
    elif answer.decision == "needs_approval":
        about = f" about `{tool}`" if client.CAN_ASK else ""
        cannot = f"a person is to be asked, which hooks of {client.PRODUCT} cannot do{about}"
        why = f"denied by llmdo: {cannot}: {answer.reason}"
    words: tuple[str, int] = client.answer(decision, why, is_question=is_question)
    return words


def _out_of_time(_number: int, _frame: object) -> None:
    raise _TooSlowError


def _event_text() -> bytes:
    content = sys.stdin.buffer.read(MAX_EVENT + 1)
    if len(content) > MAX_EVENT:
        raise UnreadableEventError(f"the event has more than {MAX_EVENT:,} bytes")
    return content


def event_in(client: Client, content: bytes) -> ClientEvent:
    """The event in JSON.

    Raises:
        UnreadableEventError: It is no event of this client.
    """
    try:
        data = json.loads(content)
    except ValueError as error:
        raise UnreadableEventError("the event is not JSON") from error
    if not isinstance(data, dict):
        raise UnreadableEventError("the event is not an object")
    event: ClientEvent = client.event(data)
    return event


def answer_to(
    client: Client, event: ClientEvent, environ: Mapping[str, str], *, locked: bool = False
) -> HookAnswer:
    """The answer to an event.

    Raises:
        UnreadableEventError: An argument of the call is not what the tool takes.
        UnknownToolError: It is about a tool or an agent that the project does not have.
        UnknownCallerError: Nobody was seen to start the agent.
        NoSessionError: The state of the session is missing or damaged.
    """
    if event.kind == "other":
        return HookAnswer(decision="allowed")
    session = topmost(client.FORMAT, event.parent or event.session, environ)
    if event.parent == session:
        event = replace(event, parent=MAIN_CONTEXT)
    with SessionFile(client.FORMAT, session, environ) as file:
        if event.kind == "start":
            _begin(file, event)
            return HookAnswer(decision="allowed")
        if nearest(event.folder, MANIFEST) is None and not os.path.lexists(file.path):
            raise NoSessionError(
                f"no `{MANIFEST}` is in `{event.folder}` or above it: run `llmdo init --from`"
            )
        state = file.read()
        if event.kind == "end":
            file.write(state.ended(str(event.agent)))
            return HookAnswer(decision="allowed")
        from llmdo.features.hook.journal import append

        journal = f"{file.path.removesuffix('.json')}.jsonl"
        try:
            decided = _decided(client, event, state, environ, locked=locked)
        except REFUSALS as error:
            append(journal, refusal_record(client, event, state, str(error)))
            raise
        file.write(decided.after)
        if event.parent is not None:
            note_topmost(client.FORMAT, event.session, session, environ)
        append(journal, decided.record)
    return decided.answer


def _decided(
    client: Client, event: ClientEvent, state: SessionState, environ: Mapping[str, str], *, locked: bool
) -> HookDecision:
    """The decision on a call of a session that is known."""
    tables = packed.load(state.root, client.FORMAT, environ)
    agent = event.agent or client.MAIN
    if tables is None or client.STAND_INS.get(agent, agent) not in tables.agents:
        from llmdo.features.hook.compiling import compiled

        tables = compiled(state.root, client, environ)
    if tables.fault:
        raise NoSessionError(tables.fault)
    if locked and tables.stale:
        raise NoSessionError(
            f"`llmdo.lock` is out of date ({tables.stale}): review it, then run `llmdo lock`"
        )
    return decided_by(client, event, tables, state)


def _begin(file: SessionFile, event: ClientEvent) -> None:
    """Notes that a session starts; one that goes on keeps what is known of it."""
    root = nearest(event.folder, MANIFEST)
    if root is None:
        return  # every call will be denied, which says so
    if event.is_resumed:
        try:
            file.read()
        except NoSessionError:
            pass
        else:
            return
    file.write(
        SessionState(root=root, is_doubtful=event.is_resumed, contexts={}, started={}, written={}, servers={})
    )
