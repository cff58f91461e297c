"""The types of Codex's settings: it refuses a file in which one is of another type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.parts import table, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.syntax.document import Route

_TEXT, _NUMBER, _SWITCH = "a text", "a number", "`true` or `false`"
_LIST, _TABLE, _TABLES = "a list", "a table", "a table of tables"
_TYPES = {
    **dict.fromkeys(
        (
            "approvals_reviewer", "compact_prompt", "default_permissions", "developer_instructions", "file_opener",
            "instructions", "log_dir", "model", "model_instructions_file", "model_reasoning_effort",
            "model_reasoning_summary", "model_verbosity", "oss_provider", "personality", "plan_mode_reasoning_effort",
            "review_model", "sandbox_mode", "service_tier", "web_search",
        ),
        _TEXT,
    ),
    **dict.fromkeys(("model_context_window", "project_doc_max_bytes", "tool_output_token_limit"), _NUMBER),
    **dict.fromkeys(
        (
            "allow_login_shell", "check_for_update_on_startup", "disable_paste_burst",
            "include_permissions_instructions", "show_raw_agent_reasoning",
        ),
        _SWITCH,
    ),
    **dict.fromkeys(("project_doc_fallback_filenames", "project_root_markers"), _LIST),
    **dict.fromkeys(
        (
            "agents", "analytics", "features", "feedback", "history", "hooks", "memories", "sandbox_workspace_write",
            "shell_environment_policy", "tui",
        ),
        _TABLE,
    ),
    **dict.fromkeys(("mcp_servers", "plugins", "projects"), _TABLES),
}  # fmt: skip
"""The settings that a project may have, each with its type (`config_toml.rs`), but for those that Codex never takes
from one."""

OF_AGENTS = {
    **dict.fromkeys(("default_subagent_model", "default_subagent_reasoning_effort"), _TEXT),
    **dict.fromkeys(
        ("job_max_runtime_seconds", "max_concurrent_threads_per_session", "max_depth", "max_threads"), _NUMBER
    ),
    **dict.fromkeys(("enabled", "interrupt_message"), _SWITCH),
}
"""Keys of `[agents]` that are no agents, each with its type; any other is an agent."""
EVENTS = frozenset(
    {
        "PermissionRequest", "PostCompact", "PostToolUse", "PreCompact", "PreToolUse", "SessionEnd", "SessionStart",
        "Stop", "SubagentStart", "SubagentStop", "UserPromptSubmit",
    }
)  # fmt: skip
"""The events of hooks, each with a list of tables (watched with 0.171.0); of others it takes any value."""
_AS_TYPE: dict[Route, str] = {
    ("approval_policy",): 'write it as a text, such as `approval_policy = "on-request"`',
    ("skills", "config"): "write `[[skills.config]]` in place of `[skills.config]`",
}


def as_type(data: Mapping[str, object], route: Route) -> str | None:
    """The hint how a setting of another type is written; None without any."""
    hooks = data.get("hooks")
    if route != ("hooks",) or not isinstance(hooks, list):
        return _AS_TYPE.get(route)
    event = next((event for each in hooks if (event := text(table(each).get("event"))) in EVENTS), None)
    return event and (
        f"write each as `[[hooks.{event}]]` by its own event, and its `command` under "
        f'`[[hooks.{event}.hooks]]` with `type = "command"`'
    )


def fits(key: str, value: object) -> bool:
    """Whether a value is of the type of a setting; what has no known type has any."""
    return _is_of(value, _TYPES.get(key))


def is_fit(key: str, value: object) -> bool:
    """Whether Codex would take a value as that of a setting."""
    return next(misfits({key: value}), None) is None


def _is_of(value: object, wanted: str | None) -> bool:
    match wanted:
        case "a text":
            return isinstance(value, str)
        case "a number":
            return isinstance(value, int) and not isinstance(value, bool)
        case "`true` or `false`":
            return isinstance(value, bool)
        case "a list":
            return isinstance(value, list)
        case "a table":
            return isinstance(value, dict)
        case "a table of tables":
            return isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())
    return True


def misfits(data: Mapping[str, object]) -> Iterator[tuple[Route, str]]:
    """The settings of another type than Codex takes, each with that type."""
    for key, value in data.items():
        if not fits(key, value):
            yield (key,), _TYPES[key]
        elif key == "approval_policy" and not isinstance(value, str) and not _is_granular(value):
            yield (key,), "a text, or a table `granular` alone"
        elif key == "skills" and isinstance(value, dict) and isinstance(value.get("config"), dict):
            yield (key, "config"), "a list of tables"
        elif key in ("agents", "features") and isinstance(value, dict):
            yield from _misfits_in(key, value)


def _misfits_in(key: str, data: Mapping[str, object]) -> Iterator[tuple[Route, str]]:
    """The agents and features of another type."""
    for name, value in data.items():
        if key == "features":
            if isinstance(value, str):  # some features have a table
                yield (key, name), _SWITCH
        elif not _is_of(value, wanted := OF_AGENTS.get(name, _TABLE)):
            yield (key, name), wanted


def _is_granular(value: object) -> bool:
    return isinstance(value, dict) and [*value] == ["granular"]
