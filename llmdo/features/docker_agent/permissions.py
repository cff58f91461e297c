"""The permissions of docker-agent: one block for all agents of a file, over the names and arguments of tools."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean
from llmdo.base.values import dataclass
from llmdo.foreign.team import Grant
from llmdo.policy.authority import Capability
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign.files import Files
    from llmdo.foreign.lines import Line
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

_DECISIONS: dict[str, Decision] = {"allow": "allowed", "ask": "needs_approval", "deny": "blocked"}
_ORDER: tuple[Decision, ...] = ("blocked", "allowed", "needs_approval")
_ARGUMENT = re.compile(r":(?P<name>[A-Za-z_]+)=(?P<value>.*)", re.DOTALL)
_RUNNING = frozenset({"run_background_job", "shell"})
MODES = frozenset({"autonomous", "balanced", "restricted", "strict"})


@dataclass(frozen=True, slots=True)
class PermissionLine:
    """A line of `permissions`: tools by name, perhaps only with an argument of some kind."""

    tool: str
    argument: str | None
    decision: Decision
    at: Place

    def names(self, tool: str) -> bool:
        """Whether it covers this tool."""
        return _glob(self.tool.lower()).fullmatch(tool.lower()) is not None

    @property
    def is_loose(self) -> bool:
        """Whether a text that only has to begin so can go on in any way."""
        return self.argument is not None and self.argument.endswith("*")


@dataclass(frozen=True, slots=True)
class Permissions:
    """The permissions of a file."""

    patterns: tuple[PermissionLine, ...] = ()
    mode: str | None = None
    mode_at: Place | None = None

    def grants(self, line: Line, tool: str, at: Place) -> Iterator[Grant]:
        """The decisions about one tool, called `tool`: about all of it, and about milder parts."""
        mine = [permission for permission in self.patterns if permission.names(tool)]
        whole = {
            permission.decision: permission for permission in reversed(mine) if permission.argument is None
        }
        decided = next((whole[word] for word in _ORDER if word in whole), None)
        decision = decided.decision if decided else self._by_mode(line)
        capabilities = tuple(map(Capability, line.capabilities))
        rulings: list[tuple[tuple[Capability, ...], Decision, PermissionLine | None]] = [
            (capabilities, decision, decided)
        ]
        if decision == "needs_approval" or (decision == "blocked" and not decided):
            rulings += [
                (_part(capabilities, tool, permission), "allowed", permission)
                for permission in mine
                if permission.decision == "allowed" and permission.argument is not None
            ]
        for part, word, pattern in rulings:
            yield Grant(
                toolset=tool,
                tool=tool,
                capabilities=part,
                decision=word,
                origin=f"permissions of {at.document.source.path}" if pattern else self._origin,
                at=at,
                rule_at=pattern.at if pattern else self.mode_at,
                is_open=line.assurance == "open",
            )

    def _by_mode(self, line: Line) -> Decision:
        if self.mode == "autonomous":
            return "allowed"
        if self.mode == "strict":
            return "needs_approval"
        return "blocked" if self.mode == "restricted" and line.decision != "allowed" else line.decision

    @property
    def _origin(self) -> str:
        return f"docker-agent, mode {self.mode}" if self.mode else "docker-agent, where no rule says anything"


def permissions_of(document: Document, files: Files) -> Permissions:
    """The permissions of a file; oddities are noted."""
    table: object = document.data.get("permissions")
    patterns = tuple(_patterns(document, table)) if isinstance(table, dict) else ()
    for key in table if isinstance(table, dict) else ():
        if key not in _DECISIONS:
            files.unknown_key(Place(document, ("permissions", key), of_key=True), key, _DECISIONS)
    for pattern in patterns:
        if pattern.decision == "allowed" and pattern.is_loose and any(map(pattern.names, _RUNNING)):
            start = (pattern.argument or "").rstrip("*")
            message = f"this allows every command that begins with `{start}`, so also `{start}; ...`"
            files.note("LDO553", pattern.at, message, "allow whole commands")
    mode, mode_at = _mode(document, files)
    return Permissions(patterns, mode, mode_at)


def _patterns(document: Document, table: dict[str, object]) -> Iterator[PermissionLine]:
    for key, decision in _DECISIONS.items():
        listed = table.get(key)
        for number, text in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(text, str):
                argument = _ARGUMENT.search(text)
                tool = text[: argument.start()] if argument else text
                at = Place(document, ("permissions", key, number))
                yield PermissionLine(tool, argument["value"] if argument else None, decision, at)


def _mode(document: Document, files: Files) -> tuple[str | None, Place | None]:
    runtime = document.data.get("runtime")
    mode = runtime.get("safety") if isinstance(runtime, dict) else None
    if not isinstance(mode, str):
        return None, None
    at = Place(document, ("runtime", "safety"))
    if mode not in MODES:
        message = f"docker-agent does not know the mode `{mode}`"
        files.note("LDO151", at, message, did_you_mean(mode, MODES))
        return None, None
    if mode == "autonomous":
        files.note("LDO554", at, "mode `autonomous` never asks for approval")
    return mode, at


def _part(capabilities: tuple[Capability, ...], tool: str, pattern: PermissionLine) -> tuple[Capability, ...]:
    """The part of a tool's capabilities for a pattern of its arguments."""
    if tool in _RUNNING and not pattern.is_loose:
        return (Capability("proc.exec"),)
    return capabilities


@lru_cache(maxsize=512)
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))
