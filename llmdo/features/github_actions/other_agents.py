"""Gemini CLI, Copilot CLI, opencode and Cursor in a workflow: the permissions of each in unattended runs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from llmdo.base.parts import items, table, text
from llmdo.features.gemini import SETTINGS
from llmdo.features.github_actions.table import LINES
from llmdo.features.github_actions.tokens import (
    OF_AN_APP,
    by_command,
    by_github_tool,
    by_shell,
    granted,
    token_of,
)
from llmdo.features.github_actions.workflow import TokenPermissions
from llmdo.foreign import servers
from llmdo.foreign.files import json_at
from llmdo.foreign.team import capability_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Place

_ALL_OF_COPILOT = frozenset({"--allow-all", "--allow-all-tools", "--yolo"})
_CORE = re.compile(r"(?P<tool>\w+)(?:\((?P<what>.*)\))?", re.DOTALL)
_SHELLS = frozenset({"ShellTool", "run_shell_command", "shell"})
_GEMINI = {
    "EditTool": "replace", "FindFilesTool": "glob", "GlobTool": "glob", "GoogleSearch": "google_web_search",
    "GrepTool": "grep_search", "LSTool": "list_directory", "ReadFileTool": "read_file", "ReadFile": "read_file",
    "ReadFolder": "list_directory", "ReadManyFilesTool": "read_many_files", "SearchText": "grep_search",
    "WebFetchTool": "web_fetch", "WebSearchTool": "google_web_search", "WriteFileTool": "write_file",
    "edit": "replace", "search_file_content": "grep_search",
}  # fmt: skip
"""Other names for its tools in settings."""
_ALL_OF_GEMINI = tuple(
    line.removeprefix("gemini: ")
    for line in LINES
    if line.startswith("gemini: ") and line.islower() and "(" not in line
)


def gemini_grants(site: Site, tree: Tree) -> tuple[tuple[Grant, ...], bool]:
    """The tools of Gemini CLI, and whether it has them all because nothing names them."""
    settings, at = _gemini_settings(site, tree)
    tools = table(settings, "tools")
    core = tools.get("core", settings.get("coreTools"))
    excluded = {str(tool) for tool in (*items(tools.get("exclude")), *items(settings.get("excludeTools")))}
    asks = bool(site.run.words) and not _is_yolo(site.run.words)
    named = list(map(str, items(core))) if isinstance(core, list) else None
    grants = list(_gemini_tools(site, named, excluded, at, asks=asks))
    for name, server in table(settings, "mcpServers").items():
        grants += _gemini_server(site, name, table(server), at) if not asks else ()
    if settings.get("?"):
        grants.append(granted("settings", "settings", [capability_of("gemini")], at, is_open=True))
    return tuple(grants), named is None and not asks


def _gemini_tools(
    site: Site, named: list[str] | None, excluded: set[str], at: Place, *, asks: bool
) -> Iterator[Grant]:
    token = token_of(site)
    allowed = set(_ALL_OF_GEMINI) if named is None else set()
    for entry in named or ():
        parts = _CORE.fullmatch(entry.strip())
        if parts is None:
            continue
        tool = _GEMINI.get(parts["tool"], parts["tool"])
        if tool not in _SHELLS:
            allowed.add(tool)
        elif parts["what"] is None:
            allowed.add("run_shell_command")
        elif not asks:
            yield from by_command(site, token, f"{parts['what']}:*", "run_shell_command", at)
    for tool in sorted(allowed - {_GEMINI.get(name, name) for name in excluded}):
        line = LINES.get(f"gemini: {tool}")
        if tool == "run_shell_command" and not asks:
            yield from by_shell(site, token, tool, at)
        elif line and not (
            asks and tool in ("replace", "run_shell_command", "save_memory", "web_fetch", "write_file")
        ):
            yield granted(tool, tool, line.capabilities, at)


def _gemini_server(site: Site, name: str, server: Mapping[str, object], at: Place) -> Iterator[Grant]:
    """The tools of a server; for GitHub's own, the capabilities of the named ones with the token."""
    reached = servers.server_of(server)
    yield servers.grant(name, reached, at, "allowed", "run-gemini-cli")
    if not any(
        "github-mcp-server" in str(word) for word in (*items(server.get("args")), server.get("command"))
    ):
        return
    token = token_of(site) or TokenPermissions(None, at)
    included = [str(tool) for tool in items(server.get("includeTools"))]
    capabilities = [each for tool in included or [""] for each in by_github_tool(tool, token)]
    yield granted(name, f"{name} tools", capabilities, at)


def _gemini_settings(site: Site, tree: Tree) -> tuple[Mapping[str, object], Place]:
    """Its settings: those of the step in place of the project's own."""
    if settings := site.input("settings", "settings_json"):
        plain = re.sub(r"\$\{\{.*?\}\}", "0", settings[0])
        try:
            data = json.loads(plain)
        except (ValueError, RecursionError):
            return {"?": True}, settings[1]
        return table(data), settings[1]
    document = json_at(tree, SETTINGS)
    return document.data if document else {}, site.at


def _is_yolo(words: tuple[str, ...]) -> bool:
    return bool({"--yolo", "-y", "--approval-mode=yolo"} & set(words)) or any(
        word == "--approval-mode" and words[number + 1 : number + 2] == ("yolo",)
        for number, word in enumerate(words)
    )


def is_told_to_allow(site: Site) -> str | None:
    """The flag of a command with which nothing is refused, or None."""
    words = site.run.words
    if site.run.program == "gemini" and _is_yolo(words):
        return "--yolo"
    if site.run.program == "copilot":
        return next((word for word in words if word in _ALL_OF_COPILOT), None)
    if site.run.program == "cursor-agent":
        return next((word for word in words if word in ("--force", "-f", "--yolo")), None)
    return None


def copilot_grants(site: Site) -> Iterator[Grant]:
    """Copilot CLI reads files and GitHub; its other tools need flags that allow them."""
    at, token = site.at, token_of(site)
    words = site.run.words
    allowed = set(_values(words, "--allow-tool"))
    denied = set(_values(words, "--deny-tool"))
    everything = bool(_ALL_OF_COPILOT & set(words))
    for tool in ("read", "github"):
        yield granted(tool, tool, LINES[f"copilot: {tool}"].capabilities, at)
    if "write" not in denied and (everything or "write" in allowed):
        yield granted("write", "write", LINES["copilot: write"].capabilities, at)
    if everything or "url" in allowed or _values(words, "--allow-url"):
        yield granted("url", "url", LINES["copilot: url"].capabilities, at)
    if "shell" not in denied and (everything or "shell" in allowed):
        yield from by_shell(site, token, "shell", at)
    for entry in sorted(allowed - {"read", "shell", "url", "write"}):
        tool, _, pattern = entry.partition("(")
        if tool == "shell":
            yield from by_command(site, token, pattern.rstrip(")"), "shell", at)
        elif entry not in denied:
            yield granted(tool, tool, LINES["copilot: SERVER"].capabilities, at, is_open=True)


def _values(words: tuple[str, ...], flag: str) -> list[str]:
    """The values of a flag over all its uses, each of which may list several."""
    values = [word.partition("=")[2] for word in words if word.startswith(f"{flag}=")]
    values += [words[number + 1] for number, word in enumerate(words[:-1]) if word == flag]
    return [part.strip() for value in values for part in re.split(r",(?![^(]*\))", value)]


def opencode_grants(site: Site, tree: Tree) -> tuple[tuple[Grant, ...], bool]:
    """The tools of opencode, which allows everything without a `permission` in the project."""
    at, token = site.at, token_of(site)
    if site.run.key == "uses" and (site.input("use_github_token") or ("false", at))[0] != "true":
        token = TokenPermissions(OF_AN_APP, at)
    settings: Mapping[str, object] = {}
    for path in ("opencode.json", "opencode.jsonc"):
        if document := json_at(tree, path):
            settings = document.data
    permission = settings.get("permission")
    rules: Mapping[str, object] = {"*": permission} if isinstance(permission, str) else table(permission)
    grants: list[Grant] = []
    for name, line in LINES.items():
        tool = name.removeprefix("opencode: ")
        rule = rules.get(tool, rules.get("*", line.decision))
        words = rule if isinstance(rule, str) else text(table(rule).get("*")) or "allow"
        if tool == name or words in ("ask", "deny"):
            continue
        if tool == "bash":
            grants += by_shell(site, token, tool, at)
        else:
            grants.append(granted(tool, tool, line.capabilities, at))
    for name, server in table(settings, "mcp").items():
        grants.append(servers.grant(name, servers.server_of(server), at, "allowed", "opencode.json"))
    return tuple(grants), not rules


def cursor_grants(site: Site) -> Iterator[Grant]:
    """Cursor's agent has all of its tools when it prints."""
    at = site.at
    for tool in ("read", "write"):
        yield granted(tool, tool, LINES[f"cursor: {tool}"].capabilities, at)
    yield from by_shell(site, token_of(site), "shell", at)
