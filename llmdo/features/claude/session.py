"""The main session, for a person who starts Claude Code in the project: no file declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.foreign.team import Agent, AgentCall

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.features.claude.tools import SessionTools
    from llmdo.syntax.document import Place

MAIN = "main-session"


def main_session(name: str, tools: SessionTools, at: Place, own: Iterable[str] = ()) -> Agent:
    """The agent that a session is: it has every tool and may call every agent, within its settings.

    `own` are agents that no other session has.
    """
    settings = tools.settings
    return Agent(
        name=name,
        at=at,
        path="",
        prompt="",
        description="What Claude Code is where a person starts it.",
        grants=tuple(tools.inherited(at)),
        calls=tuple(AgentCall(name=called, at=at) for called in own if not settings.denies_call(called)),
        everyone=None if settings.denies_call() else at,
        inherits=True,
        is_callable=False,
        sandbox="sandbox" if settings.is_sandboxed else None,
    )
