"""The decision on a call: by its caller, all agents above that, and the labels of what it has read."""

from __future__ import annotations

from llmdo.base.values import dataclass
from llmdo.features.hook import packed
from llmdo.features.hook.access import CallPaths, UnknownToolError, raised_by, servers_of
from llmdo.features.hook.events import ANY_AGENT, MAIN_CONTEXT, can_ask
from llmdo.features.hook.journal import short
from llmdo.policy.authority import STRICTNESS, Capability, Carried, decide
from llmdo.policy.composition import Layer, authority_of
from llmdo.policy.flow import read_by, written_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.features.hook.events import Access, Client, ClientEvent
    from llmdo.features.hook.packed import Tables
    from llmdo.features.hook.session import CallerContext, SessionState
    from llmdo.policy.authority import Authority, Reason, Verdict
    from llmdo.policy.vocabulary import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAnswer:
    """The answer to a call."""

    decision: Decision
    reason: str = ""
    """A sentence with the path; empty if allowed."""
    is_left: bool = False
    """Whether the client itself asks, so that nothing has to be said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDecision:
    """A call that was decided."""

    answer: HookAnswer
    after: SessionState
    """The state of the session after it."""
    record: Mapping[str, object]
    """Its record for an audit."""


def decided_by(client: Client, event: ClientEvent, tables: Tables, state: SessionState) -> HookDecision:
    """The decision on a call. Of a client that does not say who calls, the strictest for all who may.

    Raises:
        UnreadableEventError: An argument of the call is not what the tool takes.
        UnknownToolError: It is about a tool or an agent that the project does not have.
        UnknownCallerError: Nobody was seen to start the agent.
    """
    if client.IDENTIFIES:
        agent = client.MAIN if event.agent is None else event.agent
        state = state.seen(event.context, agent)
        callers: tuple[str, ...] = (event.context,)
    elif event.parent is not None:
        state = state.identified(event.context, str(event.agent), event.parent)
        callers = (event.context,)
    else:
        state = state.seen(MAIN_CONTEXT, client.MAIN)
        callers = state.at_work
    access: Access = client.access(event)
    calls = [_PossibleCall(client, event, access, tables, state, caller) for caller in callers]
    is_certain = len(calls) == 1 and not access.is_refined
    answers = [call.answer(is_certain=is_certain) for call in calls]
    strictest = max(range(len(calls)), key=lambda number: _strictness(answers[number]))
    answer = answers[strictest]
    may_happen = answer.decision == "allowed" or (
        answer.decision == "needs_approval" and (can_ask(client, event.tool) or answer.is_left)
    )
    after = state
    if may_happen:
        for call in calls:
            after = call.labelling(after)
        if access.starts is not None and client.IDENTIFIES:
            after = after.starting(event.context, access.starts)
        elif access.starts is not None:
            after = after.working(callers, access.starts)
    return HookDecision(answer=answer, after=after, record=calls[strictest].record(answer))


def refusal_record(client: Client, event: ClientEvent, state: SessionState, why: str) -> dict[str, object]:
    """The record of a call of which nothing could be decided, so that it is denied."""
    context = state.contexts.get(event.context)
    agent = event.agent or client.MAIN
    path = "/".join((*(context.above if context else ()), agent, event.tool))
    return {
        "kind": "decided",
        "path": path,
        "worker": agent,
        "toolset": event.server or client.FORMAT,
        "tool": event.tool,
        "capabilities": [],
        "decision": "blocked",
        "allowed": False,
        "by": "llmdo",
        "left": False,
        "reasons": [f"{why} (path: {path})"],
        "labels": sorted(state.labels_of(event.context)) if context else [],
        "arguments": short(event.arguments),
    }


def _strictness(answer: HookAnswer) -> tuple[int, bool]:
    return STRICTNESS[answer.decision], not answer.is_left


def worker_of(agent: str, client: Client, tables: Tables) -> str:
    """The name of the worker that an agent is, or counts as.

    Raises:
        UnknownToolError: It is none of this project.
    """
    for name in (agent, client.STAND_INS.get(agent, agent)):
        if name in tables.agents:
            return tables.agents[name]
    raise UnknownToolError(
        f"the agent `{agent}` is not one of this project: add its file, then run `llmdo lock`"
    )


def authority_on(workers: Sequence[str], tables: Tables) -> Authority:
    """The authority over the calls of the last of these workers, each of which called the next."""
    own = workers[-1]
    path = [*(name for name in dict.fromkeys(workers[:-1]) if name != own), own]
    entries = [packed.layer_of(each) for name in path for each in tables.entries.get(name, ())]
    tree = Layer(
        tuple([rule for entry in entries for rule in entry.rules]),
        flows=tuple([flow for entry in entries for flow in entry.flows]),
    )
    layers = [*entries, *(packed.layer_of(tables.workers[name]) for name in path)]
    return authority_of(packed.base_of(tables.base), tree, layers)


class _PossibleCall:
    """A call by one caller that may have made it."""

    def __init__(
        self,
        client: Client,
        event: ClientEvent,
        access: Access,
        tables: Tables,
        state: SessionState,
        caller: str,
    ) -> None:
        self.client = client
        self.event = event
        self.access = access
        self.tables = tables
        self.caller = caller
        self.context: CallerContext = state.contexts[caller]
        self.base = packed.base_of(tables.base)
        self.worker = worker_of(self.context.agent, client, tables)
        self.raised = raised_by(access, event.tool, self.worker, tables, CallPaths(state.root, event.folder))
        self.carried = frozenset(map(Capability.parse, state.labels_of(caller)))
        if state.is_doubtful:
            self.carried = frozenset(self.base.labelling.labels)
        if access.starts not in (None, ANY_AGENT):
            worker_of(str(access.starts), client, tables)

    @property
    def path(self) -> str:
        """The agents on the way to the call, and its tool."""
        return "/".join((*self.context.above, self.context.agent, self.event.tool))

    def _is_of(self, name: str) -> bool:
        """Whether the call is one of a tool, or of a tool of a server, that a rule names."""
        return self.event.tool == name or self.event.tool.startswith(f"{name}__")

    def answer(self, *, is_certain: bool) -> HookAnswer:
        """The decision by the rules, the ceilings on the path, and the labels of the caller.

        If it is not certain that this caller made this call, what the client itself denies it is left to the client.
        """
        if denied := next((each for each in self.tables.denied if self._is_of(each)), None):
            # Of capabilities alone another tool may have the same, allowed by a rule of its own.
            reason = f"the settings of {self.client.PRODUCT} deny `{denied}` (path: {self.path})"
            return HookAnswer(decision="blocked", reason=reason)
        agents = (*self.context.above, self.context.agent)
        path = [worker_of(agent, self.client, self.tables) for agent in agents]
        authority = authority_on(path, self.tables)
        verdict = decide(self.raised, self.raised, authority, Carried(self.carried, sends=True))
        if verdict.decision == "allowed":
            return HookAnswer(decision="allowed")
        reasons = "; ".join(dict.fromkeys(_text(reason) for reason in verdict.reasons))
        is_theirs = self.access.is_asked_about and _is_theirs(verdict)
        is_left = is_theirs and (verdict.decision == "needs_approval" or not is_certain)
        decision: Decision = "needs_approval" if is_left else verdict.decision
        return HookAnswer(decision=decision, reason=f"{reasons} (path: {self.path})", is_left=is_left)

    def labelling(self, state: SessionState) -> SessionState:
        """The state when the call may happen: what it reads may be known from now on."""
        if not self.base.labelling.labels:
            return state
        given = frozenset(map(str, self.carried))
        read = {*map(str, self.base.labelling.of(self.raised)), *state.labels_in(read_by(self.raised))}
        for server in servers_of(self.access, self.worker, self.tables):
            read |= state.servers.get(server, frozenset())
            state = state.giving(server, given)
        state = state.changing(written_by(self.raised, self.raised), given.union(read))
        state = state.labelled(self.caller, read)
        return state.telling_all(given) if self.event.tool in self.client.FORWARDS else state

    def record(self, answer: HookAnswer) -> dict[str, object]:
        """The record of the decision for an audit."""
        is_asked = answer.decision == "needs_approval" and (self.client.CAN_ASK or answer.is_left)
        return {
            "kind": "decided",
            "path": self.path,
            "worker": self.context.agent,
            "toolset": self.access.server or self.client.FORMAT,
            "tool": self.event.tool,
            "capabilities": sorted(map(str, self.raised)),
            "decision": answer.decision,
            "allowed": answer.decision == "allowed",
            "by": "client" if is_asked else "rules",
            "left": answer.is_left,
            "reasons": [answer.reason] if answer.reason else [],
            "labels": sorted(map(str, self.carried)),
            "arguments": short(self.event.arguments),
        }


def _is_theirs(verdict: Verdict) -> bool:
    """Whether the client decides so by itself: every reason is a rule of its own, or the default beside one."""
    theirs = {each.capability for each in verdict.reasons if _is_own_rule(each)}
    return all(
        each.flow is None
        and each.ceiling is None
        and (each.rule is None or each.rule.origin == packed.BUILT_IN or _is_own_rule(each))
        and each.capability in theirs
        for each in verdict.reasons
    )


def _is_own_rule(reason: Reason) -> bool:
    return reason.rule is not None and reason.rule.origin.startswith(packed.THEIRS)


def _text(reason: Reason) -> str:
    return str(reason).replace(packed.THEIRS, "")
