"""Values of calls and messages for a page: complete, with nothing in them that hides or pretends."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.visible import scripts, visible, without_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.values import Json

MOST_ALIKE = 3
"""The most alike lines in a row that are all drawn; of more, one is drawn with their number."""


def drawn(name: str, value: object) -> dict[str, Json]:
    """A value with its name: its lines, of many alike a pair of their number and the line."""
    if isinstance(value, str):
        text = value
        lines = [without_runs(visible(line, prose="\n" in text)) for line in text.split("\n")]
    else:
        text = json.dumps(value, indent=2)  # in ASCII alone: nothing in it needs to be made visible
        lines = [without_runs(line) for line in text.split("\n")]
    size = text.encode("utf-8", "surrogatepass")
    return {
        "name": named(name),
        "kind": "text" if isinstance(value, str) else "data",
        "bytes": len(size),
        "sha256": digest.of_bytes(size).removeprefix("sha256:"),
        "lines": [*counted(lines)],
        "scripts": [*scripts("".join(lines))] if isinstance(value, str) else [],
    }


def drawn_arguments(arguments: object) -> list[dict[str, Json]]:
    """The arguments of a call, each drawn; a value that is no object is drawn as a whole."""
    if isinstance(arguments, dict):
        return [drawn(str(name), value) for name, value in arguments.items()]
    return [drawn("arguments", arguments)]


def named(name: str) -> str:
    """A name that anybody may have chosen, drawn so that it cannot look like a name with its value."""
    return name if name.isascii() and name.isidentifier() else json.dumps(name)


def drawn_line(text: str) -> str:
    """A text in one line, with every line break spelled out."""
    return visible(text, prose=True)


def counted(lines: Iterable[str]) -> Iterator[Json]:
    """The lines; many alike are a pair of their number and the line, so that they push nothing out of sight."""
    for line, alike in groupby(lines):
        number = sum(1 for _ in alike)
        if number <= MOST_ALIKE:
            yield from [line] * number
        else:
            yield [number, line]


def drawn_texts(texts: Iterable[object]) -> list[Json]:
    """Sentences, each in one line."""
    return [drawn_line(str(text)) for text in texts]


def drawn_names(table: Mapping[str, object], *names: str) -> dict[str, Json]:
    """Those of the texts in `table`, each in one line; empty if there is none."""
    return {name: visible(str(table.get(name) or "")) for name in names}
