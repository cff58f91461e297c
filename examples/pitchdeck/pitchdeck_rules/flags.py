"""Red flags: what should make an investor stop and ask, each with the lines that raise it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pitchdeck_rules.amounts import COUNT, MONEY, PERCENT
from pitchdeck_rules.figures import SALES
from pitchdeck_rules.growth import judged_claims
from pitchdeck_rules.patterns import compiled
from pitchdeck_rules.words import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pitchdeck_rules.figures import Figure
    from pitchdeck_rules.statements import Statement
    from pitchdeck_rules.words import Dimension


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A place in the deck that backs what the report says."""

    statement: Statement
    at: int = 0
    """Where in the statement the quoted words matter most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One reason for doubt."""

    title: str
    detail: str
    quotes: tuple[Quote, ...] = ()
    dimensions: frozenset[Dimension] = frozenset()
    """Which scores it lowers by a point."""


_RIVAL = r"(?:competitors?|competition|rivals?|konkurrenz|konkurrenten|wettbewerber|mitbewerber|wettbewerb)"
_NONE = r"(?:no|zero|without(?: any)?|not have any|keine?n?)"
_SUCH = r"(?:(?:real|direct|true|serious|known|other|relevant|echten?|direkten?) )?"
_OFFERS = (
    r"(?:offer|ha[sv]e?|can|do|does|combin|provid|match|is|are|cover|serv|sell|focus|address|with|bietet|kann|hat"
    r"|in (?:our|this) (?:price|niche|segment))"
)
_NO_COMPETITOR = compiled(rf"""
    \b{_NONE}\s+{_SUCH}{_RIVAL}\b(?!\s+{_OFFERS})
    \b{_RIVAL}\s*[:|]\s*(?:none|no one|nobody|zero|keine?)\b
    \b(?:nobody|no one) else (?:is|does|has)\b
""")
_TOP_DOWN = re.compile(
    rf"(?P<share>{PERCENT})\s*(?:share )?(?:of|von|des|vom|am)\s+(?:(?:the|this|that|a|our|such a|diese[mns]|dem) )?"
    rf"(?:[\w-]+ ){{0,3}}?(?:{MONEY}[^.;]{{0,25}})?(?:market|markt\w*|TAM\b|industry|pie)"
)
_BOTTOM_UP = compiled(rf"""
    bottom[- ]up
    {COUNT}[^.;]{{0,60}}(?:\bx\b|\u00d7|\*|\btimes\b|\bmal\b|\bat\b|\bpaying\b|\u00e0|@)[^.;]{{0,20}}{MONEY}
    {MONEY}[^.;]{{0,40}}(?:\bx\b|\u00d7|\*)[^.;]{{0,20}}{COUNT}
""")
_ASSUMPTION = compiled(r"""
    \bassum\w+ | \bbased on\b | \bdriven by\b | \bannahme\w* | \bbasier\w+ | \bunter der annahme | \bscenario
    \bbottom[- ]up\b | \bper (?:customer|seat|user|unit|rep|clinic|store|site)\b | \bconversion\b | \bchurn\b
    \bprice of\b | \bsales reps?\b | \bpro kunde\b
""")
_FUTURE_SALES = compiled(r"""
    \b(?:forecast\w*|project(?:ed|ions?|s|ing)|will (?:reach|hit|make|earn|generate|be))\b
    \bwe (?:expect|plan|aim|target|project)\b | \b(?:expect(?:ed|s)?|prognose\w*|planen|erwarten|geplant)\b
""")
_SALES_WORD = re.compile(r"\b(?:revenues?|sales|turnover|arr|mrr|umsatz\w*|umsätze|profit|ebitda|earnings)\b")
_PAID = re.compile(r"\b(?:pays?|paid|paying|sold|zahl(?:t|en|ende)|verkauft)\b")
_RETURNS = compiled(r"""
    \bguarantee[ds]?\b[^.;]{0,40}\b(?:returns?|profits?|exit|roi|success)\b | \brisk[- ]free\b
    \bcan(?:not|['\u2019]t) (?:fail|lose)\b | \bgarantierte?n? (?:rendite|gewinn)
""")
_HYPE = compiled(r"""
    \b(?:revolution\w+|disrupt\w*|game[- ]chang\w+|world[- ]class|unicorn)\b
    \bnext (?:uber|google|facebook|amazon|apple|tesla|airbnb)\b
    \b(?:billion-dollar|explosive|skyrocket\w*|unprecedented|once[- ]in[- ]a[- ](?:generation|lifetime))\b
    \b(?:insane|crushing it|to the moon|paradigm\w*|bahnbrechend\w*|einzigartig\w*|revolutionär\w*)\b
    \b(?:better place|change the world|the future of everything|synerg\w+|dreamers)\b
    \b(?:unlimited|limitless|everyone (?:wants|needs|loves)|viral)\b
""")


def find_flags(statements: Sequence[Statement], figures: Sequence[Figure]) -> Iterator[Flag]:
    """The red flags that need no comparison of numbers, most serious first."""
    told = [statement for statement in statements if not statement.is_instruction]
    yield from _growth_without_base(told, figures)
    yield from _each(
        told,
        _NO_COMPETITOR,
        "Claims to have no competitors",
        "There is always an alternative, if only doing nothing; the market has not been looked at.",
    )
    yield from _top_down(told)
    yield from _projections(told)
    yield from _valuation(told, figures)
    yield from _each(
        told, _RETURNS, "Promises a return", "Nobody can promise that; it is a warning in itself."
    )
    yield from _hype(told)


def is_hype(statement: Statement) -> bool:
    """Whether the statement leans on a superlative."""
    return _HYPE.search(statement.masked) is not None


def is_calculation(statement: Statement) -> bool:
    """Whether the statement works a market out from below: so many buyers at such a price."""
    return _BOTTOM_UP.search(statement.masked) is not None


def claims_no_competitor(statement: Statement) -> bool:
    """Whether the statement says that nobody else is in this market."""
    return _NO_COMPETITOR.search(statement.masked) is not None


def missing_sections(statements: Sequence[Statement]) -> Iterator[Flag]:
    """One flag for all dimensions of which the deck says nothing."""
    stated = {dimension for statement in statements for dimension in statement.dimensions}
    missing = [dimension for dimension in DIMENSIONS if dimension not in stated]
    if missing:
        yield Flag(
            title=f"Missing: {', '.join(missing)}",
            detail="No line of the deck speaks of this.",
        )


def instructions(statements: Sequence[Statement]) -> Iterator[Flag]:
    """One flag for all text that speaks to the evaluator, hidden comments included."""
    told = sorted((each for each in statements if each.is_instruction), key=lambda each: each.line)
    first_by_line = {statement.line: statement for statement in reversed(told)}
    quotes = tuple(Quote(statement=first_by_line[line]) for line in sorted(first_by_line))
    if quotes:
        yield Flag(
            title="Text that tells the evaluator what to do",
            detail="It was not followed and counts neither for nor against a score; ask who put it there.",
            quotes=quotes[:5],
        )


def _each(
    statements: Sequence[Statement], pattern: re.Pattern[str], title: str, detail: str
) -> Iterator[Flag]:
    quotes = tuple(Quote(statement=statement) for statement in statements if pattern.search(statement.masked))
    if quotes:
        yield Flag(title=title, detail=detail, quotes=quotes[:2])


def _growth_without_base(statements: Sequence[Statement], figures: Sequence[Figure]) -> Iterator[Flag]:
    quotes = tuple(
        Quote(statement=claim) for claim, is_based in judged_claims(statements, figures) if not is_based
    )
    if quotes:
        yield Flag(
            title="Growth claimed without a base",
            detail="A percentage or a multiple without the number that it started from or came to says little.",
            quotes=quotes[:3],
        )


def _top_down(statements: Sequence[Statement]) -> Iterator[Flag]:
    if any(_BOTTOM_UP.search(statement.masked) for statement in statements):
        return
    for statement in statements:
        found = _TOP_DOWN.search(statement.masked)
        share = next(
            (amount for amount in statement.amounts if found and amount.token == found["share"]), None
        )
        if share and share.high <= 15:
            yield Flag(
                title="Market share instead of a market calculation",
                detail="A share is assumed from above; who buys, how many and at what price is not worked out.",
                quotes=(Quote(statement=statement, at=share.start),),
            )
            return


def _projections(statements: Sequence[Statement]) -> Iterator[Flag]:
    claims = [
        statement
        for statement in statements
        if re.search(MONEY, statement.masked)
        and not {"market", "competition", "ask", "use of funds"} & set(statement.topics)
        and (
            _SALES_WORD.search(statement.masked)
            and (_FUTURE_SALES.search(statement.masked) or "projection" in statement.topics)
        )
    ]
    sections = {claim.section for claim in claims}
    around = [
        statement
        for statement in statements
        if statement.section in sections or "finances" in statement.dimensions
    ]
    if claims and not any(_ASSUMPTION.search(statement.masked) for statement in around):
        yield Flag(
            title="Projections without assumptions",
            detail="Future sales are stated, but not what has to be true for them.",
            quotes=tuple(Quote(statement=claim) for claim in claims[:2]),
        )


def _valuation(statements: Sequence[Statement], figures: Sequence[Figure]) -> Iterator[Flag]:
    valued = [figure for figure in figures if figure.subject.endswith("valuation")]
    is_paid = any(figure.subject in SALES and figure.tense != "plan" for figure in figures) or any(
        _PAID.search(statement.masked) and "traction" in statement.dimensions for statement in statements
    )
    if valued and not is_paid:
        yield Flag(
            title="A valuation without revenue",
            detail="A price is put on the company, but no revenue of today is stated.",
            quotes=(Quote(statement=valued[0].statement, at=valued[0].amount.start),),
        )


def _hype(statements: Sequence[Statement]) -> Iterator[Flag]:
    loud = [statement for statement in statements if _HYPE.search(statement.masked)]
    words = sorted({word for statement in loud for word in _HYPE.findall(statement.masked)})
    if len(words) >= 3:
        yield Flag(
            title="Superlatives in place of evidence",
            detail=f"{len(loud)} statements lean on words such as {', '.join(words[:4])}.",
            quotes=tuple(Quote(statement=statement) for statement in loud[:2]),
        )
