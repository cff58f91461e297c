"""The authority over the calls of one worker in its place: the only module that puts it together."""

from __future__ import annotations

from functools import lru_cache

from llmdo.base.values import dataclass
from llmdo.policy.authority import MOST_BITS, Authority, Ceiling, FlowRule, Rule, base_rules, strictest
from llmdo.policy.flow import Labelling
from llmdo.policy.vocabulary import ONLY_READS

TYPE_CHECKING = False  # `typing` alone would cost a quarter of what `llmdo hook` may
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

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

    class GovernedWorker(Governed, Protocol):
        """A worker, which may be an agent of another tool."""

        @property
        def format(self) -> str | None:
            """The format of that tool's projects; None for our own."""
            ...

        @property
        def client_rules(self) -> tuple[Rule, ...]:
            """The decisions in that tool's settings."""
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
    strict: tuple[Rule, ...] = ()
    """Those of the manifest that allow nothing: they tighten the settings of another tool."""
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
            tuple([rule for rule in graph.rules if rule.decision != "allowed"]),
            graph.flows.all,
            Labelling.of_rules(graph.all_flows, graph.sources),
            ONLY_READS | graph.reading,
            _max_bits(graph),
        )


@dataclass(frozen=True, slots=True)
class ClientRules:
    """The rules on which the calls of another tool's agent rest: that tool's settings; the manifest only tightens."""

    rules: tuple[Rule, ...]
    """The result of `base_rules` for those settings."""


OwnRule = Rule | FlowRule | ClientRules


@dataclass(frozen=True, slots=True)
class Layer:
    """The part that an entry or a worker adds to the base: it only tightens."""

    rules: tuple[Rule, ...] = ()
    ceiling: Ceiling | None = None
    flows: tuple[FlowRule, ...] = ()
    max_bits: int = MOST_BITS
    client: ClientRules | None = None
    """The base of an agent of another tool, in place of the workspace's."""

    @property
    def own(self) -> tuple[OwnRule, ...]:
        """Its rules for a call before which nothing was read."""
        if not self.flows and self.client is None:
            return self.rules
        client = () if self.client is None else (self.client,)
        return (*client, *self.rules, *[flow for flow in self.flows if not flow.needs_label])

    @classmethod
    def of_own(cls, own: Iterable[OwnRule]) -> Layer:
        """A layer with the same rules, without a ceiling."""
        own = tuple(own)
        rules = tuple([each for each in own if isinstance(each, Rule)])
        if len(rules) == len(own):
            return cls(rules)
        return cls(
            rules,
            flows=tuple([each for each in own if isinstance(each, FlowRule)]),
            client=next((each for each in own if isinstance(each, ClientRules)), None),
        )

    @classmethod
    def of_entry(cls, entry: Governed) -> Layer:
        """The layer of an entry."""
        ceiling = _ceiling(entry, f"entry `{entry.name}`")
        return cls(entry.approvals, ceiling, entry.flows.all, _max_bits(entry))

    @classmethod
    def of_worker(cls, worker: GovernedWorker) -> Layer:
        """The layer of a worker."""
        ceiling = _ceiling(worker, f"worker `{worker.name}`")
        client = None if worker.format is None else _client_rules(worker.client_rules)
        return cls(worker.approvals, ceiling, worker.flows.all, _max_bits(worker), client)


NO_LAYER = Layer()
"""The layer of an entry or a worker without restrictions."""


def authority_of(base: Base, entry: Layer, path: Sequence[Layer] = ()) -> Authority:
    """The authority over the calls of the last worker on `path`, below `entry`; of `entry` itself if it is empty.

    The rules of the entry hold for the whole tree, those of a worker for its own calls only; a ceiling holds for
    everything below as well. What the settings of another tool decide about its agent is the base of that agent's
    calls, and the manifest's rules then only tighten it.
    """
    own = path[-1] if path else NO_LAYER
    client = own.client or entry.client  # of an entry where its rules and a worker's were put together
    strict = () if client is None else base.strict
    return Authority(
        base=base.rules if client is None else client.rules,
        default=base.default if client is None else strictest((base.default, "needs_approval")),
        layers=(*entry.rules, *own.rules, *strict, *base.tightening),
        ceilings=tuple([layer.ceiling for layer in (entry, *path) if layer.ceiling is not None]),
        flows=(*base.flows, *entry.flows, *own.flows),
        reads=base.reads,
        max_bits=min(base.max_bits, entry.max_bits, own.max_bits),
    )


@lru_cache(
    maxsize=1_024
)  # most agents of a project have the same settings, and what is one object compares at once
def _client_rules(settings: tuple[Rule, ...]) -> ClientRules:
    return ClientRules(base_rules(settings))


def _max_bits(governed: Governing | Governed) -> int:
    return MOST_BITS if governed.flows.max_bits is None else governed.flows.max_bits


def _ceiling(governed: Governed, origin: str) -> Ceiling | None:
    return None if governed.may is None else Ceiling(governed.may, origin, governed.may_at)
