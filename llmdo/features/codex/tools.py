"""The tools that an agent of Codex has, by its settings and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt
from llmdo.base.parts import table, texts
from llmdo.base.values import dataclass, replace
from llmdo.features.codex.settings import approvals_of, sandbox_of
from llmdo.features.codex.table import TABLE
from llmdo.foreign import servers as mcp
from llmdo.foreign.instead import ASKED
from llmdo.foreign.known_servers import asks_first
from llmdo.foreign.lines import EDITS
from llmdo.foreign.team import MAX_NAME, Grant
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import UNLISTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.features.codex.rules import AllowedCommands
    from llmdo.features.codex.settings import CodexApprovals, ConfigLayers, Sandbox
    from llmdo.foreign.files import Files
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

_LINES = {line.tool: line for line in TABLE}
_SEARCHES = {
    "cached": "web_search, cached",
    "disabled": None,
    "indexed": "web_search, live",
    "live": "web_search, live",
}
_SERVER_KEYS = frozenset(
    {
        "args", "bearer_token_env_var", "command", "cwd", "default_tools_approval_mode", "disabled_tools", "enabled",
        "enabled_tools", "env", "env_http_headers", "env_vars", "environment_id", "experimental_environment",
        "http_headers", "name", "oauth", "oauth_resource", "required", "scopes", "startup_timeout_ms",
        "startup_timeout_sec", "supports_parallel_tool_calls", "tool_timeout_sec", "tools", "url",
    }
)  # fmt: skip
_MODES = ("approve", "auto", "prompt", "writes")


def search_line(mode: str | None, *, is_off: bool) -> str | None:
    """The row for the search of Codex by its `web_search`; None if it has none.

    Without a sandbox it searches live where its settings, or nothing, say that it searches its cache.
    """
    return _SEARCHES.get(
        "live" if is_off and mode in (None, "cached") else mode or "cached", "web_search, live"
    )


@dataclass(frozen=True, slots=True)
class CodexTools:
    """The sources of one agent's tools."""

    files: Files
    layers: ConfigLayers
    rules: Sequence[AllowedCommands]
    at: Place
    session: ConfigLayers
    """Those of the session, whose sandbox, approvals and search hold for the agents that it spawns as well."""

    def grants(self) -> Iterator[Grant]:
        """Every tool, with the decision about it."""
        sandbox = sandbox_of(self.files, self.session)
        approvals = approvals_of(self.files, self.session, sandbox)
        if self.layers.get("features", "shell_tool")[0] is not False:
            yield from self._shell(sandbox, approvals)
        yield from self._edits(sandbox, approvals)
        yield self._grant("view_image", "allowed", "Codex")
        yield from self._search(sandbox)
        yield from self._servers(sandbox, approvals)

    def _grant(self, line: str, decision: Decision, origin: str, rule_at: Place | None = None) -> Grant:
        known = _LINES[line]
        tool = line.partition(",")[0]
        return known.grant(rule_at or self.at, origin, tool=tool, decision=decision, rule_at=rule_at)

    def _shell(self, sandbox: Sandbox, approvals: CodexApprovals) -> Iterator[Grant]:
        outside = f"approval_policy {approvals.name}"
        off = sandbox.at if sandbox.is_off else None
        if not sandbox.is_off:
            inside = f"sandbox {sandbox.name}"
            yield self._grant("shell, reading", "allowed", inside, sandbox.at)
            for line, has in (
                ("shell, in the sandbox", True),
                ("shell, in the workspace", sandbox.writes),
                ("shell, with network_access", sandbox.network),
            ):
                at = sandbox.network_at or sandbox.at if line.endswith("network_access") else sandbox.at
                if has:
                    yield self._grant(line, approvals.inside, inside, at)
        at = off or approvals.at or sandbox.at
        whole = self._grant("unsandboxed shell", approvals.outside, outside, at)
        is_free = whole.decision == "allowed"
        launching = [rule.text for rule in self.rules if UNLISTED in rule.capabilities] if is_free else []
        yield replace(whole, unasked_by=tuple(dict.fromkeys(launching)))
        for rule in self.rules:
            origin = rule.at.document.source.path
            grant = self._grant("unsandboxed shell, by a rule", "allowed", origin, rule.at)
            alike = [each.text for each in self.rules if _is_alike(each.capabilities, rule.capabilities)]
            yield replace(
                grant,
                tool=whole.tool if is_free else f"unsandboxed {alike[0]}",
                capabilities=rule.capabilities,
                is_open=UNLISTED in rule.capabilities,
                unasked_by=tuple(dict.fromkeys(alike)),
            )

    def _edits(self, sandbox: Sandbox, approvals: CodexApprovals) -> Iterator[Grant]:
        origin = f"sandbox {sandbox.name}, approval_policy {approvals.name}"
        inside = approvals.inside if sandbox.writes else approvals.outside
        yield self._grant("apply_patch", inside, origin, sandbox.at or approvals.at)
        elsewhere = self._grant(
            "apply_patch, elsewhere", approvals.outside, origin, approvals.at or sandbox.at
        )
        yield replace(elsewhere, capabilities=tuple(map(Capability, EDITS))) if sandbox.is_off else elsewhere

    def _search(self, sandbox: Sandbox) -> Iterator[Grant]:
        mode, at = self.session.text("web_search")
        if mode is None:
            older, at = self.session.get("tools", "web_search")
            if older is None:
                older, at = self.session.get("features", "web_search_request")
            if older is not None:
                mode = "disabled" if older is False else "live"
        if mode is not None and mode not in _SEARCHES and at is not None:
            hint = did_you_mean(mode, _SEARCHES)
            self.files.note("LDO151", at, f"Codex does not know the web search `{excerpt(mode)}`", hint)
        if line := search_line(mode, is_off=sandbox.is_off):
            yield self._grant(line, "allowed", "web_search" if mode else "Codex, where nothing is said", at)

    def _servers(self, sandbox: Sandbox, approvals: CodexApprovals) -> Iterator[Grant]:
        # An agent has the session's servers; this version starts none of its own file, a later one may.
        tables = {
            table[0]: (*table, layers)
            for layers in (self.layers, self.session)
            for table in layers.tables("mcp_servers")
        }
        for name, server, at, its in tables.values():
            if server.get("enabled") is False:
                continue
            shown = excerpt(name, MAX_NAME)
            start = mcp.server_of(server)
            mcp.judge(self.files, {shown: (start, at)})
            grant = mcp.grant(shown, start, at, "allowed", f"mcp_servers.{shown}")
            for tool, (mode, *route) in _tools(server):
                # Where nobody is to be asked, Codex calls such a tool only where commands may write everywhere.
                is_free = approvals.name.startswith("answered")
                if approvals.is_never:
                    is_free = sandbox.is_off or sandbox.writes_elsewhere
                asks: Decision = (
                    "allowed" if is_free else "blocked" if approvals.is_never else "needs_approval"
                )
                is_marked = mode != "approve" and asks_first(start, tool)
                given = replace(
                    grant,
                    tool=f"{shown}.{excerpt(tool)}" if tool else shown,
                    decision=asks if mode == "prompt" or is_marked else "allowed",
                    asks_unless_reading=not is_free and mode != "approve",
                )
                approved = its.get("mcp_servers", name, *route)[1] if mode == "approve" else None
                yield given if approved is None or is_free else _approved(given, approved, asks)


def _approved(given: Grant, at: Place, asks: Decision) -> Grant:
    """A server's tool that a mode lets go unasked, which the mode at its place may have asked about."""
    loss = "Codex then refuses these calls" if asks == "blocked" else ASKED
    return replace(
        given, rule_at=at, narrower=f'write `{at.route[-1]} = "prompt"`', narrower_at=at, loss=loss
    )


def judge_servers(files: Files, layers: ConfigLayers) -> None:
    """Notes the unknown keys and approval modes of servers in the uppermost layer."""
    layer = layers.layers[0]
    for name, server in table(layer.place("mcp_servers").data).items():
        files.misspelt_keys(layer.document, _SERVER_KEYS, *layer.route, "mcp_servers", name)
        routes: list[tuple[str, ...]] = [("default_tools_approval_mode",)]
        routes += [("tools", tool, "approval_mode") for tool in table(server, "tools")]
        for route in routes:
            place = layer.place("mcp_servers", name, *route)
            if isinstance(mode := place.data, str) and mode not in _MODES:
                message = f"Codex does not know the approval mode `{excerpt(mode)}`"
                files.note("LDO151", place, message, did_you_mean(mode, _MODES))


def _is_alike(either: Sequence[Capability], other: Sequence[Capability]) -> bool:
    """Whether two rules allow the same, or both any command."""
    return either == other or (UNLISTED in either and UNLISTED in other)


def _tools(server: Mapping[str, object]) -> Iterator[tuple[str, tuple[object, *tuple[str, ...]]]]:
    """The tools of a server that have a decision of their own, and its mode, with the route to that.

    No name is all the others.
    """
    default = (server.get("default_tools_approval_mode"), "default_tools_approval_mode")
    own = {
        tool: (mode, "tools", tool, "approval_mode") if mode else default
        for tool in table(server, "tools")
        for mode in [table(server, "tools", tool).get("approval_mode")]
    }
    disabled = set(texts(server.get("disabled_tools")))
    listed = server.get("enabled_tools")
    if isinstance(listed, list):
        yield from ((tool, own.get(tool, default)) for tool in texts(listed) if tool not in disabled)
        return
    yield "", default
    yield from ((tool, mode) for tool, mode in own.items() if mode != default and tool not in disabled)
