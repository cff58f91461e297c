"""The script of a rehearsal: the session reads two files, and starts an agent that does the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, field
from llmdo.features.hook.rehearsal.model import ScriptedAnswer, ScriptedCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.features.hook.rehearsal.model import ModelRequest

AGENT = "llmdo-doctor"
"""The agent of the rehearsal, and the folder that it reads in."""
SESSION = "session"
OPEN, SHUT = f"{AGENT}/open.txt", f"{AGENT}/shut.txt"
BEGIN = "REHEARSE"
"""The word before the name of who is to work."""


@dataclass(slots=True)
class Script:
    """A model's part, and the results of its calls."""

    reading: tuple[str, str]
    """The tool by which a file is read, and its argument; `{}` in that stands for the path."""
    starting: tuple[str, str]
    """The tool that starts an agent, and its argument with the agent's name."""
    prompt: str
    """That tool's argument with the words for the agent."""
    template: str = "{}"
    ends: str | None = None
    """The tool by which an agent ends, if there is one."""
    more: Mapping[str, object] = field(default_factory=dict)
    """More arguments of a read."""
    words: Mapping[str, object] = field(default_factory=dict)
    """More arguments of the start of an agent."""
    results: dict[str, str] = field(default_factory=dict)
    waits: dict[str, object] = field(default_factory=dict)

    def answer(self, asked: ModelRequest) -> ScriptedAnswer:
        """The calls of somebody who begins, or an end."""
        words = asked.prompt.split()
        if BEGIN not in words or not asked.tools:
            return ScriptedAnswer("done")
        who = words[len(words) - words[::-1].index(BEGIN)]
        self.results.update(asked.results)
        if f"{who}/{OPEN}" not in asked.results:
            return ScriptedAnswer(calls=(*self._reads(who, asked), *self._starts(who, asked)))
        return self.later(who, asked)

    def later(self, who: str, asked: ModelRequest) -> ScriptedAnswer:
        """What follows the first calls."""
        end = asked.tools.get(self.ends) if self.ends else None
        if who != AGENT or self.ends is None or end is None:
            return ScriptedAnswer("done")
        needed = end.get("parametersJsonSchema", end.get("parameters", {})).get("required", ["result"])
        return ScriptedAnswer(calls=(ScriptedCall(f"{who}/end", self.ends, dict.fromkeys(needed, "done")),))

    def _reads(self, who: str, asked: ModelRequest) -> tuple[ScriptedCall, ...]:
        tool, key = self.reading
        return tuple(
            ScriptedCall(
                f"{who}/{path}", self.shown(asked, tool), {key: self.template.format(path), **self.more}
            )
            for path in (OPEN, SHUT)
        )

    def _starts(self, who: str, asked: ModelRequest) -> tuple[ScriptedCall, ...]:
        tool, key = self.starting
        arguments = {key: AGENT, self.prompt: f"{BEGIN} {AGENT}", **self.words}
        return (ScriptedCall(f"{who}/start", self.shown(asked, tool), arguments),) if who == SESSION else ()

    def shown(self, asked: ModelRequest, tool: str) -> str:
        """A tool by the name that it is shown with, which may have a namespace."""
        return next((each for each in asked.tools if each.rpartition("/")[2] == tool), tool)
