"""The script of a model for one project: each agent calls each tool once, and the agents that it may."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

from bench.clients.cells import Cell, Outcome, Probe, mildest, together
from llmdo.features.hook.rehearsal.model import ModelRequest, ScriptedAnswer, ScriptedCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bench.clients.cells import Claims

_TRACE = re.compile(r"[\w./-]*AGENT[\w.-]*")
_CALLABLE = ("custom", "function")


class Script:
    """A model's part in a project, and what came of it. A prompt is `PROBE AGENT`, from the bench or another agent."""

    PROBES: ClassVar[Sequence[Probe]]
    REFUSALS: ClassVar[Sequence[str]] = ()
    """The texts by one of which the result of a call says that it was denied."""

    def __init__(self, project: Path, agents: Sequence[str]) -> None:
        self.project = project
        self.agents = agents
        self.port = 0
        self.shown: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        """The tools that each agent was shown."""
        self.results: dict[str, str] = {}
        self.asked: set[str] = set()
        """The calls that a person was asked about."""
        self.given: dict[str, ScriptedCall] = {}
        """The calls that agents were told to make, by their ids."""
        self.traces: dict[str, Path] = {}
        """The paths that are there once a call ran."""
        self.requests = 0
        """How often the model was asked."""
        self.at_rest: set[str] = set()
        """The agents that were told no more calls."""
        self.is_hooked = False
        """Whether llmdo decides, too: then one call comes after the other, and a person says no now and then."""
        self.environ: Mapping[str, str] = {"PATH": "/usr/bin:/bin"}
        """The variables of the client that are not about itself."""
        self._prompted: set[str] = set()
        self._turns: dict[str, list[tuple[ScriptedCall, ...]]] = {}

    def answer(self, asked: ModelRequest) -> ScriptedAnswer:
        """The calls of an agent that begins, or an end."""
        words = asked.prompt.split()
        if "PROBE" not in words or not asked.tools:
            return ScriptedAnswer("done")
        agent = words[len(words) - words[::-1].index("PROBE")]
        self.results.update(asked.results)
        self.requests += 1
        answer = self._next(agent, asked)
        (self.at_rest.discard if answer.calls else self.at_rest.add)(agent)
        return answer

    def _next(self, agent: str, asked: ModelRequest) -> ScriptedAnswer:
        if agent not in self.shown:
            self.shown[agent] = asked.tools
            self._turns[agent] = self._in_turn(agent)
        if self._turns[agent]:
            calls = self._turns[agent].pop(0)
            self.given.update({call.id: call for call in calls})
            return ScriptedAnswer(calls=calls)
        return self.later(agent, asked)

    def _in_turn(self, agent: str) -> list[tuple[ScriptedCall, ...]]:
        """The calls of an agent, by the answers that they are in."""
        calls = (*self.probing(agent), *self.calling(agent))
        return [(call,) for call in calls] if self.is_hooked else [calls] if calls else []

    @property
    def pending(self) -> str | None:
        """The last call that has no result yet."""
        return next((call for call in reversed(self.given) if call not in self.results), None)

    def prompts(self, agent: str) -> Iterator[str]:
        """The prompts for an agent: one more whenever it ended before it had made its calls, as after a no."""
        self._prompted.add(agent)
        yield f"PROBE {agent}"
        while self._turns.get(agent):
            left = len(self._turns[agent])
            yield f"PROBE {agent}"
            if len(self._turns[agent]) == left:
                return

    def is_begun(self, call: ScriptedCall) -> bool:
        """Whether a call started an agent that then asked the model."""
        words = " ".join(str(each) for each in call.arguments.values()).split()
        return "PROBE" in words and words[words.index("PROBE") + 1] in self.shown

    def permits(self, call: str) -> bool:
        """The answer of a person who is asked about a call."""
        self.asked.add(call)
        return not self.is_refusable(call)

    def is_refusable(self, call: str) -> bool:
        """Whether a person says no to a call: seldom to one of an agent, whose work is over then in some clients."""
        often = 3 if call.rpartition("/")[0] in self._prompted else 8
        return self.is_hooked and crc32(call.encode()) % often == 0

    def probing(self, agent: str) -> Iterable[ScriptedCall]:
        """The calls of the tools that an agent is shown; AGENT, PORT and PROJECT in them stand for what they say."""
        for probe in self.PROBES:
            # A provider runs its own tools itself.
            if self.shown[agent].get(probe.called, {"type": "none"}).get("type", "function") in _CALLABLE:
                call, text = self._id(agent, probe), json.dumps(probe.arguments)
                if trace := _TRACE.search(text):
                    self.traces[call] = self.project / self._filled(agent, trace[0])
                yield ScriptedCall(call, probe.called, json.loads(self._filled(agent, text)))

    def _filled(self, agent: str, text: str) -> str:
        named = text.replace("PROJECT", str(self.project)).replace("AGENT", agent.replace("/", "-"))
        return named.replace("PORT", str(self.port))

    def calling(self, _agent: str) -> Iterable[ScriptedCall]:
        """An agent's calls of others."""
        return ()

    def later(self, _agent: str, _asked: ModelRequest) -> ScriptedAnswer:
        """The answer to an agent that has called its tools."""
        return ScriptedAnswer("done")

    def cells(self, agent: str, claims: Claims) -> Iterator[Cell]:
        """A cell for each tool, or part of one, of an agent."""
        name = agent.partition("/")[0]
        for probe, alike in together(self.PROBES):
            seen = mildest(self.seen(agent, each) for each in alike)
            yield Cell(self.project.name, name, probe.name, seen, self.claim(claims, name, probe))

    def shown_cells(self, agent: str, claims: Claims) -> Iterator[Cell]:
        """A cell for each tool of an agent that calls none: whether it was shown."""
        shown = self.shown.get(agent, ())
        for tool in dict.fromkeys(probe.tool for probe in self.PROBES):
            mine = [probe for probe in self.PROBES if probe.tool == tool]
            seen: Outcome = "shown" if any(each.called in shown for each in mine) else "absent"
            yield Cell(self.project.name, agent, tool, seen, mildest(claims.of(agent, each) for each in mine))

    def claim(self, claims: Claims, agent: str, probe: Probe) -> Outcome:
        """What llmdo says of a call."""
        return claims.of(agent, probe)

    def seen(self, agent: str, probe: Probe) -> Outcome:
        """What came of the call of a tool."""
        return self.outcome(agent, self._id(agent, probe), probe.called)

    def outcome(self, agent: str, call: str, tool: str) -> Outcome:
        """What came of a call, if the agent was shown its tool."""
        if tool not in self.shown.get(agent, ()):
            return "absent"
        if call in self.asked:
            return "asks"
        return "denied" if self.is_refused(tool, self.results.get(call)) else "runs"

    def is_refused(self, _tool: str, result: str | None) -> bool:
        """Whether a result says that the call was denied; one that never came says so, too."""
        return result is None or any(text in result for text in self.REFUSALS)

    def _id(self, agent: str, probe: Probe) -> str:
        return f"{agent}/{self.PROBES.index(probe)}"
