"""Questions about like calls to a person at a terminal: arguments side by side, ticked one by one, answered at once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, shown
from llmdo.base.visible import visible, without_runs
from llmdo.runtime.approvals.drawing import (
    HEADING,
    NARROWEST,
    RUNS,
    TITLED,
    LeftOut,
    describe,
    drawn_argument,
    indented,
    some_of,
)
from llmdo.runtime.approvals.drawing import rows as drawn_rows
from llmdo.runtime.approvals.postponed import question_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.journal.alike import LikeQuestions
    from llmdo.runtime.approvals.screen import AskingScreen

BETWEEN = "  "
"""Stands between two cells of a table, and in none of them."""
TITLE = 12  # columns that the title of a run has at least, beside the arguments of a call
_NUMBERS = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")

_WORDS = {
    "1 3-5": "tick these calls, and no others",
    "all": "tick all of them",
    "none": "tick none",
    "show 2": "show all of these calls",
    "no": "refuse those that are ticked; words after `no` tell the model why",
    "later": "leave them waiting",
    "stop": "leave everything waiting that is not answered yet",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TickedAnswer:
    """An answer to those of several like questions that are ticked; to none, the rest is left waiting."""

    places: tuple[int, ...] = ()
    """Their places among the questions."""
    allowed: bool = False
    message: str = ""
    """Why not, in words for the model."""
    stops: bool = False
    """Whether nothing else is to be asked."""


class AskTogether:
    """Asks a person about like calls: what the prompt says that Enter does is what it does.

    No call is allowed of which a part was not shown.
    """

    def __init__(self, screen: AskingScreen) -> None:
        self._screen = screen
        self._whole: set[str] = set()
        """The keys of the questions that were shown whole."""

    def ask(self, like: LikeQuestions) -> TickedAnswer:
        """The person's answer; the end of input is none.

        Raises:
            GoneError: The terminal is gone.
        """
        ticked: tuple[int, ...] = ()
        self._draw(like, ticked)
        while True:
            if self._screen.columns < NARROWEST:
                self._screen.say(
                    f"the terminal has fewer than {NARROWEST} columns, too few to show the calls\n"
                )
                return TickedAnswer(stops=True)
            hidden = self._hidden(like, ticked)
            line = self._screen.answer(self._prompt(like, ticked, hidden))
            word, _, rest = line.strip().partition(" ")
            match word, rest.strip():
                case "", _ if not line.endswith("\n"):
                    return TickedAnswer(stops=True)
                case "", _ if hidden:
                    self._show(like, hidden)
                case "", _:
                    return TickedAnswer(places=ticked, allowed=True)
                case "no", why if ticked:
                    return TickedAnswer(places=ticked, message=why)
                case "later" | "stop", "":
                    return TickedAnswer(stops=word == "stop")
                case "show", numbers if places := _places(numbers, len(like.questions)):
                    self._show(like, places)
                case _, _ if (places := _places(line, len(like.questions))) is not None:
                    ticked = places
                    self._draw(like, ticked)
                case _:
                    self._explain(line.strip())

    def _prompt(self, like: LikeQuestions, ticked: Sequence[int], hidden: Sequence[int]) -> str:
        if hidden:
            return f"not shown whole: Enter shows {_numbers(hidden)} [show] "
        if ticked:
            number = len(ticked)
            which = "the call that is ticked" if number == 1 else f"the {number:,} calls that are ticked"
            return f"Enter allows {which} [allow {number:,}] "
        return f"Enter leaves {'it' if len(like.questions) == 1 else 'them'} waiting [later] "

    def _hidden(self, like: LikeQuestions, ticked: Sequence[int]) -> tuple[int, ...]:
        return tuple(place for place in ticked if like.questions[place].key not in self._whole)

    def _draw(self, like: LikeQuestions, ticked: Sequence[int]) -> None:
        rows = [*_head(like, self._screen.columns)]
        is_cut = any(isinstance(row, LeftOut) for row in rows)
        for place, some in enumerate(_rows(like, ticked, self._screen.columns)):
            rows += some
            if place and not (is_cut or any(isinstance(row, LeftOut) for row in some)):
                self._whole.add(like.questions[place - 1].key)
        self._screen.draw(rows)
        hint = self._screen.paint("dim", "   ? explains")
        self._screen.say(f"{self._screen.paint('strong', '1 3-5 all none show no later stop')}{hint}\n")

    def _show(self, like: LikeQuestions, places: Sequence[int]) -> None:
        for place in places:
            question = like.questions[place]
            columns = self._screen.columns
            self._screen.draw(_under(str(place + 1), [f"({shown(like.titles[place])})"], _room(columns)))
            self._screen.draw(describe(question_in(question.path, question.record), columns, folded=False))
            self._whole.add(question.key)

    def _explain(self, typed: str) -> None:
        if typed != "?":
            self._screen.say(f"`{excerpt(typed)}` is not an answer; type one of these:\n")
        self._screen.say("".join(f"  {word:<6}  {meaning}\n" for word, meaning in _WORDS.items()))


def _places(typed: str, number: int) -> tuple[int, ...] | None:
    """The places that numbers such as `1 3-5` mean; None if something else was typed, or one is of no call."""
    words = typed.replace(",", " ").split()
    if words == ["all"]:
        return tuple(range(number))
    if words == ["none"]:
        return ()
    places: set[int] = set()
    for word in words:
        match = _NUMBERS.fullmatch(word)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= number:
            return None
        places.update(range(first - 1, last))
    return tuple(sorted(places)) if words else None


def _numbers(places: Sequence[int]) -> str:
    return " ".join(str(place + 1) for place in places)


def _head(like: LikeQuestions, columns: int) -> Iterator[str]:
    """The rows about all of the calls."""
    first = like.questions[0].record
    room = _room(columns)
    number = len(like.questions)
    sections = {
        "tool": [
            f"{visible(first['tool'])} of {visible(first['toolset'])}, asked by {visible(first['worker'])}"
        ],
        "raises": [*some_of([*map(visible, like.raises)] or ["nothing"], folded=True)],
        "why": [*some_of([*map(visible, like.reasons)], folded=True)],
        "advice": [*some_of([*map(shown, like.advice)], folded=True)],
        "same": [
            line
            for name, value in like.arguments.same.items()
            for line in drawn_argument(name, value, room, folded=not _runs(like))
        ],
    }
    yield HEADING
    first_of_all = ", what is the same in all of them first" if sections["same"] else ""
    yield f"{number:>{TITLED}} | like calls{first_of_all}"
    for title, lines in sections.items():
        yield from _under(title, lines, room)


def _room(columns: int) -> int:
    """The columns to the right of the margin."""
    return columns - TITLED - len(" | ")


def _runs(like: LikeQuestions) -> bool:
    return any(
        RUNS.contains(capability)
        for each in like.questions
        for capability in question_in(each.path, each.record).capabilities
    )


def _under(title: str, lines: Sequence[str], room: int) -> Iterator[str]:
    """Lines to the right of the margin, the first of them beside a title."""
    for line in lines:
        kind = LeftOut if isinstance(line, LeftOut) else str
        for row in indented(line, room):
            yield kind(f"{title:<{TITLED}} | {row}")
            title = ""


def _rows(like: LikeQuestions, ticked: Sequence[int], columns: int) -> Iterator[list[str]]:
    """The rows of the heads of a table, then those of each call; without a table, each argument has its own rows."""
    room = _room(columns)
    arguments = like.arguments
    table = _table(arguments.names, arguments.rows, room - TITLE - len(BETWEEN))
    yield [] if table is None else [f"{'':<{TITLED}} | {table[0]}{BETWEEN}run"]
    for place, title in enumerate(map(shown, like.titles)):
        mark = f"{'x' if place in ticked else ' '} {place + 1:>{TITLED - 2}}"
        if table is not None:
            cells = table[place + 1]
            title = next(drawn_rows(title, room - len(cells) - len(BETWEEN)))
            yield [f"{mark} | {cells}{BETWEEN}{title}"]
            continue
        lines = [
            line
            for name, value in arguments.rows[place].items()
            for line in drawn_argument(name, value, room, folded=not _runs(like))
        ]
        yield [*_under(mark, [f"({title})", *lines], room)]


def _table(names: Sequence[str], rows: Sequence[Mapping[str, object]], room: int) -> list[str] | None:
    """The cells of each row, below their names, one above the other; None where that is no plain table.

    A table is plain if no value has the end of a cell in it, and all of every value is in its row.
    """
    cells = [[_cell(row[name]) if name in row else "" for name in names] for row in rows]
    if not all(name.isascii() and name.isidentifier() for name in names):
        return None
    if any(cell is None for row in cells for cell in row):
        return None
    texts = [[*names], *([cell or "" for cell in row] for row in cells)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    if sum(widths) + len(BETWEEN) * (len(widths) - 1) > room:
        return None
    return [
        BETWEEN.join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in texts
    ]


def _cell(value: object) -> str | None:
    """A value in a cell: a text in quotes, all else as JSON; None where it takes more than that."""
    text = value if isinstance(value, str) else json.dumps(value)
    drawn = without_runs(visible(text)) if isinstance(value, str) else text
    if drawn != text or not text.isascii() or BETWEEN in text or (isinstance(value, str) and '"' in text):
        return None
    return f'"{text}"' if isinstance(value, str) else text
