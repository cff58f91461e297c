"""A scenario as a workspace. What becomes of a field is decided once, for all scenarios, with its reason.

`grant.allowed_actions`
    `may` of the first worker: what the user allows, for all below it as well.
`grant.max_delegation_depth`
    `max-depth`: the longest chain of delegations.
`grant.ttl_seconds`
    The limit `seconds` of the entry: both count from the start of the run.
`agents.NAME.capabilities`
    The tools of a worker: what it can do, whoever allows it.
`then.delegate.agent`, `then.delegate.actions`
    A delegate, and its `may`: what is handed over. `may` is of a worker, so an agent that is handed other things
    elsewhere is another worker there.
`resources.docs`, `resources.emails`
    Reading them returns `data.untrusted`: others write them. The configuration is the operator's own.
what is outside of the grant
    Blocked after a stranger's words by a flow rule: nobody allowed it before they were read.
`advance_clock`
    The clock of the run is put forward.
`principal`, and what `UNSAID` names
    Nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Scenario = dict[str, Any]

UNSAID = {
    "replay": "a delegation is a call, which is decided on when it is made: there is nothing to present twice",
    "untracked": "a model has no way to a tool but the gate, which knows the path of each call",
    "as_principal": "a run is of whoever starts it, and no call can say otherwise",
}
"""The fields of rules that have no counterpart, each with the reason. An actor does the same without it."""

STRANGERS = {"docs.read", "email.read"}


@dataclass(frozen=True)
class Means:
    """What stands in the way."""

    grant: bool
    """`may`, `max-depth` and `seconds`."""
    after: str | None
    """The label after which what is outside of the grant is blocked."""


MEANS = {
    "nothing": Means(grant=False, after=None),
    "all": Means(grant=True, after="data.untrusted"),
    "flow rules": Means(grant=False, after="data.untrusted"),
    "answers": Means(grant=False, after="agent.delegate"),
}
"""Nothing shows that the models attack; a rule about delegates alone shows that what they answer carries a label."""

DEEPEST = 100
START = "Do what the user wants."


@dataclass(frozen=True)
class Member:
    """A worker: an agent with what is handed over to it."""

    agent: str
    scope: frozenset[str]


def named(member: Member, members: list[Member]) -> str:
    """The name of its worker."""
    alike = [each for each in members if each.agent == member.agent]
    return member.agent if member == alike[0] else f"{member.agent}-as-{alike.index(member)}"


def tool(action: str) -> str:
    """The name of the tool, and of its toolset."""
    return action.replace(".", "_").replace("-", "_")


def capability(action: str) -> str:
    """What it raises."""
    return f"x.{tool(action)}.done"


def delegations(scenario: Scenario, agent: str) -> Iterator[Member]:
    """To whom an agent may hand over what."""
    for rule in scenario["agents"][agent].get("rules") or ():
        if to := rule["then"].get("delegate"):
            yield Member(to["agent"], frozenset(to.get("actions") or ()))


def members(scenario: Scenario) -> list[Member]:
    """All workers, that of the entry first."""
    every = [Member(scenario["task"]["agent"], frozenset(scenario["grant"]["allowed_actions"]))]
    for member in every:  # which grows
        every += dict.fromkeys(each for each in delegations(scenario, member.agent) if each not in every)
    return every


def unsaid(scenario: Scenario) -> set[str]:
    """The fields of its rules that have no counterpart."""
    rules = [rule for agent in scenario["agents"].values() for rule in agent.get("rules") or ()]
    bodies = [body for rule in rules for body in rule["then"].values() if isinstance(body, dict)]
    return {field for field in UNSAID for each in (*rules, *bodies) if each.get(field)}


def write(root: Path, scenario: Scenario, means: Means) -> None:
    """Writes the workspace of a scenario."""
    every, grant = members(scenario), scenario["grant"]
    can = {each.agent: scenario["agents"][each.agent].get("capabilities") or () for each in every}
    actions = sorted({action for each in every for action in (*each.scope, *can[each.agent])})
    outside = [action for action in actions if action not in grant["allowed_actions"]]
    seconds = grant.get("ttl_seconds") if means.grant else None
    flows = [f'"{means.after} -> {capability(action)}" = "blocked"' for action in outside if means.after]
    lines = [
        'schema = 1\n[workspace]\nname = "scenario"\nworkers = ["*.worker"]\ntoolset-modules = ["tools.py"]',
        f"max-depth = {grant['max_delegation_depth'] if means.grant else DEEPEST}",
        '[approvals.rules]\n"x" = "allowed"',
        "[flows]",
        *flows,
        f'[entries.go]\nworker = "{every[0].agent}"\ninput = "{START}"',
        f"limits = {{ requests = 10_000{f', seconds = {seconds}' if seconds else ''} }}",
    ]
    for action in actions:
        raised = [capability(action), *(["data.untrusted"] if action in STRANGERS else [])]
        lines.append(f"[toolsets.{tool(action)}]\ncapabilities = {{ {tool(action)} = {json.dumps(raised)} }}")
    (root / "llmdo.toml").write_text("\n".join(lines), encoding="utf-8")
    made = [f"{tool(action)}: FunctionToolset = actors.toolset({action!r})" for action in actions]
    imports = ["from pydantic_ai.toolsets import FunctionToolset", "from bench.delegationbench import actors"]
    (root / "tools.py").write_text("\n".join([*imports, *made]))
    made = [
        f"model{at} = actors.model({each.agent!r}, {sorted(each.scope)})" for at, each in enumerate(every)
    ]
    (root / "models.py").write_text("\n".join(["from bench.delegationbench import actors", *made]))
    for at, each in enumerate(every):
        uses = [*map(tool, can[each.agent])]
        uses += dict.fromkeys(named(to, every) for to in delegations(scenario, each.agent))
        ceiling = json.dumps(["agent.delegate", *map(capability, sorted(each.scope))])
        may = f"may: {ceiling}\n" if means.grant else ""
        text = f"model: python:models.py:model{at}\ntoolsets: {json.dumps(uses)}\n{may}"
        name = named(each, every)
        (root / f"{name}.worker").write_text(f"---\nname: {name}\n{text}---\nDo.\n", encoding="utf-8")
