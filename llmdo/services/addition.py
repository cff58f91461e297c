"""`why --with PLUGIN`: what a plugin would add to what entries reach, read as if it were installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import checks, foreign
from llmdo.base.diagnostic import LlmdoError, shown
from llmdo.base.values import dataclass
from llmdo.foreign import adopting
from llmdo.foreign.overlay import PluginFolder
from llmdo.services import diff, soundness
from llmdo.services.invalid import require_extensions
from llmdo.services.root import extensions_here, root_folder
from llmdo.workspace import project
from llmdo.workspace.adopted import with_adopted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign.team import Team
    from llmdo.services.diff import DiffOutcome
    from llmdo.services.root import Tell


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditionRequest:
    """A plugin, and the project in which it is not installed yet."""

    plugin: str
    """A folder, or `FOLDER:NAME` of a marketplace."""
    project: str | None = None
    origin: tuple[str, str] | None = None
    """Format and folder of a foreign project."""


def addition(request: AdditionRequest, tell: Tell) -> DiffOutcome:
    """Everything that entries could do with the plugin and cannot do without it. Nothing of it is run or written.

    Raises:
        LlmdoError: There is no such project or plugin, or the plugin is of another tool.
    """
    plugin = _plugin(request.plugin)
    if request.origin:
        return _foreign(request.origin, plugin, tell)
    return _adopted(root_folder(request.project), plugin, tell)


def _plugin(name: str) -> PluginFolder:
    if Path(name).is_dir():
        return PluginFolder(path=Path(name))
    folder, colon, entry = name.rpartition(":")
    if colon and entry and Path(folder).is_dir():
        return PluginFolder(path=Path(folder), entry=entry)
    hint = "the folder of a plugin, or FOLDER:NAME of a marketplace that was fetched"
    raise LlmdoError(f"there is no folder `{folder if colon and entry else name}`", hint=hint)


def _foreign(origin: tuple[str, str], plugin: PluginFolder, tell: Tell) -> DiffOutcome:
    name, folder = origin[0], Path(origin[1])
    if folder.is_file():
        raise LlmdoError(f"`{folder}` is a file", hint="a plugin is installed in a folder")
    own = extensions_here()
    then = foreign.read(name, folder, may_be_empty=True, extensions=own)
    now = foreign.read(name, folder, extensions=own, plugin=plugin)
    for line in _collisions(plugin, then.team, now.team):
        tell(line)
    request = diff.DiffRequest(before="without it", after=f"with {plugin.name}")
    return diff.foreign_outcome(then, now, request, tell)


def _adopted(root: Path, plugin: PluginFolder, tell: Tell) -> DiffOutcome:
    read = project.read(root)
    require_extensions(read.workspace.problems)
    then = read.workspace.adoption
    if then is None:
        raise LlmdoError(
            "this workspace adopts no agents of other tools, so no plugin of theirs adds to it",
            hint='name their tool: `[workspace] from = ["claude"]`, or `--from FORMAT DIR`',
        )
    names = [*read.graph.settings.formats]
    now = adopting.read(root, names, extensions=read.extensions, plugin=plugin)
    for line in _collisions(plugin, then.team, now.team):
        tell(line)
    unread = soundness.unread_in(checks.check(read))
    unread += sum(each.severity == "error" for each in {*now.team.problems} - {*then.team.problems})
    if unread:
        places = "1 place" if unread == 1 else f"{unread} places"
        tell(f"warning: {places} could not be read, so what it adds is not known")
    before = soundness.shown_as_unknown(read).graph
    after = with_adopted(before, read.workspace, now)
    sides = diff.Sides(before="without it", after=f"with {plugin.name}")
    # That its files are there is no news.
    outcome = diff.outcome_of(replace(before, adopted={}), replace(after, adopted={}), sides)
    return replace(outcome, difference=replace(outcome.difference, unread=unread))


def _collisions(plugin: PluginFolder, then: Team, now: Team) -> Iterator[str]:
    """A sentence for each file that the plugin replaces, and for each of its agents with a name that is taken."""
    for path in sorted(plugin.replaced):
        yield f"warning: `{shown(path)}` is here already, and that of the plugin takes its place"
    paths = {agent.path for agent in then.agents}
    for name in sorted(
        {agent.name for agent in now.agents if agent.path not in paths}
        & {agent.name for agent in then.agents}
    ):
        yield f"warning: an agent `{shown(name)}` is here already, and the plugin has another"
