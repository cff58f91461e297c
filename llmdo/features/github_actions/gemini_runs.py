"""Gemini CLI in a workflow: its tools in unattended runs, by the settings of its step or of the project."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import excerpt, finding, place
from llmdo.base.parts import items, table, texts
from llmdo.base.values import replace
from llmdo.features.gemini import SETTINGS
from llmdo.features.gemini.settings import MOVED, SHELL, moved
from llmdo.features.github_actions.gemini_releases import (
    LIMITS_SERVERS,
    WITHOUT_FORMER_KEYS,
    is_surely_before,
    is_surely_from,
)
from llmdo.features.github_actions.table import LINES
from llmdo.features.github_actions.tokens import (
    by_github_tool,
    by_shell,
    granted,
    token_of,
)
from llmdo.features.github_actions.workflow import TokenPermissions
from llmdo.foreign import servers
from llmdo.foreign.commands import BY_ARITHMETIC
from llmdo.foreign.events import started
from llmdo.foreign.team import capability_of
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.github_actions.checkout import Checkout
    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Route

_FEW = '["read_file", "grep_search", "glob"]'
NEEDS = "and what else it needs"
LOSES = "it loses the rest"
OF_ALL = "as do other jobs and people's own sessions"
_OF_NO_OTHER = ", nor do other jobs and people's own sessions"
_CORE = re.compile(r"(?P<tool>\w+)(?:\((?P<what>.*)\))?", re.DOTALL)
_FREE = "--allowed-tools"
_SHELLS = frozenset({"ShellTool", "run_shell_command", "shell"})
_OTHER_NAMES = {
    "EditTool": "replace", "FindFilesTool": "glob", "GlobTool": "glob", "GoogleSearch": "google_web_search",
    "GrepTool": "grep_search", "LSTool": "list_directory", "ReadFileTool": "read_file", "ReadFile": "read_file",
    "ReadFolder": "list_directory", "ReadManyFilesTool": "read_many_files", "SearchText": "grep_search",
    "WebFetchTool": "web_fetch", "WebSearchTool": "google_web_search", "WriteFileTool": "write_file",
    "edit": "replace", "search_file_content": "grep_search",
}  # fmt: skip
"""Other names for its tools in settings."""
_ASKED = {
    "auto_edit": frozenset({"run_shell_command", "save_memory", "web_fetch"}),
    "default": frozenset({"replace", "run_shell_command", "save_memory", "web_fetch", "write_file"}),
    "yolo": frozenset[str](),
}
"""What it asks about by its mode, where no list of its settings names it."""
_TRAILING = re.compile(r",(\s*[\]}])")
"""A comma after the last item: with it Gemini CLI does not start, and what is meant is clear."""
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_IN_QUOTES = r'"(?:\$\{\{.*?\}\}|[^"\\\n]|\\.)*+"'
_PARTS = re.compile(rf"{_IN_QUOTES}|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<value>\$\{{\{{.*?\}}\}})", re.DOTALL)
"""The parts of settings in which an expression may stand, or what looks like one."""
_ANY_VALUE = "NaN"
"""An expression in place of a value, as JSON has none of this name."""
_VALUES = re.compile(rf"{_IN_QUOTES}|(?P<value>\b{_ANY_VALUE}\b)", re.DOTALL)
_UNKNOWN = "?"
"""The single key of a table of which no file says what is in it."""
_ALL_TOOLS = tuple(
    line.removeprefix("gemini: ")
    for line in LINES
    if line.startswith("gemini: ") and line.islower() and "(" not in line
)


def gemini_grants(site: Site, tree: Checkout) -> tuple[tuple[Grant, ...], bool]:
    """The tools of Gemini CLI, and whether it has them all because nothing names them."""
    if broken_settings(site):
        return (), False
    settings, at = _gemini_settings(site, tree)
    tools = table(settings, "tools")
    core = tools.get("core")
    is_known = not _hides_tools(settings)
    excluded = {str(tool) for tool in items(tools.get("exclude"))}
    mode = _mode(site)
    is_list = isinstance(core, list) or not is_known
    named = dict(_listed(site, tree, settings, at, "core")) if is_list else None
    is_listed = named is not None and not is_surely_before(site, LIMITS_SERVERS)
    asked = frozenset() if is_listed else _ASKED[mode]
    free = dict(_unasked(site, tree, settings, at)) if asked else {}
    grants = list(_gemini_tools(site, named, free, excluded, at, asked))
    for name, server in _servers_in(settings).items() if mode == "yolo" or is_listed else ():
        its = _declared(site, tree, at, name)
        change = f"take `{excerpt(name)}` out of `mcpServers`" if its else None
        lost = f"it then has no tools of `{excerpt(name)}`"
        also = _OF_NO_OTHER if its and its.location.path == SETTINGS else ""
        grants += [
            replace(each, narrower=change, narrower_at=its, loss=lost, also=also)
            for each in _gemini_server(site, name, table(server), its or at, named)
        ]
    if not is_known or _UNKNOWN in table(settings, "mcpServers"):
        grants.append(granted("settings", "settings", [capability_of("gemini")], at, is_open=True))
    return tuple(grants), named is None and mode == "yolo"


def _unasked(
    site: Site, tree: Checkout, settings: Mapping[str, object], at: Place
) -> Iterator[tuple[str, Place]]:
    """The entries of the list of tools that its command says not to ask about, or else its settings, with places."""
    words = site.run.words
    given = [word for flag, word in pairwise(words) if flag == _FREE]
    given += [word.removeprefix(f"{_FREE}=") for word in words if word.startswith(f"{_FREE}=")]
    if not given:
        yield from _listed(site, tree, settings, at, "allowed")
    for entry in (entry.strip() for word in given for entry in word.split(",")):
        yield entry, site.spot(site.place("run"), entry)


def _listed(
    site: Site, tree: Checkout, settings: Mapping[str, object], at: Place, key: str
) -> Iterator[tuple[str, Place]]:
    """The entries of a list of tools, each with its place, which is in a file if it is one of the repository."""
    document = None if site.input("settings", "settings_json") else tree.json(SETTINGS)
    if document and document.source.path != SETTINGS:
        document = None
    is_new = document is None or key in table(document.data, "tools")
    route: Route = ("tools", key) if is_new else (f"{key}Tools",)
    for number, each in enumerate(items(table(settings, "tools").get(key))):
        if not table(each):
            entry = str(each)
            spot = Place(document, (*route, number)) if document else site.spot(at, entry)
            yield entry, spot


def _declared(site: Site, tree: Checkout, at: Place, name: str) -> Place | None:
    """The key of a server in the settings of its step or of the project; None if no text of the repository has it."""
    if site.input("settings", "settings_json"):
        key = re.escape(json.dumps(name, ensure_ascii=False))
        return site.spot(at, re.compile(rf'"mcpServers"\s*:.*?(?P<spot>{key})\s*:', re.DOTALL))
    document = tree.json(SETTINGS)
    is_there = document is not None and document.source.path == SETTINGS
    return Place(document, ("mcpServers", name), of_key=True) if document and is_there else None


def _hides_tools(settings: Mapping[str, object]) -> bool:
    """Whether no file says which tools settings name."""
    tools = table(settings, "tools")
    core = tools.get("core")
    return any(_UNKNOWN in table(each) for each in (settings, tools, core, *items(core)))


def _servers_in(settings: Mapping[str, object]) -> Mapping[str, object]:
    return {name: each for name, each in table(settings, "mcpServers").items() if name != _UNKNOWN}


def unread_settings(site: Site, tree: Checkout) -> tuple[str, Place] | None:
    """The settings of Gemini CLI of which nothing says the tools, as they are called, and their place."""
    if site.run.program not in ("gemini", "run-gemini-cli") or broken_settings(site):
        return None
    settings, at = _gemini_settings(site, tree)
    is_own = site.input("settings", "settings_json") is not None
    return ("settings" if is_own else SETTINGS, at) if _hides_tools(settings) else None


def gemini_narrower(site: Site, tree: Checkout) -> str:
    """The hint for a run with every tool: a list of them in the settings that count."""
    settings, at = _gemini_settings(site, tree)
    edit = f'"core": {_FEW}'
    own = site.input("settings", "settings_json")
    document = None if own else tree.json(SETTINGS)
    if isinstance(settings.get("tools"), dict):
        edit, into = f"`{edit}`", "under `tools` of"
    elif own or document:
        edit, into = f'`"tools": {{{edit}}}`', "into"
    else:
        edit, into = f'`{{"tools": {{{edit}}}}}`', "into"
    if own:
        where = f"{into} its `settings` ({place(at.location)})"
    else:
        is_of_step = site.run.program == "run-gemini-cli" and document is None
        where = "as its `settings`" if is_of_step else f"{into} `{SETTINGS}`"
    tools = [
        f"`mcp_{excerpt(name)}_{excerpt(next(iter(texts(table(server).get('includeTools'))), 'TOOL'))}`"
        for name, server in _servers_in(settings).items()
    ]
    limited = bool(tools) and not is_surely_before(site, LIMITS_SERVERS)
    needs = f"{NEEDS}, a server's tool as {' or '.join(tools)}" if limited else NEEDS
    before = "" if is_surely_before(site, LIMITS_SERVERS) else ", before 0.41,"
    is_kept = bool(tools) and not is_surely_from(site, LIMITS_SERVERS)
    kept = f" but{before} the servers of its `mcpServers`" if is_kept else ""
    return f"write {edit} {where}, {needs}; {LOSES}{kept}{f', {OF_ALL}' if SETTINGS in where else ''}"


def gemini_starts(site: Site, tree: Checkout) -> Iterator[Grant]:
    """The starts of servers of which its list of tools leaves nothing."""
    if site.run.program not in ("gemini", "run-gemini-cli") or broken_settings(site):
        return
    settings, at = _gemini_settings(site, tree)
    core = table(settings, "tools").get("core")
    if not isinstance(core, list) or _hides_tools(settings):
        return
    for name, server in _servers_in(settings).items():
        if not any(_gemini_server(site, name, table(server), at, list(map(str, core)))):
            yield started(name, servers.server_of(server), _declared(site, tree, at, name) or at)


def _gemini_tools(
    site: Site,
    named: Mapping[str, Place] | None,
    free: Mapping[str, Place],
    excluded: set[str],
    at: Place,
    asked: Collection[str],
) -> Iterator[Grant]:
    """Its tools but those that are `asked` about, unless they are `free` of that."""
    allowed, commands = _tools_in(named or {})
    if named is None:
        allowed = dict.fromkeys(_ALL_TOOLS, at)
    unasked, more = _tools_in(free)
    has_shell = SHELL in allowed or bool(commands)
    commands = {**({} if SHELL in asked else commands), **(more if has_shell else {})}
    allowed = {
        tool: unasked.get(tool, its) for tool, its in allowed.items() if tool not in {*asked} - {*unasked}
    }
    if SHELL not in excluded:
        for entry, its in commands.items():
            is_alone = SHELL not in allowed and entry == next(iter(commands))
            yield from _gemini_command(site, entry, its, is_alone=is_alone)
    for tool in sorted(allowed.keys() - {_OTHER_NAMES.get(name, name) for name in excluded}):
        its = allowed[tool]
        line = LINES.get(f"gemini: {tool}")
        if tool == SHELL:
            yield from by_shell(site, token_of(site), tool, its)
        elif line:
            yield granted(tool, tool, line.capabilities, its)


def _tools_in(entries: Mapping[str, Place]) -> tuple[dict[str, Place], dict[str, Place]]:
    """The tools that entries of a list name, and the entries about commands, each with its place."""
    tools: dict[str, Place] = {}
    commands: dict[str, Place] = {}
    for entry, at in entries.items():
        parts = _CORE.fullmatch(entry.strip())
        if parts is None:
            continue
        tool = SHELL if parts["tool"] in _SHELLS else _OTHER_NAMES.get(parts["tool"], parts["tool"])
        if tool == SHELL and parts["what"] is not None:
            commands[entry.strip()] = at
        else:
            tools.setdefault(tool, at)
    return tools, commands


def _gemini_command(site: Site, entry: str, at: Place, *, is_alone: bool) -> Iterator[Grant]:
    """The grants of an entry about a command, which is one about any: see `BY_ARITHMETIC` (watched with 0.61.0).

    Gemini CLI strips the environment of its commands in Actions, but a command that shows any file shows that of Gemini
    CLI itself, `/proc/$PPID/environ`. What commands reach besides is said of one entry.
    """
    also = _OF_NO_OTHER if at.document.source.path == SETTINGS else ""
    out = f"take `{excerpt(entry)}` out"
    for grant in by_shell(site, token_of(site), entry, at):
        if grant.tool == entry:
            yield replace(grant, narrower=out, also=also, words=BY_ARITHMETIC)
        elif is_alone:
            yield grant


def _gemini_server(
    site: Site, name: str, server: Mapping[str, object], at: Place, named: Collection[str] | None
) -> Iterator[Grant]:
    """The tools of a server that go unasked; for GitHub's own, the capabilities of the named ones with the token.

    From 0.41 on `tools.core` leaves of a server what it names, as `mcp_SERVER_TOOL`:
    https://github.com/google-gemini/gemini-cli/issues/28361.
    """
    reached = servers.server_of(server)
    start = f"mcp_{name}_"
    left = [entry.strip().removeprefix(start) for entry in named or () if entry.strip().startswith(start)]
    is_limited = named is not None and (_mode(site) != "yolo" or is_surely_from(site, LIMITS_SERVERS))
    if is_limited and not left:
        return
    yield servers.grant(name, reached, at, "allowed", "run-gemini-cli")
    if not any(
        "github-mcp-server" in str(word) for word in (*items(server.get("args")), server.get("command"))
    ):
        return
    token = token_of(site) or TokenPermissions(None, at)
    included = [str(tool) for tool in items(server.get("includeTools"))]
    if is_limited and not any("*" in tool for tool in left):
        included = left
    capabilities = [each for tool in included or [""] for each in by_github_tool(tool, token)]
    yield granted(name, f"{name} tools", capabilities, at)


def _gemini_settings(site: Site, tree: Checkout | None) -> tuple[Mapping[str, object], Place]:
    """Its settings: those of the step in place of the project's own."""
    if settings := site.input("settings", "settings_json"):
        try:
            read = table(json.loads(_plain(settings[0]), parse_constant=_unknown))
            return _as_read(site, read), settings[1]
        except (ValueError, RecursionError):
            return {_UNKNOWN: True}, settings[1]
    document = tree.json(SETTINGS) if tree else None
    if tree and document is None and SETTINGS in tree.written:
        return {_UNKNOWN: True}, site.at
    return _as_read(site, document.data) if document else {}, site.at


def _as_read(site: Site, settings: Mapping[str, object]) -> Mapping[str, object]:
    """The settings, with the lists of tools that an early release reads under their former keys in `tools`."""
    if not is_surely_before(site, WITHOUT_FORMER_KEYS):
        return settings
    tools = table(settings, "tools")
    former = {"core": settings["coreTools"]} if "coreTools" in settings else {}
    excluded = [*items(settings.get("excludeTools")), *items(tools.get("exclude"))]
    return {**settings, "tools": {**former, **tools, "exclude": excluded}}


def former_keys(site: Site) -> Iterator[Diagnostic]:
    """The findings about keys of a step's settings that Gemini CLI no longer reads, unless they are `false`."""
    own = site.input("settings", "settings_json")
    is_read = site.run.program != "run-gemini-cli" or is_surely_before(site, WITHOUT_FORMER_KEYS)
    if own is None or is_read or broken_settings(site):
        return
    settings, at = _gemini_settings(site, None)
    for key in MOVED:
        if settings.get(key, False) is not False:
            spot = site.spot(at, re.compile(rf'"(?P<spot>{key})"\s*:'))
            message = f"from 0.24 on Gemini CLI does not read `{key}`, so it does nothing"
            yield finding("LDO151", spot.location, message, hint=moved(settings, key))


def _unknown(_: str) -> Mapping[str, object]:
    return {_UNKNOWN: True}


def _plain(settings: str) -> str:
    """The JSON of the input of a step: without comments, each expression in a text as `0`."""

    def plain(part: re.Match[str]) -> str:
        if part["comment"]:
            return re.sub(r"[^\n]", " ", part[0])
        return _ANY_VALUE if part["value"] else _EXPRESSION.sub("0", part[0])

    return _TRAILING.sub(r"\1", _PARTS.sub(plain, settings))


def broken_settings(site: Site) -> Place | None:
    """The settings of a step with which Gemini CLI does not start, as they are no JSON whatever an expression gives."""
    settings = site.input("settings", "settings_json") if site.run.program == "run-gemini-cli" else None
    if settings is None or not settings[0].strip():
        return None
    plain = _plain(settings[0])
    try:
        json.loads(plain)
    except json.JSONDecodeError as error:
        return settings[1] if _is_surely_broken(plain, error.pos) else None
    except RecursionError:
        pass
    return None


def _is_surely_broken(plain: str, position: int) -> bool:
    """Whether an error stays whatever the expressions before it give: each has the place of a value, and an end."""
    values = (each for each in _VALUES.finditer(plain) if each["value"] and each.start() <= position)
    return all(
        plain[: each.start()].rstrip().endswith((":", ",", "[")) and plain[each.end() : position].strip()
        for each in values
    )


def _mode(site: Site) -> Literal["auto_edit", "default", "yolo"]:
    """What Gemini CLI asks about in a step, and so refuses: its action has it ask about nothing."""
    words = site.run.words
    if not words or is_yolo(words):
        return "yolo"
    return "auto_edit" if _chosen(words, "auto_edit") else "default"


def is_yolo(words: tuple[str, ...]) -> bool:
    """Whether a command has Gemini CLI ask about nothing."""
    return bool({"--yolo", "-y"} & set(words)) or _chosen(words, "yolo")


def _chosen(words: tuple[str, ...], mode: str) -> bool:
    """Whether a command chooses a mode of approval."""
    return f"--approval-mode={mode}" in words or ("--approval-mode", mode) in pairwise(words)
