"""Every way to extend llmdo.

An `Extension` is a value with a field for each. Modules are named, not imported: `package.module`, or
`package.module:NAME` where one thing of it is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A format of projects of another agent tool."""

    files: tuple[str, ...]
    """Globs of the files by which it is known."""
    package: str
    """The package with `reader` and `table`.

    `reader.read(tree)` returns a `llmdo.foreign.team.Team`; `table.TABLE` says what the tools of the format can do.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What one extension adds to llmdo."""

    name: str
    commands: Mapping[str, str] = field(default_factory=dict)
    """Commands, to the module with `PLACE`, its place in the help, and `add_to(app)`."""
    checks: tuple[str, ...] = ()
    """Checks: functions from a project to findings."""
    formats: Mapping[str, ForeignFormat] = field(default_factory=dict)
    """Formats of foreign projects, by their names."""
    stores: Mapping[str, str] = field(default_factory=dict)
    """Schemes of addresses, such as `postgresql`, to the module with `opened(address)`: where journals are kept."""
    queue: str | None = None
    """The module that hands items of batches to workers elsewhere: a `llmdo.services.queue.BatchQueue`."""
    views: tuple[str, ...] = ()
    """Modules with `ENDPOINTS` of the page, and `STREAMS` if there are any."""
    extras: Mapping[str, str] = field(default_factory=dict)
    """Extras of pip that it needs, each with the module that it brings: lines of `llmdo doctor`."""
    needs: tuple[str, ...] = ()
    """Extensions without which it is not offered."""
    pages: tuple[str, ...] = ()
    """Its pages of `docs/`."""
