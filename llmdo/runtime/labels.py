"""The labels of a run: what each call of a worker, and the code of each call, has read by the words of flow rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from llmdo.policy.authority import scopes_meet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.policy.authority import Capability
    from llmdo.runtime.seals import Seal

    Labels = Mapping[Capability, str]
    """Each label to the call path at which it came in first."""


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
    seals: dict[str, Seal] = field(default_factory=dict)
    """The sealed texts that it was handed, by their names."""

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

    def carry(self, labels: Labels) -> None:
        """Adds the labels of something that comes into this context."""
        if not labels:
            return
        known = [self.read]
        if self.of is not None:
            known += [self.of.heard, self.of.lost, self.of.read] if self.is_lost else [self.of.heard]
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

    def write(self, scopes: Iterable[str | None], labels: Labels) -> None:
        """Labels files that are about to be written."""
        for scope in scopes:
            self.files.setdefault(scope, {}).update(labels)

    def read(self, scopes: Iterable[str | None]) -> dict[Capability, str]:
        """The labels of files that are read."""
        scopes = tuple(scopes)
        labels: dict[Capability, str] = {}
        for written, its in self.files.items():
            if any(scopes_meet(written, scope) for scope in scopes):
                labels.update(its)
        return labels
