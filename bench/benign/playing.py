"""The model's part: it makes the deeds of a session and of its agents, one call after the other."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from bench.benign.wording import Wording, agent_id_in, call_of, recorded_tool, waiting
from llmdo.base.values import dataclass, field
from llmdo.features.hook.rehearsal.model import ScriptedAnswer, ScriptedCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bench.benign.deeds import Deed
    from llmdo.features.hook.rehearsal.model import ModelRequest

BEGIN = "BENIGN"
SESSION = "session"
DENIED = ("denied by llmdo", "llmdo asks", "llmdo: denied", "denied: llmdo")


@dataclass(slots=True)
class Attempt:
    """A call that the model asked for, and what came of it."""

    who: str
    deed: Deed
    tool: str
    arguments: Mapping[str, object]
    records: list[Mapping[str, Any]] = field(default_factory=list)
    result: str | None = None

    @property
    def outcome(self) -> str:
        """Whether llmdo allowed it, blocked it, or was not asked."""
        decisions = {each["decision"] for each in self.records if not each["left"]}
        is_denied = any(text in (self.result or "") for text in DENIED)
        if "blocked" in decisions or (is_denied and not self.records):
            return "falsely blocked"
        if "needs_approval" in decisions:
            return "falsely asked about"
        return "allowed" if self.records else "not judged"


class Play:
    """The deeds of all who work in a project, as far as they came."""

    def __init__(self, client: str, root: Path, home: Path, deeds: Mapping[str, tuple[Deed, ...]]) -> None:
        self.client = client
        self.root = root
        self.home = home
        self.deeds = {
            who: [each for each in mine if not each.clients or client in each.clients]
            for who, mine in deeds.items()
        }
        self.port = 0
        self.attempts: dict[str, Attempt] = {}
        self.shown: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self._read = 0

    def answer(self, asked: ModelRequest) -> ScriptedAnswer:
        """The next call of somebody, or an end."""
        words = asked.prompt.replace('"', " ").split()  # opencode quotes what it is started with
        if BEGIN not in words or not asked.tools:
            return ScriptedAnswer("done")
        who = words[len(words) - words[::-1].index(BEGIN)]
        with self._lock:
            self.shown.setdefault(who, sorted(asked.tools))
            for name, result in asked.results.items():
                if name in self.attempts:
                    self.attempts[name].result = result
            self.keep_records()
            return self._next(who, asked)

    def _next(self, who: str, asked: ModelRequest) -> ScriptedAnswer:
        mine = self.deeds.get(who, [])
        at = Wording(str(self.root), self.port)
        done = sum(attempt.who == who for attempt in self.attempts.values())
        for number, deed in [*enumerate(mine)][done:]:
            call = call_of(self.client, deed, at, number, patches="apply_patch" in asked.tools)
            if deed.kind == "wait":
                started = self.attempts[f"{who}-{number - 1}"].result or ""
                call = waiting(agent_id_in(started))
            name, arguments = call or ("", {})
            attempt = self.attempts[f"{who}-{number}"] = Attempt(who, deed, name, arguments)
            if call and name in asked.tools:
                return ScriptedAnswer(calls=(ScriptedCall(f"{who}-{number}", name, arguments),))
            attempt.result = f"the client shows no tool `{name}`"
        if "complete_task" in asked.tools and f"{who}-end" not in asked.results:
            end = asked.tools["complete_task"]
            needed = end.get("parametersJsonSchema", end.get("parameters", {})).get("required", ["result"])
            call_of_end = ScriptedCall(f"{who}-end", "complete_task", dict.fromkeys(needed, "done"))
            return ScriptedAnswer(calls=(call_of_end,))
        return ScriptedAnswer("done")

    def keep_records(self) -> None:
        """Gives each new record of the journal to the call that it is about."""
        records = [*_records(self.home)]
        for record in records[self._read :]:
            mine = [
                each
                for each in self.attempts.values()
                if recorded_tool(self.client, each.tool) == record["tool"]
            ]
            if self.client != "gemini":
                own = {"codex": SESSION, "build": SESSION}.get(record["worker"], record["worker"])
                mine = [each for each in mine if each.who == own]
            if mine:
                # Calls are made one after the other, so it is about the last of them.
                mine[-1].records.append(record)
        self._read = len(records)


def _records(home: Path) -> Iterator[Mapping[str, Any]]:
    for path in (home / ".local/state/llmdo/hook").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            yield json.loads(line)
