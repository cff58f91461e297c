"""The differences between the lock and the sources, item by item and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.source import Location
from llmdo.base.values import dataclass
from llmdo.graph import servers
from llmdo.graph.keys import words_of
from llmdo.graph.resolved import Entry
from llmdo.graph.settings import Schedule
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Worker
from llmdo.workspace.lock.encoding import encode
from llmdo.workspace.root import LOCK, MANIFEST
from llmdo.workspace.stale import stale_item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.graph.resolved import Graph
    from llmdo.syntax.document import Place

_WORDS = {
    "python-model": "model",
    "schema-source": "schema",
    "module": "toolset module",
    "model": "model alias",
    "adopted": "file",
}

_CHANGED = {
    "entry": words_of(Entry),
    "schedule": words_of(Schedule),
    "worker": words_of(Worker),
    "toolset": words_of(Toolset),
    "extension": {"digest": "its files changed"},
}
"""Table of the lock to the changes of its items, in words, by key."""

_OF_FILES = {"source": "its source changed", "digest": "its text changed"}
"""The same for the tables that hold only digests."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One item whose lock entry differs from the sources."""

    kind: str
    """The table of the lock: `worker`, `toolset`, `rules`, ..."""
    name: str
    changes: tuple[str, ...]
    """The changes, in words, each to follow the item's name."""
    at: Place | None
    """The item's declaration in the sources; None if it is gone."""
    is_kept: bool = False
    """Whether `llmdo lock` would keep the lock's entry, since only a library differs, not the source."""

    @property
    def problem(self) -> Diagnostic:
        """The finding about it, at the item in the sources or at the lock."""
        if self.at:
            at = self.at.location
        else:
            at = Location(LOCK if self.kind in _PLACED else self.name if self.kind in _FILES else MANIFEST)
        subject = f"{_WORDS.get(self.kind, self.kind)} `{self.name}`" if self.name else f"`[{self.kind}]`"
        return stale_item(subject, at, self.changes, is_kept=self.is_kept)


_FEW = 5  # commands of shell rules that a message names
_PLACED = ("worker", "toolset", "entry", "schedule")
_FILES = ("module", "judge", "schema-source", "policy", "adopted")


def drift(locked: Graph, current: Graph) -> tuple[Drift, ...]:
    """Every item that differs between the two, in the order of the lock's tables, then by name."""
    if locked == current:
        return ()
    return tuple(_drift(locked, current))


def _drift(locked: Graph, current: Graph) -> Iterator[Drift]:
    others = frozenset(_other_workers(locked, current))
    # An agent of another tool that differs says all that its file would.
    agents = {
        graph.workers[name].path for graph in (locked, current) for name in others & graph.workers.keys()
    }
    before, after = (_without_files(encode(graph, others), agents) for graph in (locked, current))
    for kind in ("settings", "rules", "flows", "sources", "paths"):
        if changes := tuple(_fields(parts.table(before.get(kind)), parts.table(after.get(kind)), {})):
            yield Drift(kind, "", changes, None)
    for kind in (
        "policy",
        "extension",
        "model",
        "python-model",
        "schema-source",
        "module",
        "judge",
        "adopted",
        "entry",
        "schedule",
        "worker",
        "toolset",
    ):
        old, new = parts.tables(before, kind), parts.tables(after, kind)
        for name in sorted({*old, *new}):
            if name not in new:
                yield Drift(kind, name, ("it no longer exists",), None)
            elif name not in old:
                yield Drift(kind, name, ("it is not in the lock",), _place(current, kind, name))
            elif changes := tuple(_changes(old[name], new[name], _CHANGED.get(kind, _OF_FILES))):
                is_kept = _facts(old[name]) != _facts(new[name]) and old[name].get("source") == new[name].get(
                    "source"
                )
                yield Drift(kind, name, changes, _place(current, kind, name), is_kept)
    if changes := tuple(_shell(parts.table(before, "shell"), parts.table(after, "shell"))):
        yield Drift("shell", "", changes, None)
    if changes := tuple(_fields(parts.table(before, "notify"), parts.table(after, "notify"), {})):
        yield Drift("notify", "", changes, None)
    if before.get("accept") != after.get("accept"):
        yield Drift("accept", "", ("the acceptances changed",), None)


def _without_files(lock: Mapping[str, Json], paths: AbstractSet[str]) -> Mapping[str, Json]:
    adopted = parts.tables(lock, "adopted")
    return {**lock, "adopted": {path: adopted[path] for path in adopted if path not in paths}}


def _other_workers(before: Graph, after: Graph) -> Iterator[str]:
    """The workers that differ, or whose lines do: there may be many, and usually few changed."""
    names_mean_the_same = (
        before.workers.keys() == after.workers.keys() and before.toolsets.keys() == after.toolsets.keys()
    )
    for name in {*before.workers, *after.workers}:
        old, new = before.workers.get(name), after.workers.get(name)
        if old is new and names_mean_the_same:
            continue
        if old != new or before.edges[name] != after.edges[name] or before.lines[name] != after.lines[name]:
            yield name


def _place(graph: Graph, kind: str, name: str) -> Place | None:
    match kind:
        case "extension":
            return graph.extensions[name].at
        case "worker":
            return graph.workers[name].at
        case "toolset":
            return graph.toolsets[name].at
        case "entry":
            return graph.entries[name].at
        case "schedule":
            return graph.schedules[name].at
    return None


def _changes(old: Mapping[str, Json], new: Mapping[str, Json], words: Mapping[str, str]) -> Iterator[str]:
    if "python" in new and old.get("source") != new.get("source"):
        # What its tools are now is not known before `llmdo lock` imports it.
        old, new = ({key: table.get(key) for key in ("python", "source", "sources")} for table in (old, new))
    if "mcp" in new and "server" in old and "server" not in new:
        # What another server has for tools is not known before `llmdo lock` asks it.
        old, new = ({**table, "server": None, "tool": None, "dynamic": None} for table in (old, new))
    changed = list(_fields(old, new, words))
    if old.get("config") != new.get("config") and not changed:
        yield words["config"]
    yield from changed


def _facts(table: Mapping[str, Json]) -> object:
    """The facts known only from importing a Python toolset; None for anything else."""
    if "python" not in table:
        return None
    tools = {
        name: [tool.get(key) for key in ("digest", "hook", "metadata")]
        for name, tool in parts.tables(table, "tool").items()
    }
    return table.get("class"), table.get("dynamic"), tools


def _fields(old: Mapping[str, Json], new: Mapping[str, Json], words: Mapping[str, str]) -> Iterator[str]:
    """The differences of two tables, a phrase each; the digest of a header is left to the caller."""
    for key in sorted({*old, *new} - {"config"}):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if key in words:
            yield words[key]
        elif key == "tool" and isinstance(before or after, dict):
            yield from _tools(parts.tables(before), parts.tables(after))
        elif (before == [] and after is None) or (before is None and after == []):
            # An empty list is a statement: of a ceiling it admits nothing, and no list admits everything.
            yield (
                f"`{key}` is empty now, it was not there" if after == [] else f"`{key}` is gone, it was empty"
            )
        elif isinstance(before, list) or isinstance(after, list):
            yield from _items(key, parts.items(before), parts.items(after))
        elif isinstance(before, dict) or isinstance(after, dict):
            for phrase in _fields(parts.table(before), parts.table(after), {}):
                yield f"{key}: {phrase}"
        elif before is None:
            yield f"`{key}` is now `{_shown(after)}`"
        elif after is None:
            yield f"`{key}` is gone, it was `{_shown(before)}`"
        else:
            yield f"`{key}` is `{_shown(after)}`, it was `{_shown(before)}`"


def _items(key: str, before: Sequence[Json], after: Sequence[Json]) -> Iterator[str]:
    gained = [f"+`{item}`" for item in after if item not in before]
    lost = [f"-`{item}`" for item in before if item not in after]
    if gained or lost:
        yield f"`{key}` {' '.join((*gained, *lost))}"
    else:
        yield f"`{key}` changed its order"


def _tools(
    before: Mapping[str, Mapping[str, Json]], after: Mapping[str, Mapping[str, Json]]
) -> Iterator[str]:
    for name in sorted({*before, *after}):
        if name not in after:
            yield f"tool `{name}` is gone"
        elif name not in before:
            yield f"tool `{name}` is new"
        elif "input" in before[name] and (changes := servers.changes(before[name], after[name])):
            yield f"tool `{name}`: {'; '.join(changes)}"
        elif before[name] != after[name]:
            part = next(
                (
                    word
                    for key, word in words_of(Tool).items()
                    if before[name].get(key) != after[name].get(key)
                ),
                "its description or parameters",
            )
            yield f"tool `{name}` changed {part}"


def _shell(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[str]:
    yield from _fields({**before, "rules": None}, {**after, "rules": None}, {})
    changed = {*parts.texts(before.get("rules"))} ^ {*parts.texts(after.get("rules"))}
    if commands := sorted({f"`{rule.partition(' [')[0]}`" for rule in changed}):
        more = f" and {len(commands) - _FEW} more" if len(commands) > _FEW else ""
        yield f"its rules for {', '.join(commands[:_FEW])}{more} changed"


def _shown(value: object) -> str:
    text = "true" if value is True else "false" if value is False else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
