"""Names of tools in quotes within a text, as in `tools: read, 'edit'`.

VS Code takes the quotes off (`parseCommaSeparatedList` of https://github.com/microsoft/vscode); for Copilot's command
line they are part of the names (watched with 1.0.102), which are then of no tool. Of the cloud nothing is known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.features.copilot.tools import COMMAND_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.features.copilot.tools import Tools
    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Place

    Named = Sequence[tuple[str, Place]]

_MOST = 3  # names in a message
_ITEM = re.compile(r"(?:\A|,)\s*(?P<quoted>(?P<quote>[\"'])(?P<name>[^,\"'\[\]]+)(?P=quote))\s*(?=,|\Z)")


def _quoted_in(header: Mapping[str, object]) -> dict[str, str]:
    """The names that a text has in quotes alone, each as it is written; none of a list, whose quotes are YAML's."""
    value = header.get("tools")
    if not isinstance(value, str):
        return {}
    quoted = {item["name"].strip(): item["quoted"] for item in _ITEM.finditer(value)}
    bare = {item.strip() for item in value.split(",")}
    return {name: written for name, written in quoted.items() if name not in bare}


def bare(named: Named, header: Mapping[str, object]) -> list[str]:
    """The names that the command line knows."""
    quoted = _quoted_in(header)
    return [name for name, _ in named if name not in quoted]


def grants_of(tools: Tools, named: Named, header: Mapping[str, object]) -> Iterator[Grant]:
    """The grants of the names in a header, of those in quotes none on the command line."""
    quoted = _quoted_in(header)
    for name, at in named:
        yield from (each for each in tools.of(name, at) if each.runs_in != COMMAND_LINE or name not in quoted)


def note_quoted(files: Files, named: Named, header: Mapping[str, object]) -> None:
    """Notes the names that the command line does not know for their quotes, at the first."""
    quoted = _quoted_in(header)
    at = next((place for name, place in named if name in quoted), None)
    if at is None:
        return
    *first, last = [f"`{excerpt(written)}`" for written in quoted.values()]
    if len(first) >= _MOST:
        first, last = [*first, last][:_MOST], f"{len(first) + 1 - _MOST} more"
    listed = f"{', '.join(first)} and {last}" if first else last
    message = f"Copilot's command line keeps the quotes in a text, so it does not know {listed}; VS Code takes them off"
    files.note("LDO150", at, message, "leave the quotes out")
