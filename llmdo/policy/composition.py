"""The authority over the calls of one worker in its place: the only module that puts it together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from llmdo.base.values import dataclass
from llmdo.policy.authority import MOST_BITS, Authority, Ceiling, FlowRule, Rule, base_rules
from llmdo.policy.flow import Labelling
from llmdo.policy.vocabulary import ONLY_READS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmdo.policy.authority import Capability
    from llmdo.policy.flow import Flows, LabelledSource
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place


class Governed(Protocol):
    """An entry or a worker, as far as it restricts calls."""

    @property
    def name(self) -> str:
        """As the user wrote it."""
        ...

    @property
    def may(self) -> tuple[Capability, ...] | None:
        """Its ceiling; None if it has none."""
        ...

    @property
    def may_at(self) -> Place | None:
        """The place of the ceiling."""
        ...

    @property
    def approvals(self) -> tuple[Rule, ...]:
        """Its rules."""
        ...

    @property
    def flows(self) -> Flows:
        """Its flow rules."""
        ...


class _Settings(Protocol):
    @property
    def default(self) -> Decision: ...


class Governing(Protocol):
    """A graph, as far as it decides about calls."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The manifest's."""
        ...

    @property
    def family_rules(self) -> tuple[Rule, ...]:
        """The rules for the capabilities that extensions bring."""
        ...

    @property
    def shared_rules(self) -> tuple[Rule, ...]:
        """The rules of the policies that the manifest extends."""
        ...

    @property
    def settings(self) -> _Settings:
        """Settings, with the default."""
        ...

    @property
    def flows(self) -> Flows:
        """The manifest's flow rules."""
        ...

    @property
    def all_flows(self) -> tuple[FlowRule, ...]:
        """The flow rules of the manifest, of entries and of workers."""
        ...

    @property
    def reading(self) -> frozenset[str]:
        """The names of capabilities of toolsets that only read."""
        ...

    @property
    def sources(self) -> tuple[LabelledSource, ...]:
        """The results of calls, as the manifest labels them."""
        ...


@dataclass(frozen=True, slots=True)
class Base:
    """The rules for every call of a workspace, whoever makes it."""

    rules: tuple[Rule, ...]
    """The result of `base_rules`."""
    default: Decision = "needs_approval"
    tightening: tuple[Rule, ...] = ()
    """Rules of the policies that the manifest extends, and of a person's `policy.toml`."""
    flows: tuple[FlowRule, ...] = ()
    """The manifest's."""
    labelling: Labelling = Labelling()
    """The labelling of calls, whoever states the flow rules."""
    reads: frozenset[str] = ONLY_READS
    """The capabilities that no preset takes for an effect."""
    max_bits: int = MOST_BITS
    """The most that a closed answer may carry."""

    @classmethod
    def of(cls, graph: Governing, tightening: tuple[Rule, ...] = ()) -> Base:
        """The base of the workspace of `graph`, for a person with these rules."""
        return cls(
            base_rules(graph.rules, graph.family_rules),
            graph.settings.default,
            (*graph.shared_rules, *tightening),
            graph.flows.all,
            Labelling.of_rules(graph.all_flows, graph.sources),
            ONLY_READS | graph.reading,
            _max_bits(graph),
        )


@dataclass(frozen=True, slots=True)
class Layer:
    """The part that an entry or a worker adds to the base: it only tightens."""

    rules: tuple[Rule, ...] = ()
    ceiling: Ceiling | None = None
    flows: tuple[FlowRule, ...] = ()
    max_bits: int = MOST_BITS

    @property
    def own(self) -> tuple[Rule | FlowRule, ...]:
        """Its rules for a call before which nothing was read."""
        return (
            self.rules
            if not self.flows
            else (*self.rules, *[flow for flow in self.flows if not flow.needs_label])
        )

    @classmethod
    def of_own(cls, own: Iterable[Rule | FlowRule]) -> Layer:
        """A layer with the same rules, without a ceiling."""
        own = tuple(own)
        if not any(isinstance(each, FlowRule) for each in own):
            return cls(cast("tuple[Rule, ...]", own))
        rules = tuple([each for each in own if isinstance(each, Rule)])
        return cls(rules, flows=tuple([each for each in own if isinstance(each, FlowRule)]))

    @classmethod
    def of_entry(cls, entry: Governed) -> Layer:
        """The layer of an entry."""
        ceiling = _ceiling(entry, f"entry `{entry.name}`")
        return cls(entry.approvals, ceiling, entry.flows.all, _max_bits(entry))

    @classmethod
    def of_worker(cls, worker: Governed) -> Layer:
        """The layer of a worker."""
        ceiling = _ceiling(worker, f"worker `{worker.name}`")
        return cls(worker.approvals, ceiling, worker.flows.all, _max_bits(worker))


NO_LAYER = Layer()
"""The layer of an entry or a worker without restrictions."""


def authority_of(base: Base, entry: Layer, path: Sequence[Layer] = ()) -> Authority:
    """The authority over the calls of the last worker on `path`, below `entry`; of `entry` itself if it is empty.

    The rules of the entry hold for the whole tree, those of a worker for its own calls only; a ceiling holds for
    everything below as well.
    """
    own = path[-1] if path else NO_LAYER
    return Authority(
        base=base.rules,
        default=base.default,
        layers=(*entry.rules, *own.rules, *base.tightening),
        ceilings=tuple([layer.ceiling for layer in (entry, *path) if layer.ceiling is not None]),
        flows=(*base.flows, *entry.flows, *own.flows),
        reads=base.reads,
        max_bits=min(base.max_bits, entry.max_bits, own.max_bits),
    )


def _max_bits(governed: Governing | Governed) -> int:
    return MOST_BITS if governed.flows.max_bits is None else governed.flows.max_bits


def _ceiling(governed: Governed, origin: str) -> Ceiling | None:
    return None if governed.may is None else Ceiling(governed.may, origin, governed.may_at)
