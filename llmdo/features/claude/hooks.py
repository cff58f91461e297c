"""Hooks that answer in place of a person: those before a tool, and those in place of a question."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import items, table, text, texts
from llmdo.base.values import dataclass
from llmdo.features.claude.answers import says_allow_to_claude
from llmdo.features.claude.matchers import LONGEST, PLAIN, listed, meant, never_matches
from llmdo.features.claude.table import LINES
from llmdo.foreign.events import may_allow
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.files import Files

ASKED = "PermissionRequest"
"""The event of a question, also of one by a rule."""
EVENTS = ("PreToolUse", ASKED)
"""The events whose hooks may answer `allow`."""

ALL_EVENTS = frozenset(
    {
        "ConfigChange", "CwdChanged", "DirectoryAdded", "Elicitation", "ElicitationResult", "FileChanged",
        "InstructionsLoaded", "MessageDisplay", "Notification", "PermissionDenied", ASKED, "PostCompact",
        "PostModelSwitch", "PostToolBatch", "PostToolUse", "PostToolUseFailure", "PreCompact", "PreModelSwitch",
        "PreToolUse", "SessionEnd", "SessionStart", "Setup", "Stop", "StopFailure", "SubagentStart", "SubagentStop",
        "TaskCompleted", "TaskCreated", "TeammateIdle", "UserPromptExpansion", "UserPromptSubmit", "WorktreeCreate",
        "WorktreeRemove",
    }
)  # fmt: skip
"""All events, by https://code.claude.com/docs/en/hooks: since 2.1.101 an unknown one is ignored by itself.

An entry of another form should be so since 2.1.122, but later releases were seen to skip the whole file for one.
"""

_OF_TOOLS = frozenset({"PermissionDenied", ASKED, "PostToolUse", "PostToolUseFailure", "PreToolUse"})
"""The events whose matchers are compared with the name of a tool, and with nothing else of a call."""
_AS_IF = (
    "name tools alone in `matcher`, and write what else must hold as `if` of its hooks, such as "
    '`"if": "Bash(git commit *)"`, which Claude Code heeds since 2.1.85'
)

_IN_A_LIST = "put it into a list, between `[` and `]`"
_COMMAND = "COMMAND"
"""What stands in a hint for a command that is not known, or too long for it."""
_AS_TEXT = "write it as a text, such as `Edit|Write`"
_UNRUN = ", so Claude Code never runs its hooks, and may skip the whole file"
_OF_GIT = frozenset({"PostCommit", "PreCommit", "PrePush"})
"""Events of git, none of which is a misspelt one."""
_COMMENT = re.compile(r"[$/#_].*|comments?|description")
"""Keys by which people comment a table."""

_SIMPLE = re.compile(r"\^?(?:[\w-]|\.\*)*\$?(?:\|\^?(?:[\w-]|\.\*)*\$?)*")
"""Regular expressions that are names with any part left out."""


@dataclass(frozen=True, slots=True)
class ClaudeHook:
    """A hook that may answer `allow`."""

    event: str
    matcher: str
    at: Place
    is_certain: bool
    """Whether its text says so; else its answer is unknown."""

    def names(self, tool: str) -> bool:
        """Whether it is asked about a tool, or about a tool of this server."""
        if self.matcher in ("", "*"):
            return True
        if PLAIN.fullmatch(self.matcher):
            names = listed(self.matcher)
            return any(each.startswith(f"{tool}__") for each in names) if _is_server(tool) else tool in names
        if not _SIMPLE.fullmatch(self.matcher):
            return True  # an expression of somebody else is not run, as it may take for ever
        return any(_fits(each, tool) for each in self.matcher.split("|"))


def _is_server(tool: str) -> bool:
    return tool.startswith("mcp__") and tool.count("__") == 1


def _fits(expression: str, tool: str) -> bool:
    """Whether an expression that only leaves parts out is found in a tool's name, or in one of this server's."""
    glob = expression.strip("^$").replace(".*", "*")
    start = glob.partition("*")[0]
    if _is_server(tool) and (start.startswith(f"{tool}__") or f"{tool}__".startswith(start or "-")):
        return True
    before, after = ("" if expression.startswith("^") else "*"), ("" if expression.endswith("$") else "*")
    return fnmatchcase(tool, before + glob + after)


def never_runs(event: str, matcher: str) -> bool:
    """Whether a group of hooks is never run, as its matcher matches no tool."""
    return event in _OF_TOOLS and never_matches(matcher)


def _judge_matcher(files: Files, event: str, at: Place) -> None:
    """Notes the matcher of a group of hooks that never run for it."""
    matcher = text(at.data)
    if not never_runs(event, matcher):
        return
    if written := meant(matcher):
        why, hint = (
            "whole names of tools, letter by letter",
            f"write `{excerpt(written, LONGEST)}` for `{excerpt(matcher, LONGEST)}`",
        )
    else:
        why, hint = "names of tools alone", _AS_IF
    message = f"`{excerpt(matcher)}` does nothing: a matcher is compared with {why}"
    files.note("LDO151", at, f"{message}, so Claude Code never runs these hooks", hint)


def hooks_in(files: Files, tables: Iterable[Place], root: str) -> Iterator[ClaudeHook]:
    """The hooks of tables that may answer `allow`; those of no event are noted. `root` is their plugin's folder."""
    for place in tables:
        tools = sorted(table(place.data).keys() & LINES.keys())
        for tool in tools:
            message = f"`{tool}` is a tool and no event, so Claude Code never runs this hook"
            at = Place(place.document, (*place.route, tool), of_key=True)
            has_list = isinstance(table(place.data).get("PreToolUse"), list)
            files.note("LDO151", at, message, _as_group(tool, has_list=has_list, has_others=len(tools) > 1))
        for event in sorted(_OF_TOOLS):
            for number, _ in enumerate(items(table(place.data).get(event))):
                _judge_matcher(files, event, Place(place.document, (*place.route, event, number, "matcher")))
        for event in EVENTS:
            for number, group in enumerate(items(table(place.data).get(event))):
                matcher = table(group).get("matcher", "")
                if not isinstance(matcher, str) or never_runs(event, matcher):
                    continue
                for index, handler in enumerate(items(table(group).get("hooks"))):
                    at = Place(place.document, (*place.route, event, number, "hooks", index))
                    certain = _allows(files, event, table(handler), root)
                    if certain is not None:
                        yield ClaudeHook(event, matcher, at, certain)


def judge_events(files: Files, tables: Iterable[Place]) -> None:
    """Notes hooks of settings that Claude Code never runs: at unknown events, or in another form than its own."""
    for place in tables:
        if place.data is not None and not isinstance(place.data, dict):
            files.note("LDO151", place, f"`hooks` is no table of events{_UNRUN}")
        for event, groups in table(place.data).items():
            at = Place(place.document, (*place.route, event), of_key=True)
            if event in ALL_EVENTS:
                _judge_groups(files, event, groups, at)
            elif event not in LINES and not _COMMENT.fullmatch(event):
                files.unknown_key(at, event, () if event in _OF_GIT else ALL_EVENTS)


def _judge_groups(files: Files, event: str, groups: object, at: Place) -> None:
    """Notes the groups of hooks at an event that have another form."""
    if not isinstance(groups, list):
        is_group = isinstance(table(groups).get("hooks"), list)
        hint = _IN_A_LIST if is_group else f"write it as `{_as_of_event(groups)}`, in a list"
        files.note("LDO151", at, f"`{event}` has no list of groups of hooks{_UNRUN}", hint)
        return
    for number, group in enumerate(groups):
        within = Place(at.document, (*at.route, number))
        if not isinstance(table(group).get("hooks"), list):
            hint = f"write it as `{_as_of_event(group)}`"
            files.note("LDO151", within, f"this group at `{event}` has no list `hooks`{_UNRUN}", hint)
        elif not isinstance(table(group).get("matcher", ""), str):
            matcher = Place(at.document, (*at.route, number, "matcher"))
            files.note("LDO151", matcher, f"this matcher at `{event}` is no text{_UNRUN}", _AS_TEXT)


def _as_of_event(written: object) -> str:
    """What is written in place of a group of hooks, as one: with its matcher, and with its command if that is short."""
    own = table(written)
    below = own.get("hooks", own or written)
    command = text(table(below).get("command")) or text(below)
    timeout = table(below).get("timeout")
    handler = {
        "type": "command",
        "command": command if _is_short(command) else _COMMAND,
        **({"timeout": timeout} if isinstance(timeout, int) else {}),
    }
    matcher = text(own.get("matcher"))
    return json.dumps({**({"matcher": matcher} if _is_short(matcher) else {}), "hooks": [handler]})


def _is_short(written: str) -> bool:
    """Whether a hint can have a text within."""
    return 0 < len(written) <= LONGEST and "`" not in written


def _as_group(tool: str, *, has_list: bool, has_others: bool) -> str:
    """The hint for a hook below the name of a tool: the whole group, without whose `hooks` a file is skipped."""
    group = f'{{"matcher": "{tool}", "hooks": [{{"type": "command", "command": "…"}}]}}'
    if has_list:
        return f"write `{group}` into the list `PreToolUse`, in place of it"
    others = ", with the groups of the other tools in the same list" if has_others else ""
    return f'write `"PreToolUse": [{group}]` in place of it{others}'


def judge_hooks(files: Files, hooks: Iterable[ClaudeHook]) -> None:
    """Notes hooks that answer, or may answer, in place of a person."""
    for hook in hooks:
        if hook.is_certain:
            files.note("LDO554", hook.at, "this hook may answer `allow` in place of a person")
        else:
            message = "what this hook answers is not known, so it was read as one that may answer `allow`"
            files.note("LDO150", hook.at, message)


def _allows(files: Files, event: str, handler: Mapping[str, object], root: str) -> bool | None:
    """Whether a handler says that it allows; False if that is unknown, None if it does not."""
    kind = handler.get("type", "command")
    if handler.get("async") is True or (event == "PreToolUse" and kind in ("agent", "prompt")):
        return None  # nobody waits for its answer, or it can only forbid
    if kind != "command":
        return False
    command = "\n".join([text(handler.get("command")), *texts(handler.get("args"))])
    return may_allow(files, command, root, partial(says_allow_to_claude, files))
