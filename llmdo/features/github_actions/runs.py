"""The agents that a step runs: an action that is one, or a command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.parts import table, text
from llmdo.base.values import dataclass
from llmdo.features.github_actions.scripts import commands
from llmdo.features.github_actions.workflow import filled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ACTIONS = {
    "anthropics/claude-code-action": "claude-code-action",
    "anthropics/claude-code-action/base-action": "claude-code-base-action",
    "anthropics/claude-code-base-action": "claude-code-base-action",
    "anomalyco/opencode/github": "opencode",
    "google-gemini/gemini-cli-action": "run-gemini-cli",
    "google-github-actions/run-gemini-cli": "run-gemini-cli",
    "openai/codex-action": "codex-action",
    "sst/opencode/github": "opencode",
}
"""The known actions, and their names here."""
OTHER = "other"

_USES = re.compile(r"(?P<name>[^@\s]+)(?:@(?P<version>\S+))?")
_LIKE_AN_AGENT = re.compile(r"claude|codex|gemini|copilot-cli|opencode|cursor-agent")
_NO_AGENT = re.compile(r"setup|install|docs?-|usage|mirror|status|version|bump|validate|\.lock\.ya?ml")
"""Names of actions about an agent that run none."""

_KEY = re.compile(r"(?:anthropic|claude|copilot|cursor)[\w-]*(?:key|token|rule[_-]id)", re.IGNORECASE)

_PROGRAMS = {
    "@anthropic-ai/claude-code": "claude", "@github/copilot": "copilot", "@google/gemini-cli": "gemini",
    "@openai/codex": "codex", "opencode-ai": "opencode",
}  # fmt: skip
"""The programs of packages that `npx` runs."""
_NOT_A_RUN = frozenset({"--help", "--version", "-V", "-h", "-v"})
_COMMANDS_OF_GEMINI = frozenset({"extensions", "hooks", "mcp", "skills", "update"})


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One agent that a step runs."""

    program: str
    words: tuple[str, ...] = ()
    """The words of the command, the program first; none for an action."""
    version: str = ""
    """Of the action."""
    key: str = "uses"
    """The key of the step that runs it."""


def agents_in(step: Mapping[str, object], inputs: Mapping[str, str]) -> Iterator[AgentRun]:
    """The agents that a step runs; for a workflow that a job calls, judged by its name."""
    if uses := _USES.fullmatch(filled(text(step.get("uses")), inputs).strip()):
        name, version = uses["name"], uses["version"] or ""
        if known := ACTIONS.get(name.lower()):
            yield AgentRun(known, version=version)
        elif _may_be_an_agent(name, step):
            yield AgentRun(OTHER, (name,), version)
    script = step.get("run")
    if isinstance(script, str) and _LIKE_AN_AGENT.search(script.replace("copilot", "copilot-cli")):
        seen = set()
        for words in commands(filled(script, inputs)):
            package = words[0].rpartition("@")[0] if words[0].rfind("@") > 0 else words[0]
            program = _PROGRAMS.get(package, words[0].rpartition("/")[2])
            run = AgentRun(program, words, key="run")
            if _runs_an_agent(program, words[1:]) and run not in seen:
                seen.add(run)
                yield run


def _may_be_an_agent(name: str, step: Mapping[str, object]) -> bool:
    """Whether an unknown action is an agent by its name, or has the key of a model that agents run on."""
    called = name.rpartition("/")[2]
    if "docker://" in name or _NO_AGENT.search(called):
        return False
    return bool(_LIKE_AN_AGENT.search(called)) or any(map(_KEY.fullmatch, table(step.get("with"))))


def _runs_an_agent(program: str, words: tuple[str, ...]) -> bool:
    """Whether a command starts an unattended agent."""
    flags = set(words)
    if program == "claude":
        return bool(flags & {"-p", "--print"})
    if program == "codex":
        return bool({"exec", "e"} & set(words[:6])) or bool(flags & {"-q", "--quiet"})
    if program == "gemini":
        return not flags & _NOT_A_RUN and not set(words[:1]) & _COMMANDS_OF_GEMINI
    if program == "copilot":
        return bool(flags & {"-p", "--prompt"}) or any(word.startswith("--prompt=") for word in words)
    if program == "opencode":
        return words[:1] == ("run",) or words[:2] == ("github", "run")
    if program == "cursor-agent":
        return not flags & _NOT_A_RUN and words[:1] not in (
            (),
            ("login",),
            ("status",),
            ("update",),
            ("mcp",),
        )
    return False
