"""The capabilities of the tools that skills name in `allowed-tools`, whichever client's names they are."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, RUNS_OWN, SEARCHES, SERVES, WRITES, Line

_SPECIFICATION = "https://agentskills.io/specification"
_COPILOT = "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-skills"

TABLE = (
    Line("Read", ("fs.read",), "allowed", "declared", _SPECIFICATION),
    Line("Grep", ("fs.list", "fs.read"), "allowed", "declared", _SPECIFICATION),
    Line("Glob", ("fs.list",), "allowed", "declared", _SPECIFICATION),
    Line("Edit", EDITS, "allowed", "declared", _SPECIFICATION),
    Line("Write", WRITES, "allowed", "declared", _SPECIFICATION),
    Line("Bash", RUNS, "allowed", "open", _COPILOT),
    Line("WebFetch", FETCHES, "allowed", "declared", _SPECIFICATION),
    Line("WebSearch", SEARCHES, "allowed", "declared", _SPECIFICATION),
    Line("SERVER", SERVES, "allowed", "open", _SPECIFICATION),
    Line("a script of its folder", RUNS_OWN, "needs_approval", "open", _SPECIFICATION),
    Line("every tool", (*EDITS, *RUNS, *FETCHES, *SERVES), "allowed", "open", _SPECIFICATION),
)
"""Tools as most skills name them. What a client allows by them, it asks about elsewhere."""

SAME = {
    "Read": ("notebookread", "read_file", "read_many_files", "readfile", "view"),
    "Grep": ("codebase_search", "grep_search", "search", "search_file_content", "search_files"),
    "Glob": ("file_search", "fileglob", "list", "list_directory", "list_files", "ls"),
    "Edit": ("apply_patch", "edit_file", "multiedit", "notebookedit", "replace", "str_replace"),
    "Write": ("create", "create_file", "write_file", "write_to_file"),
    "Bash": (
        "bashoutput", "execute", "execute_command", "powershell", "run_in_terminal", "run_shell_command",
        "run_terminal_cmd", "shell", "terminal",
    ),
    "WebFetch": ("fetch", "url", "web_fetch"),
    "WebSearch": ("google_web_search", "web_search"),
    "every tool": ("*",),
}  # fmt: skip
"""The names that other clients have for a tool, in small letters."""
HARMLESS = frozenset({
    "agent", "ask_user", "askuserquestion", "enterplanmode", "exitplanmode", "killshell", "skill", "slashcommand",
    "task", "taskcreate", "taskget", "tasklist", "taskoutput", "taskstop", "taskupdate", "think", "todo", "todoread",
    "todowrite", "toolsearch", "update_plan",
})  # fmt: skip
"""Tools that reach nothing by themselves, in small letters."""
