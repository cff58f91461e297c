"""Points for each dimension, each with the statement that earned it, and the verdict that they add up to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pitchdeck_rules.deck import DIMENSIONS
from pitchdeck_rules.figures import MONEY, NOT_TODAY, NUMBER, RAISING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pitchdeck_rules.deck import Deck, Dimension, Statement
    from pitchdeck_rules.figures import Figure

Verdict = Literal["GO", "WATCH", "PASS"]
MEANING: Mapping[Verdict, str] = {
    "GO": "worth a first meeting",
    "WATCH": "not yet; first ask the questions in the report",
    "PASS": "decline as it stands",
}
POINTS_EACH = 3
MOST_POINTS = POINTS_EACH * len(DIMENSIONS)
GO_POINTS, MOST_FLAGS = 16, 1
WATCH_POINTS, MOST_MISSING, MOST_CONTRADICTIONS = 10, 2, 2
NO_COMPETITORS = (
    r"\b(?:no|without|zero|any)\s+(?:\w+ )?(?:competitors?|competition|rivals)\b"
    r"|\b(?:nobody|no one)(?: else)? (?:is doing|does|offers|sells)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What earns a point: one statement of the dimension that meets it."""

    name: str
    question: str
    """What to ask the founders where no statement meets it."""
    wording: re.Pattern[str]
    unless: re.Pattern[str] | None
    heading: re.Pattern[str] | None
    """A heading under which every statement meets it."""

    def is_met_by(self, statement: Statement) -> bool:
        """Whether the words of the statement, or the heading above it, are what the rule asks for."""
        if self.unless and self.unless.search(statement.text):
            return False
        is_under = self.heading is not None and self.heading.search(statement.heading) is not None
        return is_under or self.wording.search(statement.text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The points of one dimension."""

    dimension: Dimension
    stated: Statement | None
    """The first statement about it; None where the rules find none."""
    met: tuple[tuple[Rule, Statement | None], ...]
    """Its rules, each with the first statement that meets it."""

    @property
    def points(self) -> int:
        """One for being stated, one for each rule that is met."""
        return (self.stated is not None) + sum(statement is not None for _, statement in self.met)


def _rule(name: str, question: str, wording: str, *, unless: str = "", heading: str = "") -> Rule:
    return Rule(
        name=name,
        question=question,
        wording=re.compile(wording),
        unless=re.compile(unless, re.IGNORECASE) if unless else None,
        heading=re.compile(heading, re.IGNORECASE) if heading else None,
    )


_NAME = r"[A-Z][\w'\u2019-]+ [A-Z][\w'\u2019-]+"
_ROLE = r"(?:C[ETOFPM]O|[Cc]o-?[Ff]ounder|[Ff]ounder|[Hh]ead of|VP)\b"
_ECONOMICS = r"(?:margin|CAC|LTV|payback|paid back|pays for itself|burn|runway|break-?even|costs? us)"
RULES: Mapping[Dimension, tuple[Rule, Rule]] = {
    "problem": (
        _rule("gives a number", "How large is the problem, in numbers?", NUMBER),
        _rule(
            "names a source",
            "Which survey, study or interviews show the problem?",
            r"(?i)\b(?:survey|study|interview(?:s|ed)|according to|source:)|\([^()]*\b(?:19|20)\d\d\)",
        ),
    ),
    "solution": (
        _rule("gives a number", "What does the product change, in numbers?", NUMBER, unless=NOT_TODAY),
        _rule(
            "says that it exists",
            "What of the product exists today?",
            r"(?i)\b(?:in use|uses? it|live|launched|deployed|installed|pilots?|prototype|patent(?:ed)?)\b",
            unless=NOT_TODAY,
        ),
    ),
    "team": (
        _rule(
            "names people with their roles",
            "Who are the founders, and who does what?",
            rf"{_NAME}\W{{1,5}}(?:(?:is|our|the) ){{0,2}}{_ROLE}|{_ROLE}\W{{1,5}}{_NAME}",
        ),
        _rule(
            "gives their experience",
            "What has the team done before?",
            r"\b(?:\w+ years|[Ff]ormerly|[Pp]reviously|ex-[A-Z]\w+|worked (?:at|for)|PhD|founded|built|ran|led|sold)\b",
        ),
    ),
    "market": (
        _rule("gives a number", "How many buyers are there, and what would each pay?", NUMBER),
        _rule(
            "speaks of competitors",
            "What do buyers use today, and why would they change?",
            r"(?i)\b(?:competitors?|competes?|rivals?|alternatives?|incumbents?)\b",
            unless=NO_COMPETITORS,
            heading=r"\b(?:compet\w+|alternatives)\b",
        ),
    ),
    "traction": (
        _rule(
            "gives an absolute number of today",
            "What are the numbers today: customers, revenue, usage?",
            rf"{NUMBER}(?!\s?(?:%|percent))",
            unless=NOT_TODAY,
        ),
        _rule(
            "speaks of revenue or paying customers",
            "Who pays today, and how much?",
            r"\b(?:MRR|ARR|[Rr]evenues?|[Ss]ales of|[Pp]aying|customers pay)\b",
            unless=NOT_TODAY,
        ),
    ),
    "finances": (
        _rule("gives an amount of today", "What does it cost, and who pays?", MONEY, unless=NOT_TODAY),
        _rule(
            "gives unit economics or costs in numbers",
            "What are margin, cost of acquisition, burn and runway?",
            rf"(?i)\b{_ECONOMICS}\b.{{0,40}}{NUMBER}|{NUMBER}.{{0,40}}\b{_ECONOMICS}\b",
        ),
    ),
    "ask": (
        _rule("gives the amount", "How much do you raise?", f"(?i){RAISING.wording.pattern}"),
        _rule(
            "says what the money is for",
            "What will the money be used for?",
            r"(?i)\bto (?:build|hire|expand|launch|open|develop|finish|enter|scale)\b|\d ?% (?:for |to |on )?[a-z]",
            heading=r"\buse of\b",
        ),
    ),
}


def score(deck: Deck, dimension: Dimension, figures: Sequence[Figure]) -> Score:
    """The points of `dimension`: for what stands under its headings, and for its key figures anywhere."""
    elsewhere = tuple(figure.statement for figure in figures if figure.kind.dimension == dimension)
    statements = (*deck.about(dimension), *elsewhere)
    met = tuple(
        (rule, next((statement for statement in statements if rule.is_met_by(statement)), None))
        for rule in RULES[dimension]
    )
    return Score(dimension=dimension, stated=statements[0] if statements else None, met=met)


def judge(scores: Sequence[Score], *, contradictions: int, others: int) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict for these scores and so many red flags, and what stands in the way of the next better one."""
    points = sum(score.points for score in scores)
    missing = sum(score.stated is None for score in scores)
    against_go = _that_apply(
        (points < GO_POINTS, f"{points} points, fewer than {GO_POINTS}"),
        (missing > 0, "not every dimension is stated"),
        (contradictions > 0, "numbers contradict each other"),
        (others > MOST_FLAGS, f"more than {MOST_FLAGS} other red flag"),
    )
    against_watch = _that_apply(
        (points < WATCH_POINTS, f"{points} points, fewer than {WATCH_POINTS}"),
        (missing > MOST_MISSING, f"more than {MOST_MISSING} dimensions are not stated"),
        (contradictions > MOST_CONTRADICTIONS, f"more than {MOST_CONTRADICTIONS} contradictions"),
    )
    if not against_go:
        return "GO", ()
    return ("PASS", against_watch) if against_watch else ("WATCH", against_go)


def _that_apply(*reasons: tuple[bool, str]) -> tuple[str, ...]:
    return tuple(words for applies, words in reasons if applies)
