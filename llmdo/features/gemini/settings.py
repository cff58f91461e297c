"""`settings.json` of Gemini CLI: its misspelt keys, and its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table
from llmdo.features.gemini.rules import LINES, MODES, GeminiRules, Listed, listed
from llmdo.foreign import reading
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.foreign.files import Files
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Document

SECTIONS = {
    "agents": ("browser", "overrides"),
    "experimental": ("enableAgents",),
    "general": ("defaultApprovalMode",),
    "mcp": ("allowed", "autoAllowInHeadless", "excluded", "serverCommand"),
    "security": (
        "allowedExtensions", "auth", "autoAddToPolicyByDefault", "blockGitExtensions", "disableAlwaysAllow",
        "disableYoloMode", "enableConseca", "enablePermanentToolApproval", "environmentVariableRedaction",
        "folderTrust", "toolSandboxing",
    ),
    "tools": (
        "allowed", "approvalMode", "autoAccept", "callCommand", "confirmationRequired", "core",
        "disableLLMCorrection", "discoveryCommand", "enableHooks", "enableMessageBusIntegration",
        "enableToolOutputTruncation", "exclude", "sandbox", "sandboxAllowedPaths", "sandboxNetworkAccess", "shell",
        "truncateToolOutputLines", "truncateToolOutputThreshold", "usePty", "useRipgrep",
    ),
}  # fmt: skip
"""The sections that decide something, and the keys in them (of the first three: those that matter here)."""
KEYS = frozenset({
    *SECTIONS, "admin", "advanced", "adminPolicyPaths", "billing", "context", "contextManagement", "extensions",
    "hooks", "hooksConfig", "ide", "mcpServers", "model", "modelConfigs", "output", "policyPaths", "privacy", "skills",
    "telemetry", "theme", "ui", "useWriteTodos",
})  # fmt: skip
SERVER_KEYS = frozenset({
    "args", "auth", "authProviderType", "command", "cwd", "description", "env", "excludeTools", "extension", "headers",
    "httpUrl", "includeTools", "oauth", "targetAudience", "targetServiceAccount", "tcp", "timeout", "trust", "type",
    "url",
})  # fmt: skip
_MOVED = {
    "allowMCPServers": "mcp.allowed",
    "allowedTools": "tools.allowed",
    "coreTools": "tools.core",
    "excludeMCPServers": "mcp.excluded",
    "excludeTools": "tools.exclude",
    "folderTrust": "security.folderTrust.enabled",
    "sandbox": "tools.sandbox",
}
"""Keys that decided something before version 0.3, and their later names."""


def rules_of(files: Files, document: Document, known: Mapping[str, tuple[Server, Place]]) -> GeminiRules:
    """The rules of a project, with ineffective settings noted."""
    _judge_keys(files, document)
    allowed = _tools(files, document, "tools", "allowed")
    # Older versions heed the old key. What it allows may go unasked; what the others forbid is there today.
    allowed += _tools(files, document, "allowedTools")
    for each in allowed:
        if each.tool == "run_shell_command" and each.pattern is None:
            message = "this allows every command without a question"
            hint = "allow those that ask too often: `run_shell_command(git status)`"
            files.note("LDO554", each.at, message, hint)
    core = table(document.data, "tools").get("core")
    servers_allowed = dict(files.texts(document, "mcp", "allowed"))
    for name, at in servers_allowed.items():
        if name not in known and name != "*":
            files.unknown_server(at, name, known)
    mode, mode_at = _mode(files, document)
    return GeminiRules(
        core=_tools(files, document, "tools", "core") if isinstance(core, list) else None,
        allowed=allowed,
        needs_confirmation=_tools(files, document, "tools", "confirmationRequired"),
        excluded=_tools(files, document, "tools", "exclude"),
        mode=mode,
        mode_at=mode_at,
        servers_allowed=None if "*" in servers_allowed else servers_allowed or None,
        servers_excluded=frozenset(name for name, _ in files.texts(document, "mcp", "excluded")),
    )


def _judge_keys(files: Files, document: Document) -> None:
    files.misspelt_keys(document, KEYS | _MOVED.keys())
    for key in document.data.keys() & _MOVED.keys():
        place = Place(document, (key,), of_key=True)
        message = f"Gemini CLI no longer reads `{key}`, so it does nothing"
        files.note("LDO151", place, message, f"it is now called `{_MOVED[key]}`")
    for section in ("mcp", "security", "tools"):
        files.misspelt_keys(document, SECTIONS[section], section)
    judge_servers(files, document)


def judge_servers(files: Files, document: Document, key: str = "mcpServers") -> None:
    """Notes the misspelt keys of servers."""
    servers: object = document.data.get(key)
    for name in servers if isinstance(servers, dict) else ():
        files.misspelt_keys(document, SERVER_KEYS, key, name)


def _tools(files: Files, document: Document, *route: str) -> tuple[Listed, ...]:
    """The tools in a list, with apparent misspellings noted: the rest may be of a server."""
    items = listed(files.texts(document, *route))
    for item in items:
        if near := reading.misspelt(item.tool, LINES):
            message = f"Gemini CLI has no tool `{excerpt(item.tool)}`"
            files.note("LDO250", item.at, message, f"did you mean `{near}`?")
    return items


def _mode(files: Files, document: Document) -> tuple[str, Place | None]:
    """The approval mode that the file sets."""
    for route in (("general", "defaultApprovalMode"), ("tools", "approvalMode")):
        mode = table(document.data, route[0]).get(route[1])
        if mode is None:
            continue
        place = Place(document, route)
        if mode in MODES:
            return str(mode), place
        if mode == "yolo":
            message = "Gemini CLI accepts the mode `yolo` only on its command line, so it does nothing here"
            files.note("LDO151", place, message)
        else:
            files.unknown_key(place, str(mode), MODES)
        break
    return "default", None
