"""The rules in settings that Claude Code skips: of no form that it reads, or about none of its tools.

As `claude doctor` says of each (2.1.328); it heeds the other rules of the file all the same. Those in flags, and in
headers of commands and skills, are not looked at so closely.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.parts import items, text
from llmdo.features.claude.rules import RULES, flaw, mended
from llmdo.features.claude.table import LINES
from llmdo.foreign.files import COUNTS, folder_place, renaming, surplus
from llmdo.foreign.permissions import WORDS, PermissionRule
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

_SERVER = "mcp__"
_BARE = re.compile(r"(?P<tool>[A-Za-z]+)(?::| +)(?P<what>[^()]*)")
"""A tool with what a rule is about behind it, without parentheses."""
_AFTER_ITS_END = re.compile(r"(?P<rule>[A-Za-z]+\([^()]*)\)\*")
_UNCLOSED = re.compile(r"[A-Za-z]+\([^()]+")
_EVERY_CALL = frozenset({"", "*", "**", ":*"})
_DOMAIN = "domain:"
_HOST = re.compile(r"(?:https?://)?(?P<host>[\w*-]+(?:\.[\w-]+)+)(?:/\*{0,2})?")
_BY_TOOL = {tool.lower(): tool for tool in LINES}
_NOWHERE = folder_place("")
_OUTSIDE = ("/", "~")
"""The beginnings of paths that are not below the folder of a session."""
_PROTECTED = (".claude", ".git", ".husky", ".idea", ".vscode")
"""The folders whose files no rule lets Claude Code change.

By https://code.claude.com/docs/en/permission-modes: a person is asked, or in mode `auto` a second model.
"""
_UNPROTECTED = tuple(f".claude/{each}" for each in ("*", "agents", "commands", "skills", "worktrees"))
"""What may be in folders within that are not protected."""
_OF_FILES = frozenset({"Edit", "Glob", "NotebookEdit", "NotebookRead", "Read", "Write"})


class SkippedRule(NamedTuple):
    """A rule that Claude Code skips."""

    why: str
    instead: str | None = None
    """The rule that does what it means, or None."""


def skipped(written: str, decision: Decision) -> SkippedRule | None:
    """Why Claude Code skips a rule of settings; None if it heeds it, or ignores it for another reason."""
    rule = RULES.rule(written, decision, _NOWHERE)
    if rule is None:
        return _of_no_form(written, decision)
    tool, what = rule.tool, rule.pattern
    if flaw(rule):
        return None
    if tool.startswith(_SERVER):
        why = "a rule about the tools of a server takes no parentheses"
        return SkippedRule(why, tool if what in _EVERY_CALL else None) if what is not None else None
    if tool[:1].islower() and "_" not in tool:
        known = _BY_TOOL.get(tool.lower())
        return SkippedRule(
            "the names of tools begin with a capital", _about(known, what, decision) if known else None
        )
    if what == "" or (what == ":*" and tool in {*_OF_FILES, "Bash"}):
        why = "nothing stands before its `:*`" if what else "its parentheses are empty"
        return SkippedRule(why, _about(tool, what, decision))
    if what and tool in _OF_FILES and ":*" in what:
        return SkippedRule("`:*` is only for the beginnings of commands")
    if tool == "WebFetch" and what not in (None, "*") and not what.startswith(_DOMAIN):
        return SkippedRule(f"rules for `{tool}` begin with `{_DOMAIN}`", _about(tool, what, decision))
    if tool == "WebSearch" and what not in (None, "*") and set("*?") & set(what):
        return SkippedRule(f"rules for `{tool}` take no `*` or `?`")
    return None


def skipped_in(document: Document) -> Iterator[tuple[Place, SkippedRule, str | None]]:
    """The rules of settings that Claude Code skips, each with a hint."""
    for word, decision in WORDS.items():
        listed = items(Place(document, ("permissions", word)).data)
        for number, written in enumerate(listed):
            if isinstance(written, str) and (each := skipped(written, decision)):
                at = Place(document, ("permissions", word, number))
                yield at, each, instead_of(at, written, each.instead)


def instead_of(at: Place, written: str, instead: str | None) -> str | None:
    """The hint to write another rule for one at a place, or to take it out where the same list has that, or a wider."""
    *route, _ = at.route
    others = [each for each in items(at._replace(route=tuple(route)).data) if each != written]
    if instead and (wider := next((text(each) for each in others if _is_wider(text(each), instead)), None)):
        return surplus(wider)
    if instead and route[-1:] == ["allow"] and (folder := _protected(instead)):
        return f"take this out: Claude Code heeds no rule that allows changes in `{folder}`"
    return renaming(at, written, instead, "write `{}`", COUNTS)


def _is_wider(other: str, instead: str) -> bool:
    """Whether a rule is for all calls of the tool of another one, or for all files of a folder around its files."""
    tool, _, path = _relative(instead).partition("(")
    if other in (tool, f"{tool}(*)"):
        return True
    around, _, end = _relative(other).removeprefix(f"{tool}(").partition("**")
    is_within = path.startswith(around) and not path.startswith(_OUTSIDE) and ".." not in path
    return (
        tool in _OF_FILES
        and other != instead
        and other.startswith(f"{tool}(")
        and end == ")"
        and around[-1:] in ("", "/")
        and is_within
    )


def _protected(instead: str) -> str | None:
    """The protected folder in which a rule for edits has its files; None for no such folder."""
    tool, _, path = _relative(instead).partition("(")
    if tool != "Edit" or path.startswith(_UNPROTECTED):
        return None
    return next((each for each in _PROTECTED if path.startswith(f"{each}/")), None)


def _relative(written: str) -> str:
    """A rule without the `./` before its path."""
    return written.replace("(./", "(", 1)


def _of_no_form(written: str, decision: Decision) -> SkippedRule | None:
    """Why a text is no rule."""
    if not written.strip() or "\\" in written or written.startswith(_SERVER):
        return None
    if written.startswith("!"):
        return SkippedRule("no rule with `!` takes back what another one says")
    if (bare := _BARE.fullmatch(written)) and bare["tool"] in LINES:
        why = "what a rule is about is in parentheses behind its tool"
        return SkippedRule(why, _about(bare["tool"], bare["what"].strip(), decision))
    if after := _AFTER_ITS_END.fullmatch(written):
        return SkippedRule("a rule ends with its parenthesis", f"{after['rule'].rstrip('*')}*)")
    if _UNCLOSED.fullmatch(written):
        return SkippedRule("its parenthesis is not closed", f"{written})")
    return SkippedRule("a rule is `TOOL` or `TOOL(WHAT)`, with a tool of Claude Code")


def _about(tool: str, what: str | None, decision: Decision) -> str | None:
    """The rule about calls of a tool; None if no other one is meant for certain, or it would allow every command."""
    if what is None or what in _EVERY_CALL:
        return None if decision == "allowed" and tool in ("Bash", "PowerShell") else tool
    if tool == "WebFetch" and not what.startswith(_DOMAIN):
        host = _HOST.fullmatch(what)
        return f"{tool}({_DOMAIN}{host['host']})" if host else None
    rule = PermissionRule(tool, what, decision, _NOWHERE)
    return (mended(rule) or rule.text) if flaw(rule) else rule.text
