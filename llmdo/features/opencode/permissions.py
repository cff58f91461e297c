"""The permissions of opencode: of the rules that match, the last one decides."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table
from llmdo.base.values import replace
from llmdo.features.opencode.patterns import instead, is_about, joint, may_be_text, undecided, where
from llmdo.features.opencode.table import SEARCH, SEARCHING_MODELS, TABLE
from llmdo.foreign import reading, servers
from llmdo.foreign.commands import by_arithmetic, options_of, with_option
from llmdo.foreign.files import COUNTS, renaming, surplus
from llmdo.foreign.instead import ASKED
from llmdo.foreign.lines import WRITES_THERE
from llmdo.foreign.meaning import surely_meant
from llmdo.foreign.permissions import LAST, WORDS, PermissionRule, PermissionRuling, RuleTable, part
from llmdo.policy.authority import STRICTNESS
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.lines import Line
    from llmdo.foreign.team import Grant
    from llmdo.graph.described import Server
    from llmdo.policy.authority import Capability

    Decided = dict[str, dict[str, PermissionRule] | PermissionRule]

_LINES = {line.tool: line for line in TABLE}
OLD_NAMES = {"write": "edit", "patch": "edit", "multiedit": "edit", "ls": "list"}
_BY_MEANING = {
    "command": "bash", "edit": "edit", "fetch": "webfetch", "find": "glob", "grep": "grep", "list": "list",
    "read": "read", "search": "websearch", "write": "edit",
}  # fmt: skip
"""The keys of `permission` by what their tools do."""
_MODEL = re.compile(r"[\w.@-]+/[^{}$]+")
"""A model by its provider and its name, not by a variable."""
_MOST_RULES = 300
"""Rules of one agent that are compared with each other: nobody writes more."""
TASK = "task"
"""The tool that calls other agents."""
COMMANDS = "bash"
"""The tool that runs commands."""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern with `*` and `?` is about this text."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def glob(pattern: str) -> str:
    """A pattern of commands with `*` alone, which stands for at least as many: `?` is any one character here."""
    return pattern.replace("?", "*")


def _part(capability: Capability, pattern: str) -> Capability:
    """The part for a pattern: of commands all, as soon as a word is free, for bash works it out.

    It runs `id` for `echo ${a:='x[$(id)]'} ${HOME:a}`, and a rule about `echo *` lets that through (watched with
    1.18.33): its syntax has no command in a text in single quotes.
    """
    if capability == UNLISTED:
        return UNLISTED if "*" in pattern else part(capability, glob(pattern))
    return part(capability, pattern)


RULES = RuleTable(
    order=LAST,
    part=_part,
    globs=lambda pattern: (glob(pattern),),
    names=lambda rule, tool: matches(rule.tool, tool),
    whole=lambda rule, _tool: rule.pattern in ("*", "**"),
)


def about_call(rules: Iterable[PermissionRule], name: str) -> PermissionRule | None:
    """The rule that decides whether an agent with these rules calls another one; None if it may for lack of any."""
    return RULES.decided(rule for rule in RULES.about(rules, TASK) if matches(rule.pattern or "", name))


def rules_of(files: Files, *tables: Place) -> Iterator[PermissionRule]:
    """The rules in `permission` of tables, the uppermost last, and in their older `tools`.

    They are merged as opencode does: a tool keeps the place that the lowest table gave it, and `tools` are below.
    """
    levels = [*(_tools(each) for each in tables), *(_permission(files, each) for each in tables)]
    yield from _in_order(files, levels)


def rules_of_agent(files: Files, tables: Iterable[Place]) -> Iterator[PermissionRule]:
    """The rules of an agent in tables, the uppermost last, each of which is of its `tools` and its `permission`."""
    yield from _in_order(files, [each for at in tables for each in (_tools(at), _permission(files, at))])


def _in_order(files: Files, levels: Iterable[Decided]) -> Iterator[PermissionRule]:
    merged: Decided = {}
    for level in levels:
        for name, decided in level.items():
            below = merged.get(name)
            if isinstance(below, dict) and isinstance(decided, dict):
                merged[name] = {**below, **decided}
            else:
                _note_replaced(files, name, below, decided)
                merged[name] = decided
    for decided in merged.values():
        yield from _in_force(files, decided) if isinstance(decided, dict) else [decided]


def _note_replaced(
    files: Files,
    name: str,
    below: Mapping[str, PermissionRule] | PermissionRule | None,
    above: Mapping[str, PermissionRule] | PermissionRule,
) -> None:
    """Notes a table that a word above it replaces, and a word that a table replaces which is silent about the rest.

    opencode merges tables with tables alone. What it allows without a rule may go unsaid.
    """
    hint = "take one of the two out"
    if isinstance(above, PermissionRule):
        path, what = above.origin, "this table"
        rules = below.values() if isinstance(below, dict) else ()
        keys = [rule.at._replace(route=rule.at.route[:-1], of_key=True) for rule in rules]
    elif isinstance(below, PermissionRule) and above and "*" not in above:
        path, what = next(iter(above.values())).origin, "this word"
        is_strict = below.decision != "allowed" and isinstance(below.at.data, str)
        keys = [below.at._replace(of_key=True)] if is_strict else []
        hint = f'write `"*": "{below.at.data}"` before the rules there, or take this out'
    else:
        return
    for key in {each.location: each for each in keys}.values():
        files.note("LDO151", key, f"`{path}` sets `{excerpt(name)}`, so {what} does nothing", hint)


def _in_force(files: Files, decided: Mapping[str, PermissionRule]) -> Iterator[PermissionRule]:
    """The rules of a table that do anything; notes the others."""
    of_commands = {pattern for pattern, rule in decided.items() if rule.tool == COMMANDS}
    idle = {pattern: name for pattern in of_commands if (name := undecided(pattern))}
    joined = {pattern for pattern in of_commands if joint(pattern)}
    apart = {*joined, *idle}
    _note_overruled(files, {pattern: rule for pattern, rule in decided.items() if pattern not in apart})
    for pattern, rule in decided.items():
        if pattern in idle:
            _note_undecided(files, rule, idle[pattern])
            continue
        if pattern in joined:
            _note_joined(files, rule, decided)
        if pattern not in joined or may_be_text(pattern):
            yield rule


def _note_undecided(files: Files, rule: PermissionRule, name: str) -> None:
    """Notes a rule that holds back a command which only changes the folder; one that allows it changes nothing."""
    if rule.decision != "allowed":
        message = f"opencode runs `{name}` whatever a rule about it says, so this one does nothing"
        hint = "`external_directory` decides about folders outside of the project"
        files.note("LDO151", rule.at._replace(of_key=True), message, hint)


def _note_joined(files: Files, rule: PermissionRule, decided: Mapping[str, PermissionRule]) -> None:
    """Notes a rule for several commands."""
    pattern = rule.pattern or ""
    sign = joint(pattern)
    name = excerpt(pattern)
    does = f"the rule `{name}` with `{sign}` between two does nothing"
    if may_be_text(pattern):
        does = f"the rule `{name}` only matches one that has `{sign}` in its text ({where(sign)})"
    hint = instead(pattern, rule.decision, {each: other.decision for each, other in decided.items()})
    message = f"opencode decides about each command by itself, so {does}"
    files.note("LDO151", rule.at._replace(of_key=True), message, hint)


def _note_overruled(files: Files, decided: Mapping[str, PermissionRule]) -> None:
    """Notes the rules about parts of a tool behind which one about all of it decides otherwise."""
    rules = [*decided.values()]
    whole = decided.get("*")
    for pattern, rule in [*decided.items()][: rules.index(whole)] if whole else ():
        if whole and rule.decision != whole.decision:
            message = f"the rule `{excerpt(pattern)}` does nothing, as the rule about `*` behind it decides"
            hint = "the last rule that matches counts: write `*` before the others"
            files.note("LDO151", rule.at._replace(of_key=True), message, hint)


def _tools(at: Place) -> Decided:
    rules: Decided = {}
    for name, value in table(at.data, "tools").items():
        if isinstance(value, bool):
            tool, decision = OLD_NAMES.get(name, name), WORDS["allow" if value else "deny"]
            rules[tool] = PermissionRule(tool, "*", decision, _within(at, "tools", name))
    return rules


def _permission(files: Files, at: Place) -> Decided:
    permission = table(at.data).get("permission")
    if isinstance(permission, str):
        return {each.tool: each for each in _rule(files, "*", "*", _within(at, "permission"))}
    rules: Decided = {}
    for name, value in table(permission).items():
        key = _within(at, "permission", name, of_key=True)
        if name in OLD_NAMES:
            files.unknown_key(key, name, _LINES, _renamed(key, name, table(permission)))
        elif not set(name) & set("*?_") and reading.misspelt(name, _LINES):
            files.unknown_key(key, name, _LINES)
        if isinstance(value, dict):
            rules[name] = {
                pattern: each
                for pattern in value
                for each in _rule(files, name, pattern, _within(at, "permission", name, pattern))
            }
        else:
            rules.update((name, each) for each in _rule(files, name, "*", _within(at, "permission", name)))
    return rules


def _renamed(
    key: Place, name: str, permission: Collection[str], words: str = "it is called `{}` here"
) -> str | None:
    """The hint about a name in `permission` that is not today's, of which the first of several alike is renamed."""
    now = _meant(name)
    first = next(each for each in permission if each not in _LINES and _meant(each) == now)
    if now and now not in permission and first != name:
        return f"take this out: `{first}` is to be called `{now}` as well"
    return renaming(key, name, now, words, COUNTS)


def _meant(name: str) -> str | None:
    """The tool of opencode that a name means: its own, an older one, or that of another client."""
    return name if name in _LINES else OLD_NAMES.get(name) or surely_meant(name, (), _BY_MEANING)


def note_of_others(
    files: Files, tables: Iterable[Place], known: Collection[str], has: Callable[[str], bool]
) -> None:
    """Notes the tools of other clients in `tools` and `permission` of tables, and the names of servers alone.

    `has`: whether there may be such a tool, of a server or in code.
    """
    for at in tables:
        for header in ("tools", "permission"):
            listed = table(at.data, header)
            for name in listed:
                if name in known and name not in _LINES and name not in OLD_NAMES and not has(name):
                    _note_server(files, _within(at, header, name, of_key=True), name)
                    continue
                if name in _LINES or name in OLD_NAMES or not _meant(name) or has(name):
                    continue
                key = _within(at, header, name, of_key=True)
                alike = (each for each in listed if each in OLD_NAMES and OLD_NAMES[each] == _meant(name))
                older = next(alike, None) if header == "tools" else None
                hint = surplus(older) if older else _renamed(key, name, listed, "did you mean `{}`?")
                message = f"opencode does not know the tool `{excerpt(name)}`, so this does nothing"
                files.note("LDO151", key, message, hint)


def _note_server(files: Files, key: Place, name: str) -> None:
    """Notes the name of a server that stands for its tools, none of which it matches."""
    message = (
        f"the tools of the server `{excerpt(name)}` are called `{excerpt(name)}_...`, so this is about none"
    )
    files.note("LDO151", key, message, renaming(key, name, f"{name}_*", counts=COUNTS))


def _rule(files: Files, tool: str, pattern: str, at: Place) -> Iterator[PermissionRule]:
    word = at.data
    if not isinstance(word, str) or word not in WORDS:
        files.unknown_key(at, str(word), WORDS)
    else:
        yield PermissionRule(tool, pattern, WORDS[word], at)


def _within(at: Place, *route: str, of_key: bool = False) -> Place:
    return Place(at.document, (*at.route, *route), of_key)


def grants_by(
    rules: Sequence[PermissionRule],
    at: Place,
    known: Mapping[str, tuple[Server, Place]],
    toolset: str | None,
    model: str,
) -> Iterator[Grant]:
    """The grants of an agent under these rules: the tools of opencode, as of `toolset`, and those of servers."""
    for line in TABLE:
        if line.tool.islower():
            for grant in _grants(line, rules, at, toolset):
                yield from as_with(model, grant)
    yield from of_servers(rules, known)


def of_servers(rules: Sequence[PermissionRule], known: Mapping[str, tuple[Server, Place]]) -> Iterator[Grant]:
    """The grants of servers under these rules: each as a whole, and its tools that are milder."""
    for server, (reached, declared_at) in known.items():
        whole = [*_grants(servers.line(f"{server}_*", reached, "allowed"), rules, declared_at)]
        yield from (replace(grant, toolset=server, tool=server, server=reached) for grant in whole)
        for name in _named(server, rules):
            for grant in _grants(servers.line(name, reached, "allowed"), rules, declared_at):
                if STRICTNESS[grant.decision] < STRICTNESS[whole[0].decision]:
                    yield replace(grant, toolset=server, server=reached)


def as_with(model: str, given: Grant) -> Iterator[Grant]:
    """A tool as opencode has it with a model, empty for an unknown one; none if it lacks the tool."""
    has = searches(model) if given.tool == SEARCH else True
    if has is not False:
        yield replace(given, may_lack=has is None)


def searches(model: str) -> bool | None:
    """Whether a model comes with a search; None if its name is not known, or stands elsewhere."""
    if model.startswith(SEARCHING_MODELS):
        return True
    return False if _MODEL.fullmatch(model) else None


def _named(server: str, rules: Iterable[PermissionRule]) -> Iterator[str]:
    """The tools of a server that rules are about, as far as their names say."""
    prefix = f"{server}_"
    for pattern in dict.fromkeys(rule.tool for rule in rules):
        name = pattern if pattern.startswith(prefix) else prefix + pattern.lstrip("*")
        if matches(pattern, name) and name != prefix and not set(name) & set("*?"):
            yield name


def _grants(
    line: Line, rules: Sequence[PermissionRule], at: Place, toolset: str | None = None
) -> Iterator[Grant]:
    """The decisions about one tool: about all of it, and about milder parts."""
    if not line.capabilities or line.tool == TASK:
        return
    whole, *parts = RULES.rulings(rules, line.tool, line.raised, line.decision)
    # Of rules alike the first is named: a program that runs others says more than words in a command.
    rulings = [whole, *sorted(parts, key=lambda each: bool(unseen_words(each)))]
    for ruling in rulings:
        origin = "permission" if ruling.rule else "opencode, where no rule says anything"
        alike = [each.rule for each in rulings[1:] if each.rule and _is_alike(each, ruling)]
        # A rule about all tools gives no server: its declaration does, and without the rule opencode allows it too.
        is_own = ruling.rule is not None and (line in TABLE or ruling.rule.tool != "*")
        given_at = ruling.rule.at if ruling.rule and is_own else at
        grant = ruling.grant(line, given_at, origin, toolset=toolset)
        yield replace(
            grant,
            rule_at=grant.rule_at if is_own or ruling.decision != "allowed" else None,
            held_options=tuple(_held_options(rules, ruling)),
            words=unseen_words(ruling),
            unasked_by=tuple(rule.pattern or "" for rule in alike) if ruling is not rulings[0] else (),
            loss=ASKED if alike else "",
        )


def unseen_words(ruling: PermissionRuling) -> str:
    """The words by which the commands that a rule allows run any other; empty if their program does that."""
    pattern = ruling.rule.pattern if ruling.rule and UNLISTED in ruling.capabilities else None
    return by_arithmetic(glob(pattern)) if pattern and not matches(pattern, "") else ""


def _held_options(rules: Sequence[PermissionRule], ruling: PermissionRuling) -> Iterator[str]:
    """The options by which the commands that a rule allows would run any other, and about which another one decides."""
    if ruling.rule is None or UNLISTED not in ruling.capabilities or len(rules) > _MOST_RULES:
        return
    pattern = ruling.rule.pattern or ""
    about = RULES.about(rules, ruling.rule.tool)
    for option in options_of(pattern):
        deciding = (
            next((each for each in reversed(about) if is_about(each.pattern or "", example)), ruling.rule)
            for example in with_option(pattern, option)
        )
        if all(each.decision != "allowed" for each in deciding):
            yield option


def _is_alike(ruling: PermissionRuling, other: PermissionRuling) -> bool:
    """Whether two parts of a tool are allowed that raise the same, that both run any command, or write to GitHub."""
    either = (ruling.capabilities, other.capabilities)
    run = [UNLISTED in each for each in either]
    is_alike = all(run) or (not any(run) and all(WRITES_THERE in each for each in either))
    return (is_alike or either[0] == either[1]) and ruling.decision == other.decision == "allowed"
