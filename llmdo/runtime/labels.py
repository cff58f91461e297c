"""The labels of a run: what each call of a worker, and the code of each call, has read by the words of flow rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.policy.authority import Capability, scopes_meet
from llmdo.policy.flow import read_by, written_by
from llmdo.runtime.place import code_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.policy.flow import Labelling
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.gate.call import Call

    Labels = Mapping[Capability, str]
    """Each label to the call path at which it came in first."""


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


def labels_for(config: RuntimeConfig, context: Context) -> Labels:
    """The labels under which a call is chosen now in `context`."""
    return context.chosen_under if config.base.labelling.labels else {}


def context_of_code(frame: CallFrame) -> Context:
    """The context of the code of `frame` that runs now."""
    scope = code_at(frame)
    if scope is not None and scope.context is not None:
        return scope.context
    return frame.context if frame.context.is_code else Context(is_code=True, of=frame.context, is_lost=True)


def opened(config: RuntimeConfig, frame: CallFrame, call: Call) -> Context | None:
    """The context of the code of `call`, which is let through; None where nothing is labelled.

    It begins with what the call carries and with what it reads. From here on, before anything is written, files that
    it may write are labelled, and a toolset that may return later what it is called with.
    """
    labelling = config.base.labelling
    if not labelling.labels:
        return None
    context, kept = Context(is_code=True, of=frame.context), config.ledger.labels
    context.carry(call.labels)
    context.carry(_raised(labelling, call))
    context.carry(kept.read(read_by(call.raised)))
    context.carry(kept.toolsets.get(call.toolset, {}))
    kept.write(written_by(call.raised, call.declared), context.end)
    toolset = config.graph.toolsets.get(call.toolset)
    if toolset is not None and toolset.keeps:
        kept.toolsets.setdefault(call.toolset, {}).update(context.end)
    return context


def everything(labelling: Labelling, path: str) -> Labels:
    """All labels that there are: of what happened at `path`, and nobody can work out any more."""
    return dict.fromkeys(labelling.labels, path)


def declared(labelling: Labelling, capabilities: Iterable[Capability], path: str) -> Labels:
    """The labels of whatever a tool may return that declares these."""
    return dict.fromkeys(labelling.of(capabilities), path)


def _raised(labelling: Labelling, call: Call) -> Labels:
    return declared(labelling, call.raised, call.path)
