"""`llmdo import`: a foreign project written as a workspace of ours, checked, and compared with the original."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.checks.acceptance import ACCEPTABLE
from llmdo.features.importing.hosts import without_hosts
from llmdo.features.importing.plan import Plan, plan_of
from llmdo.features.importing.stubs import MODULE
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import ONLY_BY_FULL_NAME
from llmdo.scaffold import files
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Remark
    from llmdo.reach import Analysis, Row
    from llmdo.workspace.project import Project

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
    original = without_hosts(original)
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
        if capability.name in ONLY_BY_FULL_NAME
        or not any(
            other != capability
            and other.contains(capability)
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
        for capability in sorted({*old, *new}, key=str):
            if old.get(capability) == new.get(capability):
                continue
            if capability.name in plan.pending and capability not in new:
                continue
            was, now = old.get(capability, "not reached"), new.get(capability, "not reached")
            sentence = f"`{name}`: `{capability}` is {now}, it was {was}"
            (wider if _mildness(now) > _mildness(was) else narrower).append(sentence)
    return tuple(wider), tuple(narrower)


def _mildness(decision: str) -> int:
    return ("not reached", "blocked", "needs_approval", "allowed").index(decision)
