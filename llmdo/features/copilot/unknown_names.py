"""The names in `tools` of Copilot that are neither its own tools nor those of a server that a file declares."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, excerpt, finding, nearest
from llmdo.base.values import dataclass, field
from llmdo.features.copilot.tools import LONG_NAME, NAMES, SERVERS, on_command_line_alone
from llmdo.foreign import known_servers
from llmdo.foreign.files import renaming
from llmdo.foreign.meaning import meant_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.copilot.tools import Tools
    from llmdo.syntax.document import Place

_BY_MEANING = {
    "command": "execute", "edit": "edit", "fetch": "web", "find": "search", "grep": "search", "read": "read",
    "search": "web", "write": "edit",
}  # fmt: skip
"""The aliases for what the tools of other clients do."""
_TO_MODELS = {
    "create_file": "edit", "execute_prompt": "agent", "executeprompt": "agent", "fetch_webpage": "fetch",
    "file_search": "fileSearch", "get_changed_files": "changes", "get_errors": "problems", "grep_search": "search",
    "insert_edit_into_file": "edit", "list_dir": "search", "manage_todo_list": "todo",
    "multi_replace_string_in_file": "edit", "read_file": "read", "replace_string_in_file": "edit",
    "run_in_terminal": "runInTerminal", "semantic_search": "codebase",
}  # fmt: skip
"""The names in `tools` for those by which VS Code offers, or offered, its tools to a model (vscode-copilot-chat).

Some of them are in its documentation, as hooks are told them.
"""
_GITHUB_HAS = frozenset(
    {
        "branch", "branches", "commit", "commits", "copilot", "discussion", "discussions", "gist", "gists", "issue",
        "issues", "me", "notification", "notifications", "orgs", "pull", "release", "releases", "repositories",
        "repository", "scanning", "tags", "teams", "users",
    }
)  # fmt: skip
"""Words in the names of the tools of GitHub's server."""
_UNDECLARED = re.compile(
    r"mcp__(?P<server>[A-Za-z0-9._-]+?)__(?P<tool>[A-Za-z][\w.-]*)"
    r"|mcp_(?P<short>[A-Za-z0-9.-]{2,})_(?P<its>[A-Za-z][\w.-]*)"
)
"""The name of a server's tool as models see it, in Claude Code or, of a server without `_`, in VS Code."""
_SHIPPED = "vscode."
"""The beginning of the names of extensions that VS Code comes with."""
_WORD = re.compile(r"[a-z0-9]+|[A-Z]+[a-z0-9]*")
"""A word of a name such as `createFile` or `create_issue`."""
_OF_ANY_SERVER = frozenset({"mcp", "server"})
"""Words in names of servers that tell none from another."""
MOST = 3  # names in a message, and further places below it
ELSEWHERE = tuple(
    f"{it} may come with an extension, or from settings of the repository or of a person; else Copilot skips {them}"
    for it, them in (("it", "it"), ("they", "them"))
)
_FOR_THIS_AGENT = (
    "declare it for this agent as well, unless it comes with an extension, or from settings of the repository or of a "
    "person; else Copilot skips it"
)
_ELSE_SKIPPED = "if no extension and no settings elsewhere bring it either, Copilot skips it"


def _misspelt(name: str) -> str | None:
    """The tool that `name` means: one of the same words, of which one may be misspelt; `create_issue` is none."""
    if meant := _TO_MODELS.get(name.casefold()):
        return meant
    near = meant_tool(name, NAMES, _BY_MEANING) or ""
    if near in _BY_MEANING.values():
        return near
    own, its = ([each.casefold() for each in _WORD.findall(text)] for text in (name, near))
    if "".join(own) == "".join(its):
        return near or None
    others = [pair for pair in zip(own, its, strict=False) if pair[0] != pair[1]]
    is_one = len(own) == len(its) and len(others) == 1 and nearest(others[0][0], others[0][1:])
    return near if is_one else None


@dataclass(slots=True)
class UnknownNames:
    """The undeclared names in the files of a project."""

    _servers: dict[str, list[Place]] = field(default_factory=dict)
    _tools: dict[str, list[Place]] = field(default_factory=dict)
    _near: dict[str, str | None] = field(default_factory=dict)
    _near_servers: dict[str, str | None] = field(default_factory=dict)
    _homes: dict[str, dict[str, bool]] = field(default_factory=dict)
    """The servers that a tool may be of, and whether each is GitHub's."""
    _declared: set[str] = field(default_factory=set)
    """The servers that files declare, each perhaps for its own agent alone, in small letters."""
    _alone: Counter[str] = field(default_factory=Counter)
    """The files in which a name may stand for the tool of a server by itself, or for one of the command line alone."""
    _long: dict[str, list[tuple[str, str, Place]]] = field(default_factory=dict)
    """Of each server the long names of its tools, each with the tool."""
    _undeclared: dict[str, list[tuple[str, str, Place]]] = field(default_factory=dict)
    """The same of servers that no file declares."""
    _scripts: list[tuple[str, Place]] = field(default_factory=list)
    _starless: dict[str, list[tuple[bool, Place]]] = field(default_factory=dict)
    """The names of servers without `/*`, with which only VS Code has their tools, and whether it may."""

    def add(self, tools: Tools, named: Sequence[tuple[str, Place]]) -> None:
        """Adds the unknown names among the tools of one file."""
        seen: set[str] = set()
        self._declared.update(name.casefold() for name in tools.servers)
        servers = tools.servers_near(name for name, _ in named)
        for name, place in named:
            server = tools.server_of(name)
            unknown = server or name
            if unknown in seen or unknown.startswith(_SHIPPED):
                continue
            starless = tools.lacks_star(name)
            if starless and not any(each == f"{starless}/*" for each, _ in named):
                seen.add(starless)
                self._starless.setdefault(name, []).append((tools.has_in_editor(starless), place))
            if tools.knows(name):
                self._alone[name] += bool(tools.there_alone(name))
                continue
            seen.add(unknown)
            having = {each: is_it for each, is_it in servers.items() if tools.may_have(each, name)}
            may_be_there = bool(having) and (_is_of_github(name, having) or not _misspelt(name))
            if not server and may_be_there and tools.takes_alone(name):
                self._alone[name] += 1
                continue
            if not server and (long := tools.of_long_name(name)):
                self._long.setdefault(long[0], []).append((name, long[1], place))
                continue
            if long_of := _UNDECLARED.fullmatch(name):
                of_server, tool = (each for each in long_of.groups() if each)
                self._undeclared.setdefault(of_server, []).append((name, tool, place))
                continue
            if tools.is_script(name):
                self._scripts.append((name, place))
                continue
            if server:
                self._servers.setdefault(server, []).append(place)
                near = nearest(server, (*tools.servers, *SERVERS))
                self._near_servers[server] = renaming(place, server, near)
                continue
            self._tools.setdefault(name, []).append(place)
            self._homes.setdefault(name, {}).update(having)
            near = None if self._is_github_s(name) else _misspelt(name)
            hint = renaming(place, name, near)
            mixed = f"write `{near}` for it, but take it out where `{near}` is there already"
            self._near[name] = hint if self._near.get(name) in (None, hint) else near and mixed

    def clause(self) -> str:
        """The end of a hint after which files would have these names; empty without any."""
        long = (name for uses in (*self._long.values(), *self._undeclared.values()) for name, _, _ in uses)
        names = [*dict.fromkeys((*self._tools, *self._servers, *long, *(name for name, _ in self._scripts)))]
        if not names:
            return ""
        listed = _listed(names).split(" ", 2)[2]
        it = "them" if len(names) > 1 else "it"
        return f"; in `tools` Copilot does not know {listed}, unless an extension or settings elsewhere bring {it}"

    def problems(self, extensions: Mapping[str, str]) -> Iterator[Diagnostic]:
        """A finding for each server, for long names of its tools, and for the tools that the same files name.

        `extensions` are those that the project names for its editor, each with the file.
        """
        for server, places in self._servers.items():
            if server.casefold() in self._declared:
                files = f", which {len(places)} files name," if len(places) > 1 else ""
                message = f"the server `{excerpt(server)}`{files} is declared for other agents alone"
                yield _finding(message, places, _FOR_THIS_AGENT)
                continue
            message = f"no file of this project declares the server or extension `{excerpt(server)}`"
            yield _finding(
                message + _in_files(places),
                places,
                self._near_servers[server] or _by_extension(server, extensions),
            )
        for server, uses in self._long.items():
            yield _long_names(server, uses)
        for server, uses in self._undeclared.items():
            yield _undeclared_names(server, uses)
        if self._scripts:
            yield _scripts(self._scripts)
        for server, starless in self._starless.items():
            yield _without_star(server, starless)
        together: dict[tuple[object, ...], list[str]] = {}
        for tool, places in self._tools.items():
            key = (
                tool
                if self._near[tool] or self._as_server(tool)
                else (self._home(tool), bool(self._homes[tool]))
            )
            together.setdefault((*(place.document.source.path for place in places), key), []).append(tool)
        for tools in together.values():
            yield self._of_tools(tools)

    def _home(self, tool: str) -> str | None:
        """The server that a tool is of, if it is any's; None where that may be several."""
        servers = self._homes[tool]
        if tool in servers or self._as_server(tool):
            return None
        if self._is_github_s(tool):
            return next(name for name, is_github in servers.items() if is_github)
        is_tool = "." not in tool and " " not in tool  # as in names of servers
        return next(iter(servers)) if [*servers.values()] == [False] and is_tool else None

    def _as_server(self, tool: str) -> str | None:
        """The hint about a name without a tool that is that of a server; None if it is not known as one."""
        name = excerpt(tool)
        if tool.casefold() in self._declared:
            return f"`{name}` is a server: write `{name}/*`, and declare it for this agent as well"
        if (tool in self._servers or tool.casefold() in known_servers.TABLE) and not self._near[tool]:
            return f"if it is the server `{name}`, declare it, and write `{name}/*`; {_ELSE_SKIPPED}"
        return None

    def _is_github_s(self, tool: str) -> bool:
        """Whether a server of GitHub is there that may have a tool of this name."""
        return _is_of_github(tool, self._homes[tool])

    def _of_tools(self, tools: list[str]) -> Diagnostic:
        """The finding about tools that the same files name."""
        first, places, home = tools[0], self._tools[tools[0]], self._home(tools[0])
        is_elsewhere = any(self._alone[tool] for tool in tools)
        where = f" where {'it is' if len(tools) == 1 else 'they are'} not known" if is_elsewhere else ""
        named = f"{_listed(tools)}{_in_files(places, where)}"
        hint = self._as_server(first) or self._near[first] or ELSEWHERE[len(tools) > 1]
        if self._near[first] and first.casefold() in _TO_MODELS:
            comma = "," if len(places) > 1 else ""
            in_editor = " in VS Code" if on_command_line_alone(first) else ""
            message = (
                f"`{excerpt(first)}`{_in_files(places)}{comma} is what models call the tool, and no "
                f"name for `tools`{in_editor}"
            )
            return _finding(message, places, hint)
        if not self._homes[first]:
            message = f"neither Copilot's documentation nor a server of this project has {named}"
            return _finding(message, places, hint)
        if self._near[first]:
            return _finding(f"Copilot does not know {named}", places, hint)
        it, others = ("them", " and so on") if len(tools) > 1 else ("it", "")
        if home:
            hint = (
                f"if the server `{excerpt(home)}` has {it}, write `{excerpt(f'{home}/{first}')}`{others}; "
                f"if no extension and no settings elsewhere bring {it} either, Copilot skips {it}"
            )
        written = (
            "TOOL"
            if others
            or first in self._homes[first]
            or self._as_server(first)
            or not first.isidentifier()
            or LONG_NAME.fullmatch(first)
            else excerpt(first)
        )
        message = f"Copilot does not know {named}; a tool of a server is written `SERVER/{written}`"
        return _finding(message, places, hint)


def _by_extension(server: str, extensions: Mapping[str, str]) -> str:
    """The hint about a server that no file declares: the extension of the project that has its name may bring it."""
    words = {*_words(server)} - _OF_ANY_SERVER
    named = next((each for each in extensions if words and words <= {*_words(each)}), None)
    if named is None:
        return ELSEWHERE[0]
    by = f"with the extension `{excerpt(named)}`, which `{extensions[named]}` names"
    return f"it may come {by}, or from settings of the repository or of a person; else Copilot skips it"


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.casefold())


def _is_of_github(tool: str, servers: Mapping[str, bool]) -> bool:
    """Whether a tool may be one of GitHub's server by its name, and one of these servers is that."""
    is_like = not tool.startswith("git_") and not _GITHUB_HAS.isdisjoint(tool.split("_"))
    return is_like and any(servers.values())


def _long_names(server: str, uses: Sequence[tuple[str, str, Place]]) -> Diagnostic:
    """The finding about the long names of the tools of a server, at the first place in each file."""
    names, places, files = _together((name, place) for name, _, place in uses)
    name, tool, at = uses[0]
    hint = renaming(at, name, f"{server}/{tool}", "write `{}`" + (" and so on" if len(names) > 1 else ""))
    rest = f"; a tool of the server `{excerpt(server)}` is written `{excerpt(server)}/TOOL`"
    return _finding(f"Copilot does not know {_listed(names)}{files}{rest}", places, hint)


def _undeclared_names(server: str, uses: Sequence[tuple[str, str, Place]]) -> Diagnostic:
    """The finding about the long names of the tools of a server that no file declares."""
    names, places, files = _together((name, place) for name, _, place in uses)
    tool = f"{excerpt(f'{server}/{uses[0][1]}')}"
    so_on = " and so on" if len(names) > 1 else ""
    hint = (
        f"if it is the server `{excerpt(server)}`, write `{tool}`{so_on}, and declare it unless settings elsewhere "
        f"do; Copilot skips {'these names' if so_on else 'this name'}"
    )
    return _finding(f"no file of this project declares the server of {_listed(names)}{files}", places, hint)


def _scripts(uses: Sequence[tuple[str, Place]]) -> Diagnostic:
    """The finding about scripts in place of tools."""
    names, places, files = _together(uses)
    listed = _listed(names).partition(" ")[2].partition(" ")[2]
    are = "are files and no tools" if len(names) > 1 else "is a file and no tool"
    comma = "," if files else ""
    hint = "who has to run a script needs `execute`, which runs any command"
    return _finding(
        f"{listed}{files}{comma} {are}, so Copilot skips {'them' if len(names) > 1 else 'it'}", places, hint
    )


def _without_star(server: str, uses: Sequence[tuple[bool, Place]]) -> Diagnostic:
    """The finding about the name of a server that brings its tools in VS Code at most."""
    places = [place for _, place in uses]
    named = f"`{excerpt(server)}`{_in_files(places)}" + ("," if len(places) > 1 else "")
    brings = (
        "the tools of that server in VS Code alone"
        if any(in_editor for in_editor, _ in uses)
        else "no tool of that server"
    )
    message = f"without `/*`, {named} brings {brings}"
    return _finding(message, places, renaming(places[0], server, f"{server}/*", "write `{}`"))


def _together(uses: Iterable[tuple[str, Place]]) -> tuple[list[str], list[Place], str]:
    """The different names, the first place in each file, and how many files there are, as a message has it."""
    names: dict[str, None] = {}
    by_path: dict[str, Place] = {}
    for name, place in uses:
        names.setdefault(name)
        by_path.setdefault(place.document.source.path, place)
    places = [*by_path.values()]
    # Of several names each file may have others.
    files = f", in {len(places)} files" if min(len(names), len(places)) > 1 else _in_files(places)
    return [*names], places, files


def _listed(tools: Sequence[str]) -> str:
    listed = ", ".join(f"`{excerpt(tool)}`" for tool in tools[:MOST])
    more = f" and {len(tools) - MOST} more" if len(tools) > MOST else ""
    return f"the {'tool' if len(tools) == 1 else 'tools'} {listed}{more}"


def _in_files(places: Sequence[Place], where: str = "") -> str:
    return f", which {len(places)} files name{where}" if len(places) > 1 else ""


def _finding(message: str, places: Sequence[Place], hint: str | None) -> Diagnostic:
    related = [Related(place.location, "and here") for place in places[1 : MOST + 1]]
    return finding("LDO250", places[0].location, message, hint=hint, related=related)
