"""The actions that an editor offers on findings and entries: edits that a person chooses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base import parts
from llmdo.base.source import Location, Span
from llmdo.checks.acceptance import ACCEPTABLE
from llmdo.reach.suggest import suggest
from llmdo.workspace.root import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.workspace.project import Project


class Edit(NamedTuple):
    """A replacement of text."""

    at: Location
    text: str


class Action(NamedTuple):
    """An action."""

    title: str
    edits: tuple[Edit, ...]
    finding: Diagnostic | None = None
    """The finding that it solves."""
    is_preferred: bool = False


def fixes(findings: Iterable[Diagnostic]) -> Iterator[Action]:
    """The edits that findings offer."""
    for finding in findings:
        if fix := finding.fix:
            title = f"Write `{fix.text}` for `{fix.before}`"
            yield Action(title, (Edit(fix.at, fix.text),), finding, fix.safe)


def all_fixes(findings: Iterable[Diagnostic]) -> tuple[Edit, ...]:
    """The edits that `check --fix` would make in one file, without overlaps."""
    edits: list[Edit] = []
    safe = [finding.fix for finding in findings if finding.fix and finding.fix.safe]
    for fix in sorted(safe, key=lambda fix: (fix.at.path, fix.at.span or Span(0, 0, 0, 0))):
        before = edits[-1].at.span if edits else None
        span = fix.at.span
        if span and (before is None or (span.line, span.column) >= (before.end_line, before.end_column)):
            edits.append(Edit(fix.at, fix.text))
    return tuple(edits)


def acceptances(project: Project, findings: Iterable[Diagnostic]) -> Iterator[Action]:
    """The manifest lines that accept a finding, for each that people may accept; a person has to give the reason."""
    source = project.workspace.document.source
    if project.workspace.manifest is None or (
        "accept" in project.workspace.table("check") and "[[check.accept]]" not in source.text
    ):
        return
    lines = source.text.split("\n")
    end = Span(len(lines), len(lines[-1]) + 1, len(lines), len(lines[-1]) + 1)
    for finding in findings:
        if finding.code in ACCEPTABLE:
            text = "" if source.text.endswith("\n") or not source.text else "\n"
            text += f"\n[[check.accept]]\ncode = {json.dumps(finding.code)}\n"
            for key, value in (("entry", finding.subject), ("capability", finding.capability)):
                text += f"{key} = {json.dumps(value, ensure_ascii=False)}\n" if value else ""
            text += 'reason = ""\n'
            yield Action(
                f"Accept {finding.code} in {MANIFEST}, with a reason",
                (Edit(Location(MANIFEST, end), text),),
                finding,
            )


def suggestions(project: Project, path: str, line: int) -> Iterator[Action]:
    """The smallest ceiling that admits the whole reach of the entry at a line of the manifest."""
    if path != MANIFEST:
        return
    for entry in project.graph.entries.values():
        at = entry.at.location.span
        if not entry.declared or at is None or at.line != line:
            continue
        may = json.dumps([str(each) for each in suggest(project.analysis, entry).may], ensure_ascii=False)
        title = f"Set the ceiling of `{entry.name}` to what it can reach now"
        table = parts.table(project.workspace.table("entries"), entry.name)
        if entry.may_at and "may" in table:
            span = entry.may_at.location.span
            if span:
                yield Action(title, (Edit(Location(MANIFEST, span), may),))
        elif project.workspace.document.source.text.split("\n")[line - 1].lstrip().startswith("["):
            below = Span(line + 1, 1, line + 1, 1)
            yield Action(title, (Edit(Location(MANIFEST, below), f"may = {may}\n"),))
