"""Codex, Cursor and opencode in a workflow: the permissions of each in unattended runs."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from llmdo.base.parts import items, table, text
from llmdo.base.values import dataclass, replace
from llmdo.features.codex.table import SPAWNS
from llmdo.features.codex.tools import search_line
from llmdo.features.github_actions.copilot_runs import allows_every_tool
from llmdo.features.github_actions.gemini_runs import is_yolo
from llmdo.features.github_actions.opencode_settings import (
    documents_at,
    narrowed,
    servers_at,
    with_agents_read,
)
from llmdo.features.github_actions.opencode_tasks import called_agents, of_called, tables_of
from llmdo.features.github_actions.table import LINES
from llmdo.features.github_actions.tokens import (
    OF_AN_APP,
    acts_as_app,
    by_command,
    by_shell,
    granted,
    token_of,
    writes,
)
from llmdo.features.github_actions.workflow import WRITABLE, TokenPermissions
from llmdo.features.opencode.permissions import (
    COMMANDS,
    RULES,
    TASK,
    as_with,
    glob,
    of_servers,
    rules_of,
    rules_of_agent,
    unseen_words,
)
from llmdo.features.opencode.reader import BUILT_IN, built_in_rules
from llmdo.features.opencode.table import SEARCHING_MODELS
from llmdo.foreign import servers
from llmdo.foreign.files import Files
from llmdo.foreign.instead import CODEX_BYPASSES
from llmdo.foreign.scripts import EXPRESSION
from llmdo.foreign.team import capability_of
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.features.github_actions.checkout import Checkout
    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.permissions import PermissionRule, PermissionRuling
    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree

FREE = "danger-full-access"
_SEARCH_VARIABLES = ("OPENCODE_ENABLE_EXA", "OPENCODE_ENABLE_PARALLEL")
"""Those that let it search with every model."""

_OF_EVERYBODY = ", also in other jobs and in people's own sessions"

_SANDBOXES = frozenset({"read-only", "workspace-write"})
_CODEX_CONFIG = ".codex/config.toml"
_SANDBOX_MODE = re.compile(r"^sandbox_mode\s*=\s*[\"']([\w-]+)", re.MULTILINE)
_SEARCH_MODE = re.compile(r"^web_search\s*=\s*[\"']([\w-]+)", re.MULTILINE)
_SPAWNS_NONE = re.compile(
    r"^(?:\[agents\]\s+enabled|agents\.enabled|\s*(?:features\.)?multi_agent)\s*=\s*false", re.MULTILINE
)
_SANDBOX_NETWORK = re.compile(r"^\s*network_access\s*=\s*true", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Sandbox:
    mode: str
    at: Place
    """The place that sets the mode."""
    network: Place | None = None
    """The place that opens the network to its commands, or None."""
    search: str | None = None
    """The value of `web_search`, or None."""
    spawns: bool = True
    """Whether it starts agents that are built in, as nothing switches that off."""


def codex_grants(site: Site, tree: Tree) -> Iterator[Grant]:
    """Codex runs commands in a sandbox that keeps them off the network, unless it is switched off."""
    sandbox = _sandbox(site, tree)
    token = token_of(site)
    if sandbox.spawns:
        yield _of_codex(SPAWNS.tool, site.at)
    narrower = "have it run with `-c web_search=disabled`"
    if search := search_line(sandbox.search, is_off=sandbox.mode == FREE):
        yield replace(_of_codex(search, site.at), narrower=narrower, loss="it then finds no pages by that")
    if sandbox.mode == FREE:
        yield from by_shell(site, token, "shell", sandbox.at)
        return
    if sandbox.mode not in _SANDBOXES:
        yield granted("codex", "codex", [capability_of("codex")], sandbox.at, is_open=True)
    for tool in ("shell, reading", "shell, in the sandbox"):
        yield _of_codex(tool, sandbox.at)
    if sandbox.mode != "read-only":
        yield _of_codex("shell, in the workspace", sandbox.at)
    if sandbox.network:
        yield _of_codex("shell, with network_access", sandbox.network)
        yield granted("token", "token", writes(token, *WRITABLE), token.at if token else sandbox.network)


def _of_codex(tool: str, at: Place) -> Grant:
    return granted(tool, tool, LINES[f"codex: {tool}"].capabilities, at)


def codex_is_free(site: Site, tree: Tree) -> Place | None:
    """The place that switches its sandbox off, or None."""
    sandbox = _sandbox(site, tree)
    return sandbox.at if sandbox.mode == FREE else None


def _sandbox(site: Site, tree: Tree) -> _Sandbox:
    """The sandbox: by default read-only for a command, writing to the checkout for an action."""
    at = site.at
    source, unread = tree.read(_CODEX_CONFIG) or (None, ())
    config = source.text if source is not None and not unread else ""
    network = at if _SANDBOX_NETWORK.search(config) else None
    searches = _SEARCH_MODE.search(config)
    search = searches[1] if searches else None
    spawns = not _SPAWNS_NONE.search(config)
    if site.run.words:
        named = _SANDBOX_MODE.search(config)
        sandbox = _Sandbox(named[1] if named else "read-only", at, network, search, spawns)
        return _sandbox_with(sandbox, site.run.words[1:], at, site)
    sandbox = _Sandbox("workspace-write", at, network, search, spawns)
    if mode := site.input("sandbox"):
        sandbox = replace(sandbox, mode=mode[0], at=mode[1])
    if (strategy := site.input("safety-strategy")) and strategy[0] == "read-only":
        sandbox = replace(sandbox, mode="read-only", at=strategy[1])
    if args := site.input("codex-args", "codex_args"):
        sandbox = _sandbox_with(sandbox, _args_of_codex(args[0]), args[1], site)
        if args[0].strip().startswith("${{"):
            sandbox = replace(sandbox, mode=EXPRESSION, at=args[1])
    return sandbox


def _sandbox_with(sandbox: _Sandbox, words: Sequence[str], at: Place, site: Site) -> _Sandbox:
    """The sandbox with the changes by the flags of a command line, of which one that bypasses it wins."""
    for number, word in enumerate(words):
        flag, equals, value = word.partition("=")
        value = value if equals else next(iter(words[number + 1 : number + 2]), "")
        if flag in ("--sandbox", "-s"):
            sandbox = replace(sandbox, mode=value, at=at)
        elif word == "--full-auto":
            sandbox = replace(sandbox, mode="workspace-write", at=at)
        elif word == "--search":
            sandbox = replace(sandbox, search="live")
        elif flag in ("-c", "--config"):
            setting = re.sub(r"[\s\"']", "", value)
            if setting.startswith("sandbox_mode="):
                sandbox = replace(sandbox, mode=setting.partition("=")[2], at=at)
            elif setting.startswith("web_search="):
                sandbox = replace(sandbox, search=setting.partition("=")[2])
            elif setting.endswith("network_access=true"):
                sandbox = replace(sandbox, network=at)
            elif _SPAWNS_NONE.match(setting):
                sandbox = replace(sandbox, spawns=False)
    if bypass := next((word for word in words if word in CODEX_BYPASSES), None):
        whole = site.place("run") if site.run.words else at
        return replace(sandbox, mode=FREE, at=site.spot(whole, bypass))
    return sandbox


def _args_of_codex(args: str) -> tuple[str, ...]:
    if args.lstrip().startswith("["):
        try:
            return tuple(map(str, items(json.loads(args))))
        except (ValueError, RecursionError):
            return ()
    try:
        return tuple(shlex.split(re.sub(r"\$\{\{[^\n]*?\}\}", EXPRESSION, args)))
    except ValueError:
        return tuple(args.split())


def is_told_to_allow(site: Site) -> str | None:
    """The flag of a command with which nothing is refused, or None."""
    words = site.run.words
    if site.run.program == "gemini" and is_yolo(words):
        return "--yolo"
    if site.run.program == "copilot":
        return allows_every_tool(site)
    if site.run.program == "cursor-agent":
        return next((word for word in words if word in ("--force", "-f", "--yolo")), None)
    return None


def _values(words: tuple[str, ...], flag: str) -> list[str]:
    """The values of a flag over all its uses."""
    values = [word.partition("=")[2] for word in words if word.startswith(f"{flag}=")]
    return values + [words[number + 1] for number, word in enumerate(words[:-1]) if word == flag]


def opencode_grants(site: Site, tree: Checkout) -> tuple[tuple[Grant, ...], bool]:
    """The tools of opencode, which allows everything without a `permission` in the project, a variable or the agent."""
    at, token = site.at, token_of(site)
    if acts_as_app(site):
        token = TokenPermissions(OF_AN_APP, at)
    documents = documents_at(site, tree)
    files = Files(with_agents_read(site, tree), "opencode")
    tables = [Place(each, ()) for each in documents]
    name, chosen = _chosen(site, files, tables)
    common, own = [*rules_of(files, *tables)], [*rules_of_agent(files, chosen)]
    written = {id(rule): rule for rule in (*common, *own)}
    rules = [*built_in_rules(name, at), *written.values()]
    grants: list[Grant] = []
    given_by: set[tuple[str, int]] = set()
    model = _opencode_model(site, [*reversed(chosen), *reversed(tables)])
    for tool, by, given in _opencode_tools(site, token, rules):
        rule = written.get(id(by))
        given_by.add((tool, id(rule)))
        edited = narrowed(given, documents, is_ruled=rule is not None, by=rule)
        if tool == COMMANDS:
            grants.append(edited if given.toolset == tool else given)
        else:
            grants += as_with(model, edited)
    known = {(given.toolset, given.tool) for given in grants}
    for other in called_agents(files, tables, common, rules, at) if rules else ():
        named = (text(table(each.data).get("model")) for each in reversed(other.tables))
        its_model = next(filter(None, named), model)
        for tool, rule, given in _opencode_tools(site, token, other.rules):
            if tool == TASK or (tool, id(other.rule(rule))) in given_by:
                continue  # that calls others is the caller's own; an edit that denies a tool to both is one
            if given.toolset.startswith(tool):
                its = as_with(its_model, given)
                grants += (of_called(each, other, chosen, documents) for each in its)
            elif (given.toolset, given.tool) not in known:
                known.add((given.toolset, given.tool))
                grants.append(given)
    reached = {name: (servers.server_of(server), at) for name, server in servers_at(documents).items()}
    for given in of_servers(rules, reached):
        if given.decision == "allowed":
            tool = f"{given.tool}_*" if given.tool == given.toolset else given.tool
            grants.append(narrowed(given, documents, is_ruled=given.rule_at is not None, tool=tool))
    return tuple(grants), not written


def without_by_itself(site: Site, tree: Checkout) -> tuple[str, ...]:
    """The tools that an agent built into opencode lacks where no file has rules, such as `edit` of `plan`."""
    tables = [Place(each, ()) for each in documents_at(site, tree)]
    name, _ = _chosen(site, Files(with_agents_read(site, tree), "opencode"), tables)
    blocking = (each for each in built_in_rules(name, site.at) if each.decision == "blocked")
    return tuple(each.tool for each in blocking if each.pattern == "*")


def _opencode_tools(
    site: Site, token: TokenPermissions | None, rules: Sequence[PermissionRule]
) -> Iterator[tuple[str, PermissionRule | None, Grant]]:
    """The tools that opencode uses unasked under these rules, each with the rule that gives it, and what it reaches."""
    for name, line in LINES.items():
        tool = name.removeprefix("opencode: ")
        if tool == name:
            continue
        for ruling in RULES.rulings(rules, tool, line.raised, line.decision):
            if ruling.decision != "allowed":
                continue  # nobody is there to be asked
            at = ruling.rule.at if ruling.rule else site.at
            if tool != COMMANDS:
                grants = iter([granted(tool, tool, map(str, ruling.capabilities), at)])
            elif ruling.rule is None or RULES.whole(ruling.rule, tool):
                grants = by_shell(site, token, tool, at)
            else:
                grants = _opencode_commands(site, token, ruling, tool, at)
            yield from ((tool, ruling.rule, each) for each in grants)


def _opencode_commands(
    site: Site, token: TokenPermissions | None, ruling: PermissionRuling, tool: str, at: Place
) -> Iterator[Grant]:
    """The grants of the commands of a rule, in whose names its pattern stands as it is written."""
    pattern = ruling.rule.pattern or "" if ruling.rule else ""
    wide, named = glob(pattern), f"{tool}({pattern.strip()})"
    if words := unseen_words(ruling):
        for each in by_shell(site, token, named, at):
            yield replace(each, words=words)
        return
    for each in by_command(site, token, wide, tool, at):
        as_written = each.tool.replace(f"({wide.strip()})", f"({pattern.strip()})")
        yield replace(
            each, toolset=as_written if each.toolset == each.tool else each.toolset, tool=as_written
        )


def _opencode_model(site: Site, tables: Iterable[Place]) -> str:
    """The model of a step that runs opencode, or one that searches if a variable has any search; empty if unknown.

    Of `tables` of settings and of an agent, the first counts that names one.
    """
    if any(site.variables.get(name) for name in _SEARCH_VARIABLES):
        return SEARCHING_MODELS[0]
    chosen = site.input("model")
    named = [chosen[0]] if chosen else []
    named += [each for flag in ("--model", "-m") for each in _values(site.run.words, flag)]
    named += [text(table(each.data).get("model")) for each in tables]
    return next(filter(None, named), "")


def is_its_action(site: Site) -> bool:
    """Whether a step runs opencode by its action, or by the command that the action runs."""
    return site.run.key == "uses" or site.run.words[1:3] == ("github", "run")


def unread_agent(site: Site) -> Place | None:
    """The name of an agent that a step gives to opencode's action, which does not read it; None without one.

    The action only sets a variable: https://github.com/anomalyco/opencode/issues/21730.
    """
    if not is_its_action(site):
        return None
    if chosen := site.input("agent"):
        return chosen[1]
    variable = site.variables.get("AGENT")
    return variable.at if variable and variable.value.strip() and site.run.key == "run" else None


def _chosen(site: Site, files: Files, tables: Sequence[Place]) -> tuple[str, Sequence[Place]]:
    """The agent that a command asks opencode for, else its default one, and its tables, the uppermost last.

    A subagent is neither, nor is one that is not there: the next one counts, and `build` after all. Some releases start
    nothing where the default one is a subagent.
    """
    asked = "" if is_its_action(site) else next(iter(_values(site.run.words, "--agent")), "")
    if "$" in asked:  # of which no file says who it is
        return "", ()
    default = next(
        filter(None, (text(table(each.data).get("default_agent")) for each in reversed(tables))), ""
    )
    for name in filter(None, (asked, default)):
        if (own := [*tables_of(name, files, tables)]) or name in BUILT_IN:
            modes = [mode for each in reversed(own) if (mode := text(table(each.data).get("mode")))]
            if next(iter(modes), BUILT_IN.get(name, ("all",))[0]) != "subagent":
                return name, own
    return "build", [*tables_of("build", files, tables)]


def cursor_grants(site: Site) -> Iterator[Grant]:
    """Cursor's agent has all of its tools when it prints."""
    at = site.at
    for tool in ("read", "write"):
        yield granted(tool, tool, LINES[f"cursor: {tool}"].capabilities, at)
    yield from by_shell(site, token_of(site), "shell", at)
