"""Flow rules as files state them, and the labels that calls leave behind: who read which data, in the rules' words."""

from __future__ import annotations

from llmdo.base.values import dataclass, field
from llmdo.policy.authority import Capability, FlowRule
from llmdo.policy.vocabulary import EFFECTS, LEGS, OWN, UNTRUSTED

TYPE_CHECKING = False  # `typing` alone would cost a quarter of what `llmdo hook` may
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal

    from llmdo.syntax.document import Place

    Preset = Literal["rule-of-two", "strict"]

_WAYS_OUT = (*LEGS["a way out"], OWN)

PRESETS: dict[Preset, tuple[tuple[tuple[str, ...], str], ...]] = {
    "rule-of-two": tuple(
        ((UNTRUSTED, private), out) for private in LEGS["private data"] for out in _WAYS_OUT
    ),
    "strict": tuple(((UNTRUSTED,), effect) for effect in EFFECTS),
}
"""Each preset's flows: the data read, and the effects that then ask.

`rule-of-two`: a stranger's text, private data and a way out never come together without a question.
`strict`: no effect after a stranger's text without a question.
"""


@dataclass(frozen=True, slots=True)
class Flows:
    """The flow rules of a workspace, an entry or a worker."""

    preset: Preset | None = None
    rules: tuple[FlowRule, ...] = ()
    """Those that are written out, sorted."""
    max_bits: int | None = None
    """The most bits that a closed answer may carry; None if nothing less than `MOST_BITS` is stated."""
    owner: str = field(default="", compare=False)

    @property
    def all(self) -> tuple[FlowRule, ...]:
        """The rules, those of the preset among them."""
        if self.preset is None:
            return self.rules
        origin = f"preset `{self.preset}` of {self.owner}"
        stated = [
            FlowRule(
                tuple(sorted(map(Capability, sources), key=str)),
                Capability(to),
                "needs_approval",
                origin,
                is_preset=True,
                if_sent=to == "x" and self.preset == "rule-of-two",
            )
            for sources, to in PRESETS[self.preset]
        ]
        return (*stated, *self.rules)


NO_FLOWS = Flows()


@dataclass(frozen=True, slots=True)
class LabelledSource:
    """A capability whose calls return data with `label`."""

    capability: Capability
    label: Capability
    at: Place | None = field(default=None, compare=False)


def parse_flow(text: str) -> tuple[tuple[Capability, ...], Capability]:
    """The two sides of a flow rule's key: its sources, sorted, and their forbidden target."""
    sources, _, to = text.rpartition(" -> ")
    return tuple(sorted(map(Capability.parse, sources.split(" & ")), key=str)), Capability.parse(to)


@dataclass(frozen=True, slots=True)
class Labelling:
    """The basis for labelling calls: the sources in flow rules, and those that the workspace declares."""

    labels: tuple[Capability, ...] = ()
    """Sorted. Without any, nothing is labelled."""
    sources: tuple[LabelledSource, ...] = ()

    @classmethod
    def of_rules(cls, flows: Iterable[FlowRule], sources: Iterable[LabelledSource]) -> Labelling:
        """The labelling of a workspace with these flow rules, whoever states them."""
        return cls(
            tuple(sorted({source for flow in flows for source in flow.sources}, key=str)), tuple(sources)
        )

    def of(self, raised: Iterable[Capability]) -> frozenset[Capability]:
        """The labels of the result of a call that raises these.

        An unknown scope matches each, as in rules; a program that may do anything reads any file.
        """
        read = {*raised}
        if any(_does_anything(each) for each in read):
            read.add(Capability("fs.read"))
        # Names of files are what whoever wrote the files says.
        listed = [Capability("fs.read", each.scope) for each in read if each.name == "fs.list"]
        sources = [each for each in self.sources if any(map(each.capability.touches, (*read, *listed)))]
        read.update([source.label for source in sources])
        return frozenset([label for label in self.labels if any(map(label.touches, read))])

    def record_of(self, carried: Iterable[Capability]) -> dict[str, list[str]]:
        """The labels of a conversation, as its journal keeps them: the carried ones, those looked for, the sources."""
        return {"carried": sorted(map(str, carried)), "of": [*map(str, self.labels)], "sources": self._stated}

    def carried_in(self, record: Mapping[str, object] | None) -> frozenset[Capability]:
        """The labels of a conversation by the record in its journal, if any.

        Labels that no flow rule named then count as read, as nobody looked for them. Without a record, or with other
        sources then, all count.
        """
        if record is None or record.get("sources") != self._stated:
            return frozenset(self.labels)
        carried, looked_for = (record.get(name) for name in ("carried", "of"))
        if not isinstance(carried, list) or not isinstance(looked_for, list):
            return frozenset(self.labels)
        return frozenset(
            label for label in self.labels if str(label) in carried or str(label) not in looked_for
        )

    @property
    def _stated(self) -> list[str]:
        return [f"{source.capability} = {source.label}" for source in self.sources]

    @property
    def of_strangers(self) -> frozenset[Capability]:
        """The labels about who chose: a closed answer carries none of them."""
        text = Capability(UNTRUSTED)
        return frozenset([label for label in self.labels if label.touches(text)])

    @property
    def of_strange_input(self) -> frozenset[Capability]:
        """The labels of an input or a history by a stranger."""
        return self.of((Capability(UNTRUSTED),))


def written_by(raised: Iterable[Capability], declared: Iterable[Capability]) -> tuple[str | None, ...]:
    """The scopes of files that a call which raises these may change; None for any.

    For an unknown scope, those that its tool declared.
    """
    raised = tuple(raised)
    if any(map(_does_anything, raised)):
        return (None,)
    scopes = _scopes(raised, ("fs.write", "fs.delete"))
    return _scopes(declared, ("fs.write", "fs.delete")) if None in scopes else scopes


def read_by(raised: Iterable[Capability]) -> tuple[str | None, ...]:
    """The scopes of files that a call which raises these may read, or list; None for any."""
    raised = tuple(raised)
    if any(map(_does_anything, raised)):
        return (None,)
    return _scopes(raised, ("fs.read", "fs.list"))


def _scopes(capabilities: Iterable[Capability], names: tuple[str, ...]) -> tuple[str | None, ...]:
    """The scopes of those that are, or are below or above, one of `names`."""
    return tuple(
        dict.fromkeys(
            [
                each.scope
                for each in capabilities
                if each.name.startswith(names) or any(map(each.covers_name, names))
            ]
        )
    )


def _does_anything(raised: Capability) -> bool:
    """Whether it runs a program that reads and changes anything."""
    return Capability("proc").covers_name(raised.name) and raised.name != "proc.exec.read"
