"""The capabilities of Gemini CLI's tools."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, SEARCHES, SERVES, WRITES, Line

VERSION = "0.61.0"
"""The version of Gemini CLI that `make clients` compares with."""
_TOOLS = "https://geminicli.com/docs/reference/tools"
_POLICY = "https://github.com/google-gemini/gemini-cli/tree/main/packages/core/src/policy/policies"
_MEMORY = "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/memory.md"
_MCP = "https://geminicli.com/docs/tools/mcp-server"
_MCP_RESOURCES = "https://geminicli.com/docs/tools/mcp-resources"
_AGENTS = "https://geminicli.com/docs/core/subagents"

TABLE = (
    Line("read_file", ("fs.read",), "allowed", "declared", _TOOLS),
    Line("read_many_files", ("fs.list", "fs.read"), "allowed", "declared", _TOOLS),
    Line("list_directory", ("fs.list",), "allowed", "declared", _TOOLS),
    Line("glob", ("fs.list",), "allowed", "declared", _TOOLS),
    Line("grep_search", ("fs.list", "fs.read"), "allowed", "declared", _TOOLS),
    Line("write_file", WRITES, "needs_approval", "declared", _POLICY),
    Line("replace", EDITS, "needs_approval", "declared", _POLICY),
    Line("run_shell_command", RUNS, "allowed", "open", _POLICY),
    Line("web_fetch", FETCHES, "needs_approval", "declared", _POLICY),
    Line("google_web_search", SEARCHES, "allowed", "declared", _POLICY),
    Line("save_memory", ("fs.write",), "needs_approval", "declared", _MEMORY),
    Line("list_mcp_resources", ("mcp.read",), "allowed", "open", _MCP_RESOURCES),
    Line("read_mcp_resource", ("data.untrusted", "mcp.read"), "allowed", "open", _MCP_RESOURCES),
    Line("mcp_SERVER_TOOL", SERVES, "needs_approval", "open", _MCP),
    Line("browser_agent", FETCHES, "allowed", "open", _AGENTS),
    Line("invoke_agent", ("agent.delegate",), "allowed", "declared", _AGENTS),
    *(
        Line(name, (), "allowed", "declared", _TOOLS)
        for name in (
            "activate_skill", "ask_user", "complete_task", "enter_plan_mode", "exit_plan_mode", "get_internal_docs",
            "list_background_processes", "read_background_output",
            "tracker_add_dependency", "tracker_create_task", "tracker_get_task", "tracker_list_tasks",
            "tracker_update_task", "tracker_visualize", "update_topic", "write_todos",
        )
    ),
)  # fmt: skip
"""Tools by their names; what is not allowed asks a person."""
