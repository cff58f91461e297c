"""An evaluation as a Markdown report: every claim with its line, and "not stated" where there is none."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pitchdeck_rules.evaluation import (
    GO_FLAGS,
    GO_LEAST,
    GO_POINTS,
    MOST_POINTS,
    WATCH_CONTRADICTIONS,
    WATCH_MISSING,
    WATCH_POINTS,
)
from pitchdeck_rules.flags import Quote
from pitchdeck_rules.rubric import RUBRIC

if TYPE_CHECKING:
    from pitchdeck_rules.evaluation import Evaluation, Score
    from pitchdeck_rules.statements import Piece, Statement

_LONGEST_QUOTE = 240  # characters
_MOST_PIECES = 4
_MOST_QUESTIONS = 6
_MARKUP = frozenset("<>`[]|\\")
_MEANING = {
    "GO": "worth a first meeting",
    "WATCH": "not yet; come back when the questions below are answered",
    "PASS": "decline as it stands",
}


def write_report(evaluation: Evaluation, model_name: str) -> str:
    """The report on a deck that says something."""
    deck = evaluation.deck
    slides = f"{deck.slides} slides, " if deck.slides else "no slide marks, "
    size = f"{slides}{len(deck.lines)} lines"
    sections = (
        _head(_title(evaluation), deck.name, (size, *deck.notes, *evaluation.notes), model_name),
        _verdict(evaluation),
        _key_figures(evaluation),
        _scores(evaluation.scores),
        _evidence(evaluation.scores),
        _flags(evaluation),
        _questions(evaluation),
        _appendix(evaluation.scores),
    )
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def write_blank_report(name: str, reason: str, advice: str, model_name: str) -> str:
    """The report on a file in which there is nothing to judge."""
    sections = (
        _head(f"not stated (file `{PurePosixPath(name).name}`)", name, (), model_name),
        ["**Verdict: NOT JUDGED**", "", f"Nothing can be judged: {reason}. {advice}"],
        ["## Scores", "", "| Dimension | Score |", "| --- | --- |"]
        + [f"| {dimension.capitalize()} | not stated |" for dimension in RUBRIC],
        ["## Red flags", "", f"1. **Nothing to judge.** {reason[0].upper()}{reason[1:]}."],
    )
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def _head(title: str, name: str, reading: tuple[str, ...], model_name: str) -> list[str]:
    return [
        f"# Pitch deck report: {title}",
        "",
        f"- Deck: `{name}`" + (f" ({'; '.join(reading)})" if reading else ""),
        f"- Written by: {model_name}",
    ]


def _title(evaluation: Evaluation) -> str:
    if evaluation.company:
        return evaluation.company.text
    return f"company name not stated (file `{PurePosixPath(evaluation.deck.name).name}`)"


def _verdict(evaluation: Evaluation) -> list[str]:
    meaning, points = _MEANING[evaluation.verdict], f"{evaluation.points} of {MOST_POINTS} points"
    lines = [f"**Verdict: {evaluation.verdict}** ({meaning}), {points}", ""]
    if evaluation.reasons:
        better = "GO" if evaluation.verdict == "WATCH" else "WATCH"
        lines += [f"Why not {better}: {'; '.join(evaluation.reasons)}.", ""]
    if evaluation.pitch:
        return [*lines, "What it does, in its own words:", "", *_quoted(Quote(statement=evaluation.pitch))]
    return [*lines, "What it does: not stated."]


def _key_figures(evaluation: Evaluation) -> list[str]:
    lines = ["## Key figures", "", "| Figure | Value | Where |", "| --- | --- | --- |"]
    doubtful = {quote.statement.pieces for flag in evaluation.contradictions for quote in flag.quotes}
    for label, figure in evaluation.key_figures:
        if figure is None:
            lines.append(f"| {label} | not stated | |")
            continue
        doubt = "contradicted, see red flags" if figure.statement.pieces in doubtful else ""
        is_narrowed = label in {"Revenue", "Customers or users"}
        narrowed = f"{figure.qualifier} {figure.subject} {_region(figure.scope)}".strip()
        subject = narrowed if is_narrowed else figure.subject
        period = figure.period if figure.subject != "ask" else ""
        details = (subject, period, "planned" if figure.tense == "plan" else "", doubt)
        value = f'"{figure.amount.text}" ({", ".join(detail for detail in details if detail)})'
        piece = _piece_at(figure.statement, figure.amount.start)
        lines.append(f"| {label} | {value} | {_place(piece)} |")
    return lines


def _region(scope: str) -> str:
    """The scope of a figure where it is a place; other words make no sense without the rest of their sentence."""
    return scope if re.match(r"(?:in|at|from|aus|bei)\s", scope) else ""


def _scores(scores: tuple[Score, ...]) -> list[str]:
    lines = [
        "## Scores",
        "",
        "| Dimension | Score | Rules met | Rules not met |",
        "| --- | --- | --- | --- |",
    ]
    for score in scores:
        met = [criterion.rule for criterion, statement in score.results if statement]
        unmet = [criterion.rule for criterion, statement in score.results if not statement]
        row = (
            score.dimension.capitalize(),
            _points(score),
            "; ".join(met) or "none",
            "; ".join(unmet) or "none",
        )
        lines.append(f"| {' | '.join(row)} |")
    return lines


def _points(score: Score) -> str:
    return f"{score.points}/5" if score.points else "not stated"


def _evidence(scores: tuple[Score, ...]) -> list[str]:
    lines = ["## Evidence"]
    for score in scores:
        lines += ["", f"### {score.dimension.capitalize()}: {_points(score)}", ""]
        if not score.evidence:
            lines.append("not stated")
        for statement in score.evidence:
            lines += _quoted(Quote(statement=statement))
    return lines


def _flags(evaluation: Evaluation) -> list[str]:
    flags = (*evaluation.contradictions, *evaluation.doubts, *evaluation.instructions)
    lines = ["## Red flags", ""]
    if not flags:
        return [*lines, "None found by these rules."]
    for number, flag in enumerate(flags, start=1):
        lines.append(f"{number}. **{flag.title}.** {flag.detail}")
        for quote in flag.quotes:
            lines += [f"   {line}" for line in _quoted(quote)]
    return lines


def _questions(evaluation: Evaluation) -> list[str]:
    asked = [f"{flag.title.partition(': ')[2]}: which number is right?" for flag in evaluation.contradictions]
    asked = [question[0].upper() + question[1:] for question in asked]
    weakest_first = sorted(evaluation.scores, key=lambda score: score.points or 0)
    for score in weakest_first:
        unmet = [criterion.question for criterion, statement in score.results if not statement]
        asked += unmet[: 1 if score.points else 2]
    if not asked:
        return ["## Questions for the founders", "", "None follow from the rubric."]
    return ["## Questions for the founders", ""] + [
        f"{number}. {question}" for number, question in enumerate(asked[:_MOST_QUESTIONS], start=1)
    ]


_SCORING = (
    "A dimension that is stated earns 1 point, and 1 more for each rule below that a line of the deck meets. "
    "Contradicting numbers cost their dimension 1 point, but never the last one."
)
_THRESHOLDS = (
    f"GO: at least {GO_POINTS} of {MOST_POINTS} points, every dimension stated with at least {GO_LEAST} points, no "
    f"contradicting numbers, at most {GO_FLAGS} other red flag. WATCH: at least {WATCH_POINTS} points, at most "
    f"{WATCH_MISSING} dimensions not stated, at most {WATCH_CONTRADICTIONS} contradictions. PASS: anything less."
)
_LIMITS = (
    "These rules look for words and numbers in English and German. They cannot tell whether a claim is true, and "
    "they miss what is said in other words."
)


def _appendix(scores: tuple[Score, ...]) -> list[str]:
    lines = [
        "## How this was scored",
        "",
        _SCORING,
        "",
        "| Dimension | Rule | Met by |",
        "| --- | --- | --- |",
    ]
    for score in scores:
        for criterion, statement in score.results:
            met_by = _place(statement.pieces[0]) if statement else "no line"
            lines.append(f"| {score.dimension.capitalize()} | {criterion.rule} | {met_by} |")
        if score.is_lowered:
            lines.append(
                f"| {score.dimension.capitalize()} | contradicting numbers: one point less | red flags |"
            )
    return [*lines, "", _THRESHOLDS, "", _LIMITS]


def _quoted(quote: Quote) -> list[str]:
    """A list item for the report: each piece on its own line, letter by letter."""
    lines: list[str] = []
    pieces = quote.statement.pieces
    focus = _piece_at(quote.statement, quote.at)
    first = max(0, pieces.index(focus) - 1) if len(pieces) > _MOST_PIECES else 0
    for piece in pieces[first : first + _MOST_PIECES]:
        at = max(0, quote.at - quote.statement.text.find(piece.text)) if piece is focus else 0
        mark = "- " if not lines else "  "
        lines.append(f'{mark}{_place(piece)}: "{_inert(_cut(piece.text, at))}"')
    return lines


def _piece_at(statement: Statement, at: int) -> Piece:
    position = 0
    for piece in statement.pieces:
        position = statement.text.find(piece.text, position) + len(piece.text)
        if at < position:
            return piece
    return statement.pieces[-1]


def _place(piece: Piece) -> str:
    return f"slide {piece.slide}, line {piece.line}" if piece.slide else f"line {piece.line}"


def _cut(text: str, at: int) -> str:
    """At most about `_LONGEST_QUOTE` characters of `text` around `at`, with an ellipsis where something is cut."""
    if len(text) <= _LONGEST_QUOTE:
        return text
    start = max(0, min(at - _LONGEST_QUOTE // 2, len(text) - _LONGEST_QUOTE))
    part = text[start : start + _LONGEST_QUOTE]
    if start and " " in part:
        part = part.partition(" ")[2]
    if start + _LONGEST_QUOTE < len(text) and " " in part:
        part = part.rpartition(" ")[0]
    return f"{'…' if start else ''}{part}{'…' if start + _LONGEST_QUOTE < len(text) else ''}"


def _inert(text: str) -> str:
    """`text` as code where a Markdown reader would take it for markup: a deck must not write its own report."""
    if not _MARKUP.intersection(text):
        return text
    fence = "`" if "`" not in text else "``" if "``" not in text else "`" * 8
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}"
