"""What an agent's older `tools` lift of the project's rules: each is one about a whole tool, behind all of these.

Watched with 1.18.33: `bash: true` is a rule `*` of the agent, so what the settings deny or ask about is allowed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, place
from llmdo.base.parts import table
from llmdo.base.values import replace
from llmdo.features.opencode.patterns import joint
from llmdo.features.opencode.permissions import COMMANDS, OLD_NAMES, RULES, matches
from llmdo.features.opencode.table import TABLE
from llmdo.foreign.instead import ASKED, HEADER
from llmdo.foreign.team import MAX_NAME
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.permissions import PermissionRule
    from llmdo.foreign.team import Grant

_NAMED = 2
"""Patterns that a finding names."""
_LISTING = frozenset({"fs.list", "fs.read", "proc.exec"})
"""The families of what a command may do that neither brings words nor sends."""
_COMMANDS = next(line for line in TABLE if line.tool == COMMANDS)


def note_lifted(
    files: Files,
    tables: Sequence[Place],
    common: Sequence[PermissionRule],
    own: Sequence[PermissionRule],
    known: Collection[str],
) -> None:
    """Notes the tools that an agent in `tables` allows as a whole, of which the project holds parts back.

    `known` are the servers that it may have; no rule asks about a tool in code, nor about one that is not there.
    """
    for rule in _switched_on(own):
        held = _held(common, rule.tool)
        if not held or not _is_there(rule.tool, known):
            continue
        message = f"{_what(held)}; an agent's rules come last, and this one allows all of it"
        switches = _switches(tables, rule)
        # Agents are noted together, and each may have its tables elsewhere.
        several = " in each file" if len({at.document.source.path for at in switches}) > 1 else ""
        change = f"take {_names(switches)} out of `{HEADER}`{several}"
        hint = f"{change}, so that the rules of `{held[0].origin}` hold" if switches else None
        files.note_together("LDO554", rule.at._replace(of_key=True), message, hint)


def restoring(
    given: Sequence[Grant],
    tables: Sequence[Place],
    rules: Sequence[PermissionRule],
    own: Sequence[PermissionRule],
) -> Iterator[Grant]:
    """The grants of an agent; that of commands with the edit by which the project's rules about them hold again.

    Without it, `rules` must let no command go unasked that brings words or sends.
    """
    lifting = next((each for each in _switched_on(own) if each.tool == COMMANDS), None)
    left = [each for each in rules if each is not lifting]
    switches = _switches(tables, lifting) if lifting and _held(left, COMMANDS) else []
    rulings = [*RULES.rulings(left, COMMANDS, _COMMANDS.raised, _COMMANDS.decision)]
    free = [each for each in rulings if each.decision == "allowed"]
    names = {each.name for ruling in free for each in ruling.capabilities}
    if lifting is None or not switches or not names <= _LISTING:
        yield from given
        return
    asks = any(each.decision == "needs_approval" for each in rulings)
    path = _held(left, COMMANDS)[0].origin
    rest = f", but for what `{path}` allows" if free else ""
    loss = f"{ASKED}{rest}" if asks else f"it then runs only the commands that `{path}` allows"
    others = [
        f", and `{COMMANDS}` out of `{HEADER}` in `{place(at.location)}`"
        for at in switches
        if at.location.path != lifting.origin
    ]
    change = f"take `{COMMANDS}` out of `{HEADER}`{''.join(others)}"
    parts = tuple((each.rule.pattern or "", each.capabilities) for each in free if each.rule)
    for grant in given:
        is_it = grant.tool == COMMANDS and grant.rule_at == lifting.at
        yield (
            replace(grant, narrower=change, narrower_at=lifting.at, loss=loss, left_by=parts)
            if is_it
            else grant
        )


def _what(held: Sequence[PermissionRule]) -> str:
    """A sentence about what rules of the project hold back of a tool."""
    denied = [each for each in held if each.decision == "blocked"]
    chosen = denied or [each for each in held if RULES.whole(each, each.tool)] or held
    first, tool = chosen[0], f"`{chosen[0].tool}`"
    does = f"`{first.origin}` {'denies' if denied else 'asks about'}"
    if RULES.whole(first, first.tool):
        return f"{does} {tool}"
    # A rule for several commands may do nothing.
    patterns = sorted((each.pattern or "" for each in chosen), key=lambda pattern: bool(joint(pattern)))
    names = [f"`{excerpt(each, MAX_NAME)}`" for each in patterns[:_NAMED]]
    if len(patterns) > _NAMED:
        return f"{does} {', '.join(names)} and {len(patterns) - _NAMED} more of {tool}"
    return f"{does} {' and '.join(names)} of {tool}"


def _switched_on(own: Sequence[PermissionRule]) -> Iterator[PermissionRule]:
    """The rules of an agent that are of its `tools` and allow a tool as a whole."""
    for rule in own:
        is_of_tools = len(rule.at.route) > 1 and rule.at.route[-2] == HEADER
        if is_of_tools and rule.decision == "allowed" and RULES.about(own, rule.tool)[-1] is rule:
            yield rule


def _is_there(tool: str, known: Collection[str]) -> bool:
    """Whether a name, perhaps with wildcards, is about a tool of opencode, or of one of these servers."""
    is_own = any(matches(tool, line.tool) for line in TABLE)
    return is_own or any(tool.startswith(f"{name}_") or matches(tool, f"{name}_") for name in known)


def _held(rules: Sequence[PermissionRule], tool: str) -> list[PermissionRule]:
    """The rules in force about a tool by its name that ask, or hold back a part of it."""
    about = RULES.about(rules, tool)
    whole = max((number for number, rule in enumerate(about) if RULES.whole(rule, tool)), default=0)
    return [
        rule
        for rule in about[whole:]
        if rule.tool == tool
        and (
            rule.decision == "needs_approval" or (rule.decision == "blocked" and not RULES.whole(rule, tool))
        )
    ]


def _switches(tables: Sequence[Place], rule: PermissionRule) -> list[Place]:
    """The switches of a tool in all tables of an agent; none if one of them switches it off."""
    switches = [
        Place(at.document, (*at.route, HEADER, name))
        for at in tables
        for name in table(at.data, HEADER)
        if OLD_NAMES.get(name, name) == rule.tool
    ]
    return switches if all(each.data is True for each in switches) else []


def _names(switches: Sequence[Place]) -> str:
    return " and ".join(dict.fromkeys(f"`{each.route[-1]}`" for each in switches))
