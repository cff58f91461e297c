"""The report on a deck, as Markdown: verdict, scores, red flags and questions, each with the lines that show it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pitchdeck_rules.deck import DIMENSIONS, read_deck
from pitchdeck_rules.figures import KINDS, key_figures
from pitchdeck_rules.flags import find_flags, is_instruction
from pitchdeck_rules.scores import (
    GO_POINTS,
    MEANING,
    MOST_CONTRADICTIONS,
    MOST_FLAGS,
    MOST_MISSING,
    MOST_POINTS,
    POINTS_EACH,
    WATCH_POINTS,
    judge,
    score,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pitchdeck_rules.deck import Statement
    from pitchdeck_rules.figures import Figure
    from pitchdeck_rules.flags import Flag
    from pitchdeck_rules.scores import Score

_LONGEST_QUOTE = 240  # characters
_MOST_LINES, _MOST_QUOTES, _MOST_QUESTIONS = 3, 4, 6
_MARKUP = re.compile(r"[<\[|`]|://")
_RULES = f"""\
## How this was scored

A dimension earns 1 point for being stated, and 1 for each of its two rules that a statement meets.

- GO ({MEANING["GO"]}): at least {GO_POINTS} of {MOST_POINTS} points, every dimension stated, no numbers that contradict
  each other, at most {MOST_FLAGS} other red flag.
- WATCH ({MEANING["WATCH"]}): at least {WATCH_POINTS} points, at most {MOST_MISSING} dimensions not stated, at most
  {MOST_CONTRADICTIONS} contradictions.
- PASS ({MEANING["PASS"]}): anything less.

A script wrote this, not a language model. It knows some English headings and words, and leaves out what it does not
recognise: "not found" means that the script did not find it, not that the deck lacks it. It cannot tell whether a
claim is true."""


def write_report(content: str, path: str, author: str) -> str:
    """The report on the deck `content`. A deck without a heading or a figure that the rules know is not judged."""
    if not content.strip():
        return write_refusal(path, "the file is empty", author)
    whole = read_deck(content, path)
    deck = replace(whole, statements=tuple(each for each in whole.statements if not is_instruction(each)))
    figures = key_figures(deck)
    scores = tuple(score(deck, dimension, figures) for dimension in DIMENSIONS)
    if all(each.stated is None for each in scores):
        return write_refusal(path, "it has no heading and no figure that these rules know", author)
    instructions = tuple(each for each in (*whole.statements, *whole.comments) if is_instruction(each))
    flags = find_flags(deck, figures, scores, instructions)
    return "\n".join((
        f"# Pitch deck report: {_inert(deck.title) or _untitled(path)}",
        "",
        f"- Deck: {_code(path)} ({deck.slides or 'no'} slides marked, {deck.lines} lines)",
        f"- Written by: {author}",
        "",
        *_verdict(scores, flags),
        *_key_figures(figures),
        *_scores(scores),
        *_red_flags(flags),
        *_questions(scores, flags),
        _RULES,
    ))  # fmt: skip


def write_refusal(path: str, reason: str, author: str) -> str:
    """The report on a file that these rules cannot judge."""
    return (
        f"# Pitch deck report: {_untitled(path)}\n\n- Deck: {_code(path)}\n- Written by: {author}\n\n"
        f"**Verdict: NOT JUDGED** ({reason})\n"
    )


def _verdict(scores: Sequence[Score], flags: Sequence[Flag]) -> Iterator[str]:
    verdict, obstacles = judge(
        scores,
        contradictions=sum(flag.is_contradiction for flag in flags),
        others=sum(flag.counts and not flag.is_contradiction for flag in flags),
    )
    points = sum(each.points for each in scores)
    yield f"**Verdict: {verdict}** ({MEANING[verdict]}), {points} of {MOST_POINTS} points"
    yield ""
    if obstacles:
        yield f"Why not {'GO' if verdict == 'WATCH' else 'WATCH'}: {'; '.join(obstacles)}."
        yield ""


def _key_figures(figures: Sequence[Figure]) -> Iterator[str]:
    yield "## Key figures"
    yield ""
    for kind in KINDS:
        statement = next((figure.statement for figure in figures if figure.kind is kind), None)
        yield f"- {kind.name}: {_quote(statement)}"
    yield ""


def _scores(scores: Sequence[Score]) -> Iterator[str]:
    yield "## Scores"
    for each in scores:
        yield ""
        if each.stated is None:
            yield f"### {each.dimension.capitalize()}: not stated"
            continue
        yield f"### {each.dimension.capitalize()}: {each.points} of {POINTS_EACH}"
        yield ""
        names_by_statement: dict[Statement, list[str]] = {each.stated: ["is stated"]}
        for rule, statement in each.met:
            if statement is not None:
                names_by_statement.setdefault(statement, []).append(rule.name)
        for statement, names in names_by_statement.items():
            yield f"- {_quote(statement)} ({', '.join(names)})"
        for rule, statement in each.met:
            if statement is None:
                yield f"- not found: {rule.name}"
    yield ""


def _red_flags(flags: Sequence[Flag]) -> Iterator[str]:
    yield "## Red flags"
    yield ""
    for number, flag in enumerate(flags, start=1):
        yield f"{number}. **{flag.title}.** {flag.explanation}"
        for statement in flag.statements[:_MOST_QUOTES]:
            yield f"   - {_quote(statement, indent='     ')}"
        if len(flag.statements) > _MOST_QUOTES:
            yield f"   - and {len(flag.statements) - _MOST_QUOTES} more"
    if not flags:
        yield "None found."
    yield ""


def _questions(scores: Sequence[Score], flags: Sequence[Flag]) -> Iterator[str]:
    """What contradicts itself first, then what is open in the weakest dimensions."""
    by_weakness = sorted(scores, key=lambda each: each.points)
    contradictions = [flag.question for flag in flags if flag.is_contradiction]
    open_rules = [rule.question for each in by_weakness for rule, met_by in each.met if met_by is None]
    questions = [*contradictions, *open_rules][:_MOST_QUESTIONS]
    if questions:
        yield "## Questions for the founders"
        yield ""
        yield from (f"{number}. {question}" for number, question in enumerate(questions, start=1))
        yield ""


def _quote(statement: Statement | None, *, indent: str = "  ") -> str:
    """The place and the words of a statement, letter by letter; the lines after its first are `indent`ed."""
    if statement is None:
        return "not found"
    slide = f"slide {statement.slide}, " if statement.slide else ""
    lines = [
        f'line {each.line}: "{_inert(_shortened(each.text))}"' for each in statement.fragments[:_MOST_LINES]
    ]
    return slide + f"\n{indent}".join(lines)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}\u2026"


def _inert(text: str) -> str:
    """`text`, as code where Markdown would make links, pictures, tables or HTML of it."""
    return _code(text) if _MARKUP.search(text) else text


def _code(text: str) -> str:
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"


def _untitled(path: str) -> str:
    return f"untitled ({_code(path.rpartition('/')[2])})"
