"""`llmdo hook CLIENT`: one event of a client, answered. Whatever goes wrong denies the call and says what to do."""

from __future__ import annotations

import json
import os
import sys

from llmdo.base.nearest import MANIFEST, nearest
from llmdo.base.values import dataclass
from llmdo.features.hook import packed
from llmdo.features.hook.access import Places, UnknownToolError, raised_by
from llmdo.features.hook.clients import NAMES
from llmdo.features.hook.events import ANY_AGENT, UnreadableEventError
from llmdo.features.hook.session import NoSessionError, SessionFile, State, UnknownCallerError
from llmdo.policy.authority import Capability, Carried, decide
from llmdo.policy.composition import Layer, authority_of
from llmdo.policy.flow import read_by, written_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from llmdo.features.hook.events import Access, Client, Event
    from llmdo.features.hook.packed import Tables
    from llmdo.policy.authority import Reason, Verdict

MAX_EVENT = 16 * 1024 * 1024  # bytes
SECONDS = 20
"""How long an answer may take; the settings let the client wait longer."""


class _TooSlowError(Exception):
    """An answer that took too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a call."""

    decision: Literal["allowed", "needs_approval", "blocked"]
    reason: str = ""
    """A sentence with the path; empty if allowed."""
    is_left: bool = False
    """Whether the client itself asks, so that nothing has to be said."""


def answered(words: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """The exit code of `llmdo hook` with these words; None if they name no client whose event is to be answered."""
    if not words or words[0] not in NAMES or not {*words[1:]} <= {"--locked"}:
        return None
    try:
        from importlib import import_module

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
    import signal

    signal.signal(signal.SIGALRM, _out_of_time)
    signal.alarm(SECONDS)
    try:
        answer = answer_to(client, _event_text(), environ, locked=locked)
    except (UnreadableEventError, UnknownToolError, UnknownCallerError, NoSessionError) as error:
        answer = Answer(decision="blocked", reason=f"{error}")
    except _TooSlowError:
        answer = Answer(decision="blocked", reason=f"no decision within {SECONDS} seconds: try again")
    except MemoryError:
        answer = Answer(decision="blocked", reason="there is not enough memory for a decision")
    except RecursionError:
        answer = Answer(decision="blocked", reason="the event is nested too deeply")
    except Exception as error:  # a hook that fails lets the call through
        answer = Answer(
            decision="blocked", reason=f"{type(error).__name__}: {error}: run `llmdo hook doctor`"
        )
    signal.alarm(0)
    if answer.decision == "allowed" or answer.is_left:
        return "", 0
    if answer.decision == "needs_approval" and client.CAN_ASK:
        return client.answer("ask", f"llmdo asks: {answer.reason}")
    why = answer.reason
    if answer.decision == "needs_approval":
        why = f"a person is to be asked, which hooks of {client.PRODUCT} cannot do: {why}"
    return client.answer("deny", f"denied by llmdo: {why}")


def _out_of_time(_number: int, _frame: object) -> None:
    raise _TooSlowError


def _event_text() -> bytes:
    content = sys.stdin.buffer.read(MAX_EVENT + 1)
    if len(content) > MAX_EVENT:
        raise UnreadableEventError(f"the event has more than {MAX_EVENT:,} bytes")
    return content


def answer_to(client: Client, content: bytes, environ: Mapping[str, str], *, locked: bool = False) -> Answer:
    """The answer to the JSON of an event.

    Raises:
        UnreadableEventError: It is no event of this client.
        UnknownToolError: It is about a tool or an agent that the project does not have.
        UnknownCallerError: Nobody was seen to start the agent.
        NoSessionError: The state of the session is missing or damaged.
    """
    try:
        data = json.loads(content)
    except ValueError as error:
        raise UnreadableEventError("the event is not JSON") from error
    if not isinstance(data, dict):
        raise UnreadableEventError("the event is not an object")
    event: Event = client.event(data)
    if event.kind == "other":
        return Answer(decision="allowed")
    with SessionFile(client.FORMAT, event.session, environ) as file:
        if event.kind == "start":
            _begin(file, event)
            return Answer(decision="allowed")
        if nearest(event.folder, MANIFEST) is None and not os.path.lexists(file.path):
            raise NoSessionError(
                f"no `{MANIFEST}` is in `{event.folder}` or above it: run `llmdo init --from`"
            )
        state = file.read()
        tables = packed.load(state.root, client.FORMAT, environ)
        if tables is None or (event.agent is not None and _named(client, event.agent) not in tables.agents):
            from llmdo.features.hook.compiling import compiled

            tables = compiled(state.root, client, environ)
        if tables.fault:
            raise NoSessionError(tables.fault)
        if locked and tables.stale:
            raise NoSessionError(
                f"`llmdo.lock` is out of date ({tables.stale}): review it, then run `llmdo lock`"
            )
        call = _Call(client, event, tables, state.seen(event.context, _agent(client, event, tables)))
        answer = call.answer()
        file.write(call.after(answer))
        from llmdo.features.hook.journal import append

        append(f"{file.path.removesuffix('.json')}.jsonl", call.record(answer))
    return answer


def _begin(file: SessionFile, event: Event) -> None:
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
        State(root=root, is_doubtful=event.is_resumed, contexts={}, started={}, written={}, servers={})
    )


def _named(client: Client, agent: str) -> str:
    """The agent that an agent counts as."""
    return client.STAND_INS.get(agent, agent)


def _agent(client: Client, event: Event, tables: Tables) -> str:
    """The name of the agent that calls, as the client has it."""
    agent = client.MAIN if event.agent is None else event.agent
    if agent not in tables.agents and _named(client, agent) not in tables.agents:
        raise UnknownToolError(
            f"the agent `{agent}` is not one of this project: add its file, then run `llmdo lock`"
        )
    return agent


class _Call:
    """One call, with the state of its session once its caller is known."""

    def __init__(self, client: Client, event: Event, tables: Tables, state: State) -> None:
        self.client = client
        self.event = event
        self.tables = tables
        self.state = state
        self.context = state.contexts[event.context]
        self.access: Access = client.access(event.tool, event.arguments)
        self.base = packed.base_of(tables.base)
        self.raised = raised_by(
            self.access, self._worker(self.context.agent), tables, Places(state.root, event.folder)
        )
        self.carried = self._labels(state.labels_of(event.context))
        if state.is_doubtful:
            self.carried = frozenset(self.base.labelling.labels)
        if self.access.starts not in (None, ANY_AGENT):
            self._worker(str(self.access.starts))

    def _worker(self, agent: str) -> str:
        """The name of the worker that an agent is.

        Raises:
            UnknownToolError: It is none of this project.
        """
        for name in (agent, _named(self.client, agent)):
            if name in self.tables.agents:
                return self.tables.agents[name]
        raise UnknownToolError(
            f"the agent `{agent}` is not one of this project: add its file, then run `llmdo lock`"
        )

    def _labels(self, texts: frozenset[str]) -> frozenset[Capability]:
        return frozenset(map(Capability.parse, texts))

    @property
    def path(self) -> str:
        """The agents on the way to the call, and its tool."""
        return "/".join((*self.context.above, self.context.agent, self.event.tool))

    def answer(self) -> Answer:
        """The decision by the rules, the ceilings on the path, and the labels of the caller."""
        names = dict.fromkeys(map(self._worker, (*self.context.above, self.context.agent)))
        own = self._worker(self.context.agent)
        path = [*(name for name in names if name != own), own]
        entries = [packed.layer_of(each) for name in path for each in self.tables.entries.get(name, ())]
        tree = Layer(
            tuple([rule for entry in entries for rule in entry.rules]),
            flows=tuple([flow for entry in entries for flow in entry.flows]),
        )
        layers = [*entries, *(packed.layer_of(self.tables.workers[name]) for name in path)]
        authority = authority_of(self.base, tree, layers)
        verdict = decide(self.raised, self.raised, authority, Carried(self.carried, sends=True))
        if verdict.decision == "allowed":
            return Answer(decision="allowed")
        reasons = "; ".join(dict.fromkeys(_text(reason) for reason in verdict.reasons))
        return Answer(
            decision=verdict.decision,
            reason=f"{reasons} (path: {self.path})",
            is_left=verdict.decision == "needs_approval" and _is_left(verdict),
        )

    def after(self, answer: Answer) -> State:
        """The state after the answer: what is not denied may happen, and what it reads may be known from now on."""
        state = self.state
        if answer.decision == "blocked" or (
            answer.decision == "needs_approval" and not self.client.CAN_ASK and not answer.is_left
        ):
            return state
        context = self.event.context
        if self.access.starts is not None:
            state = state.starting(context, self.access.starts)
        if not self.base.labelling.labels:
            return state
        given = frozenset(map(str, self.carried))
        read = {*map(str, self.base.labelling.of(self.raised)), *state.labels_in(read_by(self.raised))}
        if self.access.server is not None:
            read |= state.servers.get(self.access.server, frozenset())
            state = state.giving(self.access.server, given)
        state = state.changing(written_by(self.raised, self.raised), given.union(read))
        state = state.labelled(context, read)
        return state.telling_all(given) if self.event.tool in self.client.FORWARDS else state

    def record(self, answer: Answer) -> dict[str, object]:
        """The record of the decision for an audit."""
        from llmdo.features.hook.journal import short

        return {
            "kind": "decided",
            "path": self.path,
            "worker": self.context.agent,
            "toolset": self.access.server or self.client.FORMAT,
            "tool": self.event.tool,
            "capabilities": sorted(map(str, self.raised)),
            "decision": answer.decision,
            "allowed": answer.decision == "allowed",
            "by": "client" if answer.decision == "needs_approval" else "rules",
            "reasons": [answer.reason] if answer.reason else [],
            "labels": sorted(map(str, self.carried)),
            "arguments": short(self.event.arguments),
        }


def _is_left(verdict: Verdict) -> bool:
    """Whether the client asks by itself: every reason is a rule of its own, or the default beside one."""
    theirs = {
        each.capability
        for each in verdict.reasons
        if each.rule and each.rule.origin.startswith(packed.THEIRS)
    }
    return all(
        each.flow is None
        and each.ceiling is None
        and (each.rule is None or each.rule.origin.startswith(packed.THEIRS))
        and each.capability in theirs
        for each in verdict.reasons
    )


def _text(reason: Reason) -> str:
    return str(reason).replace(packed.THEIRS, "")
