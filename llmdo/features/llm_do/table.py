"""The capabilities of llm-do's toolsets."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, RUNS_OWN, SEARCHES, WRITES, Line

_LLM_DO = "https://github.com/zby/llm-do/blob/main/docs/reference.md"

TABLE = (
    Line("filesystem_project", ("fs.list", "fs.read"), "allowed", "declared", _LLM_DO),
    Line("filesystem_project.write", EDITS, "needs_approval", "declared", _LLM_DO),
    Line("filesystem_cwd", ("fs.list", "fs.read"), "allowed", "declared", _LLM_DO),
    Line("filesystem_cwd.write", EDITS, "needs_approval", "declared", _LLM_DO),
    Line("filesystem_cwd_ro", ("fs.list", "fs.read"), "allowed", "declared", _LLM_DO),
    Line("filesystem_project_ro", ("fs.list", "fs.read"), "allowed", "declared", _LLM_DO),
    Line("shell_readonly", ("fs.read", "proc.exec.read"), "allowed", "open", _LLM_DO),
    Line("shell_file_ops", ("fs.read", "proc.exec.read"), "allowed", "open", _LLM_DO),
    Line("shell_file_ops.write", (*WRITES, *RUNS_OWN), "needs_approval", "open", _LLM_DO),
    Line("shell", RUNS, "needs_approval", "open", _LLM_DO),
    Line("dynamic_agents", ("x.dynamic_agents.any",), "needs_approval", "declared", _LLM_DO),
    Line("server_side.web_search", SEARCHES, "allowed", "declared", _LLM_DO),
    Line("server_side.web_fetch", FETCHES, "allowed", "declared", _LLM_DO),
    Line("server_side.code_execution", ("net.connect",), "allowed", "declared", _LLM_DO),
    Line("server_side.image_generation", (), "allowed", "declared", _LLM_DO),
)
"""Toolsets; after a point the part that asks. Toolsets of a project's own Python raise `x.NAME.any`."""
