"""The plan of a planner that reads no stranger's words: a task's own calls, with what only a reader can know left open.

A value is the planner's where the prompt says it, or what the planner may read itself. Any other comes from a reader:
an amount of money through a closed answer, all else sealed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bench.agentdojo.cases import Case, calls_of
from bench.agentdojo.tools import SUITES

AMOUNTS = ("amount",)
DOING = "done"
_QUOTED = re.compile(r"'([^']*\{[^']*)'|\"([^\"]*\{[^\"]*)\"")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")


@dataclass(frozen=True)
class Ask:
    """What a reader, or the worker with the closed answer, is asked for."""

    call: tuple[str, dict[str, Any]] | None = None
    """The tool that it is to read with; None where it finds a value in what it is given."""
    value: Any = None
    """The right answer, where it finds a value."""
    wanted: tuple[str, str] = ("", "")
    """The tool and the argument that the value is for."""


@dataclass
class Plan:
    """The responses of the planner, in order, and what the workers below are asked for."""

    responses: list[list[tuple[str, dict[str, Any]]] | str] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)


class Amount(str):
    """Stands for the number that a closed answer gave: by the number of that call."""


@dataclass
class Planner:
    """Makes the plan of one case."""

    case: Case
    sealed_amounts: bool = False
    known: str = ""
    """The prompt, and what the planner reads itself."""
    plan: Plan = field(default_factory=Plan)
    texts: list[str] = field(default_factory=list)
    """The seals of what was read."""
    counts: dict[str, int] = field(default_factory=dict)

    def made(self) -> Plan:
        """The plan: first what the planner may read itself, then what readers read, then all acts in one response.

        Calls of one response are chosen before any of them returns, so none of them is asked about for another's sake.
        """
        self.known = self.case.task.PROMPT
        tools, acting = SUITES[self.case.suite], []
        for name in [name for name, tool in tools.items() if tool.is_own]:
            self.plan.responses.append([(name, {})])
            self.known += "\n" + Case(self.case.suite, self.case.task).call(name, {})
        for name, arguments in calls_of(self.case.task, self.case.before):
            if tools[name].acts:
                acting.append((name, arguments))
            elif not tools[name].is_own:
                is_open = not all(self._knows(key, value) for key, value in arguments.items())
                self.texts.append(self._ask("reader", Ask((name, arguments)), given=is_open))
        calls = [
            (name, {key: self.given(name, key, each) for key, each in args.items()}) for name, args in acting
        ]
        if calls:
            self.plan.responses.append(calls)
        output = self.case.task.GROUND_TRUTH_OUTPUT
        self.plan.responses.append(self._ask("reader", Ask(value=output)) if self.texts and output else DOING)
        return self.plan

    def given(self, name: str, argument: str, value: Any) -> Any:
        """The argument as the planner writes it."""
        if isinstance(value, list):
            return [self.given(name, argument, each) for each in value]
        if isinstance(value, dict):
            return {
                key: each if key == "type" else self.given(name, key, each) for key, each in value.items()
            }
        if self._knows(argument, value):
            return value
        if argument in AMOUNTS and not self.sealed_amounts:
            return Amount(self._ask("counter", Ask(value=value, wanted=(name, argument))))
        is_target = argument in SUITES[self.case.suite][name].targets
        parts = None if is_target else self._template(str(value))
        if parts is None:
            return self._ask("reader", Ask(value=str(value), wanted=(name, argument)))
        return "".join(
            self._ask("reader", Ask(value=part, wanted=(name, argument))) if is_open else part
            for part, is_open in parts
        )

    def _ask(self, worker: str, ask: Ask, *, given: bool = True) -> str:
        number = self.counts[worker] = self.counts.get(worker, 0) + 1
        asked = {"ask": len(self.plan.asks), "in": self.texts if given else []}
        self.plan.asks.append(ask)
        self.plan.responses.append([(worker, {"input": json.dumps(asked)})])
        return f"sealed:{worker}#{number}" if worker == "reader" else str(number)

    def _knows(self, argument: str, value: Any) -> bool:
        if value is None or isinstance(value, bool):
            return True
        if isinstance(value, list):
            return all(self._knows(argument, each) for each in value)
        if argument == "id" or argument.endswith("_id"):  # any number would do for one
            is_named = bool(re.search(r"\bid\b", self.known, re.IGNORECASE))
            return is_named and self._says(str(value))
        if isinstance(value, int | float):
            return float(value) in map(float, _NUMBER.findall(self.known))
        return self._says(str(value)) or self._says_date(str(value))

    def _says(self, text: str) -> bool:
        return bool(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self.known, re.IGNORECASE))

    def _says_date(self, text: str) -> bool:
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            return False
        if self._says(f"{date:%Y-%m-%d}"):
            return True
        return self._says(f"{date:%B}") and bool(re.search(rf"\b{date.day}(st|nd|rd|th)?\b", self.known))

    def _template(self, text: str) -> list[tuple[str, bool]] | None:
        """The parts of a text that the prompt states with names in braces, and whether each is such a name's."""
        for single, double in _QUOTED.findall(self.known):
            pieces = re.split(r"\{\w+\}", single or double)
            match = re.fullmatch("(.+)".join(map(re.escape, pieces)), text)
            if match:
                opened = [(part, True) for part in match.groups()]
                plain = [(piece, False) for piece in pieces]
                mixed = [each for pair in zip(plain, [*opened, ("", False)], strict=True) for each in pair]
                return [(part, is_open) for part, is_open in mixed if part]
        return None
