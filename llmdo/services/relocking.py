"""A lock behind its sources, and its automatic update by commands that begin runs, and by edits.

Changes that follow from files of the workspace are taken in, and their effect on reach is told. Only `llmdo lock`
takes in changes that need a person's look: answers of MCP servers, their programs, judges, facts of tools with
unchanged source, installed toolsets, policies of packages, and built-in rules of another llmdo. If any of those
differs, nothing is taken in, and it has no effect: a server is not started, a judge is not executed, and if
something is `unreviewed` nothing runs at all.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError, joined, shown
from llmdo.base.values import dataclass
from llmdo.services import locking
from llmdo.services.lock import OVERWRITTEN_ANYWAY
from llmdo.workspace import lock
from llmdo.workspace import project as projects
from llmdo.workspace.reading import read_lock
from llmdo.workspace.root import LOCK, is_workspace
from llmdo.workspace.trust import is_trusted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.diff import Difference, RowChange
    from llmdo.graph.resolved import Graph
    from llmdo.services.root import Tell
    from llmdo.workspace.project import Project

FEW = 3  # names of a kind, and capabilities, in the line about a new lock


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleLock:
    """A lock that is behind its sources."""

    root: Path
    before: Graph | None
    """The lock as it is; None if there is none, or it cannot be read."""
    after: Graph
    """The graph of the sources."""
    is_usable: bool = True
    """Whether it may be replaced automatically: neither in conflict nor damaged nor of a newer llmdo."""

    @property
    def note(self) -> str:
        """That a run goes by the sources."""
        state = "out of date" if self.before else "missing" if self.is_usable else "unusable"
        waiting = self.for_a_person if self.is_usable else ()
        how = f"`llmdo lock` alone takes in {joined(waiting)}" if waiting else "`llmdo lock` records it"
        return f"{LOCK} is {state}: running what the sources say now ({how})"

    @property
    def for_a_person(self) -> tuple[str, ...]:
        """The differences that only `llmdo lock` takes in, in words."""
        return tuple(_for_a_person(self.before, self.after))

    def take_in(self, tell: Tell) -> None:
        """Writes the graph of the sources, and tells its effect on the reach of entries; or tells why it does not.

        Raises:
            LlmdoError: It cannot be written.
        """
        if not self.is_usable:
            tell(f"{LOCK} stays as it is: `llmdo check` says why it cannot be read")
        elif waiting := self.for_a_person:
            tell(f"{_unwritten(self.root)}: `llmdo lock` alone takes in {joined(waiting)}")
        elif lock.write(self.root, self.after, self._is_as_read):
            tell(f"wrote {LOCK} ({joined([*self._items()], by=', ')}): {self._reach()}")
        elif self._on_disk().graph != self.after:  # else another run took the same in
            tell(f"{LOCK} stays as it is: it is not what it was when it was read")

    def take_in_or_run_without(self, tell: Tell, environ: Mapping[str, str]) -> None:
        """As `take_in`, of a trusted and writable workspace; of others tells that the sources are run."""
        if not self.is_usable or self.for_a_person or not is_trusted(self.after, self.root, environ):
            tell(self.note)
            return
        try:
            self.take_in(tell)
        except LlmdoError as error:
            tell(f"{self.note}; {error.message}")

    def _on_disk(self) -> lock.Locked:
        return lock.read(read_lock(self.root)[0])

    def _is_as_read(self) -> bool:
        """Whether the lock on disk is unchanged since it was read; else somebody's update meanwhile would be lost."""
        now = self._on_disk()
        state = "read" if self.before else "missing"
        return (now.state, now.graph, now.is_newer) == (state, self.before, False)

    def _items(self) -> Iterator[str]:
        """The new items in it, those of a kind together."""
        if self.before is None:
            yield "new"
            return
        for kind, group in groupby(lock.drift(self.before, self.after), key=lambda item: item.kind):
            names = [shown(item.name) for item in group if item.name]
            more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
            yield f"{kind} {', '.join(names[:FEW])}{more}" if names else kind

    def _reach(self) -> str:
        """The reach of entries that it adds to the one before."""
        from llmdo.diff import diff  # only where a lock is written

        if self.before is None:
            return "`llmdo reach` shows what entries can do"
        return "; ".join(_told(diff(self.before, self.after)))


def behind(project: Project, graph: Graph) -> StaleLock | None:
    """The lock of `project` if it differs from `graph`, that of the sources; else, and for files alone, None."""
    if not project.workspace.has_lock or project.locked.graph == graph:
        return None
    is_usable = project.locked.state in ("read", "missing") and not project.locked.is_newer
    return StaleLock(
        root=project.workspace.root, before=project.locked.graph, after=graph, is_usable=is_usable
    )


def after_edit(root: Path, tell: Tell, *, frozen: bool = False) -> None:
    """Brings the lock up to date after llmdo changed files of the workspace; nothing is imported or started.

    It tells which facts are missing because they need an import or a start. A `frozen` lock stays as it is.

    Raises:
        LlmdoError: The lock cannot be written.
    """
    if not is_workspace(root):
        return
    project = projects.read(root)
    stale = behind(project, project.graph)
    if stale is None:
        return
    if frozen:
        tell(f"{LOCK} stays as it is: `llmdo lock` records the edit")
        return
    errors = [each for each in checks.check(project, locked=True) if each.severity == "error"]
    if any(each.code not in OVERWRITTEN_ANYWAY for each in errors):
        tell(f"{_unwritten(root)}: `llmdo check` says what stands before a new one")
    elif not stale.for_a_person and (unread := locking.to_be_imported(project)):
        tell(
            f"{_unwritten(root)}: what the tools of `{shown(unread[0])}` do only an import tells, so `llmdo run` or "
            "`llmdo lock` takes it in"
        )
    else:
        stale.take_in(tell)


def after_init(root: Path, tell: Tell, *, frozen: bool) -> bool:
    """As `after_edit`, of a workspace that may be new: a missing lock is not `frozen`. Whether there is a lock now.

    Raises:
        LlmdoError: The lock cannot be written.
    """
    after_edit(root, tell, frozen=frozen and (root / LOCK).exists())
    return (root / LOCK).exists()


def _unwritten(root: Path) -> str:
    return f"{LOCK} stays as it is" if (root / LOCK).exists() else f"no {LOCK} was written"


def unreviewed(after: Graph, *locks: Graph | None) -> Iterator[str]:
    """Installed toolsets and extensions, policies of packages and built-in rules that none of these locks holds.

    They follow from no file of the workspace, so nothing runs before `llmdo lock` took them in.
    """
    known = [each for each in locks if each is not None]
    installed = {tools.python for each in known for tools in each.toolsets.values() if tools.source is None}
    for toolset in after.toolsets.values():
        if toolset.python and toolset.source is None and toolset.python not in installed:
            yield f"the installed toolset `{shown(toolset.python)}`"
    policies = {(policy.name, policy.digest) for each in known for policy in each.policies}
    for policy in after.policies:
        if not policy.path and (policy.name, policy.digest) not in policies:
            yield f"the shared policy `{shown(policy.name)}`"
    for name, extension in after.extensions.items():
        if not any(each.extensions.get(name) == extension for each in known):
            yield f"the extension `{shown(name)}`"
    if known and after.settings.built_in not in {each.settings.built_in for each in known}:
        yield "the built-in rules of this llmdo"


def _for_a_person(before: Graph | None, after: Graph) -> Iterator[str]:
    yield from unreviewed(after, before)
    for name, toolset in after.toolsets.items():
        is_asked = toolset.server and toolset.format is None
        if is_asked and not toolset.identity:  # known of another server, or of other programs, alone
            yield f"what the MCP server `{shown(name)}` is and says"
    if (before.judges if before else {}) != after.judges:
        yield "a judge of evaluations"
    for item in lock.drift(before, after) if before else ():
        if item.is_kept:
            yield f"what `{shown(item.name)}` says, whose source is the same"


def _told(difference: Difference) -> Iterator[str]:
    """The verdict, and the first that widens reach: of an entry, of a worker below one, or of a fact of the lock."""
    yield "reach is the same" if difference.verdict in ("same", "changed") else difference.verdict
    for each in (*difference.entries, *difference.workers):
        gained = [row for row in each.rows if row.effect in ("widens", "unknown") and row.after]
        if gained:
            named = ", ".join(map(_gain, gained[:FEW]))
            more = f" and {len(gained) - FEW} more" if len(gained) > FEW else ""
            kind = "worker" if each in difference.workers else "entry"
            yield f"{kind} `{shown(each.name)}` gains {named}{more} (`llmdo diff` shows it)"
            return
    for change in difference.changes:
        if change.effect == "widens":
            yield f"`{shown('.'.join(change.route))}` widens it (`llmdo diff` shows it)"
            return


def _gain(row: RowChange) -> str:
    """A capability, and whether its use needs approval."""
    asks = " (asks)" if row.after and row.after.decision == "needs_approval" else ""
    return f"`{row.capability}`{asks}"
