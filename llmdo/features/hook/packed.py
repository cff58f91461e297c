"""The tables of a project for one client, as plain values in the person's cache, and their way back."""

from __future__ import annotations

import marshal
import os
import sys
import time

from llmdo.base import cache
from llmdo.base.nearest import MANIFEST
from llmdo.base.values import dataclass
from llmdo.policy.authority import Capability, Ceiling, FlowRule, Rule
from llmdo.policy.composition import Base, ClientRules, Layer
from llmdo.policy.flow import LabelledSource, Labelling
from llmdo.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

VERSION = 3
BUILT_IN = "built in"
THEIRS = "\0"
"""The beginning of the origin of a rule that the client itself obeys; taken away where it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What the decisions on calls of one client's agents in one project follow from."""

    fault: str
    """Why nothing can be decided; empty if all can."""
    stale: str
    """How the lock differs from the files; empty if it does not."""
    base: tuple[Any, ...] = ()
    workers: Mapping[str, tuple[Any, ...]]
    """The packed layer of each worker."""
    entries: Mapping[str, tuple[Any, ...]]
    """The packed layers of the entries that start each worker."""
    agents: Mapping[str, str]
    """The worker of each agent, by the agent's name for the client."""
    servers: Mapping[str, Mapping[str, tuple[str, ...]]]
    """The capabilities of each MCP server of each worker."""
    code: Mapping[str, Mapping[str, tuple[str, ...]]]
    """The capabilities of each tool of each worker that is code of the project."""
    freely: Mapping[str, Mapping[str, tuple[str, ...]]]
    """The capabilities of each tool of each worker about which the client asks nobody."""
    listed: Mapping[str, tuple[tuple[str, ...], ...]]
    """The beginnings of commands that the client's settings let each worker run."""
    denied: tuple[str, ...]
    """The tools and servers that the client's settings deny as a whole, as these name them."""
    lines: Mapping[str, tuple[str, ...]]
    """The capabilities of each line of the format's table."""
    reading: Mapping[str, tuple[str, ...]]
    """The shell rules of each program that vouch for its commands as only reading."""
    governing: tuple[str, ...]
    """The files that govern the project."""
    tells_code: bool
    """Whether the project has rules or flows about writing code, and not only about writing."""


def _pack_rule(rule: Rule) -> tuple[str, str, str]:
    """A rule as plain values; its place is told for good."""
    at = rule.at.location if rule.at else None
    place = f"{at.path}:{at.span.line}" if at and at.span else rule.place
    return str(rule.capability), rule.decision, place


def _pack_theirs(rule: Rule) -> tuple[str, str, str]:
    """The same of a rule that the client itself obeys, unless llmdo brings it, or the manifest states it."""
    capability, decision, place = _pack_rule(rule)
    is_ours = rule.origin == BUILT_IN or (rule.at is not None and rule.at.location.path == MANIFEST)
    return capability, decision, place if is_ours else f"{THEIRS}{place}"


def _rules(packed: Iterable[tuple[Any, ...]]) -> tuple[Rule, ...]:
    return tuple([Rule(Capability.parse(text), decision, origin) for text, decision, origin in packed])


def _pack_flow(flow: FlowRule) -> tuple[Any, ...]:
    """A flow rule as plain values; its place is told for good."""
    at = flow.at.location if flow.at else None
    origin = f"{at.path}:{at.span.line}" if at and at.span else flow.origin
    sources = tuple(map(str, flow.sources))
    return sources, str(flow.to), flow.decision, origin, flow.is_preset, flow.if_sent


def _flows(packed: Iterable[tuple[Any, ...]]) -> tuple[FlowRule, ...]:
    return tuple(
        [
            FlowRule(
                tuple(map(Capability.parse, sources)),
                Capability.parse(to),
                decision,
                origin,
                is_preset=is_preset,
                if_sent=if_sent,
            )
            for sources, to, decision, origin, is_preset, if_sent in packed
        ]
    )


def pack_layer(layer: Layer) -> tuple[Any, ...]:
    """A layer as plain values."""
    ceiling, client = layer.ceiling, layer.client
    pack = _pack_theirs if client else _pack_rule
    return (
        tuple(map(pack, layer.rules)),
        ceiling and _pack_ceiling(ceiling),
        tuple(map(_pack_flow, layer.flows)),
        layer.max_bits,
        client and tuple(map(_pack_theirs, client.rules)),
    )


def _pack_ceiling(ceiling: Ceiling) -> tuple[Any, ...]:
    at = ceiling.at.location if ceiling.at else None
    place = f" ({at.path}:{at.span.line})" if at and at.span else ""
    return tuple(map(str, ceiling.capabilities)), f"{ceiling.origin}{place}"


def layer_of(packed: tuple[Any, ...]) -> Layer:
    """The layer that was packed."""
    rules, ceiling, flows, max_bits, client = packed
    return Layer(
        _rules(rules),
        Ceiling(tuple(map(Capability.parse, ceiling[0])), ceiling[1]) if ceiling else None,
        _flows(flows),
        max_bits,
        ClientRules(_rules(client)) if client is not None else None,
    )


def pack_base(base: Base) -> tuple[Any, ...]:
    """The base as plain values."""
    labelling = base.labelling
    sources = [(str(each.capability), str(each.label)) for each in labelling.sources]
    return (
        tuple(map(_pack_rule, base.rules)),
        base.default,
        tuple(map(_pack_rule, base.tightening)),
        tuple(map(_pack_rule, base.strict)),
        tuple(map(_pack_flow, base.flows)),
        (tuple(map(str, labelling.labels)), tuple(sources)),
        tuple(sorted(base.reads)),
        base.max_bits,
    )


def base_of(packed: tuple[Any, ...]) -> Base:
    """The base that was packed."""
    rules, default, tightening, strict, flows, (labels, sources), reads, max_bits = packed
    parse = Capability.parse
    return Base(
        _rules(rules),
        default,
        _rules(tightening),
        _rules(strict),
        _flows(flows),
        Labelling(
            tuple(map(parse, labels)),
            tuple([LabelledSource(parse(each), parse(label)) for each, label in sources]),
        ),
        frozenset(reads),
        max_bits,
    )


def load(root: str, client: str, environ: Mapping[str, str]) -> Tables | None:
    """The tables in the person's cache; None if they are of other files, or there are none."""
    try:
        head, seen, missing, values = cache.read_own(_path(root, client, environ))
        if head != _head(root, client):
            return None
        if any(cache.facts(os.lstat(path)) != state for path, state in seen):
            return None
        if any(os.path.lexists(path) for path in missing):
            return None
        return Tables(**values)
    except cache.MISSES:
        return None


def keep(
    tables: Tables,
    root: str,
    client: str,
    environ: Mapping[str, str],
    seen: Mapping[str, cache.Facts],
    missing: Iterable[str],
    since: int,
) -> None:
    """Stores tables with the facts of all files that they were made of, unless one changed at that moment."""
    if any(cache.is_recent(state, since) for state in seen.values()):
        return
    values = {name: getattr(tables, name) for name in Tables.__slots__}
    content: Any = (_head(root, client), tuple(seen.items()), tuple(missing), values)
    try:
        path = _path(root, client, environ)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        cache.write_own(path, marshal.dumps(content))
    except (OSError, ValueError):
        return  # the next call takes longer


def now() -> int:
    """The time before files are read."""
    return time.time_ns()


def _head(root: str, client: str) -> tuple[object, ...]:
    return (VERSION, __version__, sys.version, root, client)


def _path(root: str, client: str, environ: Mapping[str, str]) -> str:
    return f"{cache.folder_of_person(environ)}/hook/{cache.number_of(root)}-{client}"
