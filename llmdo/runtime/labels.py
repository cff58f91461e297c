"""The labels of a run: what each call of a worker, and the code of each call, has read by the words of flow rules."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from llmdo.policy.authority import scopes_meet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.policy.authority import Capability
    from llmdo.runtime.seals import Seal

    Labels = Mapping[Capability, str]
    """Each label to the call path at which it came in first."""


MOST_HEARD = 50
MOST_TEXT = 100_000  # characters of one result

NO_LABELS: Labels = MappingProxyType({})


@dataclass(slots=True, eq=False)
class Context:
    """The labels of one context: of the messages of a call of a worker, or of the code of a call. They only grow."""

    is_code: bool = False
    of: Context | None = None
    """Of the code of a tool, the context of the call of a worker that has the tool."""
    is_lost: bool = False
    """Whether nobody knows whose code it is: it may be that of any of the tools."""
    into: Context | None = None
    """The context that gets all that comes here, at once."""
    read: dict[Capability, str] = field(default_factory=dict)
    seen: dict[Capability, str] | None = None
    """What the last request of its model held; None before there was one."""
    heard: dict[Capability, str] = field(default_factory=dict)
    """What came to the code of its tools."""
    lost: dict[Capability, str] = field(default_factory=dict)
    """What came to code of which nobody knows whose it is."""
    kept: dict[object, dict[Capability, str]] = field(default_factory=dict)
    """The labels of what may hold what comes here after it has ended: of files that its code writes, and its toolset.

    Of the context of a worker, those of the code of all its tools.
    """
    seals: dict[str, Seal] = field(default_factory=dict)
    """The sealed texts that it was handed, by their names."""
    heard_last: deque[tuple[str, str]] = field(default_factory=partial(deque, maxlen=MOST_HEARD))
    """The call path of each labelled result and what it said, the latest ones: for whoever is asked about a value."""

    @property
    def end(self) -> Labels:
        """The labels by now."""
        if self.of is None:
            return self.read
        theirs = {**self.of.heard, **self.of.read} if self.is_lost else {}
        return {**self.of.lost, **theirs, **self.read}

    @property
    def chosen_under(self) -> Labels:
        """The labels under which a call is chosen now: of a model, those of what its last request held."""
        return self.end if self.is_code or self.seen is None else self.seen

    def ask(self) -> None:
        """Notes that a request leaves, with all that has come by now."""
        self.seen = {**self.read}

    def take(self, other: Context) -> None:
        """Adds all that came out of the code of a call: its labels, and the sealed texts that it was handed."""
        self.carry(other.end)
        self.seals.update(other.seals)

    def hear(self, path: str, result: object) -> None:
        """Keeps what a labelled call returned."""
        self.heard_last.append((path, str(result)[:MOST_TEXT]))

    def carry(self, labels: Labels) -> None:
        """Adds the labels of something that comes into this context."""
        if not labels:
            return
        known = [self.read, *self.kept.values()]
        if self.of is not None:
            known.append(self.of.heard)
        if self.of is not None and self.is_lost:
            known += [self.of.lost, self.of.read, *self.of.kept.values()]
        for label, path in labels.items():
            for each in known:
                each.setdefault(label, path)
        if self.into is not None:
            self.into.carry(labels)

    def leave(self, labels: Iterable[Capability]) -> None:
        """Leaves labels of a call's arguments with the worker that was called, whose answer says nothing of them."""
        for label in labels:
            self.read.pop(label, None)


@dataclass(slots=True)
class KeptLabels:
    """The labels of what outlives a call within a run: of files that were written, and of toolsets."""

    files: dict[str | None, dict[Capability, str]] = field(default_factory=dict)
    """By the scope that was written; None is any file."""
    toolsets: dict[str, dict[Capability, str]] = field(default_factory=dict)

    def keep(self, context: Context, scopes: Iterable[str | None], toolset: str | None) -> None:
        """Labels files that the code of `context` is about to write, and its toolset, also by all that comes there."""
        kept: dict[object, dict[Capability, str]] = {
            ("a file", scope): self.files.setdefault(scope, {}) for scope in scopes
        }
        if toolset is not None:
            kept[toolset] = self.toolsets.setdefault(toolset, {})
        for its in kept.values():
            its.update(context.end)
        context.kept.update(kept)
        if context.of is not None:
            context.of.kept.update(kept)

    def read(self, scopes: Iterable[str | None]) -> dict[Capability, str]:
        """The labels of files that are read."""
        scopes = tuple(scopes)
        labels: dict[Capability, str] = {}
        for written, its in self.files.items():
            if any(scopes_meet(written, scope) for scope in scopes):
                labels.update(its)
        return labels
