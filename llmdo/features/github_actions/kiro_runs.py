"""Kiro's command line in a workflow, of which only that it runs is known: its agents are read where people start them.

https://kiro.dev/docs/cli/headless/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.parts import text
from llmdo.features.github_actions.workflow import filled
from llmdo.foreign.scripts import commands
from llmdo.foreign.team import MAX_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location

_PROGRAM = "kiro-cli"
_RUNS = frozenset({"chat", "--no-interactive"})
"""Words by which it runs an agent, and is not only installed, signed in or looked at."""
_FREE = ("--trust-all-tools", "-a")
_TRUSTS = "--trust-tools"
_AGENT = "--agent"


def unread_run(step: Mapping[str, object], inputs: Mapping[str, str], at: Location) -> Diagnostic | None:
    """The note about the first run of Kiro in a step, with what says what that does; None without one."""
    for words in commands(filled(text(step.get("run")), inputs)):
        if words[0].rpartition("/")[2] == _PROGRAM and _RUNS & {*words} and not {"--help", "-h"} & {*words}:
            message = f"`{_PROGRAM}` runs Kiro, whose runs in workflows are not read"
            return finding("LDO154", at, message, hint=_hint(words))
    return None


def _hint(words: tuple[str, ...]) -> str:
    """What says what a run does unasked: its flags, and the file of its agent."""
    if flag := next((word for word in words if word in _FREE), None):
        return f"`{flag}` has it ask about nothing"
    named = next((words[number + 1] for number, word in enumerate(words[:-1]) if word == _AGENT), "")
    named = named or next((word.partition("=")[2] for word in words if word.startswith(f"{_AGENT}=")), "")
    agent = f"the agent `{excerpt(named, MAX_NAME)}` in `.kiro/agents`" if named else ""
    trusts = f"`{_TRUSTS}`" if any(word.partition("=")[0] == _TRUSTS for word in words) else ""
    if not agent:
        own = f"without `{_AGENT}` it is an agent of Kiro's own"
        return f"{own}, and {trusts} names what it does unasked" if trusts else own
    by = f"{trusts} and {agent} say" if trusts else f"{agent} says"
    return f"{by} what it does unasked"
