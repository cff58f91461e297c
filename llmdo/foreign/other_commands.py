"""The tools by which an agent still runs commands after an edit that takes its shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.extensions.spec import NO_COMMANDS
from llmdo.foreign.edits import names_text
from llmdo.foreign.instead import name_at, runs_commands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.foreign.edits import FlowEdit
    from llmdo.foreign.team import Agent

_NONE_RUN = NO_COMMANDS.removeprefix("it then ")


def with_other_commands(agents: Mapping[str, Agent], best: FlowEdit) -> str:
    """The words of an edit after which an agent runs no commands, with the tools by which it still does."""
    kept: dict[str, bool] = {}
    workers = {spot[0] for spot in best.takes if spot[0] in agents and _NONE_RUN in best.text}
    for worker in workers:
        grants = [
            each for each in agents[worker].grants if runs_commands(each) and each.decision != "blocked"
        ]
        gone = [each for each in grants if (worker, each.toolset, each.tool) in best.takes]
        places = {each.at.location for each in gone}
        names = {each.tool.partition("(")[0] for each in gone}
        for each in grants if gone else ():
            if each.at.location not in places and each.tool.partition("(")[0] not in names:
                name = name_at(each, each.at)
                kept[name] = kept.get(name, True) and each.decision == "needs_approval"
    if not kept:
        return best.text
    asked = ", about which it asks" if all(kept.values()) else ""
    alone = "" if any(_has_them_run(agents, worker, best) for worker in workers) else " alone"
    return best.text.replace(_NONE_RUN, f"runs commands by {names_text(sorted(kept))}{alone}{asked}")


def _has_them_run(agents: Mapping[str, Agent], worker: str, best: FlowEdit) -> bool:
    """Whether other agents that an agent may call, or those that these call, run commands after an edit."""
    waiting, known = [worker], {worker}
    while waiting:
        agent = agents[waiting.pop()]
        names = {call.name for call in agent.calls if call.decision != "blocked"}
        if agent.everyone:
            names |= {
                name for name, each in agents.items() if each.is_callable and each.format == agent.format
            }
        new = (names & agents.keys()) - known
        known |= new
        waiting += new
    return any(
        runs_commands(each)
        and each.decision != "blocked"
        and (name, each.toolset, each.tool) not in best.takes
        for name in known - {worker}
        for each in agents[name].grants
    )
