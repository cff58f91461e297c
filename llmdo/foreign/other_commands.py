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
    for worker in {spot[0] for spot in best.takes if spot[0] in agents and _NONE_RUN in best.text}:
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
    return best.text.replace(_NONE_RUN, f"runs commands by {names_text(sorted(kept))} alone{asked}")
