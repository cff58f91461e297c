"""The rights that recorded sessions used: what each call raised, decided once more as the hook does now."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, excerpt, shown
from llmdo.base.values import replace
from llmdo.features.hook import clients, transcripts
from llmdo.features.hook.access import CallPaths, UnknownToolError, raised_by
from llmdo.features.hook.compiling import tables_of
from llmdo.features.hook.deciding import authority_on, worker_of
from llmdo.features.hook.events import UnreadableEventError
from llmdo.features.hook.transcripts.files import TranscriptFile
from llmdo.features.hook.transcripts.recorded import MOST_FILES, RecordedContext, files_below, word
from llmdo.policy.authority import decide
from llmdo.reach.suggest import AgentUse, SessionUse
from llmdo.render.amounts import counted
from llmdo.workspace import personal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import ModuleType

    from llmdo.features.hook.events import Client
    from llmdo.features.hook.packed import Tables
    from llmdo.features.hook.transcripts.recorded import RecordedCall, Transcript
    from llmdo.policy.authority import Capability
    from llmdo.workspace.project import Project

MOST_NOTES = 20
_FIRST = 20  # records by which a file is known
_PATTERNS = frozenset("*?[]{}!\\:")
"""Characters of a path that a manifest would not take as they are."""


def used(project: Project, paths: Sequence[str], environ: Mapping[str, str]) -> SessionUse:
    """The rights that sessions in a project used: those of the files and folders at `paths`, or all that are known.

    Raises:
        LlmdoError: No client of the project is one that llmdo hooks into, or there is nothing at a path.
    """
    formats = [name for name in clients.NAMES if name in project.graph.settings.formats]
    if not formats:
        raise LlmdoError(
            "`[workspace] from` names no client whose sessions llmdo reads",
            hint=f"these are: {', '.join(clients.NAMES)}",
        )
    root = os.path.realpath(project.workspace.root)
    sessions = _Sessions(root)
    files = [*_given(paths)] if paths else [*_known(root, formats, environ)]
    recent = sorted(files, key=_changed, reverse=True)[:MOST_FILES]
    if len(recent) < len(files):
        sessions.notes.append(f"only the {MOST_FILES:,} most recent of {len(files):,} transcripts were read")
    for path in recent:
        sessions.read(path)
    for name, recordings in sessions.by_client.items():
        if not any(each.calls for each in recordings):
            continue
        if name not in formats:
            sessions.notes.append(f"sessions of `{name}` were left out: `[workspace] from` does not name it")
            continue
        client = _client(name)
        tables = tables_of(project.graph, client, personal.read(environ).rules, stale="")
        ClientUse(client, tables, root, recordings).add_to(sessions)
    return sessions.use()


def _given(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        real = os.path.realpath(path)
        if Path(real).is_dir():
            yield from files_below(real, ".jsonl", ".json")
        elif os.path.lexists(real):
            yield real
        else:
            raise LlmdoError(f"there is nothing at `{excerpt(path)}`")


def _known(root: str, formats: Sequence[str], environ: Mapping[str, str]) -> Iterator[str]:
    for name in transcripts.NAMES:
        module = _kind(name)
        if name in formats or name not in clients.NAMES:
            yield from module.places(root, environ)


def _kind(name: str) -> ModuleType:
    return import_module(f"llmdo.features.hook.transcripts.{name}")


def _client(name: str) -> Client:
    return import_module(f"llmdo.features.hook.clients.{name}")


def _changed(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0


class _Sessions:
    """What was read of sessions so far."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.by_client: defaultdict[str, list[Transcript]] = defaultdict(list)
        self.notes: list[str] = []
        self.faults: list[str] = []
        self.sessions: set[tuple[str, str]] = set()
        self.agents: dict[str, AgentUse] = {}

    def read(self, path: str) -> None:
        """Reads the calls of one file."""
        file = TranscriptFile(path)
        records = file.records()
        first = [*islice(records, _FIRST)]
        kinds = (_kind(name) for name in transcripts.NAMES)
        kind = next((each for each in kinds if any(map(each.recognizes, first))), None)
        if kind is None and first:
            self.faults.append(f"`{excerpt(path, 200)}`: is no transcript that llmdo knows")
        elif kind is not None:
            before: list[Mapping[str, object]] = []
            if kind.FORMAT not in clients.NAMES:
                state = TranscriptFile(f"{path.removesuffix('.jsonl')}.json")
                before = [{"root": word(each.get("root"))} for each in state.records()]
            read = kind.recording(chain(before, first, records), file.name, self.root)
            calls = tuple(call.read_by(_client(read.client)) for call in read.calls)
            self.by_client[read.client].append(replace(read, calls=calls))
        self.faults += file.notes()

    def use(self) -> SessionUse:
        """All of it."""
        parts = [*chain.from_iterable(self.by_client.values())]
        if sessions := sum(each.is_elsewhere for each in parts):
            self.notes.append(f"{counted(sessions, 'session')} of other projects left out")
        if calls := sum(each.elsewhere for each in parts):
            self.notes.append(f"{counted(calls, 'call')} outside of this project left out")
        more = len(self.faults) - MOST_NOTES
        notes = [*self.faults[:MOST_NOTES], *([f"and {more:,} more notes on files"] if more > 0 else ())]
        return SessionUse(sessions=len(self.sessions), agents=self.agents, notes=(*notes, *self.notes))


class ClientUse:
    """The use of rights in sessions of one client."""

    def __init__(self, client: Client, tables: Tables, root: str, recordings: Iterable[Transcript]) -> None:
        self._client = client
        self._tables = tables
        self._root = root
        self._calls: dict[str, RecordedCall] = {}
        self._contexts: dict[str, RecordedContext] = {}
        self._done: set[str] = set()
        self._unmapped: Counter[str] = Counter()
        for each in recordings:
            self._calls |= {call.key: call for call in each.calls}
            self._done |= each.done
            for name, context in each.contexts.items():
                self._contexts[name] = _merged(self._contexts.get(name), context)

    def add_to(self, sessions: _Sessions) -> None:
        """Adds the use of each agent, and sentences about what does not count."""
        undone = 0
        for key, call in self._calls.items():
            sessions.sessions.add((self._client.FORMAT, call.event.session))
            if key not in self._done:
                undone += 1
                continue
            try:
                self._count(call, sessions.agents)
            except (UnknownToolError, UnreadableEventError) as error:
                self._unmapped[excerpt(str(error), 200)] += 1
        product = self._client.PRODUCT
        if undone:
            sessions.notes.append(
                f"{counted(undone, 'call')} in {product} that failed, were refused or did not end left out"
            )
        known = self._unmapped.most_common(MOST_NOTES)
        for reason, number in known:
            sessions.notes.append(f"{counted(number, 'call')} in {product} left out: {reason}")
        if rest := self._unmapped.total() - sum(number for _, number in known):
            sessions.notes.append(f"{counted(rest, 'call')} in {product} left out for other such reasons")

    def _count(self, call: RecordedCall, agents: dict[str, AgentUse]) -> None:
        path = [worker_of(agent, self._client, self._tables) for agent in self._agents(call.event.context)]
        access, raised = call.access, call.raised
        if access is None:
            raise UnreadableEventError(call.fault)
        if raised is None:
            places = CallPaths(self._root, call.event.folder)
            raised = raised_by(access, call.event.tool, path[-1], self._tables, places)
        named = set("".join((*access.files, *access.folders)))
        if named & _PATTERNS or not all(map(_is_plain, raised)):
            raise UnreadableEventError("a path in it could be taken for a pattern, or cannot be shown")
        verdict = decide(raised, raised, authority_on(path, self._tables))
        for worker in dict.fromkeys(path):
            before = agents.get(worker, AgentUse())
            is_own = worker == path[-1]
            if verdict.decision != "blocked":
                agents[worker] = replace(before, calls=before.calls + is_own, used=before.used | raised)
            elif is_own:
                refused = {each.capability for each in verdict.reasons if each.decision == "blocked"}
                agents[worker] = replace(before, calls=before.calls + 1, refused=before.refused | refused)

    def _agents(self, context: str) -> tuple[str, ...]:
        """The names of the agents on the way to a context, the first one first."""
        names: list[str] = []
        seen: set[str] = set()
        at: str | None = context
        while at is not None and at not in seen and (known := self._contexts.get(at)):
            seen.add(at)
            start = self._calls.get(known.started_by or "")
            agent = known.agent or (self._client.MAIN if known.is_main else None)
            if agent is None and start is not None and start.access is not None:
                agent = start.access.starts
            if agent is None:
                raise UnknownToolError("the transcript does not name the agent")
            names.insert(0, agent)
            at = start.event.context if start else known.parent
        return tuple(names)


def _merged(before: RecordedContext | None, more: RecordedContext) -> RecordedContext:
    """What two files say of the same context."""
    if before is None:
        return more
    return RecordedContext(
        agent=before.agent or more.agent,
        parent=before.parent or more.parent,
        started_by=before.started_by or more.started_by,
        is_main=before.is_main or more.is_main,
    )


def _is_plain(capability: Capability) -> bool:
    """Whether its scope, perhaps a path of a stranger's, means the same in a manifest, and shows all of it."""
    text = str(capability)
    return shown(text) == text and not _PATTERNS & set((capability.scope or "").removesuffix("**"))
