"""The labels of a run: by flow rules, those that each call of a worker, and each call's code, has read."""

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
    """Each label to the call path at which it first came in."""


MOST_HEARD = 50
MOST_TEXT = 100_000  # characters of one result

NO_LABELS: Labels = MappingProxyType({})


@dataclass(slots=True, eq=False)
class Context:
    """The labels of the messages of a worker's call, or of a call's code. They only grow."""

    is_code: bool = False
    of: Context | None = None
    """Of a tool's code, the context of its worker's call."""
    is_lost: bool = False
    """Whether nobody knows whose code it is: it may be any of the tools'."""
    into: Context | None = None
    """The context that gets all labels of this one at once."""
    read: dict[Capability, str] = field(default_factory=dict)
    seen: dict[Capability, str] | None = None
    """The labels of its model's last request; None before one."""
    heard: dict[Capability, str] = field(default_factory=dict)
    """Came to the code of its tools."""
    lost: dict[Capability, str] = field(default_factory=dict)
    """Came to code of unknown owner."""
    kept: dict[object, dict[Capability, str]] = field(default_factory=dict)
    """The labels of files that its code writes, and of its toolset, which may hold its data after its end.

    For the context of a worker, those of the code of all its tools.
    """
    seals: dict[str, Seal] = field(default_factory=dict)
    """The sealed texts given to it, by name."""
    heard_last: deque[tuple[str, str]] = field(default_factory=partial(deque, maxlen=MOST_HEARD))
    """Call paths and texts of the latest labelled results, for the person asked about a value."""

    @property
    def end(self) -> Labels:
        """The labels by now."""
        if self.of is None:
            return self.read
        theirs = {**self.of.heard, **self.of.read} if self.is_lost else {}
        return {**self.of.lost, **theirs, **self.read}

    @property
    def chosen_under(self) -> Labels:
        """The labels under which a call is chosen now: for a model, its last request's."""
        return self.end if self.is_code or self.seen is None else self.seen

    def ask(self) -> None:
        """Notes that a request leaves, with all labels so far."""
        self.seen = {**self.read}

    def take(self, other: Context) -> None:
        """Adds the labels and given sealed texts of a call's code."""
        self.carry(other.end)
        self.seals.update(other.seals)

    def hear(self, path: str, result: object) -> None:
        """Keeps the result of a labelled call."""
        self.heard_last.append((path, str(result)[:MOST_TEXT]))

    def carry(self, labels: Labels) -> None:
        """Adds the labels of something that comes in."""
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
        """Removes labels of a call's arguments that stay with the called worker, whose answer says nothing of them."""
        for label in labels:
            self.read.pop(label, None)


@dataclass(slots=True)
class KeptLabels:
    """The labels of things that outlive a call within a run: written files, and toolsets."""

    files: dict[str | None, dict[Capability, str]] = field(default_factory=dict)
    """By written scope; None is any file."""
    toolsets: dict[str, dict[Capability, str]] = field(default_factory=dict)

    def keep(self, context: Context, scopes: Iterable[str | None], toolset: str | None) -> None:
        """Labels files that the code of `context` is about to write, and its toolset; later labels follow."""
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
