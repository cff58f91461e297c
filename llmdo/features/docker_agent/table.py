"""The capabilities of docker-agent's toolsets."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, RUNS_OWN, WRITES, Line

_DOCKER = "https://docs.docker.com/ai/docker-agent/tools"
_DOCKER_CODE = "https://github.com/docker/docker-agent/tree/main/pkg/tools/builtin"

TABLE = (
    Line("filesystem.read_file", ("fs.read",), "allowed", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.read_multiple_files", ("fs.read",), "allowed", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.search_files_content", ("fs.list", "fs.read"), "allowed", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.list_directory", ("fs.list",), "allowed", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.directory_tree", ("fs.list",), "allowed", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.write_file", WRITES, "needs_approval", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.edit_file", EDITS, "needs_approval", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.create_directory", ("fs.write",), "needs_approval", "declared", f"{_DOCKER}/filesystem/"),
    Line("filesystem.remove_directory", ("fs.delete",), "needs_approval", "declared", f"{_DOCKER}/filesystem/"),
    Line("file.read_file", ("fs.read",), "allowed", "declared", f"{_DOCKER}/file/"),
    Line("file.write_file", WRITES, "needs_approval", "declared", f"{_DOCKER}/file/"),
    Line("file.edit_file", EDITS, "needs_approval", "declared", f"{_DOCKER}/file/"),
    Line("git.git", ("fs.read",), "allowed", "declared", f"{_DOCKER}/git/"),
    Line("shell.shell", RUNS, "needs_approval", "open", f"{_DOCKER}/shell/"),
    Line("shell.run_background_job", RUNS, "needs_approval", "open", f"{_DOCKER}/shell/"),
    Line("background_jobs.run_background_job", RUNS, "needs_approval", "open", f"{_DOCKER}/background-jobs/"),
    Line("script.SCRIPT", RUNS_OWN, "needs_approval", "open", f"{_DOCKER}/script/"),
    Line("fetch.fetch", FETCHES, "needs_approval", "declared", f"{_DOCKER}/fetch/"),
    Line("api.API", FETCHES, "allowed", "declared", f"{_DOCKER}/api/"),
    Line("openapi.OPERATION", FETCHES, "allowed", "declared", f"{_DOCKER}/openapi/"),
    Line("open_url.open_url", ("net.connect",), "needs_approval", "declared", f"{_DOCKER}/open-url/"),
    Line("webhook.webhook", ("net.connect",), "needs_approval", "declared", f"{_DOCKER}/webhook/"),
    Line("a2a.AGENT", FETCHES, "needs_approval", "open", f"{_DOCKER}/a2a/"),
    Line("mcp.TOOL", ("data.untrusted", "mcp.call"), "allowed", "open", f"{_DOCKER}/mcp/"),
    Line(
        "mcp_catalog.mcp_catalog", (*FETCHES, "mcp.call", "mcp.start"), "needs_approval", "open",
        f"{_DOCKER}/mcp-catalog/",
    ),
    Line("lsp.lsp_hover", ("fs.read",), "allowed", "open", f"{_DOCKER}/lsp/"),
    Line("lsp.lsp_rename", EDITS, "needs_approval", "open", f"{_DOCKER}/lsp/"),
    Line("lsp.lsp_format", EDITS, "needs_approval", "open", f"{_DOCKER}/lsp/"),
    Line("rag.rag", ("fs.read",), "allowed", "declared", f"{_DOCKER}/rag/"),
    *(
        Line(f"{kind}.{kind}", (), "allowed", "declared", _DOCKER_CODE)
        for kind in (
            "background_agents", "environment", "handoff", "memory", "model_picker", "plan", "scheduler",
            "session_context", "tasks", "think", "todo", "transfer_task", "user_prompt",
        )
    ),
)  # fmt: skip
"""Each tool after the `type` of its toolset; in capitals a name from the file. Tools that say that they only read are
not asked about, and a server says so of its own.
"""
