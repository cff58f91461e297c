"""Handoffs of agents of VS Code: the keys without which it skips one, and what is noted about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, finding
from llmdo.base.parts import items
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Document

HANDOFFS = "handoffs"
_KEYS = frozenset({"agent", "label", "model", "prompt", "send", "showContinueOn"})
_OTHER_NAMES = {"autoSend": "send", "auto_send": "send"}
_MOST = 3  # further places below a finding


def lacking(entry: object) -> tuple[str, ...]:
    """The keys without which VS Code skips a handoff."""
    keys = entry if isinstance(entry, dict) else {}
    has_prompt = isinstance(keys.get("prompt"), str)  # perhaps an empty one
    named = [key for key in ("agent", "label") if not isinstance(keys.get(key), str) or not keys[key]]
    return (*named, *(() if has_prompt else ("prompt",)))


def kept(files: Files, document: Document) -> Iterator[tuple[str, Place]]:
    """The agents to whom a file hands over, each with its place; oddities are noted."""
    skipped: dict[tuple[str, ...], list[Place]] = {}
    for number, entry in enumerate(items(document.data.get(HANDOFFS))):
        files.misspelt_keys(document, _KEYS, HANDOFFS, number)
        for key in entry if isinstance(entry, dict) else ():
            if key in _OTHER_NAMES:
                at = Place(document, (HANDOFFS, number, key), of_key=True)
                files.unknown_key(at, key, (), f"write `{_OTHER_NAMES[key]}`")
        if keys := lacking(entry):
            skipped.setdefault(keys, []).append(Place(document, (HANDOFFS, number)))
        elif isinstance(entry, dict):
            yield entry["agent"], Place(document, (HANDOFFS, number, "agent"))
    for keys, places in skipped.items():
        many = f", such as {len(places)} of this file" if len(places) > 1 else ""
        files.problems.append(
            finding(
                "LDO151",
                places[0].location,
                f"VS Code skips a handoff without {_listed(keys)}{many}",
                hint=f"write {_listed(keys)} into it, or take it out",
                related=[Related(place.location, "and this") for place in places[1 : _MOST + 1]],
            )
        )


def meant(value: object) -> str:
    """The hint to write `handoffs` for a key with this value."""
    entries = items(value)
    keys = dict.fromkeys(key for entry in entries for key in lacking(entry))
    names = dict.fromkeys(key for entry in entries if isinstance(entry, dict) for key in entry)
    others = [f"`{_OTHER_NAMES[key]}` for `{key}`" for key in names if key in _OTHER_NAMES]
    needed = [f"each entry then needs {_listed(tuple(keys))}"] if keys else []
    also = ", and ".join(needed + others)
    return f"did you mean `{HANDOFFS}`? {also}".rstrip()


def _listed(keys: tuple[str, ...]) -> str:
    *first, last = [f"`{key}`" for key in keys]
    return f"{', '.join(first)} and {last}" if first else last
