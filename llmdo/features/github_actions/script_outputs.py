"""The outputs of scripts that choose by the event: the events by which no job or step runs that wants another value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.parts import items, table, text, texts
from llmdo.features.github_actions.conditions import demands
from llmdo.features.github_actions.workflow import CALLED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.features.github_actions.workflow import Trigger

MAX_LINES = 400  # of a script: a longer one chooses more than a word

_WANTED = re.compile(
    r"(?:needs\.(?P<job>[\w-]+)|steps\.(?P<step>[\w-]+))\.outputs\.(?P<output>[\w-]+)\s*==\s*'(?P<value>[^']+)'"
)
_OF_A_STEP = re.compile(r"\$\{\{\s*steps\.(?P<step>[\w-]+)\.outputs\.(?P<output>[\w-]+)\s*\}\}")
_RUNS_SCRIPTS = "actions/github-script@"
_EVENT = re.compile(r"\$\{\{\s*github\.event_name\s*\}\}")
_ACTION = re.compile(r"\$\{\{\s*github\.event\.action\s*\}\}")

_QUOTED = r"(?:'[^'\\]*'|\"[^\"\\]*\")"
_HARMLESS = r"(?!.*(?:\bcore\b|/\*))"
_VARIABLE = re.compile(r"const (?P<name>\w+) = process\.env\.(?P<variable>\w+);")
_SETS_NONE = re.compile(rf"(?://.*|const (?!core\b)\w+ = {_HARMLESS}[^`{{}};]*;|)")
"""A line that sets no output: a comment, a value, an empty one."""
_SETS = re.compile(rf"core\.setOutput\((?P<output>{_QUOTED}), (?P<value>{_QUOTED}|\w+)\);")
_OPENS = re.compile(rf"(?P<else>\}} else )?(?:if \((?P<condition>{_HARMLESS}[^`{{}};]+)\) )?\{{")
_IS = re.compile(rf"(?P<name>\w+) ={{2,3}} (?P<values>{_QUOTED})")
_IS_ONE_OF = re.compile(rf"\[(?P<values>{_QUOTED}(?:, {_QUOTED})*)\]\.includes\((?P<name>\w+)\)")

_Values = list[str | None]
"""The values that an output may get; None for one that no file says."""


_Branch = tuple[str, _Values]
"""A branch of a choice: its condition, empty for the last one that needs none, and what the output gets there."""


def past_scripts(
    trigger: Trigger, condition: object, before: Sequence[object], jobs: Mapping[str, object]
) -> Trigger:
    """The trigger without the events by which a script gives another value to an output than a condition wants.

    `before` are the steps before in the job.
    """
    for wanted in filter(None, map(_WANTED.fullmatch, demands(text(condition)))):
        steps, named = before, wanted
        if wanted["job"]:
            job = table(jobs, wanted["job"])
            of_a_step = _OF_A_STEP.fullmatch(text(table(job.get("outputs")).get(wanted["output"])).strip())
            if of_a_step is None:
                continue
            steps, named = items(job.get("steps")), of_a_step
        scripts = [each for each in map(table, steps) if each.get("id") == named["step"]]
        if len(scripts) == 1 and text(scripts[0].get("uses")).startswith(_RUNS_SCRIPTS):
            for event in _without_value(scripts[0], named["output"], wanted["value"], trigger):
                trigger = trigger.without(event)
    return trigger


def _without_value(step: Mapping[str, object], output: str, value: str, trigger: Trigger) -> Iterator[str]:
    """The events by which the script of a step does not give a value to an output."""
    lines = [line.strip() for line in text(table(step.get("with")).get("script")).splitlines()]
    choice = _choice(lines, output)
    if choice is None:
        return
    # A name that a branch declares once more is another one, which no condition asks for.
    variables = {each["name"]: each["variable"] for each in map(_VARIABLE.fullmatch, reversed(lines)) if each}
    environment = table(step.get("env"))
    for event in trigger.starters.keys() - {CALLED}:  # a called workflow has the event of its caller
        types = table(trigger.events[event].data).get("types")
        actions = [types] if isinstance(types, str) else texts(types)
        given: set[str | None] = set()
        for action in [*actions] or [""]:
            known = {
                name: _filled(text(environment.get(of)), event, action) for name, of in variables.items()
            }
            given.update(_given(choice, known))
        # GitHub compares texts without regard to case.
        if None not in given and value.lower() not in {each.lower() for each in given if each}:
            yield event


def _filled(words: str, event: str, action: str) -> str | None:
    """The value of a variable by an event; None for what only the run knows."""
    words = _EVENT.sub(event, words)
    words = _ACTION.sub(action, words) if action else words
    return words if words and "${{" not in words else None


def _choice(lines: Sequence[str], output: str) -> tuple[_Values, Sequence[_Branch]] | None:
    """The values that a script gives to an output outside its one choice, and its branches; None of any other script.

    Every line has to be known, so that nothing else sets the output.
    """
    always: _Values = []
    branches: list[_Branch] = []
    is_open = False
    for line in lines if len(lines) <= MAX_LINES else ["too long"]:
        if sets := _SETS.fullmatch(line):
            if sets["output"][1:-1] == output:
                value = sets["value"][1:-1] if sets["value"][0] in "'\"" else None
                (branches[-1][1] if is_open else always).append(value)
        elif opens := _OPENS.fullmatch(line):
            goes_on = is_open and bool(branches[-1][0])
            if not (goes_on if opens["else"] else opens["condition"] and not branches):
                return None
            branches.append((opens["condition"] or "", []))
            is_open = True
        elif line == "}" and is_open:
            is_open = False
        elif not _SETS_NONE.fullmatch(line):
            return None
    return None if is_open else (always, branches)


def _given(
    choice: tuple[_Values, Sequence[_Branch]], known: Mapping[str, str | None]
) -> Iterator[str | None]:
    """The values that an output may get where the variables have these values."""
    always, branches = choice
    yield from always
    for condition, values in branches:
        holds = _holds(condition, known)
        if holds is not False:
            yield from values
        if holds:
            return


def _holds(condition: str, known: Mapping[str, str | None]) -> bool | None:
    """Whether a condition is true of these values; None for one that is not known."""
    if not condition:
        return True
    compared = _IS.fullmatch(condition) or _IS_ONE_OF.fullmatch(condition)
    value = known.get(compared["name"]) if compared else None
    if compared is None or value is None:
        return None
    return value in (each[1:-1] for each in re.findall(_QUOTED, compared["values"]))
