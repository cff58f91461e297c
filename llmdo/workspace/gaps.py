"""The unknown parts of a workspace with unreadable files, which `checks` does not judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base import parts
from llmdo.base.values import dataclass
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.values import Json

Lack = Literal["names", "aliases", "contents"]
"""Workers or toolsets; aliases of models; any other content of files, such as an edge or a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """The unknown parts of a workspace until some files are fixed. Each of these files has an error."""

    files: frozenset[str] = frozenset()
    """Files of which nothing could be used."""
    names: bool = False
    """Whether the graph may lack workers and toolsets."""
    aliases: bool = False
    """Whether it may lack aliases of models."""
    extensions: bool = False
    """Whether it may lack capabilities and checks of extensions."""
    contents: bool = False
    """Whether it may lack any other content of sources: an entry, an edge, a rule."""
    toolsets: frozenset[str] = frozenset()
    """The toolsets of the graph whose tools are unknown."""

    @property
    def any(self) -> bool:
        """Whether anything at all is unknown."""
        return bool(self.files or self.toolsets or self.contents)

    def may_hide(self, capability: str) -> bool:
        """Whether an unknown tool may declare this capability of the project's own, or an extension may bring it."""
        family, _, rest = capability.partition(".")
        if self.extensions and Capability(capability).is_of_extension:
            return True
        return family == "x" and (self.names or rest.partition(".")[0] in self.toolsets)


def lost(stated: Mapping[str, Json], used: Mapping[str, Json]) -> Iterator[Lack]:
    """The unknown parts after faulty parts of a manifest were left out; an unknown key may be a misspelt one."""
    yield "contents"
    tables = ("toolsets", "workers", "workspace")
    lists = (("workspace", "workers"), ("workspace", "toolset-modules"))
    if (
        stated.keys() != used.keys()
        or any(_keys(stated, table) != _keys(used, table) for table in tables)
        or any(
            parts.table(stated, table).get(key) != parts.table(used, table).get(key) for table, key in lists
        )
    ):
        yield "names"
    if stated.keys() != used.keys() or _keys(stated, "models") != _keys(used, "models"):
        yield "aliases"


def _keys(manifest: Mapping[str, Json], table: str) -> object:
    value = manifest.get(table, {})
    return value.keys() if isinstance(value, dict) else None
