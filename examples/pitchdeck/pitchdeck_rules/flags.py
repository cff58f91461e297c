"""What in a deck should make an investor stop, each with the statements that show it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pitchdeck_rules.figures import MONEY, NUMBER, RAISING, REVENUE, VALUATION, value
from pitchdeck_rules.scores import NO_COMPETITORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pitchdeck_rules.deck import Deck, Statement
    from pitchdeck_rules.figures import Figure
    from pitchdeck_rules.scores import Score

_SUPERLATIVES = re.compile(
    r"\b(?:revolution\w+|game-chang\w+|disrupt\w*|unicorn|once-in-a-\w+|explosive|crushing it|everyone needs"
    r"|unprecedented|guaranteed|next (?:uber|airbnb|google))\b",
    re.IGNORECASE,
)
_FROM_ABOVE = re.compile(
    r"\b(?:just|only|even|capture|get|take|win)\s(?:\w+ )?\d+(?:\.\d+)?\s?(?:%|percent) of\b.*\bmarket\b",
    re.IGNORECASE,
)
_GROWTH = re.compile(
    r"\b(?:grow\w*|grew|growth|up)\b.*?\d\s?(?:%|x\b|percent)|\d\s?(?:%|x) (?:growth|increase)", re.IGNORECASE
)
_ABSOLUTE = re.compile(rf"{NUMBER}(?!\s?(?:%|percent))")
_RECURRING = re.compile(rf"\b(MRR|ARR)\b(?: (?:of|is|at))?:? ({MONEY})|({MONEY}) (?:in |of )?(MRR|ARR)\b")
_OTHER_SCOPE = re.compile(
    r"\b(?:(?:19|20)\d\d|Q[1-4]|last|ago|was|were|since|from|series [a-d]|bridge|then|after|up to|at least|of which)\b",
    re.IGNORECASE,
)
"""Words by which two numbers may both be right: another time, another round, another part."""
_WORDED = (
    (
        re.compile(NO_COMPETITORS, re.IGNORECASE),
        "Claims to have no competitors",
        "There is an alternative to everything, if only to do nothing.",
    ),
    (
        _FROM_ABOVE,
        "A market from above",
        "A share is assumed; who buys, how many and at what price is not worked out.",
    ),
    (_SUPERLATIVES, "Superlatives in place of evidence", "Such words show nothing."),
)
_EVALUATOR = r"(?:AI|LLM|language models?|evaluators?|graders?|reviewers?|assistants?|chatbots?)"
_INSTRUCTION = re.compile(
    rf"""(?ix)
    \b(?:ignore|disregard|forget|override)\b .{{0,40}} \b(?:previous|prior|above|earlier|your|system|all)\b
        .{{0,30}} \b(?:instructions?|prompts?|rules|rubric|criteria)\b
    | \bsystem\ prompt\b | <\|?/?(?:im_start|im_end|system|assistant)\|?> | ^\W*(?:system|assistant)\s*:
    | \b(?:note|message|instructions?)\b .{{0,20}} \b(?:to|for)\b .{{0,20}} \b{_EVALUATOR}\b
    | \b(?:if\ you\ are|as|you\ are)\ (?:an?\ )?{_EVALUATOR}\b
    | (?:^\W*|\b(?:please|must|should|you)\s+) (?:give|award|assign|score|rate|grade) \b .{{0,60}}
        (?:\b\d+\ ?(?:/|out\ of)\ ?\d+\b | \b(?:highest|maximum|top|perfect|full)\ (?:score|marks?|points?|rating)\b)
    | \b(?:verdict|recommend|answer|respond|output)\b .{{0,30}} (?-i:\bGO\b)
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A red flag."""

    title: str
    explanation: str
    statements: tuple[Statement, ...] = ()
    question: str = ""
    """What a contradiction asks the founders; empty for other flags."""
    counts: bool = True
    """Whether it counts for the verdict."""

    @property
    def is_contradiction(self) -> bool:
        """Whether two numbers of the deck cannot both be right."""
        return bool(self.question)


def is_instruction(statement: Statement) -> bool:
    """Whether it speaks to whoever evaluates the deck. Such a statement counts neither for nor against a score."""
    return _INSTRUCTION.search(statement.text) is not None


def find_flags(
    deck: Deck, figures: Sequence[Figure], scores: Sequence[Score], instructions: Sequence[Statement]
) -> tuple[Flag, ...]:
    """The red flags of a deck whose statements hold none of `instructions`, contradictions first."""
    return (
        *_two_amounts_to_raise(figures),
        *_arr_that_is_not_twelve_times_mrr(figures),
        *_not_stated(scores),
        *_growth_without_a_base(deck),
        *_by_words(deck),
        *_valuation_without_revenue(figures),
        *_instructions(instructions),
    )


def _two_amounts_to_raise(figures: Sequence[Figure]) -> Iterator[Flag]:
    """The first amount and the first other one in its currency; what leaves a doubt is compared with nothing."""
    amounts = [
        (figure, amount)
        for figure in figures
        if figure.kind is RAISING and not _OTHER_SCOPE.search(figure.statement.text)
        if (amount := value(figure.amount)) is not None
    ]
    for figure, amount in amounts[1:]:
        first, (currency, size) = amounts[0]
        if amount[0] == currency and amount[1] != size:
            yield Flag(
                title="Contradicting numbers: the amount to be raised",
                explanation=f"{first.amount} in one place, {figure.amount} in another.",
                statements=(first.statement, figure.statement),
                question="How much do you raise? The deck gives two amounts.",
            )
            return


def _arr_that_is_not_twelve_times_mrr(figures: Sequence[Figure]) -> Iterator[Flag]:
    """One MRR and one ARR, both without a date, that are more than a tenth apart."""
    recurring = [
        (words[1] or words[4], words[2] or words[3], figure.statement)
        for figure in figures
        if figure.kind is REVENUE and not _OTHER_SCOPE.search(figure.statement.text)
        for words in _RECURRING.finditer(figure.statement.text)
    ]
    monthly = [(amount, statement) for name, amount, statement in recurring if name == "MRR"]
    yearly = [(amount, statement) for name, amount, statement in recurring if name == "ARR"]
    if len(monthly) != 1 or len(yearly) != 1:
        return
    (mrr, mrr_statement), (arr, arr_statement) = monthly[0], yearly[0]
    month, year = value(mrr), value(arr)
    if month and year and month[0] == year[0] and abs(12 * month[1] - year[1]) > 0.1 * year[1]:
        yield Flag(
            title="Contradicting numbers: ARR is not twelve times MRR",
            explanation=f"Twelve times {mrr} is not {arr}.",
            statements=(mrr_statement, arr_statement),
            question="Which is right, ARR or MRR?",
        )


def _not_stated(scores: Sequence[Score]) -> Iterator[Flag]:
    missing = [score.dimension for score in scores if score.stated is None]
    if missing:
        yield Flag(
            title=f"Not stated: {', '.join(missing)}",
            explanation="Nothing stands under a heading that these rules know for it.",
        )


def _growth_without_a_base(deck: Deck) -> Iterator[Flag]:
    traction = deck.about("traction")
    growth = [statement for statement in traction if _GROWTH.search(statement.text)]
    if growth and not any(_ABSOLUTE.search(statement.text) for statement in traction):
        yield Flag(
            title="Growth without a base",
            explanation="Under traction stands no absolute number that the growth could be measured by.",
            statements=tuple(growth),
        )


def _by_words(deck: Deck) -> Iterator[Flag]:
    for wording, title, explanation in _WORDED:
        if statements := tuple(statement for statement in deck.statements if wording.search(statement.text)):
            yield Flag(title=title, explanation=explanation, statements=statements)


def _valuation_without_revenue(figures: Sequence[Figure]) -> Iterator[Flag]:
    valuations = tuple(figure.statement for figure in figures if figure.kind is VALUATION)
    if valuations and not any(figure.kind is REVENUE for figure in figures):
        yield Flag(
            title="A valuation without revenue",
            explanation="The deck puts a price on the company; these rules find no revenue of today.",
            statements=valuations,
        )


def _instructions(instructions: Sequence[Statement]) -> Iterator[Flag]:
    if instructions:
        yield Flag(
            title="Text that tells the evaluator what to do",
            explanation="It was not followed, and counts neither for nor against a score.",
            statements=tuple(instructions),
            counts=False,
        )
