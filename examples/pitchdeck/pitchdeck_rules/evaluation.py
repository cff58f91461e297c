"""A deck, judged: scores with their evidence, red flags, key figures and a verdict by stated thresholds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pitchdeck_rules.contradictions import MOST_COMPARED, find_contradictions, has_uncompared_values
from pitchdeck_rules.criteria import gather_facts, has_digits, is_table_row
from pitchdeck_rules.figures import read_figures
from pitchdeck_rules.flags import Flag, find_flags, instructions, missing_sections
from pitchdeck_rules.patterns import one_of
from pitchdeck_rules.rubric import RUBRIC
from pitchdeck_rules.statements import Piece, read_hidden_statements, read_statements, title_line
from pitchdeck_rules.words import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pitchdeck_rules.criteria import Facts
    from pitchdeck_rules.deck import Deck
    from pitchdeck_rules.figures import Figure
    from pitchdeck_rules.rubric import Criterion
    from pitchdeck_rules.statements import Statement
    from pitchdeck_rules.words import Dimension

Verdict = Literal["GO", "WATCH", "PASS"]

MOST_POINTS = 5 * len(DIMENSIONS)
GO_POINTS, GO_LEAST, GO_FLAGS = 25, 2, 1
WATCH_POINTS, WATCH_MISSING, WATCH_CONTRADICTIONS = 14, 2, 2

_LEAST_EVIDENCE, _MOST_EVIDENCE = 3, 5
_DECK_WORDS = re.compile(
    r"\b(?:(?:quick |short )?intro(?:duction)?|one[- ](?:pager|slide)|teaser|export"
    r"|(?:investor|pitch|seed|funding|startup)[ -]?(?:deck|presentation|pitch)|pitch|deck|präsentation"
    r"|presentation|(?:pre-)?seed(?: round)?|series [a-d]|20\d\d|confidential|investor|für investoren|for investors)\b",
    re.IGNORECASE,
)
_MAIL_MARK = re.compile(r"^\W*(?:(?:subject|betreff|re|fwd?|aw)\s*:\s*)+", re.IGNORECASE)
_DOES = one_of("""
    makes | builds | offers | helps | provides | develops | sells | turns | lets | connects | rents | runs | brings
    delivers | automates | is an? | is the | entwickelt | baut | bietet | verbindet | ist eine? | ist der | ist die
""")
_SUBJECT = re.compile(rf"\W*([A-Z\u00c0-\u00de][\w-]+(?: [A-Z\u00c0-\u00de][\w-]+)?) {_DOES}\b")
_HEAD_LINES = 15
_NAME_LABEL = re.compile(
    r"\W*(?:company|company name|startup|firma|unternehmen|société|empresa)\W*[:|]\W*(\w[^\n|]{0,60}?)[\s*|]*$",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    one_of(r"""
        (?:the|this|that|it|our|we|every|each|everyone|everybody|nobody|today|there|here|what|who|one|most|an?)\b
        (?:der|die|das|unser\w*|es|wir|jede\w*|heute)\b
    """),
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one dimension earned."""

    dimension: Dimension
    points: int | None
    """1 to 5; None where the deck does not speak of it."""
    results: tuple[tuple[Criterion, Statement | None], ...]
    """Each criterion with the statement that meets it."""
    is_lowered: bool
    """Whether contradicting numbers cost it a point."""
    evidence: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Everything that the report says about a deck."""

    deck: Deck
    company: Piece | None
    """The company's name, as its deck writes it."""
    pitch: Statement | None
    """What the company does, in its own words."""
    key_figures: tuple[tuple[str, Figure | None], ...]
    scores: tuple[Score, ...]
    contradictions: tuple[Flag, ...]
    doubts: tuple[Flag, ...]
    """The other red flags, without those that concern the evaluator alone."""
    instructions: tuple[Flag, ...]
    notes: tuple[str, ...]
    """What was not looked at."""
    verdict: Verdict
    reasons: tuple[str, ...]

    @property
    def points(self) -> int:
        """The sum of all scores; a dimension that is not stated counts 0."""
        return sum(score.points or 0 for score in self.scores)


def evaluate(deck: Deck) -> Evaluation | None:
    """The evaluation of a deck; None where it says nothing at all."""
    company = company_name(deck)
    statements = read_statements(deck, company.text if company else "")
    if not any(not statement.is_instruction for statement in statements):
        return None
    facts = gather_facts(statements, read_figures(statements))
    contradictions = tuple(find_contradictions(facts.statements, facts.figures))
    lowered = frozenset(dimension for flag in contradictions for dimension in flag.dimensions)
    scores = tuple(_score(dimension, facts, is_lowered=dimension in lowered) for dimension in DIMENSIONS)
    doubts = (*missing_sections(facts.statements), *find_flags(facts.statements, facts.figures))
    verdict, reasons = _verdict(scores, contradictions, doubts)
    return Evaluation(
        deck=deck,
        company=company,
        pitch=_pitch(facts),
        key_figures=tuple(_key_figures(facts.figures)),
        scores=scores,
        contradictions=contradictions,
        doubts=doubts,
        instructions=tuple(instructions((*statements, *read_hidden_statements(deck)))),
        notes=(f"only the first {MOST_COMPARED} values of each quantity were compared",)
        if has_uncompared_values(facts.figures)
        else (),
        verdict=verdict,
        reasons=reasons,
    )


def company_name(deck: Deck) -> Piece | None:
    """The name that the deck gives as such or in its title, without words such as "pitch deck"."""
    for line in deck.lines[:_HEAD_LINES]:
        following = deck.lines[line.number].kind if line.number < len(deck.lines) else "blank"
        is_table_head = line.kind == "row" and following == "mark"
        if not is_table_head and (labelled := _NAME_LABEL.match(line.text)):
            return Piece(line=line.number, slide=line.slide, text=labelled[1].strip())
    title_at = title_line(deck)
    if title_at is None:
        return _first_subject(deck)
    title = _MAIL_MARK.sub("", title_at.title if title_at.kind == "heading" else title_at.text.strip())
    for part in re.split(r"\s+[-\u2013\u2014|]\s+|\s*[:|\u2013\u2014]\s+|,\s", title):
        name = re.sub(r"^\W+|[\s,;:(]+$", "", _cut_at(_DECK_WORDS, part))
        if name and len(name.split()) <= 4 and name in title_at.text:
            return Piece(line=title_at.number, slide=title_at.slide, text=name)
    return None


def _first_subject(deck: Deck) -> Piece | None:
    """The subject of a first sentence such as "Acme makes anvils." """
    line = next((line for line in deck.lines if line.kind in {"text", "item"}), None)
    found = _SUBJECT.match(line.text, line.start) if line else None
    if line is None or found is None or _PRONOUN.match(found[1]):
        return None
    return Piece(line=line.number, slide=line.slide, text=found[1])


def _cut_at(pattern: re.Pattern[str], text: str) -> str:
    """`text` without what `pattern` matches, kept in one stretch so that it can be quoted."""
    parts = [part.strip(" -\u2013\u2014|:,()") for part in pattern.split(text)]
    return max(parts, key=len)


def _score(dimension: Dimension, facts: Facts, *, is_lowered: bool) -> Score:
    stated = facts.about(dimension)
    results = tuple((criterion, criterion.find(facts) if stated else None) for criterion in RUBRIC[dimension])
    met = sum(statement is not None for _, statement in results)
    points = max(1, 1 + met - is_lowered) if stated else None
    return Score(
        dimension=dimension,
        points=points,
        results=results,
        is_lowered=is_lowered and points is not None,
        evidence=_evidence(stated, [statement for _, statement in results if statement], facts),
    )


def _evidence(stated: list[Statement], meeting: list[Statement], facts: Facts) -> tuple[Statement, ...]:
    """Statements about the dimension that earned points, then others until there are three, numbers first."""
    about = {statement.pieces for statement in stated}
    chosen = {statement.pieces: statement for statement in meeting if statement.pieces in about}
    for statement in sorted(stated, key=lambda each: not has_digits(each)):
        if len(chosen) >= _LEAST_EVIDENCE:
            break
        chosen.setdefault(statement.pieces, statement)
    in_order = (statement for statement in facts.statements if statement.pieces in chosen)
    return tuple({statement.pieces: statement for statement in in_order}.values())[:_MOST_EVIDENCE]


def _pitch(facts: Facts) -> Statement | None:
    prose = [
        each for each in facts.about("solution") if len(each.text.split()) >= 5 and not is_table_row(each)
    ]
    return prose[0] if prose else None


def _key_figures(figures: tuple[Figure, ...]) -> Iterator[tuple[str, Figure | None]]:
    wanted: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("Raising", ("ask",)),
        ("Valuation", ("pre-money valuation", "post-money valuation", "valuation")),
        ("Revenue", ("MRR", "ARR", "revenue")),
        (
            "Customers or users",
            ("customers", "clients", "subscribers", "users", "kunden", "nutzer", "pilots", "pilotkunden"),
        ),
        ("Team size", ("team size",)),
        ("Market", ("TAM", "market size", "SAM")),
    )
    for label, subjects in wanted:
        found = [figure for subject in subjects for figure in figures if figure.subject == subject]
        current = [figure for figure in found if figure.tense == "now"]
        planned = found if label in {"Raising", "Market"} else []
        yield label, _latest(current) or next(iter(planned), None)


def _latest(figures: list[Figure]) -> Figure | None:
    """The first figure of today; where all carry a year, the last one of the latest year."""
    today = next((figure for figure in figures if not figure.period), None)
    if today or not figures:
        return today
    years = [
        max((int(year) for year in re.findall(r"20\d\d", figure.period)), default=0) for figure in figures
    ]
    return [figure for figure, year in zip(figures, years, strict=True) if year == max(years)][-1]


def _verdict(
    scores: tuple[Score, ...], contradictions: tuple[Flag, ...], doubts: tuple[Flag, ...]
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict by the thresholds above, and what speaks against the next better one."""
    points = sum(score.points or 0 for score in scores)
    missing = [score.dimension for score in scores if score.points is None]
    weak = [score.dimension for score in scores if score.points is not None and score.points < GO_LEAST]
    against_watch = [
        *([f"{points} points, fewer than {WATCH_POINTS}"] if points < WATCH_POINTS else []),
        *([f"{len(missing)} dimensions not stated"] if len(missing) > WATCH_MISSING else []),
        *([f"{len(contradictions)} contradictions"] if len(contradictions) > WATCH_CONTRADICTIONS else []),
    ]
    if against_watch:
        return "PASS", tuple(against_watch)
    against_go = [
        *([f"{points} points, fewer than {GO_POINTS}"] if points < GO_POINTS else []),
        *([f"not stated: {', '.join(missing)}"] if missing else []),
        *([f"weak: {', '.join(weak)}"] if weak else []),
        *(["numbers that contradict each other"] if contradictions else []),
        *([f"{len(doubts)} other red flags"] if len(doubts) > GO_FLAGS else []),
    ]
    return ("WATCH", tuple(against_go)) if against_go else ("GO", ())
