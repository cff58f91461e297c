"""Steps of ordinary work, each with the reason why it is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Kind = Literal[
    "read", "list", "find", "search", "write", "edit", "patch", "run", "fetch", "serve", "plan", "look", "start",
    "tool", "wait",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """A step of work that a policy allows."""

    kind: Kind
    what: str
    """The path, the folder, the command, the address, the tool or the agent."""
    more: str = ""
    """The text that is searched for, the pattern of names, the folder in which a command runs, or arguments in JSON."""
    paths: tuple[str, ...] = ()
    """The files of a patch, each after one of `+`, `~`, `-` and `>`: added, changed, deleted, moved."""
    why: str = ""
    """The reason why the policy allows it."""
    clients: tuple[str, ...] = ()
    """The only clients that have something for it; empty for all."""


def because(why: str, *groups: Iterable[Deed]) -> tuple[Deed, ...]:
    """Deeds that are allowed for one reason."""
    return tuple(replace(deed, why=why) for group in groups for deed in group)


def only(clients: str, deeds: Iterable[Deed]) -> Iterator[Deed]:
    """Deeds of these clients alone."""
    for deed in deeds:
        yield replace(deed, clients=tuple(clients.split()))


def reads(*paths: str) -> Iterator[Deed]:
    """Each of some files is read."""
    return (Deed(kind="read", what=path) for path in paths)


def lists(*folders: str) -> Iterator[Deed]:
    """Each of some folders is listed."""
    return (Deed(kind="list", what=folder) for folder in folders)


def finds(folder: str, *patterns: str) -> Iterator[Deed]:
    """Names of some patterns are looked for in a folder."""
    return (Deed(kind="find", what=folder, more=pattern) for pattern in patterns)


def searches(folder: str, *texts: str) -> Iterator[Deed]:
    """Each of some texts is looked for in the files of a folder."""
    return (Deed(kind="search", what=folder, more=text) for text in texts)


def writes(*paths: str) -> Iterator[Deed]:
    """Each of some files is written as a whole."""
    return (Deed(kind="write", what=path) for path in paths)


def edits(*paths: str) -> Iterator[Deed]:
    """Each of some files is read, as a client asks for that, and a line of it is replaced."""
    for path in paths:
        yield Deed(kind="read", what=path)
        yield Deed(kind="edit", what=path)


def patch(*paths: str) -> Iterator[Deed]:
    """One patch of several files."""
    yield Deed(kind="patch", what=paths[0], paths=paths, clients=("codex", "opencode"))


def runs(*commands: str, within: str = "") -> Iterator[Deed]:
    """Each of some commands is run."""
    return (Deed(kind="run", what=command, more=within) for command in commands)


def fetches(*paths: str) -> Iterator[Deed]:
    """Pages of the server on 127.0.0.1 are fetched, where the client has a tool for that."""
    return (Deed(kind="fetch", what=path, clients=("gemini", "opencode")) for path in paths)


def serves(*tools: str) -> Iterator[Deed]:
    """Each of some tools of the server `servant` is called."""
    return (Deed(kind="serve", what=tool) for tool in tools)


def plans(*steps: str) -> Iterator[Deed]:
    """The list of what is to be done is written down, each time with one more step."""
    return (Deed(kind="plan", what=step) for step in steps)


def starts(agent: str) -> Iterator[Deed]:
    """An agent is started, and waited for where that is a call of its own."""
    yield Deed(kind="start", what=agent)
    yield Deed(kind="wait", what=agent, clients=("codex",))


def tool(client: str, name: str, arguments: str = "{}") -> Iterator[Deed]:
    """A tool that only one client has is called."""
    yield Deed(kind="tool", what=name, more=arguments, clients=(client,))


def looks(*paths: str) -> Iterator[Deed]:
    """Pictures are looked at by a tool for them."""
    return (Deed(kind="look", what=path, clients=("codex",)) for path in paths)
