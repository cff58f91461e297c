"""Whether a YAML file with `agents` is docker-agent's: CrewAI, promptfoo, Kubernetes and others have that key too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from llmdo.base.nearest import says_team
from llmdo.base.parts import items, table, text
from llmdo.features.docker_agent.table import TABLE
from llmdo.foreign import reading

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from llmdo.syntax.document import Document

TOP = frozenset(
    {
        "agents", "budget", "budgets", "commands", "env", "flavors", "mcps", "metadata", "models", "permissions",
        "providers", "rag", "runtime", "skills", "toolsets", "version",
    }
)  # fmt: skip
"""The keys of a file, by the schema of docker-agent, which refuses any other."""
KEYS = frozenset(
    {
        "add_date", "add_description_parameter", "add_environment_info", "add_prompt_files", "add_prompt_files_depth",
        "budgets", "cache", "code_mode_tools", "commands", "compaction_model", "compaction_threshold", "description",
        "fallback", "force_handoff", "handoffs", "harness", "hooks", "instruction", "instruction_file",
        "max_consecutive_tool_calls", "max_iterations", "max_old_tool_call_tokens", "max_tool_result_tokens", "memory",
        "model", "name", "num_history_items", "rag", "readonly", "redact_secrets", "safety", "session_compaction",
        "skills", "structured_output", "sub_agents", "think", "todo", "toolsets", "use_commands", "use_skills",
        "use_toolsets", "welcome_message",
    }
)  # fmt: skip
"""The keys of an agent, by the same schema and its earlier versions."""

_TEAM = re.compile(r"^agents[ \t]*:", re.MULTILINE)
_TELLING = frozenset(
    {
        "force_handoff", "handoffs", "harness", "instruction", "instruction_file", "sub_agents", "toolsets",
        "use_toolsets",
    }
)  # fmt: skip
"""Keys of which an agent has one that can do anything or tells anything."""
_TELLING_LINE = re.compile(r"^[ \t]+(?:- )?(?:toolsets|sub_agents|handoffs)[ \t]*:", re.MULTILINE)
_KINDS = frozenset(line.tool.partition(".")[0] for line in TABLE)


def may_be_team(text: str) -> bool:
    """Whether a YAML file has the key `agents` at all."""
    return _TEAM.search(text) is not None


def is_ours(text: str) -> bool:
    """Whether it is a team of llmdo, which has `agents` as well."""
    return says_team(text.encode())


def lacking(document: Document) -> str | None:
    """Why a file is no team; None for a team, also for one that is not YAML throughout."""
    agents = document.data.get("agents")
    listed = agents.values() if isinstance(agents, dict) else agents
    if document.problems and _TELLING_LINE.search(document.source.text):
        return None
    if not isinstance(listed, Iterable) or isinstance(listed, str) or not listed:
        return "`agents` is not a table of agents, so docker-agent loads none from this file"
    tables = [each for each in listed if isinstance(each, dict)]
    if any(_has_toolset(each) for each in tables):
        return None
    if not any(map(_tells, tables)):
        return "no agent has an `instruction` or `toolsets`, so docker-agent loads none from this file"
    unknown = [*_others(document.data, TOP), *(key for each in tables for key in _others(each, KEYS))]
    return f"docker-agent does not know `{unknown[0]}`, so it loads none from this file" if unknown else None


def _has_toolset(agent: Mapping[str, object]) -> bool:
    """Whether an agent has a toolset of a type that only docker-agent has."""
    return any(text(table(each).get("type")) in _KINDS for each in items(agent.get("toolsets")))


def _others(table: Mapping[str, object], known: Collection[str]) -> list[str]:
    """The keys that docker-agent does not know, without misspelt ones."""
    return [key for key in table if key not in known and not reading.misspelt(key, known)]


def _tells(agent: Mapping[str, object]) -> bool:
    """Whether an agent has a telling key, perhaps misspelt; other tools have tables under some of them."""
    written = {reading.misspelt(key, _TELLING) or key: value for key, value in agent.items()}
    return "harness" in written or any(not isinstance(written.get(key, {}), dict) for key in _TELLING)
