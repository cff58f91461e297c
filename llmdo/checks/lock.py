"""4xx: `llmdo.lock` beside the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.checking import reports
from llmdo.base.diagnostic import finding
from llmdo.base.source import Location
from llmdo.base.values import replace
from llmdo.syntax.unchanged import DESCRIPTION_CHANGED, PROMPT_CHANGED
from llmdo.workspace.lock import drift
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.reach import Analysis
    from llmdo.workspace.lock import Drift
    from llmdo.workspace.project import Project


OVERWRITTEN = frozenset({"LDO401", "LDO402", "LDO403", "LDO405"})
"""What `llmdo lock` fixes by writing a new one."""

UNREAD = frozenset({"LDO202", "LDO203", "LDO205", "LDO207", "LDO208"})
"""About names, which importing a module may show to be there although its text does not."""

MAX_GAINS = 3  # named in one finding: `llmdo diff` shows them all


@reports("LDO401", "error")
def stale_lock(project: Project) -> Iterator[Diagnostic]:
    """The lock does not say what the sources say.

    Reviewers read the lock and `llmdo run --locked` runs by it, so it has to follow every change. What differs is told
    once, after all other findings, with what it lets entries reach that they could not reach before; and not at all
    where an error about files or names stands before a new lock. `llmdo run`, `add` and `remove` bring it up to date
    where they may. A warning, and an error with `--locked`, which is the default where `CI` is set.

    Fixed:

        llmdo lock
    """
    if project.locked_analysis is not None and not project.gaps.any:
        yield from drifted(project.locked_analysis, project.analysis)


def drifted(locked: Analysis, current: Analysis) -> Iterator[Diagnostic]:
    """A finding for each item that differs, with what it lets entries reach in addition."""
    items = drift(locked.graph, current.graph)
    if not items:
        return
    gains: dict[tuple[str, str], list[str]] = {}
    widened = {} if all(map(_is_harmless, items)) else _widened(locked, current, items)
    for (entry, verb, path), capabilities in widened.items():
        words = f"entry `{entry}` {verb} {', '.join(capabilities)} by {' > '.join(path)}"
        gains.setdefault(_cause(items, entry, path), []).append(words)
    for item in items:
        gained = gains.get((item.kind, item.name), [])
        more = [f"and {len(gained) - MAX_GAINS} more"] if len(gained) > MAX_GAINS else []
        words = "; ".join([item.problem.message, *gained[:MAX_GAINS], *more])
        yield replace(item.problem, message=words)


_HARMLESS = frozenset({PROMPT_CHANGED, DESCRIPTION_CHANGED, "its input changed"})


def _is_harmless(item: Drift) -> bool:
    """Whether what changed is text for models alone, which lets nobody do anything."""
    return item.kind in ("worker", "entry") and _HARMLESS.issuperset(item.changes)


_VERBS = {
    "gained": "gains",
    "gate removed": "is no longer asked about",
    "assurance": "is no longer limited in",
}


def _widened(
    locked: Analysis, current: Analysis, items: Iterable[Drift]
) -> Mapping[tuple[str, str, tuple[str, ...]], list[str]]:
    """Entry, what happens to it, and a path, to the capabilities of which that holds."""
    from llmdo.diff import entry_rows  # only where the lock is stale

    touched = {item.name for item in items}
    is_local = all(item.kind in ("worker", "entry") for item in items)
    by_cause: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for name, rows in entry_rows(locked, current, touched if is_local else None).items():
        for row in rows:
            if row.effect == "widens" and row.after:
                path = tuple(hop.name for hop in row.after.path)
                verb = _VERBS[row.kind]
                by_cause.setdefault((name, verb, path), []).append(f"`{row.capability}`")
    return by_cause


def _cause(items: Sequence[Drift], entry: str, hops: Sequence[str]) -> tuple[str, str]:
    """The item that most likely lets `entry` reach further: the first on its path, else a rule or a setting."""
    telling = [(item.kind, item.name) for item in items if not _is_harmless(item)]
    path = [("entry", entry), *(("worker", name) for name in hops), ("toolset", hops[-1] if hops else "")]
    suspects = [*path, ("rules", ""), ("settings", ""), ("paths", ""), *telling]
    return next((suspect for suspect in suspects if suspect in telling), (items[0].kind, items[0].name))


@reports("LDO402", "error")
def missing_lock(project: Project) -> Iterator[Diagnostic]:
    """There is no lock.

    A note, and an error with `--locked`, which is the default where `CI` is set: without a lock nothing says what
    was reviewed.

    Fixed:

        llmdo lock
    """
    workspace = project.workspace
    unread = any(problem.at.path == LOCK for problem in workspace.problems)
    if project.locked.state == "missing" and workspace.has_lock and workspace.manifest and not unread:
        yield finding(
            "LDO402", Location(LOCK), f"there is no `{LOCK}`", hint="run `llmdo lock` and commit it"
        )


@reports("LDO403", "error")
def conflicted_lock(project: Project) -> Iterator[Diagnostic]:
    """The lock holds the markers of a merge conflict.

    It is made from the sources alone, so there is nothing to resolve by hand: fix the sources, then make it
    anew.

    Fixed:

        llmdo lock
    """
    yield from _reported(project, "LDO403")


@reports("LDO404", "error")
def newer_lock(project: Project) -> Iterator[Diagnostic]:
    """The lock was written by a newer llmdo, in a format that this one does not know.

    It is neither believed nor overwritten. Use that version; `llmdo lock --allow-downgrade` writes the lock of this
    one.
    """
    yield from _reported(project, "LDO404")


@reports("LDO405", "error")
def unreadable_lock(project: Project) -> Iterator[Diagnostic]:
    """The lock is not what llmdo writes: it was edited or damaged.

    Fixed:

        llmdo lock
    """
    yield from _reported(project, "LDO405")


@reports("LDO406", "note")
def newer_revision(project: Project) -> Iterator[Diagnostic]:
    """The lock was written by a newer llmdo, in a format that this one can read, but not write.

    What it does not know of it is ignored. `llmdo lock` does not overwrite it unless it is told to, with
    `--allow-downgrade`. Use that version to lock.
    """
    yield from _reported(project, "LDO406")


def _reported(project: Project, code: str) -> Iterator[Diagnostic]:
    yield from (problem for problem in project.locked.problems if problem.code == code)
