"""The decisions of a team about each capability, as the rules below those of its agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.policy.authority import BUILT_IN, STRICTNESS, Capability, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.team import Grant, Team
    from llmdo.policy.vocabulary import Decision

_BUILT_IN = {rule.capability.name: rule.decision for rule in BUILT_IN}
STARTS = Capability("mcp.start")
DELEGATE = Capability("agent.delegate")


def base_rules(team: Team, *, is_governed: bool) -> Iterator[Rule]:
    """The mildest decision of any agent, for each capability; the others tighten it for themselves.

    Each agent names the source by a rule of its own: the line of one is no reason for a call of another.
    """
    every = mildest(grant for agent in team.agents for grant in (*agent.grants, *agent.events))
    if DELEGATE in every:
        every[DELEGATE] = _with_calls(every[DELEGATE], team)
    milder = {} if is_governed else _milder_scopes(every)
    left_out = {each for parts in milder.values() for each in parts}
    ruled: set[str] = set()
    for capability, merged in sorted(every.items(), key=lambda pair: str(pair[0])):
        parts = milder.get(str(capability), ())
        is_telling = bool(parts) or capability in left_out or not is_usual(capability, merged)
        if is_telling and STRICTNESS[merged.decision] < STRICTNESS["blocked"]:
            ruled.add(str(capability))
            yield Rule(capability, merged.decision, team.format, but=parts)
    for name in sorted(milder.keys() - ruled):
        yield Rule(Capability(name), _BUILT_IN[name], "built in", but=milder[name])


def _with_calls(delegating: Grant, team: Team) -> Grant:
    """The mildest grant of a tool that calls agents, at the decision about calls that files name, if that is milder."""
    decisions: list[Decision] = [call.decision for agent in team.agents for call in agent.calls]
    decisions += ["allowed" for agent in team.agents if agent.everyone]
    mildest_call = min(decisions, key=STRICTNESS.__getitem__, default=delegating.decision)
    is_milder = STRICTNESS[mildest_call] < STRICTNESS[delegating.decision]
    return replace(delegating, decision=mildest_call) if is_milder else delegating


def _milder_scopes(every: Mapping[Capability, Grant]) -> dict[str, tuple[Capability, ...]]:
    """The scopes of each capability that a team decides about more mildly than the rule about all of it does.

    That rule leaves them out, as one for a scope alone lifts no stricter one.
    """
    scopes: dict[str, list[Capability]] = {}
    for capability, grant in every.items():
        whole = every.get(Capability(capability.name))
        decision = _BUILT_IN.get(capability.name)
        if whole and whole.decision != "blocked" and (decision or not is_usual(capability, whole)):
            decision = whole.decision
        if capability.scope and decision and STRICTNESS[grant.decision] < STRICTNESS[decision]:
            scopes.setdefault(capability.name, []).append(capability)
    return {name: tuple(sorted(parts)) for name, parts in scopes.items()}


def client_rules(grants: Iterable[Grant], starts: Decision, origin: str) -> tuple[Rule, ...]:
    """The mildest decision about each capability of an agent's grants, where milder than the built-in rules.

    What is stricter is a rule of the agent itself, as far as it leaves no part out. A built-in rule that a milder scope
    is a part of counts as that part, as a rule of a lock leaves none out.
    """
    by_capability = mildest(grants)
    decided = [
        Rule(capability, merged.decision, origin)
        for capability, merged in sorted(by_capability.items(), key=lambda pair: str(pair[0]))
        if STRICTNESS[merged.decision] < STRICTNESS[_BUILT_IN.get(capability.name, "needs_approval")]
    ]
    scoped = {rule.capability.name: rule.decision for rule in decided if rule.capability.scope}
    whole = {rule.capability.name for rule in decided if not rule.capability.scope}
    decided += (
        Rule(Capability(name), scoped[name], origin) for name in scoped.keys() & _BUILT_IN.keys() - whole
    )
    return tuple(sorted([*decided, Rule(STARTS, starts, origin)], key=lambda rule: str(rule.capability)))


def is_usual(capability: Capability, grant: Grant) -> bool:
    """Whether a grant decides as the built-in rules do."""
    return grant.decision == _BUILT_IN.get(capability.name, "needs_approval")


def mildest(grants: Iterable[Grant]) -> dict[Capability, Grant]:
    """The grant with the mildest decision, for each capability."""
    mildest_by_capability: dict[Capability, Grant] = {}
    for grant in grants:
        for each in grant.capabilities:
            known = mildest_by_capability.get(each)
            if known is None or STRICTNESS[grant.decision] < STRICTNESS[known.decision]:
                mildest_by_capability[each] = grant
    return mildest_by_capability


def leaves_out(rule: Rule, capabilities: Iterable[Capability]) -> bool:
    """Whether a rule leaves out all of these capabilities that it would be about."""
    about = [each for each in capabilities if rule.capability.contains(each)]
    return bool(rule.but) and all(each in rule.but for each in about)
