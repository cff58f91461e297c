"""What each format lets one write in place of a tool that it gives, and what is lost by that."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table
from llmdo.extensions.spec import NO_COMMANDS, OTHERS_REFUSED
from llmdo.foreign import refused_options
from llmdo.foreign.commands import is_command
from llmdo.foreign.flows import SERVER
from llmdo.foreign.server_words import own_name
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import UNTRUSTED
from llmdo.reach.risks import SHELL
from llmdo.syntax.document import Place
from llmdo.syntax.frontmatter import late_header

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from llmdo.extensions.spec import ForeignFormat
    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Grant

LONGEST = 70  # characters of a new line that a hint spells out
MANY = 3  # further tools that a hint names
ALL = 20  # rules or places to change that it names, as whoever follows it needs them all
NEXT = "which the next scan names"
"""The rest of a sentence that does not name all of them."""
HEADER = "tools"
"""The key of an agent's own list, which names whole tools."""
REFUSED = "it is then refused"
OTHERS_LOOKED_AT = "a second model then decides about whatever it does not name"
LEFT_TO_OTHERS = (OTHERS_REFUSED, OTHERS_LOOKED_AT)
"""What follows for the rest where a rule names a part of a tool."""
LOOKED_AT = "a second model then decides about each call of it"
ASKED = "a person is then asked each time"
ASKED_BUT_TO_READ = f"{ASKED}, except for commands that only read"
_REFUSED_BY_JOBS = ", while jobs refuse it"
ALSO = ", also in other agents without a rule about it"
NO_SUCH_COMMAND = "it then runs no such command"
NO_HOST = "its commands then reach no host"
CONFINED = "its commands then reach no host, and change only the project and temporary files"
_NO_NETWORK = ("network_access = false", NO_HOST)
"""The setting of Codex that keeps its commands off the network, and what is lost by it."""
SEARCH = "websearch"
"""The tool of opencode that only some models bring."""
_OF_OPENCODE = frozenset({"bash", "webfetch", SEARCH})
"""Its own tools that bring a stranger's words or send."""
_OF_GIT = re.compile(r"(?:Bash|run_shell_command)\(git\b")
"""A rule about a program of which some commands run no other."""
_TOOL = re.compile(r"\w+(?:\([^()]*\))?(?: \w+)*|(?i:agent/(?:runSubagent|\*))|custom-agent")
"""An item of a list that is the name of a tool of a client itself, or of several with blanks between them."""
_UNDER_PERMISSION = re.compile(
    r"write `(?:\"|permission).*(?:\}`(?: between two lines `---`.*| in its header, .*)?| under `permission`)"
)
"""A change that writes a line about a tool into `permission`, or the whole key, in a new header perhaps."""
_COMMA = re.compile(r",(?![^(]*\))")
"""A comma between two tools, not within what one is allowed for."""
_CALLS = frozenset(
    {"agent", "agent/*", "agent/runsubagent", "custom-agent", "runsubagent", "task", "workflow"}
)
"""The names in lower case of the tool that calls agents: both of Claude Code, and those of Copilot in each place."""
_PLAIN = re.compile(r"[A-Za-z][\w./-]*(?:/\*|\((?:[^(),\[\]{}\"'#:]|:(?! ))*\))?")
"""An item of a list that YAML takes as it is."""
_BEFORE_TOOLS = ("/", "__")
"""What is between a server and its tool in an item of a list."""
_SEARCH_OF_CODEX = "web_search"
_FETCH = "WebFetch"
_FLAG = re.compile(r"--[a-z-]+")
_BY_KEY = {
    "approvals_reviewer": ('approvals_reviewer = "user"', ASKED),
    "default_permissions": ('default_permissions = ":workspace"', CONFINED),
    "sandbox": ("sandbox: workspace-write", CONFINED),
    "sandbox_mode": ('sandbox_mode = "workspace-write"', CONFINED),
}
"""The settings of Codex, and an input of its action, that let commands out of its sandbox."""
CODEX_BYPASSES = frozenset({"--dangerously-bypass-approvals-and-sandbox", "--yolo"})
"""The flags that switch the sandbox of Codex off, whatever others say."""
_FREE = frozenset({":danger-full-access", ":danger-no-sandbox", "danger-full-access"})
_INPUTS = ("codex-args", "codex_args", "sandbox")
"""The inputs of its action that may switch its sandbox off."""
_UNASKED_LISTS = ("allowedTools", "allowed-tools")
"""The keys of lists of tools about which nobody is asked; each agent has others as well."""


class Instead(NamedTuple):
    """A change of one line."""

    change: str
    lost: str
    """Empty if it is what is lost without the tool."""
    at: Place | None = None
    """The place of the change; None if it is that of what gives the tool."""


def instead_of(spec: ForeignFormat, given: Grant, at: Place, *, is_way: bool) -> Instead | None:
    """The line to write in place of what gives a tool; None if a format has none, or the line stands in a list.

    Before a way out a question is enough.
    """
    key = next((step for step in reversed(at.route) if isinstance(step, str)), "")
    marks_codex = _marked(at).startswith("codex") or _marked(at) in CODEX_BYPASSES
    in_a_workflow = spec.runs_others and (key in _INPUTS or marks_codex)
    is_of_codex = given.toolset.endswith("shell") or given.tool == _SEARCH_OF_CODEX
    if is_of_codex and (spec.has_sandbox or in_a_workflow):
        return _of_codex(given, at)
    if given.rule_at and key in _UNASKED_LISTS:
        rules = _rules_of(given) or f"`{excerpt(_marked(at) or given.tool, LONGEST)}`"
        taken = ", and ".join((f"{rules} out of `{key}`", *given.unasked_also))
        return Instead(f"take {taken}", given.loss if ASKED in given.loss else ASKED)
    if given.rule_at == at and given.unasked_by:
        if spec.switches_tools:
            whole = _of_opencode(given, at, "ask") if len(given.unasked_by) > ALL else None
            return whole or Instead(f'write `"ask"` for {_rules_of(given)}', given.loss)
        lists = ".".join(step for step in at.route if isinstance(step, str))
        also = f", also in {', '.join(f'`{each}`' for each in given.unasked_in)}" if given.unasked_in else ""
        first = f"{_rules_of(given)} out of `{lists}`{also}"
        return Instead(f"take {', and '.join((first, *given.unasked_also))}", given.loss)
    if spec.unasked and (instead := _of_unasked(spec, given, at)):
        return instead
    if spec.switches_tools:
        return _of_opencode(given, at, "ask" if is_way else "deny")
    tool = given.tool.partition("(")[0]
    if setting := _in_settings(spec, given, at):
        return setting
    if spec.runs_others and "permission" in at.route:  # of opencode, where a question is a refusal
        part = f'write `"deny"` for `{excerpt(str(at.route[-1]))}`'
        return _of_opencode(given, at, "deny") if tool == given.tool else Instead(part, "")
    if given.refusal and tool not in _marked(at) and not _FLAG.fullmatch(_marked(at)):
        return Instead(f"write {given.refusal}", "")
    written = spec.listed.get(given.tool if given.tool in ("shell", "unsandboxed shell") else tool)
    brings = tool == _FETCH and not is_way  # as the pages of a host do as well
    if written is None or brings or ("(" in given.tool and not _OF_GIT.match(given.tool)):
        return None
    name = f"`{name_at(given, at)}`"
    lost = OTHERS_LOOKED_AT if given.is_looked_at else written[1]
    if _FLAG.fullmatch(marked := _marked(at)):
        return Instead(f'write `--allowedTools "{written[0]}"` in place of `{marked}`', lost)
    mark = refused_options.mark_at(at)
    return Instead(f"write `{mark}{written[0]}{mark}` or the like in place of {name}", lost)


def _in_settings(spec: ForeignFormat, given: Grant, at: Place) -> Instead | None:
    """The line of a format's settings that takes a tool away."""
    if spec.disables_servers and given.server:
        return Instead(f'write `"disabled": true` for `{excerpt(given.tool)}`', "", given.at)
    if spec.excludes and is_json(at) and at.location.span is None:
        return Instead(f"write `{given.tool.partition('(')[0]}` into `{spec.excludes}`", "")
    return None


def _of_unasked(spec: ForeignFormat, given: Grant, at: Place) -> Instead | None:
    """The change of a setting or a hook that lets tools go unasked; None if neither gives the tool."""
    setting = next((each for each in spec.unasked if at.route[: len(each)] == each), None)
    if setting is not None:
        return Instead(f"write `{spec.unasked[setting]}`", ASKED)
    return Instead("take this hook out", ASKED) if given.rule_at == at and "hooks" in at.route else None


def _rules_of(given: Grant) -> str:
    """The rules that allow a tool, as a sentence has them."""
    names = [f"`{excerpt(each, LONGEST)}`" for each in given.unasked_by[:ALL]]
    more = f" and {len(given.unasked_by) - ALL} more, {NEXT}," if len(given.unasked_by) > ALL else ""
    return f"{', '.join(names)}{more}"


def few_tools(spec: ForeignFormat, at: Place) -> str:
    """The line that gives an agent of a format the tools that only read, as the file at a place has it; empty if none.

    A header may be one that its client repairs.
    """
    if spec.few_in_block and is_repaired(at):
        return spec.few_in_block
    return (spec.few_in_json if is_json(at) else "") or spec.few_tools


def is_repaired(at: Place) -> bool:
    """Whether the header at a place is no YAML: opencode then takes each value with a colon in its line for a text."""
    return bool(at.document.problems) and not is_json(at)


def runs_commands(given: Grant) -> bool:
    """Whether a tool runs commands."""
    return any(Capability("proc.exec").covers_name(each.name) for each in given.capabilities)


def loss_of(given: Grant) -> str:
    """What an agent can no longer do without a tool: what it may do by others as well is lost by that tool alone."""
    names = {each.name for each in given.capabilities}
    if SHELL in names and not given.server:
        return NO_SUCH_COMMAND if "(" in given.tool else NO_COMMANDS
    if any(name.startswith("x.github.") for name in names):
        return "it then does nothing on `github.com` by that"
    if given.server or SERVER in names:
        is_whole = given.at.of_key or not own_name(given.toolset, given.tool).strip("*")
        return (
            f"it then has no {'tools of ' * is_whole}`{excerpt(given.toolset if is_whole else given.tool)}`"
        )
    if is_command(given.tool):
        return NO_SUCH_COMMAND
    hosts = {each.scope for each in given.capabilities if Capability("net").covers_name(each.name)}
    if hosts and UNTRUSTED in names:
        return f"it then {'finds' if 'search' in given.tool.lower() else 'fetches'} no pages by that"
    if hosts:
        where = ", ".join(f"`{excerpt(each)}`" for each in sorted(filter(None, hosts)))
        return f"it then sends nothing to {'other hosts' if None in hosts else where} by that"
    return f"it then has no `{excerpt(given.tool)}`"


def list_without(at: Place, *tools: str) -> str | None:
    """An agent's own list without tools, as its file has it; None if it is no list of names, or too long."""
    keys = [step for step in at.route if isinstance(step, str)]
    if keys[:1] != [HEADER] and keys[1:2] != [HEADER]:
        return None
    data = at._replace(route=tuple(keys)).data
    is_text, items = isinstance(data, str), _items(data)
    if items is None:
        return None
    parts = tuple(f"{tool}{end}" for tool in tools for end in "(/")
    left = [item for item in items if item not in tools and not item.startswith(parts)]
    if not left or len(left) == len(items):
        return None
    names = ", ".join(left if is_text else [_spelt(each, at) for each in left])
    key = f'"{keys[-1]}"' if is_json(at) else keys[-1]
    line = f"{key}: {names if is_text else f'[{names}]'}"
    return line if len(line) <= LONGEST and "`" not in line else None


def out_of_list(given: Grant, at: Place) -> str | None:
    """The change that takes a tool out of the agent's own list at a place, and of what else in its file gives it."""
    if given.removal and at == given.at:
        return given.removal
    left = list_without(at, given.tool)
    return f"write `{left}`, without `{excerpt(given.tool)}`" if left else None


def is_whole_list(at: Place, tools: Sequence[str]) -> bool:
    """Whether the list in an agent's header, of which a place is an item, names nothing but these tools."""
    return at.route[:1] == (HEADER,) and not {*(_items(at._replace(route=(HEADER,)).data) or ("",))} - {
        *tools
    }


def entries_of(given: Grant, at: Place) -> str:
    """A tool as the list at a place has it: of a server also by the names of its tools."""
    is_item = bool(at.route) and isinstance(at.route[-1], int)
    data = at._replace(route=at.route[:-1]).data if is_item else at.data
    starts = tuple(f"{given.tool}{end}".casefold() for end in _BEFORE_TOOLS)
    items = [*dict.fromkeys(_items(data) or ())] if given.server or given.toolset == given.tool else []
    own = [each for each in items if each.casefold().startswith(starts)]
    if not own or given.tool in items:
        return f"`{name_at(given, at)}`"
    if len(own) == 1:
        return f"`{excerpt(own[0], LONGEST)}`"
    start = own[0][: len(given.tool)]
    between = next(each for each in _BEFORE_TOOLS if own[0][len(given.tool) :].startswith(each))
    return f"the {len(own)} entries `{excerpt(start)}{between}…`"


def _spelt(name: str, at: Place) -> str:
    """A name as an item of a list in the file at a place."""
    return name if _PLAIN.fullmatch(name) and not is_json(at) else json.dumps(name, ensure_ascii=False)


def _of_opencode(given: Grant, at: Place, word: str) -> Instead | None:
    """The line that denies a tool, or has a person asked; None for a tool of a server or of code."""
    *above, key = [step for step in at.route if isinstance(step, str)] or [""]
    if above[-1:] == [HEADER]:  # a list that only switches tools on and off
        name = given.tool if key == "*" else key
        quote = "" if name.isidentifier() and not is_json(at) else '"'
        switches = at._replace(route=at.route[:-1]).data
        own = f", in place of `{name}`" if isinstance(switches, dict) and name in switches else ""
        # The last that matches decides, so a line above `"*"` would do nothing.
        where = f" at the end of `{HEADER}`{own}" if key == "*" else ""
        return Instead(f"write `{quote}{name}{quote}: false`{where}", "", at._replace(of_key=True))
    if given.server or given.tool not in _OF_OPENCODE:
        return None
    line, lost = f'"{given.tool}": "{word}"', ASKED if word == "ask" else ""
    if is_unwritten(at):
        return Instead(f'write `{{"permission": {{{line}}}}}` into `opencode.json`', lost)
    instead = in_permission(at, permission_of(at), given.tool, word)
    return instead._replace(lost=f"{lost}{instead.lost}")


def permission_of(at: Place) -> Place:
    """The place of `permission` of opencode, there or not, in the table that a rule or an agent's place is in."""
    if "permission" in at.route:
        return Place(at.document, at.route[: at.route.index("permission") + 1])
    is_table = isinstance(at.data, dict) and (not at.route or (_is_of_agent(at) and len(at.route) == 2))
    return Place(at.document, (*(at.route if is_table else at.route[:-1]), "permission"))


def in_permission(at: Place, permission: Place, tool: str, word: str) -> Instead:
    """The line about a tool in `permission` of opencode, where the last that matches decides; `at` if none is there."""
    rules, line = permission.data, f'"{tool}": "{word}"'
    key = '"permission"' if is_json(permission) else "permission"
    if not isinstance(rules, dict) and is_repaired(permission):
        lines = ([f'`  "*": {rules}`'] if isinstance(rules, str) else []) + [f"`  {tool}: {word}`"]
        return Instead(f"write `{key}:` and below it {', '.join(lines)}", "", at)
    if isinstance(rules, str):
        return Instead(f'write `{key}: {{"*": "{rules}", {line}}}`', "", permission._replace(of_key=True))
    if not isinstance(rules, dict):
        return Instead(f"write `{key}: {{{line}}}`{in_a_header(at)}", "", at)
    last = [name for name in rules if fnmatchcase(tool, name)][-1:]
    if not last:
        return Instead(f"write `{line}` under `permission`", "", permission._replace(of_key=True))
    own = f" in place of `{tool}`" if tool in rules else ""
    parts: Mapping[str, object] = table(rules, tool) if word == "ask" else {}
    denied = _denied_in(parts)
    lost = f"; what it denies ({_several(denied)}) is then a question" if denied else ""
    switches = permission._replace(route=(*permission.route[:-1], HEADER)).data
    if isinstance(switches, dict) and tool in switches and [*rules] != [tool]:
        # opencode puts the rules of `tools` first, and a rule about the same tool in their place.
        change = f"take `{tool}` out of `{HEADER}`, and write `{line}` at the end of `permission`{',' * bool(own)}{own}"
        return Instead(change, lost, permission._replace(of_key=True))
    if last == [tool] and denied and [each for each in parts if parts[each] == "allow"] == ["*"]:
        whole = permission._replace(route=(*permission.route, tool, "*"), of_key=True)
        return Instead(f'write `"*": "{word}"` in place of `*`', "", whole)
    where = own if last == [tool] else f" at the end of `permission`{',' * bool(own)}{own}"
    like = " or the like" if word == "ask" and last != ["*"] else ""
    ruled = permission._replace(route=(*permission.route, *last), of_key=True)
    return Instead(f"write `{line}`{like}{where}", lost if last == [tool] else "", ruled)


def _denied_in(parts: Mapping[str, object]) -> list[str]:
    """The parts of a tool that a table of opencode denies: not those before `*`, which decides about them."""
    names = [*parts]
    return [each for each in names[names.index("*") if "*" in parts else 0 :] if parts[each] == "deny"]


def _several(names: Sequence[str]) -> str:
    """The first names of several, as a sentence has them."""
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return f"{', '.join(f'`{excerpt(each)}`' for each in names[:MANY])}{more}"


def elsewhere(at: Place) -> str:
    """The rest of a sentence about what is lost by a line of opencode's settings for all agents; empty for others."""
    return ALSO if (is_json(at) and not _is_of_agent(at)) or is_unwritten(at) else ""


def also_lost(project: Foreign, at: Place, lost: str) -> str:
    """The rest of a sentence about who else loses a tool by a line of settings: jobs too, in which nobody is asked."""
    also, path = elsewhere(at), at.location.path
    if not also or not lost.startswith(ASKED):
        return also
    jobs = (each for each in project.team.agents if project.spec_of(each).runs_others)
    heeds = any(
        given.at.location.path == path or f"`{path}`" in (given.narrower or "")
        for each in jobs
        for given in each.grants
    )
    return f"{also}{_REFUSED_BY_JOBS}" if heeds else also


def is_unwritten(at: Place) -> bool:
    """Whether a place is that of settings for all agents which are in no file yet."""
    return at.location.span is None and not at.location.path.endswith(".md")


def _is_of_agent(at: Place) -> bool:
    """Whether a place is in the table of one agent in settings of opencode."""
    return len(at.route) > 1 and at.route[0] in ("agent", "agents", "mode")


def is_under_permission(change: str) -> bool:
    """Whether a change writes a line into `permission` of opencode, which has none about its tool."""
    return _UNDER_PERMISSION.fullmatch(change) is not None


def in_a_header(at: Place) -> str:
    """The rest of a sentence about a line for a file in Markdown that has no header yet; else empty."""
    source = at.document.source
    if not source.path.endswith(".md"):
        return ""
    if late := late_header(source):
        where = "with `---` as its first line" if late.is_misspelt else "moved up to the start of the file"
        where = "without the first line and the last one of the file" if late.is_wrapped else where
        where = "with a line `---` above its first line" if late.is_unopened else where
        return f" in its header, {where}"
    if source.text.startswith("---"):
        return ""
    return " between two lines `---` at the start of the file"


def item_at(at: Place) -> str | None:
    """The item of an agent's own list of tools that is at a place."""
    span = at.location.span
    if span is None or HEADER not in at.route[:2]:
        return None
    marked = _marked(at)
    return marked if _TOOL.fullmatch(marked) else None


def calls_in(at: Place, tool: str, calls_by: Collection[str] = ()) -> tuple[str, ...]:
    """The items of the list around a place by which an agent calls others, all of which have to go together.

    `calls_by` are such tools of this agent, beside those that call wherever they are.
    """

    def is_call(item: str) -> bool:
        return _is_call(item) or item.partition("(")[0].strip() in calls_by

    data = at._replace(route=tuple(step for step in at.route if isinstance(step, str))).data
    items = _items(data) or ()
    if is_call(tool):
        return tuple(dict.fromkeys(filter(is_call, items))) or (tool,)
    return tuple(each for each in items if each.partition("(")[0] == tool.partition("(")[0]) or (tool,)


def call_in(items: Iterable[object]) -> int | None:
    """The number of the first item by which an agent calls others; None if it has none."""
    calls = (number for number, each in enumerate(items) if isinstance(each, str) and _is_call(each.strip()))
    return next(calls, None)


def _is_call(item: str) -> bool:
    return any(word in _CALLS for word in item.partition("(")[0].casefold().split())


def _items(data: object) -> list[str] | None:
    """The names of a list, or of one in a text; None if it is no list of names."""
    items = _COMMA.split(data) if isinstance(data, str) else data
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return None
    return [str(item).strip() for item in items]


def name_at(given: Grant, at: Place) -> str:
    """The name of a tool as the line at a place has it, with what it is allowed for."""
    marked = _marked(at)
    is_rule = marked.partition("(")[:2] == (given.tool.partition("(")[0], "(") and marked.endswith(")")
    is_alias = "(" not in given.tool and not given.server and item_at(at) == marked
    return excerpt(marked if is_rule or is_alias else given.tool, LONGEST)


def without_rule(given: Grant, at: Place, otherwise: str) -> tuple[str, Place]:
    """The change, with its place, for a rule of which no format says how it asks.

    The tool leaves the agent's own list, in which each may need a line of its own; an empty one may give every tool.
    """
    own = given.at
    if not own.route or not isinstance(own.route[-1], int):
        return otherwise, at
    others = own._replace(route=own.route[:-1]).data
    if not isinstance(others, list) or len(others) < 2:
        return otherwise, at
    return f"take `{name_at(given, own)}` out of {key_around(own)}", own


def is_listed(at: Place, tool: str) -> bool:
    """Whether a tool is an item of the value at a place, or of a value around it."""
    return at.of_key or any(isinstance(step, int) for step in at.route) or tool in str(at.data)


def key_around(at: Place) -> str:
    """The key of the table or list around a place; empty at the top of a file, and in a script."""
    route = [*at.route]
    items = [number for number, step in enumerate(route) if isinstance(step, int)]
    route = route[: items[-1]] if items else route[:-1] if at.of_key else route
    return f"`{'.'.join(map(str, route))}`" if route and at.document.data else ""


def is_json(at: Place) -> bool:
    """Whether a place is in a file of JSON."""
    return at.location.path.endswith((".json", ".jsonc"))


def _of_codex(given: Grant, at: Place) -> Instead | None:
    """The change that keeps commands of Codex in its sandbox, has a person asked about them, or ends its search."""
    if given.tool == _SEARCH_OF_CODEX:
        is_set = at.route == (_SEARCH_OF_CODEX,)
        return Instead(f'write `{_SEARCH_OF_CODEX} = "disabled"`', "") if is_set else None
    rules = f"{'rules' if len(given.unasked_by) > 1 else 'rule'} for {_rules_of(given)}"
    if at.location.path.endswith(".rules"):
        names_none = "" if "decision" in table(at.data) else ", which names none and so allows"
        which = f"the {rules}" if len(given.unasked_by) > 1 else f"this rule{names_none}"
        return Instead(f'write `decision = "prompt"` into {which}', ASKED)
    instead = _of_sandbox(given, at)
    if not given.unasked_by:
        return instead
    return Instead(f'{instead.change}, and `decision = "prompt"` into the {rules}', instead.lost)


def _of_sandbox(given: Grant, at: Place) -> Instead:
    """The line of the settings of Codex that keeps its commands in the sandbox, or has a person asked about them."""
    key = next((step for step in reversed(at.route) if isinstance(step, str)), "")
    is_confined = _marked(at) not in _FREE  # then it is the network that the sandbox lets through
    if key in ("network_access", "sandbox_mode") and is_confined and given.tool == "shell":
        return Instead(f"write `{_NO_NETWORK[0]}`", _NO_NETWORK[1])
    if (flag := _marked(at)) in CODEX_BYPASSES:
        return Instead(f"write `--sandbox workspace-write` in place of `{flag}`", CONFINED)
    if key in _BY_KEY:
        return Instead(f"write `{_BY_KEY[key][0]}`", _BY_KEY[key][1])
    if at.document.data and key not in _INPUTS:
        return Instead('write `sandbox_mode = "workspace-write"`', CONFINED)
    return Instead("have Codex run with `--sandbox workspace-write`", CONFINED)


def _marked(at: Place) -> str:
    span = at.location.span
    return at.document.source.marked(span).strip("\"'") if span else ""
