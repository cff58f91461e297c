"""Checks about when entries are started by themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.checking import reports
from llmdo.base.diagnostic import finding, near_or_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.workspace.project import Project

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
"""Each field of an expression: what it is called, its least and its greatest number, and the names for numbers."""

_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""The days of each month, in a leap year."""

_PART = re.compile(r"(\*|[0-9]{1,4}|[A-Za-z]{3})(?:-([0-9]{1,4}|[A-Za-z]{3}))?(?:/([0-9]{1,4}))?")
MAX_CRON = 200  # characters


@reports("LDO213", "error")
def unknown_entry(project: Project) -> Iterator[Diagnostic]:
    """A schedule names an entry that does not exist.

    Nothing would be started at its times, and nobody would notice.

    Fails:

        [schedules.weekly]
        entry = "reprot"
        cron = "0 6 * * MON"

    Fixed:

        [schedules.weekly]
        entry = "report"
        cron = "0 6 * * MON"
    """
    entries = project.graph.entries
    for schedule in project.graph.schedules.values():
        if schedule.entry.name not in entries and not (project.gaps.names or project.gaps.contents):
            yield finding(
                "LDO213",
                schedule.entry.at.location,
                f"the schedule `{schedule.name}` starts `{schedule.entry.name}`, which is not an entry",
                hint=near_or_all(schedule.entry.name, entries, "entry"),
            )


def without_meaning(project: Project) -> Iterator[Diagnostic]:
    """Times that are none."""
    for name, schedule in project.graph.schedules.items():
        if problem := problem_of(schedule.cron):
            yield finding(
                "LDO103",
                project.workspace.document.value("schedules", name, "cron"),
                problem,
                hint='five fields: minute, hour, day of the month, month, day of the week, such as "30 6 * * MON-FRI"',
            )


def without_input(project: Project) -> Iterator[Diagnostic]:
    """Schedules that start an entry which is given no input."""
    for name, schedule in project.graph.schedules.items():
        entry = project.graph.entries.get(schedule.entry.name)
        if entry is not None and entry.input is None and schedule.input is None:
            yield finding(
                "LDO104",
                project.workspace.document.key("schedules", name),
                f"`{name}` starts `{entry.name}`, and neither of them sets `input`",
            )


def problem_of(cron: str) -> str | None:
    """What is wrong with an expression of five fields; None where nothing is.

    Nothing of the libraries that workers go by is loaded for that; what this lets through, they understand (tested).
    """
    words = cron.split()
    if len(cron) > MAX_CRON:
        return f"`cron` has more than {MAX_CRON} characters"
    if len(words) != len(_FIELDS):
        return f"`cron` has {len(words)} field{'s' * (len(words) != 1)}, and needs {len(_FIELDS)}"
    numbers = []
    for word, (called, least, most, names) in zip(words, _FIELDS, strict=True):
        allowed: set[int] = set()
        for part in word.split(","):
            some = _numbers(part, least, most, names)
            if some is None:
                return f"`{part}` is not a valid {called} ({least} to {most}) in `cron`"
            allowed.update(some)
        numbers.append(allowed)
    _, _, days, months, _ = numbers
    if words[4] == "*" and not any(day <= _LONGEST[month - 1] for day in days for month in months):
        return "no month that `cron` names has such a day"
    return None


def _numbers(part: str, least: int, most: int, names: tuple[str, ...]) -> range | None:
    """Those that a part of a field stands for; None where it stands for none."""
    match = _PART.fullmatch(part)
    if match is None:
        return None
    first, last, step = match.groups()
    is_range = (first == "*") != (last is not None)
    if not is_range and (first == "*" or step is not None):
        return None
    begin = least if first == "*" else _number(first, names)
    end = most if first == "*" else begin if last is None else _number(last, names)
    width = 1 if step is None else int(step)
    if begin is None or end is None or not least <= begin <= end <= most or not 0 < width <= most:
        return None
    return range(begin, end + 1, width)


def _number(word: str, names: tuple[str, ...]) -> int | None:
    if word.isdigit():
        return int(word)
    return names.index(word.upper()) + (len(names) == len(_MONTHS)) if word.upper() in names else None
