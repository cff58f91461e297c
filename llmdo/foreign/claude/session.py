"""The main session: what a person has who starts Claude Code in the project, and no file declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.foreign.team import Agent, AgentCall

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.foreign.claude.tools import SessionTools
    from llmdo.syntax.document import Place

MAIN = "main-session"


def main_session(tools: SessionTools, at: Place, folder: str, own: Iterable[str]) -> Agent:
    """The agent that the session in a folder is: it has every tool and may call every agent, within its settings.

    `own` are the agents of a folder that no other session loads.
    """
    settings = tools.settings
    return Agent(
        name=f"{folder}/{MAIN}" if folder else MAIN,
        at=at,
        path="",
        prompt="",
        description="What Claude Code is where a person starts it.",
        grants=tuple(tools.inherited(at)),
        calls=tuple(AgentCall(name=name, at=at) for name in own if not settings.denies_call(name)),
        everyone=None if settings.denies_call() else at,
        inherits=True,
        is_callable=False,
        sandbox="sandbox" if tools.settings.is_sandboxed else None,
    )
