"""The capabilities of Qwen Code's tools."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, SEARCHES, SERVES, WRITES, Line

VERSION = "0.15.10"
"""The version of Qwen Code whose code this follows."""
NAMED = f"Qwen Code {VERSION.rpartition('.')[0]}"
"""That version in messages: a later one may have more."""
_TOOLS = "https://qwenlm.github.io/qwen-code-docs/en/developers/tools/introduction"
_SETTINGS = "https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings"
_MCP = "https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp"
_SEARCH = "https://github.com/QwenLM/qwen-code/pull/11348"
_AGENTS = "https://qwenlm.github.io/qwen-code-docs/en/users/features/sub-agents"
SEARCH = "web_search"
"""A tool that 0.15 lacks and later versions have again, for models whose maker brings the search."""

TABLE = (
    Line("read_file", ("fs.read",), "allowed", "declared", _TOOLS),
    Line("list_directory", ("fs.list",), "allowed", "declared", _TOOLS),
    Line("glob", ("fs.list",), "allowed", "declared", _TOOLS),
    Line("grep_search", ("fs.list", "fs.read"), "allowed", "declared", _TOOLS),
    Line("lsp", ("fs.read",), "allowed", "declared", _TOOLS),
    Line("edit", EDITS, "needs_approval", "declared", _SETTINGS),
    Line("write_file", WRITES, "needs_approval", "declared", _SETTINGS),
    Line("run_shell_command", RUNS, "allowed", "open", _SETTINGS),
    Line("monitor", RUNS, "allowed", "open", _SETTINGS),
    Line("web_fetch", FETCHES, "needs_approval", "declared", _SETTINGS),
    Line(SEARCH, SEARCHES, "needs_approval", "declared", _SEARCH),
    Line("mcp__SERVER__TOOL", SERVES, "needs_approval", "open", _MCP),
    Line("agent", ("agent.delegate",), "allowed", "declared", _AGENTS),
    *(
        Line(name, (), "allowed", "declared", _TOOLS)
        for name in (
            "ask_user_question", "cron_create", "cron_delete", "cron_list", "exit_plan_mode", "save_memory",
            "send_message", "skill", "structured_output", "task_stop", "todo_write", "tool_search",
        )
    ),
)  # fmt: skip
"""Tools by their names; what is not allowed asks a person."""

DISPLAYED = {
    "Agent": "agent", "AskUserQuestion": "ask_user_question", "Edit": "edit", "ExitPlanMode": "exit_plan_mode",
    "FindFiles": "glob", "Glob": "glob", "Grep": "grep_search", "ListFiles": "list_directory", "Lsp": "lsp",
    "Monitor": "monitor", "ReadFile": "read_file", "ReadFolder": "list_directory", "SaveMemory": "save_memory",
    "SearchFiles": "grep_search", "Shell": "run_shell_command", "Skill": "skill", "Task": "agent",
    "TodoWrite": "todo_write", "WebFetch": "web_fetch", "WebSearch": SEARCH, "WriteFile": "write_file",
}  # fmt: skip
"""The names that Qwen Code shows, which agents may use as well."""
ALIASES = {
    **DISPLAYED,
    "Bash": "run_shell_command", "EditTool": "edit", "GlobTool": "glob", "GrepTool": "grep_search",
    "ListFilesTool": "list_directory", "Read": "read_file", "ReadFileTool": "read_file",
    "ShellTool": "run_shell_command", "WebFetchTool": "web_fetch", "WebSearchTool": SEARCH, "Write": "write_file",
    "WriteFileTool": "write_file", "replace": "edit", "search_file_content": "grep_search", "task": "agent",
}  # fmt: skip
"""The names that rules may use as well."""
