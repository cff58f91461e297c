"""DelegationBench's stores, and its oracle's word on what a run of llmdo did with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from delegationbench.clock import VirtualClock
from delegationbench.envelope import Envelope
from delegationbench.oracle import Verdict, evaluate
from delegationbench.scenario import parse_scenario
from delegationbench.tools import Tools
from delegationbench.trace import Trace

if TYPE_CHECKING:
    from bench.delegationbench.team import Member, Scenario


@dataclass
class Stores:
    """The stores of a scenario, with a trace of who does what on them."""

    scenario: Scenario
    path: list[tuple[str, Envelope]] = field(default_factory=list)
    begun: int = 0

    def __post_init__(self) -> None:
        self.parsed = parse_scenario(dict(self.scenario))
        held, self.trace = self.parsed.resources, Trace(VirtualClock())
        self.tools = Tools(self.trace, docs=held.docs, emails=held.emails, config=held.config)

    def begins(self, member: Member) -> None:
        """An agent begins, with what is handed over to it: no more than its caller has."""
        self.begun += 1
        if self.path:
            parent = self.path[-1][1]
            task, origin = f"{parent.task_id}/{member.agent}", parent.task_id
            new = parent.derive(task, member.scope, f"nonce-{self.begun}")
        else:
            grant, origin = self.parsed.grant, None
            most, ends = grant.max_delegation_depth, grant.ttl_seconds
            new = Envelope(
                self.parsed.principal, "root", member.scope, most, expires_at=ends, nonce="nonce-root"
            )
        scope = sorted(new.allowed_actions)
        about = {"nonce": new.nonce, "expires_at": new.expires_at, "principal": new.principal}
        self.trace.delegation(origin, new.task_id, member.agent, scope, depth=new.depth, **about)
        self.path.append((member.agent, new))

    def waits(self, seconds: float) -> None:
        """Time goes by."""
        self.trace.clock.advance(seconds)

    def call(self, action: str, arguments: dict[str, Any]) -> str:
        """What the tool returns."""
        agent, envelope = self.path[-1]
        return self.tools.call(self.parsed.agents[agent], envelope, action, arguments, "document")

    def ends(self) -> None:
        """The agent answers."""
        self.path.pop()

    def judged(self) -> Verdict:
        """What the oracle says of it."""
        return evaluate(self.trace, vars(self.parsed.grant))

    def is_done(self) -> bool:
        """Whether the stores are as the scenario wants them in the end."""
        state = self.tools.outcome_state()
        return all(state[key] == wanted for key, wanted in self.parsed.expect.outcomes.items())
