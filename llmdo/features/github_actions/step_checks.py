"""Steps that check who starts a workflow: a script that only prints who that is checks nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.parts import table, text
from llmdo.features.github_actions.workflow import texts_of_step

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from llmdo.graph.start import Starter

_ACTOR = re.compile(r"github\.(?:triggering_)?actor\b|\bGITHUB_(?:TRIGGERING_)?ACTOR\b")
_CHECKS = re.compile(
    r"author_association|check_membership|getCollaboratorPermissionLevel|collaborators/|check-user-permission|checkMembership"
    r"|getMembershipForUser|team-?membership|authorized|permission-check"
    r"|github\.(?:triggering_)?actor\s*\}\}[\"']?\s*[!=]=|[!=]=\s*[\"']?\$\{\{\s*github\.(?:triggering_)?actor"
)
"""Step text that checks the rights of a person."""
_QUOTED = r"\"(?:[^\"\\]|\\.){0,2000}+\"|'[^']{0,2000}+'|`[^`]{0,2000}+`"
_MESSAGE = re.compile(
    r"^[ \t]*+(?:"
    r"(?:echo|printf?|Write-(?:Host|Output)|gh[ \t]++(?:issue|pr)[ \t]++comment)\b"
    rf"(?:{_QUOTED}|\\\n|>&2|[^\n;&|>\"'`])*+"
    r"|(?:console\.\w+|core\.(?:debug|error|info|notice|startGroup|warning))"
    rf"[ \t]*+\((?:{_QUOTED}|\((?:{_QUOTED}|[^()\"'`])*+\)|[^()\"'`])*+\)[ \t;]*+"
    r"|(?:\#|//)[^\n]*+"
    r")$",
    re.MULTILINE | re.DOTALL,
)
"""A command of a script that only prints, into no file, or comments on an issue, or a comment of the script."""
_DECIDES = re.compile(
    r"\b(?:case|exit|exportVariable|false|GITHUB_(?:ENV|OUTPUT)|if|return|setFailed|setOutput|test|throw|while)\b"
    r"|::set-output|\[\[?\s|&&|\|\|"
)
"""A part of a script by which what it prints may go with a decision."""

_WORD = rf"(?:{_QUOTED}|[^\s;&|\]\"'`]++)"
_ASSIGNED = re.compile(
    rf"^[ \t]*+(?:(?:local|readonly)[ \t]++)?(?P<name>[A-Za-z_]\w*+)=(?P<value>{_WORD})[ \t]*+$",
    re.MULTILINE | re.DOTALL,
)
"""A line of a script that only gives a variable its text."""
_NAME = re.compile(r"[A-Za-z_]\w*+")
_RUN_WITHIN = re.compile(r"\$\(|`")
"""A command within a text."""
_TEXT_OR_TEST = re.compile(
    rf"(?:(?<!\S)--(?:body|message|notes|title)[ \t=]|(?:\[|\btest|&&|\|\||!)[ \t]++-[nz][ \t])[ \t]*+{_WORD}",
    re.DOTALL,
)
"""A text for people that a program is handed, or a test of whether there is any."""


def people_past(step: object) -> Starter:
    """The people who get past a step; a script that is told who started it may check that."""
    if not isinstance(step, dict):
        return "anyone"
    step = _without_messages(step)
    if _CHECKS.search(texts_of_step(step)):
        return "those who may write"
    environment = table(step.get("env")) if "run" in step else {}
    given = {name for name, value in environment.items() if _ACTOR.search(text(value))}
    return "perhaps anyone" if _looks_at(text(step.get("run")), given) else "anyone"


def _looks_at(script: str, given: Collection[str]) -> bool:
    """Whether a script may look at who started it: in more than texts for people, and whether there are any.

    What is `given` to it by names that it does not have, a program of it may read by itself.
    """
    if any(name not in script for name in given):
        return True
    names = {*given}

    def without_text(assigned: re.Match[str]) -> str:
        value = assigned["value"]
        if not _has(value, names) or _RUN_WITHIN.search(value):
            return assigned[0]
        names.add(assigned["name"])
        return ""

    rest = _ASSIGNED.sub(without_text, script)
    rest = _TEXT_OR_TEST.sub(lambda words: words[0] if _RUN_WITHIN.search(words[0]) else " ", rest)
    return _has(rest, names)


def _has(words: str, names: Collection[str]) -> bool:
    """Whether words have one of the names, or that of who started the workflow."""
    return bool(_ACTOR.search(words)) or not {*_NAME.findall(words)}.isdisjoint(names)


def _without_messages(step: Mapping[str, object]) -> Mapping[str, object]:
    """A step without what its script prints, and the variables for that alone; nothing if it only prints.

    The step as it is if it decides something: a message then says what that is about.
    """
    options = table(step.get("with"))
    script = text(step.get("run")) or text(options.get("script"))
    rest = _MESSAGE.sub("", script)
    if not script or _DECIDES.search(rest) or "::set-output" in script:
        return step
    if not rest.strip():
        return {}
    environment = {
        name: value
        for name, value in table(step.get("env")).items()
        if name in rest or name not in script  # which a program of the script may read by itself
    }
    changed = {"run": rest} if "run" in step else {"with": {**options, "script": rest}}
    return {**step, "env": environment, **changed}
