"""The form of Codex's hooks, without which it drops a whole `hooks.json`, or does not start (watched with 0.171.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, excerpt, finding
from llmdo.base.parts import items, table, text
from llmdo.base.values import dataclass
from llmdo.features.codex.types import EVENTS
from llmdo.foreign.files import MOST_PLACES
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Document, Route

_COMMAND = "command"
_NEEDED = {_COMMAND: (_COMMAND,), "mcp_tool": ("server", "tool"), "prompt": (), "agent": ()}
"""The types of handlers, each with the texts that it needs."""
_TYPES = "`command`, `mcp_tool`, `prompt` or `agent`"
_UNRUN = frozenset({"agent", "prompt"})
"""The types of handlers that Codex leaves out."""
_TEXTS = ("commandWindows", "statusMessage")
_STATE = "state"
"""A table beside the events in the settings."""
_OF_FILE = frozenset({"description", "hooks"})
"""The keys of a file with hooks alone: it takes no other."""
_LISTS = "a list of tables"


@dataclass(frozen=True, slots=True)
class HookFault:
    """A value of another form than Codex takes, or one that is missing."""

    route: Route
    wanted: str
    is_missing: bool = False

    def at(self, document: Document) -> Place:
        """Its place; that of the table in which it is missing."""
        return (
            Place(document, self.route[:-1]) if self.is_missing else Place(document, self.route, of_key=True)
        )


def faults(hooks: object, route: Route = ("hooks",)) -> Iterator[HookFault]:
    """The faults of a table of hooks at a route."""
    for event, groups in table(hooks).items():
        if event not in EVENTS:
            continue
        if not isinstance(groups, list):
            yield HookFault((*route, event), _LISTS)
        for number, group in enumerate(items(groups)):
            yield from _of_group(group, (*route, event, number))


def _of_group(group: object, route: Route) -> Iterator[HookFault]:
    if not isinstance(group, dict):
        if not isinstance(group, list):
            yield HookFault(route, "a table")
        return
    if not isinstance(group.get("matcher"), str | None):
        yield HookFault((*route, "matcher"), "a text")
    handlers = group.get("hooks", [])
    if not isinstance(handlers, list):
        yield HookFault((*route, "hooks"), _LISTS)
    for number, handler in enumerate(items(handlers)):
        within = (*route, "hooks", number)
        if isinstance(handler, dict):
            yield from _of_handler(handler, within)
        else:
            yield HookFault(within, "a table")


def _of_handler(handler: Mapping[str, object], route: Route) -> Iterator[HookFault]:
    kind = text(handler.get("type"))
    if kind not in _NEEDED:
        yield HookFault((*route, "type"), _TYPES, is_missing="type" not in handler)
        return
    for key in _NEEDED[kind]:
        if not isinstance(handler.get(key), str):
            yield HookFault((*route, key), "a text", is_missing=key not in handler)
    if kind != _COMMAND:
        return
    for key in _TEXTS:
        if not isinstance(handler.get(key), str | None):
            yield HookFault((*route, key), "a text")
    timeout = handler.get("timeout")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int) or timeout < 0):
        yield HookFault((*route, "timeout"), "a whole number of seconds")
    if not isinstance(handler.get("async", False), bool):
        yield HookFault((*route, "async"), "`true` or `false`")


def note_faults(files: Files, document: Document, follows: str) -> bool:
    """Whether the hooks of a document have a fault; those alike are one finding, which ends with what follows."""
    known = [*faults(document.data.get("hooks"))]
    for key, wanted, is_missing in dict.fromkeys(
        (each.route[-1], each.wanted, each.is_missing) for each in known
    ):
        first, *others = (
            each
            for each in known
            if (each.route[-1], each.wanted, each.is_missing) == (key, wanted, is_missing)
        )
        more = f" (and {len(others)} more)" if others else ""
        message = f"Codex wants {wanted} as `{'.'.join(map(str, first.route))}`{more}: {follows}"
        related = [Related(each.at(document).location, "and here") for each in others[:MOST_PLACES]]
        at = first.at(document).location
        hint = _hint(document, first)
        hint = f"{hint}, and the others likewise" if hint and others else hint
        files.problems.append(finding("LDO152", at, message, hint=hint, related=related))
    return bool(known)


def _hint(document: Document, fault: HookFault) -> str | None:
    handler = table(Place(document, fault.route[:-1]).data)
    if fault.route[-1] == "type" and isinstance(handler.get(_COMMAND), str):
        form = '"type": "command"' if document.source.path.endswith(".json") else 'type = "command"'
        where = "beside" if fault.is_missing else "in place of it, beside"
        return f"write `{form}` {where} its `{_COMMAND}`"
    return None


def note_file(files: Files, document: Document) -> bool:
    """Whether Codex drops a file with hooks alone, which is noted."""
    follows = "it drops the whole file, so none of its hooks runs"
    hooks = document.data.get("hooks", {})
    if other := next((key for key in document.data if key not in _OF_FILE), None):
        message = f"Codex takes no `{excerpt(str(other))}` beside `hooks` and `description`: {follows}"
        hint = f"write `{other}` into the table `hooks`" if other in EVENTS else None
        files.note("LDO152", Place(document, (other,), of_key=True), message, hint)
        return True
    if not isinstance(hooks, dict):
        files.note(
            "LDO152", Place(document, ("hooks",), of_key=True), f"Codex wants a table as `hooks`: {follows}"
        )
        return True
    return note_faults(files, document, follows)


def note_unrun(files: Files, place: Place) -> None:
    """Notes what Codex takes in a table of hooks and never runs."""
    is_json = place.document.source.path.endswith(".json")
    for event, groups in table(place.data).items():
        at = Place(place.document, (*place.route, event), of_key=True)
        if event not in EVENTS and isinstance(groups, list):
            files.unknown_key(at, event, EVENTS)
        for number, group in enumerate(items(groups)) if event in EVENTS else ():
            within = Place(place.document, (*place.route, event, number))
            if _COMMAND in table(group) and "hooks" not in table(group):
                message = f"this group at `{event}` has no list `hooks`, so Codex never runs its `{_COMMAND}`"
                hint = (
                    'write it as `{"hooks": [{"type": "command", "command": "COMMAND"}]}`, in a list'
                    if is_json
                    else f'write its `command` under `[[hooks.{event}.hooks]]` with `type = "command"`'
                )
                files.note("LDO151", within, message, hint)
            for index, handler in enumerate(items(table(group).get("hooks"))):
                kind = text(table(handler).get("type"))
                if kind in _UNRUN:
                    each = Place(place.document, (*within.route, "hooks", index, "type"))
                    files.note(
                        "LDO151", each, f"Codex runs no hooks of the type `{kind}` yet, so this does nothing"
                    )
