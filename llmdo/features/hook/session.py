"""The state of one session of a client: who called whom, what each agent has read, and which files and servers know it.

It is a file in the person's state folder, replaced as a whole while a lock is held that the system takes back from a
process that dies. Without it, or where it is damaged, nothing is decided.
"""

from __future__ import annotations

import json
import os

from llmdo.base.values import dataclass, replace
from llmdo.features.hook.events import ANY_AGENT, MAIN_CONTEXT
from llmdo.policy.authority import scopes_meet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType
    from typing import Any

VERSION = 1
MAX_STATE = 4 * 1024 * 1024  # bytes
MOST_SCOPES = 500  # of written files: beyond, any file counts as written
MOST_CONTEXTS = 5000
_EVERYWHERE = "**"


class NoSessionError(Exception):
    """A session of which no state is there, or no usable one; the text is a sentence with what to do."""


class UnknownCallerError(Exception):
    """An agent that nobody was seen to start; the text is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerContext:
    """The messages of one agent."""

    agent: str
    above: tuple[str, ...] = ()
    """The agents on the way to it, the first one first; of several possible ways, those on any of them."""
    callers: tuple[str, ...] = ()
    """The ids of the contexts that may have started it."""
    labels: frozenset[str] = frozenset()
    """Of what it has read itself, or was given at its start."""
    is_at_work: bool = False
    """Whether it is known to work, in a client that does not say which agent calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """The state of a session."""

    root: str
    """The folder of the project, which stays the same whatever folder the client changes to."""
    is_doubtful: bool = False
    """Whether the session had begun before llmdo saw it: all of it may have been read then."""
    contexts: Mapping[str, CallerContext]
    started: Mapping[str, Mapping[str, tuple[int, frozenset[str]]]]
    """The agents of a type that each context started and that were not seen yet: how many, and the labels it had."""
    written: Mapping[str, frozenset[str]]
    """The labels of files, by their scope."""
    servers: Mapping[str, frozenset[str]]
    """The labels that each server was once given."""

    def labels_of(self, context: str) -> frozenset[str]:
        """The labels of a context with those of all that it started: their answers come back to it."""
        below = {context}
        while more := {
            name
            for name, each in self.contexts.items()
            if name not in below and not below.isdisjoint(each.callers)
        }:
            below |= more
        known = [self.contexts[name].labels for name in below if name in self.contexts]
        return frozenset().union(*known)

    def seen(self, context: str, agent: str) -> SessionState:
        """The state with a context, that of an agent which another one started.

        Raises:
            UnknownCallerError: No agent of this name was started, or another agent has this id.
        """
        if (known := self.contexts.get(context)) is not None:
            if known.agent == agent:
                return self
            if context != MAIN_CONTEXT:
                raise UnknownCallerError(f"`{agent}` reports the id of `{known.agent}`")
            # A person lets another agent go on with the session.
            return replace(self, contexts={**self.contexts, context: replace(known, agent=agent)})
        if len(self.contexts) >= MOST_CONTEXTS:
            raise UnknownCallerError(f"this session has started more than {MOST_CONTEXTS:,} agents")
        if context == MAIN_CONTEXT:
            return replace(self, contexts={**self.contexts, context: CallerContext(agent=agent)})
        callers = [
            name for name, types in self.started.items() if not types.keys().isdisjoint((agent, ANY_AGENT))
        ]
        if not callers:
            raise UnknownCallerError(f"no agent was seen to start `{agent}`")
        above = dict.fromkeys(
            name for caller in callers for name in (*self.contexts[caller].above, self.contexts[caller].agent)
        )
        given = (
            labels
            for caller in callers
            for name, (_, labels) in self.started[caller].items()
            if name in (agent, ANY_AGENT)
        )
        labels = frozenset().union(*given)
        new = CallerContext(agent=agent, above=tuple(above), callers=tuple(callers), labels=labels)
        started = dict(self.started)
        if len(callers) == 1 and agent in started[callers[0]]:
            types = dict(started[callers[0]])
            count, had = types.pop(agent)
            started[callers[0]] = types if count == 1 else {**types, agent: (count - 1, had)}
        return replace(self, contexts={**self.contexts, context: new}, started=started)

    def identified(self, context: str, agent: str, parent: str) -> SessionState:
        """The state with the id of an agent at work, once its client says it, with the context that started it.

        Raises:
            UnknownCallerError: That context was not seen to start such an agent, or another agent has this id.
        """
        if context in self.contexts:
            return self.seen(context, agent)
        waiting = [
            name
            for name, each in self.contexts.items()
            if each.is_at_work and each.agent == agent and parent in each.callers
        ]
        if not waiting:
            raise UnknownCallerError(f"no agent was seen to start `{agent}`")
        caller = self.contexts[parent]
        labels = frozenset().union(*(self.contexts[name].labels for name in waiting))
        new = CallerContext(
            agent=agent, above=(*caller.above, caller.agent), callers=(parent,), labels=labels
        )
        started = replace(self.contexts[waiting[0]], is_at_work=False)
        return replace(self, contexts={**self.contexts, waiting[0]: started, context: new})

    @property
    def at_work(self) -> tuple[str, ...]:
        """The contexts of which any may make a call that the client names no caller of."""
        return (MAIN_CONTEXT, *(name for name, each in self.contexts.items() if each.is_at_work))

    def working(self, callers: Iterable[str], agent: str) -> SessionState:
        """The state after one of several contexts was let start an agent, which is at work at once."""
        callers = tuple(callers)
        above = dict.fromkeys(
            name for caller in callers for name in (*self.contexts[caller].above, self.contexts[caller].agent)
        )
        labels = frozenset().union(*(self.labels_of(caller) for caller in callers))
        new = CallerContext(agent=agent, above=tuple(above), callers=callers, labels=labels, is_at_work=True)
        return replace(self, contexts={**self.contexts, f"{agent}#{len(self.contexts)}": new})

    def ended(self, agent: str) -> SessionState:
        """The state after an agent of this name has ended; of several, the last one that began."""
        at_work = [name for name, each in self.contexts.items() if each.is_at_work and each.agent == agent]
        if not at_work:
            return self
        ended = replace(self.contexts[at_work[-1]], is_at_work=False)
        return replace(self, contexts={**self.contexts, at_work[-1]: ended})

    def starting(self, context: str, agent: str) -> SessionState:
        """The state after a context was let start an agent."""
        types = self.started.get(context, {})
        count, had = types.get(agent, (0, frozenset()))
        now = {**types, agent: (count + 1, had | self.labels_of(context))}
        return replace(self, started={**self.started, context: now})

    def labelled(self, context: str, labels: Iterable[str]) -> SessionState:
        """The state with more labels of a context."""
        known = self.contexts[context]
        more = known.labels.union(labels)
        if more == known.labels:
            return self
        return replace(self, contexts={**self.contexts, context: replace(known, labels=more)})

    def telling_all(self, labels: frozenset[str]) -> SessionState:
        """The state after every context may have been handed words with these labels."""
        contexts = {name: replace(each, labels=each.labels | labels) for name, each in self.contexts.items()}
        return replace(self, contexts=contexts)

    def changing(self, scopes: Iterable[str | None], labels: frozenset[str]) -> SessionState:
        """The state before files in these scopes are written; None is any file."""
        if not labels:
            return self
        written = dict(self.written)
        for scope in scopes:
            key = scope or _EVERYWHERE
            written[key] = written.get(key, frozenset()) | labels
        if len(written) > MOST_SCOPES:
            written = {_EVERYWHERE: frozenset().union(*written.values())}
        return replace(self, written=written)

    def labels_in(self, scopes: Iterable[str | None]) -> frozenset[str]:
        """The labels of files in these scopes."""
        scopes = tuple(scopes)
        known = [
            labels
            for scope, labels in self.written.items()
            if any(scopes_meet(scope, each) for each in scopes)
        ]
        return frozenset().union(*known)

    def giving(self, server: str, labels: frozenset[str]) -> SessionState:
        """The state after a server was given arguments with these labels."""
        known = self.servers.get(server, frozenset())
        return self if labels <= known else replace(self, servers={**self.servers, server: known | labels})


def folder_of(environ: Mapping[str, str]) -> str:
    """The folder of all sessions.

    Raises:
        OSError: The person has none.
    """
    above = environ.get("XDG_STATE_HOME", "")
    if not above.startswith("/"):
        home = environ.get("HOME", "")
        if not home.startswith("/"):
            raise FileNotFoundError("HOME")
        above = f"{home}/.local/state"
    return f"{above}/llmdo/hook"


def _path_of(client: str, session: str, environ: Mapping[str, str]) -> str:
    """The path of all that is kept of a session, without its ending."""
    # Sessions are called as clients like; no name of theirs becomes a path.
    name = session if session.replace("-", "").isalnum() and session.isascii() and len(session) < 80 else ""
    name = name or "x" + session.encode("utf-8", "surrogatepass").hex()[:150]
    return f"{folder_of(environ)}/{client}-{name}"


def topmost(client: str, session: str, environ: Mapping[str, str]) -> str:
    """The session that an agent's own session was noted to work for; any other one is its own."""
    try:
        descriptor = os.open(
            f"{_path_of(client, session, environ)}.above",
            os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
        )
    except FileNotFoundError:
        return session
    with os.fdopen(descriptor, encoding="utf-8") as file:
        return file.read(MAX_STATE)


class SessionFile:
    """The file of one session's state, locked for as long as this is entered."""

    def __init__(self, client: str, session: str, environ: Mapping[str, str]) -> None:
        self.path = f"{_path_of(client, session, environ)}.json"
        self._lock = -1

    def __enter__(self) -> SessionFile:
        import fcntl

        folder = os.path.dirname(self.path)  # noqa: PTH120
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        status = os.lstat(folder)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise NoSessionError(f"others can write to `{folder}`: make it your own with `chmod 700`")
        self._lock = os.open(
            f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        os.close(self._lock)

    def read(self) -> SessionState:
        """The state.

        Raises:
            NoSessionError: There is none, or it is damaged.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(MAX_STATE + 1)
        except OSError as error:
            raise NoSessionError(
                "llmdo has no state of this session: start a new one, so that it is seen from its beginning"
            ) from error
        try:
            # What is cut off is no JSON.
            return _state_of(json.loads(content[:MAX_STATE]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise NoSessionError("the state of this session is damaged: start a new session") from error

    def write(self, state: SessionState) -> None:
        """Replaces the state as a whole."""
        _replace(self.path, json.dumps(_plain(state)))  # at once: in pieces it would be made by slower code


def note_topmost(client: str, session: str, top: str, environ: Mapping[str, str]) -> None:
    """Notes the session that an agent's own session works for, for the agents that this one starts."""
    path = f"{_path_of(client, session, environ)}.above"
    if not os.path.lexists(path):
        _replace(path, top)


def _replace(path: str, text: str) -> None:
    descriptor = os.open(
        f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)  # noqa: PTH105


def _plain(state: SessionState) -> dict[str, Any]:
    return {
        "version": VERSION,
        "root": state.root,
        "doubtful": state.is_doubtful,
        "contexts": {
            name: [each.agent, [*each.above], [*each.callers], sorted(each.labels), each.is_at_work]
            for name, each in state.contexts.items()
        },
        "started": {
            name: {each: [count, sorted(labels)] for each, (count, labels) in types.items()}
            for name, types in state.started.items()
        },
        "written": {scope: sorted(labels) for scope, labels in state.written.items()},
        "servers": {name: sorted(labels) for name, labels in state.servers.items()},
    }


def _state_of(data: dict[str, Any]) -> SessionState:
    if data["version"] != VERSION:
        raise ValueError(data["version"])
    contexts = {
        _text(name): CallerContext(
            agent=_text(agent),
            above=_texts(above),
            callers=_texts(callers),
            labels=frozenset(_texts(labels)),
            is_at_work=at_work is not False,
        )
        for name, (agent, above, callers, labels, at_work) in data["contexts"].items()
    }
    started = {
        name: {each: (int(count), frozenset(_texts(labels))) for each, (count, labels) in types.items()}
        for name, types in data["started"].items()
    }
    if (
        not {caller for each in contexts.values() for caller in each.callers} | started.keys()
        <= contexts.keys()
    ):
        raise ValueError("callers")
    return SessionState(
        root=_text(data["root"]),
        is_doubtful=data["doubtful"] is not False,
        contexts=contexts,
        started=started,
        written={scope: frozenset(_texts(labels)) for scope, labels in data["written"].items()},
        servers={name: frozenset(_texts(labels)) for name, labels in data["servers"].items()},
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError(values)
    return tuple(map(_text, values))
