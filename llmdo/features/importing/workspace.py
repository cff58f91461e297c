"""`llmdo import`: a foreign project written as a workspace of ours, checked, and compared with the original."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError, place, shown
from llmdo.base.values import dataclass, replace
from llmdo.checks.acceptance import ACCEPTABLE
from llmdo.features.importing.filesystem import IMPLIED
from llmdo.features.importing.plan import Plan, plan_of
from llmdo.features.importing.stubs import MODULE
from llmdo.foreign import foreign_of
from llmdo.foreign.building import UNTRUSTED
from llmdo.foreign.team import Remark
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import UNLISTED
from llmdo.policy.vocabulary import ONLY_BY_FULL_NAME
from llmdo.render.findings import concise
from llmdo.scaffold import files
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Agent, Grant
    from llmdo.reach import Analysis, Row
    from llmdo.workspace.project import Project

_NET = Capability("net")


def without_hosts(project: Foreign) -> Foreign:
    """The project as if its agents might send to any host, with a remark if that is more than its files say."""
    team = project.team
    remarks = tuple(dict.fromkeys(remark for agent in team.agents for remark in _remarks(agent)))
    if not remarks:
        return project
    agents = tuple(replace(agent, grants=tuple(map(_without_hosts, agent.grants))) for agent in team.agents)
    team = replace(team, agents=agents, remarks=(*team.remarks, *remarks))
    return foreign_of(project.root, team, project.teams)


def without_events(project: Foreign) -> Foreign:
    """The project as if its clients ran nothing by themselves, with a remark for each thing that they do run."""
    team = project.team
    events = [event for agent in team.agents for event in agent.events]
    if not events:
        return project
    remarks = (
        Remark(event.at.location, f"`{event.toolset}` is not carried over: `{event.tool}`")
        for event in events
    )
    agents = tuple(replace(agent, events=()) for agent in team.agents)
    team = replace(team, agents=agents, remarks=(*team.remarks, *dict.fromkeys(remarks)))
    return foreign_of(project.root, team, project.teams)


def with_questions(project: Foreign) -> Foreign:
    """The project as if its clients asked about each command that they let by because they do not see it.

    llmdo has no such gap, so the import is to have none. A remark says so for each rule, or default.
    """
    team = project.team
    unseen = [grant for agent in team.agents for grant in agent.grants if _is_unseen(grant)]
    if not unseen:
        return project
    remarks = (
        Remark(
            (grant.rule_at or grant.at).location,
            f"`{grant.tool}` asks here: the original lets any command by, through `{grant.words}`",
        )
        for grant in unseen
    )
    agents = tuple(replace(agent, grants=tuple(map(_asking, agent.grants))) for agent in team.agents)
    team = replace(team, agents=agents, remarks=(*team.remarks, *dict.fromkeys(remarks)))
    return foreign_of(project.root, team, project.teams)


def _is_unseen(grant: Grant) -> bool:
    return bool(grant.words) and grant.decision == "allowed" and UNLISTED in grant.capabilities


def _asking(grant: Grant) -> Grant:
    return replace(grant, decision="needs_approval") if _is_unseen(grant) else grant


def _remarks(agent: Agent) -> Iterator[Remark]:
    for grant in agent.grants:
        if hosts := [each.scope for each in grant.capabilities if _has_host(each)]:
            names = ", ".join(f"`{host}`" for host in hosts)
            yield Remark(grant.at.location, f"`{grant.tool}` may send to {names} alone, and here to any host")


def _without_hosts(grant: Grant) -> Grant:
    capabilities = [Capability(each.name) if _has_host(each) else each for each in grant.capabilities]
    return replace(grant, capabilities=tuple(dict.fromkeys(capabilities)))


def _has_host(capability: Capability) -> bool:
    return capability.scope is not None and _NET.covers_name(capability.name)


__all__ = ["MODULE", "Imported", "import_project", "reached"]

Reached = dict[str, dict[Capability, str]]
"""Entry to its reach, with the mildest decision."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import, and its differences from the original."""

    paths: tuple[str, ...]
    """Sorted."""
    remarks: tuple[Remark, ...]
    findings: tuple[Diagnostic, ...]
    """The findings of `check` about the result."""
    wider: tuple[str, ...]
    """The reach of the result's workers that the agents did not have, or only after a question."""
    narrower: tuple[str, ...]


def import_project(original: Foreign, target: Path) -> Imported:
    """Writes the workspace for `original` into `target`, a new or empty folder.

    Raises:
        LlmdoError: the folder is not empty, there is no agent, or the file system refuses.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise LlmdoError(f"`{target}` is not an empty folder", hint="`--to DIR` names a new one", exit_code=1)
    if not original.team.agents:
        raise LlmdoError(f"there is no agent of {original.team.format} to import", exit_code=1)
    original = with_questions(without_hosts(without_events(original)))
    plan = plan_of(original)
    for path, text in sorted(plan.files.items()):
        files.write(target, path, text.encode())
    accepted = _acceptances(_findings(projects.read(target), plan))
    if accepted:
        files.write(target, "llmdo.toml", (plan.files["llmdo.toml"] + accepted).encode())
    read = projects.read(target)
    wider, narrower = _differences(original, read, plan)
    findings = tuple(_findings(read, plan))
    return Imported(tuple(sorted(plan.files)), plan.remarks, findings, wider, narrower)


def _findings(read: Project, plan: Plan) -> Iterator[Diagnostic]:
    """The findings of `check`, except those due to the missing lock."""
    unlocked = {"LDO402", "LDO503"} if plan.pending else {"LDO402"}
    return (finding for finding in checks.check(read) if finding.code not in unlocked)


def _acceptances(findings: Iterable[Diagnostic]) -> str:
    """The acceptances of findings that hold for the original too, so that the import need not justify them."""
    reason = json.dumps("it is so in the original that this was imported from")
    pairs = sorted(
        {(finding.code, finding.subject or "") for finding in findings if finding.code in ACCEPTABLE}
    )
    whole = {code for code, entry in pairs if not entry}
    tables = []
    for code, entry in pairs:
        if entry and code in whole:
            continue
        named = f"entry = {json.dumps(entry)}\n" if entry else ""
        tables.append(f'\n[[check.accept]]\ncode = "{code}"\n{named}reason = {reason}\n')
    return "".join(tables)


def reached(analysis: Analysis) -> Reached:
    """The reach of each entry, without blocked capabilities and without those that a wider one covers."""
    return {name: _telling(analysis.of(entry)) for name, entry in analysis.graph.entries.items()}


def _telling(rows: Iterable[Row]) -> dict[Capability, str]:
    decisions: dict[Capability, str] = {}
    for row in rows:
        if row.decision != "blocked":
            scope = None if row.capability.scope == "**" else row.capability.scope
            capability = Capability(row.capability.name, scope)
            decisions[capability] = max(decisions.get(capability, "blocked"), row.decision, key=_mildness)
    return {
        capability: decision
        for capability, decision in decisions.items()
        if not any(
            other != capability
            and other.contains(capability)
            and (other.name == capability.name or capability.name not in ONLY_BY_FULL_NAME)
            and _mildness(other_decision) >= _mildness(decision)
            for other, other_decision in decisions.items()
        )
    }


def _differences(original: Foreign, read: Project, plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    before, after = reached(original.analysis), reached(read.analysis)
    wider: list[str] = []
    narrower: list[str] = []
    for agent, rows in before.items():
        name = plan.names[agent]
        old = {
            Capability(plan.capabilities.get(capability.name, capability.name), capability.scope): decision
            for capability, decision in rows.items()
            if capability.name not in plan.ungoverned
        }
        new = after.get(name, {})
        old |= {each: new[each] for each in new.keys() - old if _is_implied(each, old, plan)}
        for capability in sorted({*old, *new}, key=str):
            if old.get(capability) == new.get(capability):
                continue
            if capability == UNTRUSTED and capability not in old:
                continue  # here the answers of every server count so, also those of one that only reads files
            if capability.name in plan.pending and capability not in new:
                continue
            was, now = old.get(capability, "not reached"), new.get(capability, "not reached")
            sentence = f"`{name}`: `{capability}` is {now}, it was {was}"
            (wider if _mildness(now) > _mildness(was) else narrower).append(sentence)
    return tuple(wider), tuple(narrower)


def _is_implied(capability: Capability, old: Iterable[Capability], plan: Plan) -> bool:
    """Whether a call raises a capability only beside one that the original reaches, which decides."""
    bases = (Capability(name, capability.scope) for name, each in IMPLIED.items() if each == capability.name)
    is_ours = capability.name in plan.implied
    return is_ours and any(each.contains(base) for base in bases for each in old)


def _mildness(decision: str) -> int:
    return ("not reached", "blocked", "needs_approval", "allowed").index(decision)


def report(done: Imported, folder: str) -> str:
    """The written files, the parts that could not be carried over, each with its place, and the differences."""
    lines = [f"wrote {len(done.paths)} files to {shown(folder)}"]
    if done.remarks:
        lines.append("changed, or not carried over:")
        lines += [f"  {place(remark.at)}: {shown(remark.text)}" for remark in done.remarks]
    for title, differences in (("wider", done.wider), ("narrower", done.narrower)):
        if differences:
            lines += [
                f"{title} than the original:",
                *(f"  {shown(difference)}" for difference in differences),
            ]
    if not done.wider and not done.narrower:
        lines.append("every worker reaches what its agent reached")
    lines += [f"check says: {concise((finding,))}".rstrip() for finding in done.findings]
    return "\n".join(lines) + "\n"
