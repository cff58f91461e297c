"""Two locks, compared fact by fact; the table of a lock lists all there is to compare."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.diff import effects
from llmdo.diff.difference import Change, HandEdit
from llmdo.diff.rows import acceptance_for_all, acceptance_of
from llmdo.graph import code_calls, keys, toolkit
from llmdo.graph.resolved import Entry
from llmdo.graph.settings import Settings
from llmdo.graph.toolkit import unseen_in, without_unseen
from llmdo.graph.worker import Worker
from llmdo.policy.authority import Capability, Ceiling
from llmdo.workspace.lock import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from llmdo.base.values import Json
    from llmdo.diff.difference import Effect
    from llmdo.graph.resolved import Graph
    from llmdo.graph.settings import Acceptance
    from llmdo.graph.toolset import Tool, Toolset

Route = tuple[str, ...]

_NAMED = frozenset(
    {
        *("entry", "extension", "model", "module", "policy", "python-model", "schedule", "schema-source"),
        *("toolset", "worker"),
    }
)
"""The tables of a lock that hold items by their names."""

_LAYOUT = frozenset({"version", "revision"})
"""Facts about the file, not about the workspace."""

_STATED: Mapping[str, type] = {"settings": Settings, "entry": Entry, "worker": Worker}
"""Tables of a lock that hold the fields of a class."""

_NUMBER = re.compile(r" \(\d+\)$")
"""The number that tells toolsets of one name in a foreign project apart."""


def changes(before: Graph, after: Graph) -> tuple[Change, ...]:
    """Every fact that differs, by its place in the lock; none exactly if the graphs mean the same."""
    unseen, after = unseen_in(after), without_unseen(after)
    old, new = encode(before), encode(after)
    if after.read_from:
        servers = parts.table(old, "toolset").keys() & parts.table(new, "toolset").keys()
        old, new = _of_files(before, old, servers), _of_files(after, new, servers)
    users = _users(before, after)
    judged = (
        _with_policies(
            _with_permissions(
                _with_events(
                    _with_servers(_judged(users.concerned(change), after.acceptances), before, after),
                    before,
                    after,
                ),
                before,
                after,
            ),
            after,
        )
        for kind in {*old, *new} - _LAYOUT
        for change in _compared((kind,), old.get(kind), new.get(kind))
        if not (_is_echo(change.route, old, new) or _is_unseen(change.route, old, new, unseen))
    )
    return tuple(sorted(judged, key=lambda change: change.route))


def _with_servers(change: Change, before: Graph, after: Graph) -> Change:
    """The change; another MCP server of a worker is a gain, as each can do other things."""
    if change.route[0] != "worker" or change.route[2:] != ("toolsets",) or not change.entries:
        return change
    old, new = ({*_servers(graph, change.route[1])} for graph in (before, after))
    if new - old:
        return _accepting(change, "widens", after.acceptances)
    # Whoever has fewer tools, or parts of them, can do less, though what is left may reach as much.
    had, has = ({*parts.texts(side)} for side in (change.before, change.after))
    is_less = had - has and all(any(effects.covers(each, other) for each in had) for other in has - had)
    return replace(change, effect="narrows") if is_less and after.read_from else change


def _with_events(change: Change, before: Graph, after: Graph) -> Change:
    """The change; another command at an event is a gain if it is one more, or can do something else."""
    match change.route:
        case ("worker", worker, "events", *event):
            old, new = (_at_events(graph.workers[worker].events, event) for graph in (before, after))
            return replace(change, effect=effects.at_event(old, new))
    return change


def _with_permissions(change: Change, before: Graph, after: Graph) -> Change:
    """The change; a rule that lets more through is a gain, also where no row shows it."""
    match change.route:
        case ("worker", worker, "permissions", *word):
            sides = [
                graph.workers[worker].permissions if worker in graph.workers else {}
                for graph in (before, after)
            ]
            return replace(change, effect=effects.permitting(word, *sides))
    return change


def _at_events(
    events: Mapping[str, Mapping[str, tuple[Capability, ...]]], names: Sequence[str]
) -> dict[str, tuple[Capability, ...]]:
    """The commands at the event of this name, or at any event if there is no name."""
    return {
        command: capabilities
        for event in names or events
        for command, capabilities in events.get(event, {}).items()
    }


def _with_policies(change: Change, after: Graph) -> Change:
    """The change; a policy that says less, or is gone, is a gain, unless another says as much."""
    if change.route[0] != "policy":
        return change
    before, now = (_policy_with(change.route[2:], side) for side in (change.before, change.after))
    lost = tuple(effects.lost_of_policy(before, [now, *(policy.encoded() for policy in after.policies)]))
    if not lost:
        return replace(change, effect="narrows" if [*effects.lost_of_policy(now, [before])] else "none")
    capabilities = [Capability.parse(capability) for capability in lost if capability]
    accepted = [
        acceptance_of(after.acceptances, capability, None, gated=False) for capability in capabilities
    ]
    is_accepted = "" not in lost and all(accepted)
    return replace(change, effect="widens", accepted=accepted[0] if is_accepted else None)


def _policy_with(route: Route, value: Json) -> Mapping[str, Json]:
    """A policy that has nothing but `value` at `route`."""
    for key in reversed(route):
        value = {} if value is None else {key: value}
    return parts.table(value)


def _servers(graph: Graph, worker: str) -> Iterator[object]:
    for use in graph.workers[worker].uses:
        toolset = graph.toolsets.get(use.name)
        if toolset and toolset.server:
            yield effects.identity(toolset.server)


def _of_files(graph: Graph, lock: Mapping[str, Json], servers: AbstractSet[str]) -> dict[str, Json]:
    """The facts of a foreign project that its files state; the rest is our form of it, and rows show its effect.

    Of `servers`, only those on both sides are compared: the table of an agent shows that it has another one.
    """
    workers = {
        name: {
            **{key: value for key, value in worker.items() if key != "approvals"},
            "sandbox": graph.workers[name].sandbox,
            "permissions": {word: [*rules] for word, rules in graph.workers[name].permissions.items()},
            "events": {event: [*commands] for event, commands in graph.workers[name].events.items()},
            "toolsets": [_NUMBER.sub("", toolset) for toolset in parts.texts(worker.get("toolsets"))],
        }
        for name, worker in parts.tables(lock, "worker").items()
        if worker.get("config")  # else it stands for all that somebody may call
    }
    toolsets = {
        name: {"mcp": toolset["mcp"]}
        for name, toolset in parts.tables(lock, "toolset").items()
        if "mcp" in toolset and name in servers
    }
    entries = {
        name: {**entry, "started-by": {start.event: start.by for start in graph.entries[name].started_by}}
        for name, entry in parts.tables(lock, "entry").items()
    }
    return {"entry": entries, "worker": workers, "toolset": toolsets}


def _compared(route: Route, before: Json, after: Json) -> Iterator[Change]:
    """The facts that differ below `route`; an item that came or went is one."""
    if before == after:
        return
    is_item = len(route) == (4 if route[2:3] in (("tool",), ("capability",)) else 2) and route[0] in _NAMED
    present = [value for value in (before, after) if value is not None]
    tables = [value for value in present if isinstance(value, dict)]
    if (is_item and len(present) == 1) or len(tables) < len(present):
        yield Change(route=route, before=before, after=after)
        return
    keys = sorted({key for table in tables for key in table})
    for key in keys:
        yield from _compared((*route, key), parts.table(before).get(key), parts.table(after).get(key))


def _is_echo(route: Route, old: Mapping[str, Json], new: Mapping[str, Json]) -> bool:
    """Whether other changes say the same: of a header's digest its keys, of a module the toolsets in it."""
    match route:
        case ("worker", name, "config"):
            tables = [{**parts.table(side["worker"], name), "config": None} for side in (old, new)]
            return tables[0] != tables[1]
        case ("adopted", path, *_):
            return any(
                table != parts.table(new["worker"], name) and path == table.get("path")
                for name, table in parts.tables(old["worker"]).items()
            )
        case ("worker", name, "approvals" | "client-rules", *_):
            # Of another tool's agent they are our form of its settings, and rows show their effect.
            return "format" in parts.table(new["worker"], name)
        case ("worker", name, "native-options", tool, *_):
            return any(
                tool not in parts.texts(parts.table(side["worker"], name).get("native-tools"))
                for side in (old, new)
            )
        case ("toolset", name, "tool", tool, "digest"):
            # Of a tool of an MCP server the lock holds the texts as well.
            return "input" in parts.table(new["toolset"], name, "tool", tool)
        case ("module", path):
            return any(
                parts.text(toolset.get("python")).startswith(f"{path}:")
                for side in (old, new)
                for toolset in parts.tables(side["toolset"]).values()
            )
    return False


def _is_unseen(
    route: Route, old: Mapping[str, Json], new: Mapping[str, Json], unseen: AbstractSet[str]
) -> bool:
    """Whether only an import or a start shows the fact, for a toolset not imported or asked yet."""
    match route:
        case ("toolset", name, "tool" | "dynamic" | "class" | "server", *_) if name in unseen:
            return True
        case ("toolset", name, "tool", tool, "digest"):
            # What a module says by its text has no digest before it is imported; that its source changed is a fact.
            now = parts.table(new["toolset"], name)
            was = parts.table(old["toolset"], name)
            is_new = now.get("source") != was.get("source")
            return is_new and "digest" not in parts.table(now, "tool", tool)
    return False


def _judged(change: Change, acceptances: Iterable[Acceptance]) -> Change:
    """The change with its effect on the powers of entries."""
    before, after = change.before, change.after
    match _stated_effect(change.route):
        case "ceiling":
            kind, name, *_ = change.route
            return _ceiling(change, name if kind == "entry" else None, tuple(acceptances))
        case "amount":
            return replace(change, effect=effects.amount(before, after))
        case "choice":
            return replace(change, effect=effects.choice(before, after))
        case "elsewhere":
            return replace(change, effect="widens")
    match change.route:
        case ("toolset", _, "mcp", key):
            return _accepting(change, effects.server(key, before, after), acceptances)
        case ("toolset", _, "tool", _, "capabilities" | "hook") if change.entries and _says_less(change):
            return replace(change, effect="widens")
    return replace(change, effect=_effect_at(change.route, before, after))


def _effect_at(route: Route, before: Json, after: Json) -> Effect:
    """The effect of a change at a place of the lock for which no field states it."""
    match route:
        case ("worker", _, "native-options", _, "max_uses"):
            return effects.amount(before, after)
        case ("worker", _, "native-options", _, "allowed_domains"):
            return effects.choice(before, after)
        case ("worker", _, "native-options", _, "blocked_domains"):
            return effects.more(after, before)
        case ("worker", _, "sandbox"):
            return effects.confinement(before, after)
        case ("extension", _, "capability", _, key):
            return effects.family(key, before, after)
        case ("notify", "content"):
            return effects.sending(before, after)
        case ("notify", _):
            return effects.receiver(before, after)
        case ("shell", "rules" | "env"):
            return effects.more(before, after)
        case ("shell", "isolation") | ("toolset", _, "isolation"):
            return effects.isolation(before, after)
        case ("shell", *_, str()):
            return effects.amount(before, after)
    return _effect_on_flows(route, before, after)


def _effect_on_flows(route: Route, before: Json, after: Json) -> Effect:
    """The effect of a change of permitted flows."""
    match route:
        case ("flows", key) | ("entry" | "worker", _, "flows", key):
            return effects.flow(key, before, after)
        case ("sources", _):
            return effects.source(before)
        case ("entry", _, "started-by", _):
            return effects.start(before, after)
        case ("entry", _, "untrusted-input"):
            return effects.from_strangers(before, after)
        case ("toolset", _, "reads"):
            return effects.more(before, after)
        case ("toolset", _, "keeps"):
            return "widens" if after is False else "narrows"
        case ("toolset", _, "targets", _):
            return effects.choice(after, before)
        case ("worker", _, "output"):
            return "narrows" if after == "sealed" else "widens"
    return "none"


def _accepting(change: Change, effect: Effect, acceptances: Iterable[Acceptance]) -> Change:
    """The change of an MCP server with its effect; a widening is accepted as calls of such a server are."""
    accepted = None
    if effect == "widens":
        accepted = acceptance_for_all(acceptances, Capability("mcp.call"), change.entries, gated=False)
    return replace(change, effect=effect, accepted=accepted)


def _stated_effect(route: Route) -> keys.Effect:
    """The effect of changes at a place of the lock, as its field states it."""
    kind, *below = route
    steps = below if kind == "settings" else below[1:]
    cls: type | None = _STATED.get(kind)
    effect: keys.Effect = "none"
    for key in steps:
        stated = keys.stated_at(cls, key) if cls else None
        if stated is None:
            return "none"
        cls, effect = stated.codec.table, stated.effect
    return effect


def _ceiling(change: Change, entry: str | None, acceptances: tuple[Acceptance, ...]) -> Change:
    raised, lowered = raised_ceiling(change.before, change.after), raised_ceiling(change.after, change.before)
    if raised is not None and not raised:
        return replace(change, effect="narrows") if lowered is None or lowered else change
    accepted = [acceptance_of(acceptances, capability, entry, gated=True) for capability in raised or ()]
    return replace(change, effect="widens", accepted=accepted[0] if accepted and all(accepted) else None)


def raised_ceiling(before: Json, after: Json) -> tuple[Capability, ...] | None:
    """The part of the ceiling `after` outside the ceiling `before`; None without a ceiling `after`."""
    if before is None:
        return ()
    if after is None:
        return None
    ceiling = Ceiling(tuple(map(Capability.parse, parts.texts(before))), "before")
    capabilities = map(Capability.parse, parts.texts(after))
    return tuple(capability for capability in capabilities if not ceiling.admits(capability))


def _says_less(change: Change) -> bool:
    """Whether a tool now declares less, or may itself declare less for each call."""
    if change.route[-1] == "hook":
        return bool(change.after)
    rest = [Capability.parse(capability) for capability in parts.texts(change.after)]
    return any(
        not any(capability.contains(Capability.parse(lost)) for capability in rest)
        for lost in parts.texts(change.before)
    )


@dataclass(frozen=True, slots=True)
class _Users:
    """The users of each thing, in either of two graphs."""

    entries: Mapping[str, AbstractSet[str]]
    """Worker to the entries that reach it."""
    workers: Mapping[tuple[str, str], AbstractSet[str]]
    """Table and item of the lock to the workers that use it."""
    themselves: Mapping[tuple[str, str], AbstractSet[str]]
    """Table and item of the lock to the entries that use it themselves."""

    def concerned(self, change: Change) -> Change:
        """The change with the names of the workers and entries that it concerns."""
        kind, name = (*change.route, "")[:2]
        if kind == "entry":
            return replace(change, entries=(name,))
        workers = {name} if kind == "worker" else self.workers.get((kind, name), set())
        entries = {entry for worker in workers for entry in self.entries.get(worker, ())}
        entries |= self.themselves.get((kind, name), set())
        users = () if kind == "worker" else tuple(sorted(workers))
        return replace(change, entries=tuple(sorted(entries)), workers=users)


def _users(*graphs: Graph) -> _Users:
    entries: dict[str, set[str]] = {}
    workers: dict[tuple[str, str], set[str]] = {}
    themselves: dict[tuple[str, str], set[str]] = {}
    for graph in graphs:
        for worker in graph.workers.values():
            for item in _used(graph, worker):
                workers.setdefault(item, set()).add(worker.name)
        for schedule in graph.schedules.values():
            themselves.setdefault(("schedule", schedule.name), set()).add(schedule.entry.name)
        for entry in graph.entries.values():
            for use in code_calls.own_uses(graph, entry):
                themselves.setdefault(("toolset", use.name), set()).add(entry.name)
            for name in toolkit.reachable(graph, entry):
                entries.setdefault(name, set()).add(entry.name)
                if entry.model and graph.workers[name].model is None:
                    for item in _models(graph, entry.model.name):
                        workers.setdefault(item, set()).add(name)
    return _Users(entries, workers, themselves)


def _used(graph: Graph, worker: Worker) -> Iterator[tuple[str, str]]:
    for use in code_calls.uses_with_calls(graph, worker.uses):
        yield "toolset", use.name
    for named in worker.code:
        yield "schema-source", named.name.rpartition(":")[0]
    if model := worker.model or graph.settings.model:
        yield from _models(graph, model.name)


def _models(graph: Graph, name: str) -> Iterator[tuple[str, str]]:
    for model in (name, *graph.models.get(name, ())):
        yield "model", model
        yield "python-model", model


def hand_edits(before: Graph, after: Graph) -> tuple[HandEdit, ...]:
    """The facts about Python toolsets that differ although the digests of their sources do not."""
    known = {toolset.python: toolset for toolset in before.toolsets.values() if toolset.source}
    edits: list[HandEdit] = []
    for toolset in after.toolsets.values():
        old = known.get(toolset.python)
        if old is not None and old.source == toolset.source:
            edits.extend(_edited(old, toolset))
    return tuple(edits)


def _edited(old: Toolset, new: Toolset) -> Iterator[HandEdit]:
    if (old.is_class, old.dynamic) != (new.is_class, new.dynamic):
        yield HandEdit(new.name, None, "its kind changed")
    for name in sorted({*old.tools, *new.tools}):
        if name not in new.tools:
            yield HandEdit(new.name, name, "it is gone")
        elif name not in old.tools:
            yield HandEdit(new.name, name, "it is new")
        else:
            for fact in _edited_facts(old.tools[name], new.tools[name]):
                yield HandEdit(new.name, name, fact)


def _edited_facts(old: Tool, new: Tool) -> Iterator[str]:
    if old.digest != new.digest:
        yield "its description or parameters changed"
    if old.hook != new.hook:
        yield "it gained a hook" if new.hook else "it lost its hook"
    if old.metadata != new.metadata:
        yield "its own declaration changed"
