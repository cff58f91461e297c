"""Text about `llmdo.toml`, for a workspace whose manifest is a team in one file: its name, and YAML instead of TOML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.nearest import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TABLES = "approvals|check|entries|flows|models|paths|policy|sources|toolsets"
_TABLE = re.compile(rf"\[\[?((?:{_TABLES})(?:\.[\w.-]+)*)\]\]?")
_BELOW_WORKSPACE = re.compile(r"`?\[workspace\] ?([\w-]*)`?")
_EQUALS = re.compile(r"(?<=[\w\"*-]) = (?=[\"\[{]|true|false|\d)")

_HEADING = re.compile(r"(\[\[?)([\w.-]+)\]\]?")
_LINE = re.compile(r'("(?:[^"\\]|\\.)*"|[\w-]+) = (.*)')
_PAIR = re.compile(r'("(?:[^"\\]|\\.)*") = ')


def worded_for(manifest: str, text: str, *, has_lines: bool = True) -> str:
    """A sentence about `llmdo.toml`, as one about `manifest`; with lines to write, these as well."""
    if manifest == MANIFEST:
        return text
    text = _BELOW_WORKSPACE.sub(lambda key: f"`{key[1]}`" if key[1] else "the top level", text)
    text = _TABLE.sub(r"\1", text).replace(MANIFEST, manifest)
    return _EQUALS.sub(": ", text) if has_lines else text


def lines_for(manifest: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines of `llmdo.toml`, as lines of `manifest`; comments stay before what they are about.

    A value is of JSON, or an inline table of such values. Tables of one name follow each other, and no two others have
    a name in common.
    """
    if manifest == MANIFEST:
        yield from lines
        return
    above: tuple[str, ...] = ()
    dash = ""
    for line in lines:
        if heading := _HEADING.fullmatch(line):
            route = tuple(heading[2].split("."))
            if route != above:
                yield from (f"{'  ' * depth}{name}:" for depth, name in enumerate(route))
            above, dash = route, "- " if heading[1] == "[[" else ""
        elif pair := _LINE.fullmatch(line):
            value = _PAIR.sub(r"\1: ", pair[2]) if pair[2].startswith("{") else pair[2]
            yield f"{'  ' * len(above)}{dash}{pair[1]}: {value}"
            dash = "  " if dash else ""
        else:
            yield worded_for(manifest, line) if line.startswith("#") else line
