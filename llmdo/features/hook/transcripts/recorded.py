"""The calls of a transcript, as values that no client has a word in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, field, replace
from llmdo.features.hook.events import UnreadableEventError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.features.hook.events import Access, Client, ClientEvent
    from llmdo.policy.authority import Capability

MOST_FILES = 2000
"""The most recent transcripts of a folder that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A call of a tool."""

    key: str
    event: ClientEvent
    """As a hook would be told of it; its context is one of the recording's, whose agent is named there."""
    raised: frozenset[Capability] | None = None
    """What it raised, where that is recorded."""
    access: Access | None = None
    """What it asks for, once its arguments were read."""
    fault: str = ""
    """Why they could not be."""

    def read_by(self, client: Client) -> RecordedCall:
        """The call with its access, and without its arguments, which may be whole files."""
        bare = replace(self.event, arguments={})
        try:
            return replace(self, event=bare, access=client.access(self.event))
        except UnreadableEventError as error:
            return replace(self, event=bare, fault=str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedContext:
    """The messages of one agent."""

    agent: str | None = None
    """Its name, where the transcript has it."""
    parent: str | None = None
    """The context that started it."""
    started_by: str | None = None
    """The key of the call that started it."""
    is_main: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The calls that one file records: a session of a client, or a part of it."""

    client: str
    session: str = ""
    calls: tuple[RecordedCall, ...] = ()
    contexts: Mapping[str, RecordedContext] = field(default_factory=dict)
    done: frozenset[str] = frozenset()
    """The keys of the calls that were carried out, as far as the file says."""
    elsewhere: int = 0
    """The number of calls in folders outside of the project."""
    is_elsewhere: bool = False
    """Whether the whole session is of another project, so that nothing else was read."""


def is_within(folder: object, root: str) -> bool:
    """Whether a recorded folder is in the project."""
    if not isinstance(folder, str) or "\0" in folder:
        return False
    real = os.path.realpath(folder)
    return real == root or real.startswith(f"{root}/")


def mapping(value: object) -> Mapping[str, object]:
    """The value, if it is an object of JSON; otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> Iterator[Mapping[str, object]]:
    """The objects in a list of JSON."""
    yield from (each for each in (value if isinstance(value, list) else ()) if isinstance(each, dict))


def word(value: object) -> str:
    """The value, if it is a text; otherwise an empty one."""
    return value if isinstance(value, str) else ""


def home(environ: Mapping[str, str], variable: str, folder: str) -> str | None:
    """The folder of a client: what its variable names, or a folder in the person's home; None without either."""
    above = environ.get("HOME", "")
    stated = environ.get(variable, "") or (f"{above}/{folder}" if above.startswith("/") else "")
    return stated if stated.startswith("/") else None


def files_below(folder: str, *endings: str) -> Iterator[str]:
    """The files of a folder and all below it with one of these endings; no link is followed."""
    for above, _, names in os.walk(folder):
        yield from (f"{above}/{name}" for name in names if name.endswith(endings))
