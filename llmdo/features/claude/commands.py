"""Commands and skills: the tools that they allow while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.features.claude.lists import items_in
from llmdo.features.claude.rules import ClaudeRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.foreign.files import Files

KEYS = frozenset(
    {
        "agent", "allowed-tools", "argument-hint", "arguments", "background", "context", "description",
        "disable-model-invocation", "disallowed-tools", "effort", "hooks", "license", "metadata", "model", "name",
        "paths", "shell", "user-invocable", "when_to_use",
    }
)  # fmt: skip
"""The keys of a command or of a skill."""
RUNNING = frozenset({"Skill", "SlashCommand"})
"""The tools with which an agent runs one."""
ALLOWED = "allowed-tools"


def approvals_in(files: Files, paths: Iterable[str]) -> Iterator[ClaudeRule]:
    """The rules by which commands and skills allow calls without a question; one of each."""
    seen: set[tuple[str, str | None]] = set()
    for path in paths:
        header = files.header(path, KEYS)
        if header is None or ALLOWED not in header.document.data:
            continue
        files.problems.extend(header.document.problems)
        for tool, pattern, at in items_in(header.document, ALLOWED):
            if (tool, pattern) not in seen:
                seen.add((tool, pattern))
                yield ClaudeRule(tool, pattern, "allowed", at)
