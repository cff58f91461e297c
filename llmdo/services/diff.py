"""`diff`: the sources against a lock, two locks, or a foreign project at two revisions, read and compared."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError, shown
from llmdo.base.missing import missing_file
from llmdo.base.nearest import TEAM_FILES
from llmdo.base.request_fields import argument, option
from llmdo.base.values import also_in_json, in_json, unenforced
from llmdo.diff import diff as difference_of
from llmdo.diff import revision
from llmdo.graph.resolved import Graph
from llmdo.services import soundness
from llmdo.services.invalid import require_extensions
from llmdo.services.root import ORIGIN, extensions_here, root_folder
from llmdo.syntax import commits, discovery
from llmdo.syntax.globs import Glob
from llmdo.workspace import lock, project
from llmdo.workspace.root import LOCK, MANIFEST, MAX_LOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmdo.diff import Difference
    from llmdo.foreign import Foreign
    from llmdo.services.root import Tell

WORKTREE = "worktree"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRequest:
    """The two sides of a comparison."""

    before: str = field(
        default="HEAD",
        metadata=argument("[REV]", "A git revision, or llmdo.lock as it is on disk; REV..REV2 names both."),
    )
    after: str = field(
        default=WORKTREE,
        metadata=argument("[REV2|worktree]", "Another one, or the sources as they are on disk."),
    )
    locks: tuple[str, str] | None = field(
        default=None, metadata=option("Compare two files, without git.", metavar="A B")
    )
    lock_checked: bool = field(
        default=False,
        metadata=option("`lock --check` has passed, so nobody edited the lock by hand."),
    )
    project: str | None = None
    origin: tuple[str, str] | None = field(default=None, metadata=ORIGIN)
    """Format and folder of a foreign project to compare with itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The compared sides, in words for the reader."""

    before: str
    after: str
    has_baseline: bool = field(default=True, metadata=in_json(part=None))
    """Whether there was a lock before; without one all is new."""
    read_from: str | None = field(default=None, metadata=in_json(by=unenforced, flat=True, after=None))
    """The format of a foreign project."""
    folder: str = field(default="", metadata=in_json(part=None))
    """The prefix of a workspace's paths if several are printed: empty, or with a slash at the end."""

    @property
    @also_in_json("before")
    def baseline(self) -> str | None:
        """The earlier side, if it had anything."""
        return self.before if self.has_baseline else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOutcome:
    """The differences, and the sides that were compared."""

    difference: Difference
    sides: Sides
    before: Graph
    after: Graph


def sides_of(revisions: str) -> tuple[str, str]:
    """The two sides of `A..B`; without A that is the last commit, without B the files on disk.

    Raises:
        LlmdoError: That does not name two.
    """
    before, dots, after = revisions.partition("..")
    if not dots or ".." in after:
        raise LlmdoError(f"`{revisions}` does not name two revisions", hint="A..B, such as `main..worktree`")
    return before or "HEAD", after or WORKTREE


def diff(request: DiffRequest, tell: Tell) -> DiffOutcome:
    """Everything that one side lets each entry do and the other does not.

    Raises:
        LlmdoError: A side cannot be read.
    """
    if request.origin:
        outcome = _foreign(request.origin, request, tell)
    elif request.locks:
        before, after = map(_file, request.locks)
        sides = Sides(before=request.locks[0], after=request.locks[1])
        outcome = outcome_of(before, after, sides)
    else:
        outcome = _revisions(request, tell)
    return replace(outcome, difference=replace(outcome.difference, is_lock_checked=request.lock_checked))


def outcome_of(before: Graph, after: Graph, sides: Sides) -> DiffOutcome:
    """The difference of two graphs."""
    return DiffOutcome(difference=difference_of(before, after), sides=sides, before=before, after=after)


def _file(name: str) -> Graph:
    try:
        with Path(name).open("rb") as file:
            content = file.read(MAX_LOCK + 1)
    except FileNotFoundError as error:
        raise missing_file(name) from error
    except OSError as error:
        raise LlmdoError(f"cannot read `{name}`: {(error.strerror or 'error').lower()}") from error
    if len(content) > MAX_LOCK:
        raise LlmdoError(f"`{name}` is larger than {MAX_LOCK // 1024:,} KiB")
    try:
        return revision.graph_in(content)
    except LlmdoError as error:
        raise LlmdoError(f"`{name}`: {error.message}", hint=error.hint) from error


def _revisions(request: DiffRequest, tell: Tell) -> DiffOutcome:
    root = root_folder(request.project)
    before = _side(root, request.before, tell)
    after = _side(root, request.after, tell)
    if after is None:
        raise LlmdoError(f"there is no `{LOCK}` at `{request.after}`")
    if before is None:
        where = "" if request.before == LOCK else f" at `{request.before}`"
        tell(f"no baseline: there is no `{LOCK}`{where}, so everything is new")
    sides = Sides(before=request.before, after=request.after, has_baseline=before is not None)
    old = before.graph if before else Graph(settings=after.graph.settings)
    outcome = outcome_of(old, after.graph, sides)
    return replace(outcome, difference=replace(outcome.difference, unread=after.unread))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """One side of a comparison of workspaces."""

    graph: Graph
    unread: int = 0
    """The errors that keep parts of its sources out of the graph."""


def _side(root: Path, at: str, tell: Tell) -> _Compared | None:
    """The sources on disk, the lock beside them, or the lock of a revision; None if there is none."""
    if at == WORKTREE:
        return _worktree(root, tell)
    if at == LOCK:  # no revision has this name: git allows none that ends in `.lock`
        content = discovery.read(root, LOCK, limit=MAX_LOCK)
        if isinstance(content, bytes):
            return _Compared(graph=revision.graph_in(content))
        if content.code == "LDO106":  # there is none
            return None
        raise LlmdoError(f"`{LOCK}` {content.reason}")
    graph = revision.locked_graph(root, at)
    if graph is None:
        return None
    for note in _disagreements(root, at, graph):
        tell(note)
    return _Compared(graph=graph)


def _worktree(root: Path, tell: Tell) -> _Compared:
    """The sources on disk. None of them is run, so facts that need an import or a start come from the lock."""
    read = project.read(root)
    require_extensions(read.workspace.problems)
    if read.locked.graph is None:
        of_lock = (problem for problem in read.workspace.problems if problem.at.path == LOCK)
        problems = [*read.locked.problems, *of_lock]
        if problems:
            raise LlmdoError(problems[0].message, hint=problems[0].hint, at=problems[0].at)
        tell(f"note: there is no `{LOCK}`; run `llmdo lock` and commit it: reviewers compare with it")
    elif not read.is_current:
        tell(
            f"note: `{LOCK}` is not what the sources say; what is compared is the sources (run `llmdo lock`)"
        )
    for note in soundness.notes_on(read):
        tell(note)
    unread = soundness.unread_in(checks.check(read))
    if unread:
        tell(
            f"warning: the workspace has {unread} error{'s' * (unread != 1)}, so what it lets entries do is not known "
            "(`llmdo check` shows why)"
        )
    return _Compared(graph=soundness.shown_as_unknown(read).graph, unread=unread)


def _foreign(origin: tuple[str, str], request: DiffRequest, tell: Tell) -> DiffOutcome:
    """A foreign project at one revision against another, or against the files on disk."""
    from llmdo import foreign  # what only few comparisons need

    name, folder = origin[0], Path(origin[1])
    own, at = extensions_here(), None if request.after == WORKTREE else request.after
    now = foreign.read(name, folder, at, extensions=own)
    then = foreign.read(name, folder, request.before, may_be_empty=True, extensions=own)
    return foreign_outcome(then, now, request, tell)


def foreign_outcome(then: Foreign, now: Foreign, request: DiffRequest, tell: Tell) -> DiffOutcome:
    """The difference of two readings of a foreign project."""
    from llmdo import foreign

    name = now.team.format
    now, then = foreign.named_alike(now, then)
    for problem in (each for each in then.team.problems if each not in now.team.problems):
        is_above = any(path.startswith(f"{problem.at.path}/") for path in now.team.files)
        if problem.severity == "error" or is_above:
            tell(f"warning: not compared with `{request.before}`: {problem.message}")
    has_baseline = bool(then.team.agents)
    if not has_baseline:
        tell(f"no baseline: nothing of {name} is at `{request.before}`, so everything is new")
    sides = Sides(
        before=request.before,
        after=request.after,
        has_baseline=has_baseline,
        read_from=now.team.format,
    )
    unread = sum(problem.severity == "error" for problem in now.team.problems)
    if unread:
        places = "1 place" if unread == 1 else f"{unread} places"
        tell(f"warning: {places} could not be read, so what {name} lets agents do is not known")
    lost = sorted({agent.path for agent in then.team.agents} & {*now.team.without_tools})
    for path in lost:
        rest = "so it has those of the agent or session that runs it"
        tell(f"warning: `{shown(path)}` names no tools any more, {rest}")
    unread += len(lost)
    before = then.graph if has_baseline else Graph(settings=now.graph.settings)
    outcome = outcome_of(before, now.graph, sides)
    return replace(outcome, difference=replace(outcome.difference, unread=unread))


_READ = (".toml", ".worker", ".py", ".lock")
_NAMED = (".gitignore", *TEAM_FILES)
_ELSEWHERE = ("extension", "policy", "model", "python-model")
"""Tables about files outside of the workspace, or of any name: these are not compared."""

MOST_BYTES = 64 * 1024 * 1024
_OUT_OF_DATE = f"`{LOCK}` is out of date for "

FEW = 3  # items in the sentence


def _disagreements(root: Path, at: str, locked: Graph) -> Iterator[str]:
    """One sentence if the lock of the revision `at` differs from the sources there, or if nobody can tell.

    Nothing is checked out: the files that reading a workspace needs are written to a temporary folder.
    """
    is_adopted = _adopting(locked)
    blobs = {
        path: blob
        for path, blob in commits.files(root, at).items()
        if blob.is_regular and (_is_read(path) or (is_adopted(path) and _is_inside(path)))
    }
    sizes = [blob.size for blob in blobs.values()]
    if None in sizes:
        yield f"note: at `{at}`, files are not in this clone, so only `{LOCK}` is judged"
        return
    if sum(size or 0 for size in sizes) > MOST_BYTES:
        yield f"note: at `{at}`, the sources are too large to be compared with `{LOCK}`, so only that is judged"
        return
    if blobs.keys().isdisjoint((MANIFEST, *TEAM_FILES)):
        yield f"note: at `{at}`, there is no `{MANIFEST}` beside `{LOCK}`, so only that is judged"
        return
    texts = commits.contents(root, [blob.name for blob in blobs.values()])
    with tempfile.TemporaryDirectory(prefix="llmdo-") as folder:
        for path, blob in blobs.items():
            try:
                place = Path(folder, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(texts[blob.name])
            except (OSError, ValueError):
                yield f"note: at `{at}`, `{shown(path)}` cannot be read here, so only `{LOCK}` is judged"
                return
        graph = project.read(Path(folder), copy_of=root).graph
    # Which rules are built in, the llmdo that wrote the lock says, and no source does.
    current = replace(graph, settings=replace(graph.settings, built_in=locked.settings.built_in))
    items = [item for item in lock.drift(locked, current) if item.kind not in _ELSEWHERE]
    if items:
        named = [item.problem.message.removeprefix(_OUT_OF_DATE) for item in items[:FEW]]
        more = [f"and {len(items) - FEW} more"] if len(items) > FEW else []
        yield (
            f"warning: at `{at}`, `{LOCK}` is not what its sources say: {'; '.join([*named, *more])}; what is judged "
            "is the lock"
        )


def _adopting(locked: Graph) -> Callable[[str], bool]:
    """Whether reading the agents of other tools looks at a file, as far as their formats and the lock tell."""
    if not locked.settings.formats:
        return lambda _: False
    from llmdo.foreign.known import formats  # what only few comparisons need

    known = formats(extensions_here())
    globs = [Glob(text) for name in locked.settings.formats if name in known for text in known[name].files]
    return lambda path: path in locked.adopted or any(glob.names(path) for glob in globs)


def _is_read(path: str) -> bool:
    """Whether reading a workspace looks at such a file."""
    return _is_inside(path) and (path.endswith(_READ) or path.split("/")[-1] in _NAMED)


def _is_inside(path: str) -> bool:
    """Whether a path stays in the folder: a stranger's tree may hold names that lead elsewhere."""
    return not {"", ".", ".."}.intersection(path.split("/"))
