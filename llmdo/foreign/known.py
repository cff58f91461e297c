"""The formats that llmdo reads, of its own parts and of extensions, and their readers and tables."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from llmdo.base.diagnostic import LlmdoError, finding
from llmdo.base.source import Location
from llmdo.base.values import dataclass, replace
from llmdo.extensions.registry import features, part
from llmdo.extensions.running import ExtensionCode
from llmdo.foreign.building import graph_of
from llmdo.foreign.team import Team

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.extensions.spec import Extension, ForeignFormat
    from llmdo.foreign.lines import Line
    from llmdo.foreign.tree import Tree


@dataclass(frozen=True, slots=True)
class KnownFormat:
    """A format of projects of another agent tool, and who reads it."""

    name: str
    files: tuple[str, ...]
    """Globs of the files by which it is known."""
    below: tuple[str, ...]
    """Globs of files that only count where the tool starts in their folder."""
    package: str
    product: str
    """The tool that it belongs to."""
    extension: str | None
    """The installed extension that brings it; None for a part of llmdo."""
    has_plugins: bool
    """Whether a part of llmdo knows its plugins."""
    spec: ForeignFormat
    """Its own answers."""

    @property
    def what(self) -> str:
        """Its name and that of its extension, for a message."""
        return f"the format `{self.name}` of the extension `{self.extension}`"


Formats = Mapping[str, KnownFormat]


def formats(extensions: Iterable[Extension] = ()) -> Formats:
    """The formats that parts of llmdo and the `extensions` of a workspace read, sorted by name."""
    known = [
        KnownFormat(
            name,
            form.files,
            form.below,
            form.package,
            form.product or name,
            owner,
            form.has_plugins and owner is None,
            form,
        )
        for owner, brought in (
            *((None, each.formats) for each in features()),
            *((each.name, each.formats) for each in extensions),
        )
        for name, form in brought.items()
    ]
    return {form.name: form for form in sorted(known, key=lambda form: form.name)}


def table_of(form: KnownFormat) -> tuple[Line, ...]:
    """The abilities of the tools of a format.

    Raises:
        LlmdoError: It is of an extension, and has no usable table.
    """
    table: tuple[Line, ...]
    if form.extension is None:
        table = import_module(f"{form.package}.table").TABLE
        return table
    from llmdo.foreign.fitting import table_fault  # slow to load, and only needed here

    table = cast("tuple[Line, ...]", part(form.extension, f"{form.package}.table:TABLE"))
    _require(form, "table", table_fault(table))
    return table


def tools_of(form: str) -> frozenset[str]:
    """The names of the tools of a format of llmdo; none if no part of it reads it."""
    known = formats()
    return frozenset(line.tool for line in table_of(known[form])) if form in known else frozenset()


def team_of(form: KnownFormat, tree: Tree) -> Team:
    """The team of a format in the files of a tree.

    Raises:
        LlmdoError: The format is of an extension, whose reader fails or returns no usable team.
    """
    team: Team
    if form.extension is None:
        team = import_module(f"{form.package}.reader").read(tree)
        return replace(team, spec=form.spec)
    from llmdo.foreign.fitting import team_fault  # slow to load, and only needed here

    read = part(form.extension, f"{form.package}.reader:read")
    with ExtensionCode(form.what):
        team = read(tree)
        fault = team_fault(team, form.name)
        if fault is None:
            graph_of(team)  # in which a value shows that is of its type, and still wrong
    _require(form, "team", fault)
    return replace(team, spec=form.spec)


def team_or_problem(form: KnownFormat, tree: Tree) -> Team:
    """The same; if the reader of an extension fails, a team without agents whose one problem says so."""
    try:
        return team_of(form, tree)
    except LlmdoError as error:
        if form.extension is None:
            raise
        paths, _ = tree.find(form.files)
        at = Location(paths[0]) if paths else Location(".")
        problem = finding("LDO153", at, f"no file of {form.name} was read: {error.message}", hint=error.hint)
        return Team(format=form.name, agents=(), files=(), problems=(problem,))


def _require(form: KnownFormat, what: str, fault: str | None) -> None:
    if fault:
        raise LlmdoError(f"{form.what} has no usable {what}: {fault}")
