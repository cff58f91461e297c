"""MCP servers of Claude Code at a step: those that its files and options declare, and those of its action."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.parts import table, text
from llmdo.features.claude.modes import BYPASSES
from llmdo.features.claude.rules import RULES
from llmdo.features.github_actions.checkout import json_of
from llmdo.features.github_actions.claude_options import is_of_action, without_tool
from llmdo.features.github_actions.table import SENDS
from llmdo.features.github_actions.tokens import by_github_tool, granted, writes
from llmdo.features.github_actions.workflow import own_checkout, texts_of_step
from llmdo.foreign import servers
from llmdo.graph.described import Server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.claude.modes import Mode
    from llmdo.features.claude.settings import ClaudeSettings
    from llmdo.features.github_actions.checkout import Checkout
    from llmdo.features.github_actions.claude_options import ClaudeOptions
    from llmdo.features.github_actions.walking import Site
    from llmdo.features.github_actions.workflow import TokenPermissions
    from llmdo.foreign.permissions import PermissionRule
    from llmdo.foreign.team import Grant
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
_SERVERS = ".mcp.json"
_OF_AN_ACCOUNT = "claude_ai_"
"""The start of the names of servers that an account of Claude brings along."""
_MAY_DECLARE = re.compile(r"mcp|claude|plugin", re.IGNORECASE)
"""Text of a step that may declare a server for the steps after it."""
_DECLARES = re.compile(r"\bclaude (?:mcp|plugin)\b|\.mcp\.json|\.claude\b|\b(?:cd|pushd)\s|working-directory")
"""Text of a script that may declare a server, or run its agent in another folder."""
_BRINGS = re.compile(r"plugin|mcpServers|--agents")
"""Options by which servers come that no other option names."""
_PLUGINS = ("enabledPlugins", "extraKnownMarketplaces")


def grants_of_servers(
    site: Site,
    tree: Checkout,
    token: TokenPermissions | None,
    settings: ClaudeSettings,
    mode: Mode,
    options: ClaudeOptions,
) -> Iterator[Grant]:
    """The tools of servers that rules or the mode allow."""
    denied = [rule for rule in settings.rules if rule.decision == "blocked" and rule.pattern is None]
    for rule in _rules(settings):
        if not RULES.about(denied, rule.tool):
            yield from grants_of_rule(site, tree, token, options, rule)
    if mode.name == BYPASSES or options.rest == "needs_approval":
        decision: Decision = "allowed" if mode.name == BYPASSES else "needs_approval"
        for name, (server, place) in _declared(tree, options)[0].items():
            yield servers.grant(name, server, place, decision, f"mode {mode.name}")


def grants_of_rule(
    site: Site, tree: Checkout, token: TokenPermissions | None, options: ClaudeOptions, rule: PermissionRule
) -> Iterator[Grant]:
    """The tools of the server that a rule allows, if there may be one."""
    known, is_known = _declared(tree, options)
    name, tool = _parts(rule)
    if name.startswith("github") and name not in known:
        narrower = f"write {without_tool(site, rule.text)}" if is_of_action(site, rule) else None
        yield granted(rule.tool, rule.tool, _of_github(name, tool, token), rule.at, narrower=narrower)
    elif name in known or not is_known or not _is_missing(site, tree, options, rule):
        yield servers.grant(
            name, known[name][0] if name in known else Server(), rule.at, "allowed", rule.origin
        )


def missing_servers(
    site: Site, tree: Checkout, settings: ClaudeSettings, options: ClaudeOptions
) -> Iterator[Diagnostic]:
    """The servers that a step allows and that nothing declares."""
    known, is_known = _declared(tree, options)
    named = {_parts(rule)[0]: rule for rule in reversed([*_rules(settings)]) if rule.origin not in SETTINGS}
    for name, rule in named.items():
        is_there = name in known or name.startswith("github") or not is_known
        if not is_there and _is_missing(site, tree, options, rule):
            message = f"no file of this run declares the MCP server `{excerpt(name)}`, so there is none"
            hint = "declare it in `.mcp.json`, or take out the rules about it"
            yield finding("LDO250", rule.at.location, message, hint=hint)


def _of_github(server: str, tool: str, token: TokenPermissions | None) -> tuple[str, ...]:
    """The capabilities of a tool of the servers in the action."""
    if server == "github_ci":
        return ("data.untrusted", "x.github.read")
    if server == "github_comment":
        return writes(token, "issues", "pull-requests") or (SENDS,)
    if server == "github_inline_comment":
        return writes(token, "pull-requests") or (SENDS,)
    if server == "github_file_ops":
        return writes(token, "contents") or ("fs.write",)
    return by_github_tool(tool, token)


def _declared(tree: Checkout, options: ClaudeOptions) -> tuple[dict[str, tuple[Server, Place]], bool]:
    """The servers that files and options declare, and whether all of these options are known."""
    known: dict[str, tuple[Server, Place]] = {}
    if options.reads_project and (document := tree.json(_SERVERS, is_strict=True)):
        known.update(servers.servers_in(document, "mcpServers"))
    is_known = True
    for value, at in options.servers:
        document = json_of(value, at, tree)
        is_known = is_known and document is not None
        if document:
            declared = servers.servers_in(document, "mcpServers")
            known.update({name: (each, at) for name, (each, _) in declared.items()})
    return known, is_known


def _rules(settings: ClaudeSettings) -> Iterator[PermissionRule]:
    return (rule for rule in settings.rules if rule.decision == "allowed" and rule.tool.startswith("mcp__"))


def _parts(rule: PermissionRule) -> tuple[str, str]:
    """The server and the tool that a rule names."""
    name, _, tool = rule.tool.removeprefix("mcp__").rstrip("*").rstrip("_").partition("__")
    return name, tool


def _is_missing(site: Site, tree: Checkout, options: ClaudeOptions, rule: PermissionRule) -> bool:
    """Whether there is no server of a rule if no option declares it.

    A rule of the project may be about a server of somebody's own, who is not there.
    """
    if rule.origin in SETTINGS:
        return True
    name, _ = _parts(rule)
    is_elsewhere = not name or "*" in name or name.startswith(_OF_AN_ACCOUNT) or options.unknown is not None
    return not is_elsewhere and not _may_be_declared(site, tree, options)


def _may_be_declared(site: Site, tree: Checkout, options: ClaudeOptions) -> bool:
    """Whether a person, a plugin, a step or a file that cannot be read may declare servers."""
    inputs = table(site.step.get("with"))
    own = (*inputs, text(inputs.get("claude_args")), *site.run.words)
    files = [
        *(tree.json(path, is_strict=True) for path in SETTINGS),
        *(json_of(value, at, tree) for value, at in options.settings),
    ]
    is_there = tree.read(_SERVERS) is not None or _SERVERS in tree.written
    return (
        not site.is_fresh
        or tree.only is not None
        or not options.reads_project
        or (is_there and tree.json(_SERVERS) is None)
        or any(key in each.data for each in files if each for key in _PLUGINS)
        or _BRINGS.search("\n".join(own)) is not None
        or _DECLARES.search(text(site.step.get("run"))) is not None
        or any(map(_may_declare, site.before))
    )


def _may_declare(step: Mapping[str, object]) -> bool:
    """Whether a step may declare servers: by its text, by actions of the repository, or by files of another one."""
    uses = text(step.get("uses"))
    is_elsewhere = uses.startswith("actions/checkout@") and own_checkout(step) is None
    return is_elsewhere or uses.startswith("./") or bool(_MAY_DECLARE.search(texts_of_step(step)))
