"""4xx: `llmdo.lock` beside the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.diagnostic import finding
from llmdo.lock import drift
from llmdo.source import Location
from llmdo.workspace import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.diagnostic import Diagnostic
    from llmdo.project import Project


OVERWRITTEN = frozenset({"LDO401", "LDO402", "LDO403", "LDO405"})
"""What `llmdo lock` mends by writing a new one."""


def stale_lock(project: Project) -> Iterator[Diagnostic]:
    """The lock does not say what the sources say.

    Reviewers read the lock and `llmdo run --locked` runs by it, so it has to follow every change. Each item that
    differs is a finding of its own. A warning, and an error with `--locked`, which is the default where `CI` is
    set.

    Mended:

        llmdo lock
    """
    if project.locked.graph is not None:
        for item in drift(project.locked.graph, project.graph):
            yield item.problem


def missing_lock(project: Project) -> Iterator[Diagnostic]:
    """There is no lock.

    A note, and an error with `--locked`, which is the default where `CI` is set: without a lock nothing says what
    was reviewed.

    Mended:

        llmdo lock
    """
    workspace = project.workspace
    if project.locked.state == "missing" and workspace.has_lock and workspace.manifest is not None:
        yield finding(
            "LDO402", Location(LOCK), f"there is no `{LOCK}`", hint="run `llmdo lock` and commit it"
        )


def conflicted_lock(project: Project) -> Iterator[Diagnostic]:
    """The lock holds the markers of a merge conflict.

    It is made from the sources alone, so there is nothing to resolve by hand: mend the sources, then make it
    anew.

    Mended:

        llmdo lock
    """
    yield from _reported(project, "LDO403")


def newer_lock(project: Project) -> Iterator[Diagnostic]:
    """The lock was written by a newer llmdo, in a format that this one does not know.

    It is neither believed nor overwritten.
    """
    yield from _reported(project, "LDO404")


def unreadable_lock(project: Project) -> Iterator[Diagnostic]:
    """The lock is not what llmdo writes: it was edited or damaged.

    Mended:

        llmdo lock
    """
    yield from _reported(project, "LDO405")


def _reported(project: Project, code: str) -> Iterator[Diagnostic]:
    yield from (problem for problem in project.locked.problems if problem.code == code)
