"""What came of each call: whether a client did as its record in the journal says, and the record is what reach says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llmdo.features.hook.events import can_ask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.clients.script import Script
    from bench.hooked.projects import HookedWork
    from llmdo.features.hook.events import Client
    from llmdo.features.hook.rehearsal.model import ScriptedCall

DENIED = "denied by llmdo"
_BY_PERSON = (
    "rejected by user",
    "Denied by user",
    "canceled",
    "rejected permission",
    "User rejected",
    "was interrupted",
    "declined",
)
_FAILED = ("did not answer", "exited with code 2")
_NAMES = {"exec_command": "Bash"}
_SENT = ("cmd", "input")
"""The arguments that Codex shows its hooks as a command."""


class Tally:
    """The calls of all projects, by what came of them."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, list[str]] = {}

    @property
    def is_wrong(self) -> bool:
        """Whether a call was lost, or a decision disobeyed."""
        return any(what.startswith("WRONG") for what in self.counts)

    def add(self, what: str, of: str) -> None:
        """Counts a call."""
        self.counts[what] = self.counts.get(what, 0) + 1
        self.examples.setdefault(what, []).append(of)


class Judge:
    """The judgement on the work of a client in a project."""

    def __init__(self, work: HookedWork, client: Client) -> None:
        self.script: Script = work.script
        self.work = work
        self.client = client

    def judged(self) -> Iterator[tuple[str, str]]:
        """What came of each call, and the call."""
        for call in self.script.given.values():
            result = self.script.results.get(call.id)
            about = self._about(call)
            decisions = ", ".join(f"{each['path']}: {each['decision']}" for each in about)
            of = f"{call.id}, {call.name} {json.dumps(call.arguments)[:80]}: {decisions}; {str(result)[:160]!r}"
            yield self._outcome(call, about, result), f"{self.work.root.name}, {of}"

    def _about(self, call: ScriptedCall) -> list[Mapping[str, Any]]:
        """The records of a call: those of its agent, unless the client named none."""
        before, after = self.work.spans[call.id]
        agent = call.id.partition("/")[0]
        alike = [
            each
            for each in self.work.records
            if each["hash"] in after and each["hash"] not in before and _is_about(each, call)
        ]
        return [each for each in alike if each["worker"] == agent] or alike

    def _outcome(self, call: ScriptedCall, about: Sequence[Mapping[str, Any]], result: str | None) -> str:
        by_llmdo = [each["decision"] for each in about if not each["left"]]
        why = "blocked" if "blocked" in by_llmdo else ""
        if "needs_approval" in by_llmdo and not can_ask(self.client, call.name):
            why = "to be asked, which it cannot, so blocked"
        is_done = call.id in self.script.traces and self.script.traces[call.id].exists()
        if is_done and why:
            return f"WRONG, {why} and done"
        if result is None:
            return self._ended(why, call, by_llmdo, is_done=is_done)
        is_denied = DENIED in result and not self.script.is_begun(call)
        if is_done and (is_denied or self._is_refused(call, result)):
            return "WRONG, stopped and done"
        if not about:
            return self._unrecorded(call, result, is_denied=is_denied)
        if why:
            return f"{why} and stopped" if is_denied else f"WRONG, {why} and not stopped"
        if is_denied:
            return "WRONG, not blocked and stopped by llmdo"
        return self._unblocked(_milder(by_llmdo), call, result)

    def _ended(self, why: str, call: ScriptedCall, by_llmdo: Sequence[str], *, is_done: bool) -> str:
        """What came of a call whose agent ended before it had a result."""
        what, done = why or _milder(by_llmdo), "WRONG, done: " if is_done else ""
        if call.id in self.script.asked and self.script.is_refusable(call.id):
            return f"{done}{what}: a person was asked, who said no, which ended the turn"
        return f"{what}, and without a result, as its agent was ended{', but done' if is_done else ''}"

    def _unblocked(self, what: str, call: ScriptedCall, result: str) -> str:
        """What came of a call that llmdo let the client decide about, or a person."""
        is_refused = self._is_refused(call, result)
        if call.id in self.script.asked:
            word = "no" if self.script.is_refusable(call.id) else "yes"
            if (word == "no") != is_refused:
                return f"WRONG, {what}, a person said {word}, and it {'did not run' if is_refused else 'ran'}"
            by = "the client asked by itself" if what == "allowed" else "a person was asked"
            return f"{what}: {by}, who said {word}, and it {'did not run' if is_refused else 'ran'}"
        if is_refused:
            return f"{what}: the client denied it by itself"
        return "allowed and run" if what == "allowed" else f"WRONG, {what} and run without a question"

    def _unrecorded(self, call: ScriptedCall, result: str, *, is_denied: bool) -> str:
        if any(text in result for text in _FAILED):
            return "WRONG, denied as its hook failed"
        if is_denied:
            return "denied as unknown to llmdo"
        if self._is_refused(call, result):
            return "denied by the client before its hooks"
        return "WRONG, run without a record"

    def _is_refused(self, call: ScriptedCall, result: str) -> bool:
        """Whether the client denied a call, or a person."""
        if self.script.is_begun(call):
            return False
        return self.script.is_refused(call.name, result) or any(text in result for text in _BY_PERSON)


def _milder(by_llmdo: Sequence[str]) -> str:
    """The decision on a call that llmdo does not block."""
    if not by_llmdo:
        return "left to the client"
    return "asked" if "needs_approval" in by_llmdo else "allowed"


def _is_about(record: Mapping[str, Any], call: ScriptedCall) -> bool:
    """Whether a record is about a call of the script."""
    kept = record["arguments"]
    if record["tool"] != _NAMES.get(call.name, call.name.replace("/", "__")).removeprefix("multi_agent_v1__"):
        return False
    sent = next((str(call.arguments[name]) for name in _SENT if name in call.arguments), None)
    if sent is not None:
        return str(kept.get("command", "")).startswith(sent[:200])
    return all(kept.get(name) == value for name, value in call.arguments.items() if isinstance(value, str))
