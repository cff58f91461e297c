"""Numbers of one deck that cannot all be true; careful, as a false alarm costs more trust than a missed one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from pitchdeck_rules.amounts import AMOUNT, COUNT, MONEY, MULTIPLE, PERCENT
from pitchdeck_rules.flags import Flag, Quote
from pitchdeck_rules.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pitchdeck_rules.amounts import Amount
    from pitchdeck_rules.figures import Figure
    from pitchdeck_rules.statements import Statement
    from pitchdeck_rules.words import Dimension

MOST_COMPARED = 100  # values of one quantity; each is compared with each
_MOST_SHARES = 12
_TOLERANCE = 0.05  # of the larger value: decks round
_DIMENSION: dict[str, Dimension] = {
    "ask": "ask", "pre-money valuation": "ask", "post-money valuation": "ask", "valuation": "ask", "team size": "team",
    "gross margin": "finances", "burn": "finances", "CAC": "finances", "LTV": "finances", "LTV/CAC": "finances",
    "TAM": "market", "SAM": "market", "SOM": "market", "market size": "market",
}  # fmt: skip
_LABEL = {"ask": "the amount to be raised", "burn": "monthly burn"}
_SPENT = compiled(rf"""
    \buse of funds\b[^.;]*{PERCENT} | \bmittelverwendung\b[^.;]*{PERCENT}
    {PERCENT} (?:on|for|to|goes|into|für|in)\b  | {PERCENT} [a-zäöü&/ ]{{2,30}},[^.;]{{0,40}}{PERCENT}
""")
_ENTRY = re.compile(rf"^\W*{PERCENT}|{PERCENT}\W*$")
_NOT_SPENT = re.compile(
    r"\b(?:growth|grow|equity|stake|discount|interest|dilution|margin|increase|wachstum|anteile?n?|zins\w*)\b"
)
_FOUNDED = re.compile(
    r"\b(?:founded|established|incorporated|gegründet)(?: in| im jahr)? ((?:19|20)\d\d)\b|\b((?:19|20)\d\d) gegründet\b"
)
_PRICE = re.compile(
    rf"({MONEY})\s*(?:/|per|a|pro|je|im)\s*(?:(?:customer|clinic|practice|store|site|company|account|kunde|praxis)\s*(?:/|per|a|and|pro|und)?\s*)?"
    r"(month|mo\b|year|yr\b|monat|jahr)"
)  # fmt: skip


def find_contradictions(statements: Sequence[Statement], figures: Sequence[Figure]) -> Iterator[Flag]:
    """One flag for each quantity that the deck states in ways that exclude each other, with both lines."""
    yield from _different_values(figures)
    yield from _founding_years(statements)
    yield from _annual_against_monthly(figures)
    yield from _markets_in_order(figures)
    yield from _value_against_cost(figures)
    yield from _customers_times_price(statements, figures)
    yield from _growth_arithmetic(statements)
    yield from _use_of_funds(statements)


def _different_values(figures: Sequence[Figure]) -> Iterator[Flag]:
    for (subject, qualifier, scope, period), values in _stated_values(figures).items():
        pair = next((pair for pair in combinations(values[:MOST_COMPARED], 2) if _exclude(*pair)), None)
        if pair:
            label = " ".join(
                word
                for word in (qualifier, _LABEL.get(subject, subject), scope, f"({period})" if period else "")
                if word
            )
            first, second = pair
            yield _flag(
                f"Contradicting numbers: {label}",
                f"{first.amount.text} in one place, {second.amount.text} in another.",
                pair,
            )


def has_uncompared_values(figures: Sequence[Figure]) -> bool:
    """Whether the deck states one quantity in more ways than are compared with each other."""
    return any(len(values) > MOST_COMPARED for values in _stated_values(figures).values())


def _stated_values(figures: Sequence[Figure]) -> dict[tuple[str, str, str, str], list[Figure]]:
    """The different values of each quantity, by subject, qualifier, scope and period."""
    groups: dict[tuple[str, str, str, str], dict[tuple[float, float, str], Figure]] = {}
    for figure in figures:
        if figure.tense == "now" or (figure.tense == "plan" and re.search(r"\d{4}", figure.period)):
            key = (figure.subject, figure.qualifier, figure.scope, figure.period)
            groups.setdefault(key, {}).setdefault((figure.low, figure.high, figure.unit), figure)
    return {key: list(group.values()) for key, group in groups.items()}


def _exclude(first: Figure, second: Figure) -> bool:
    if first.statement is second.statement or (first.unit and second.unit and first.unit != second.unit):
        return False
    gap = max(first.low, second.low) - min(first.high, second.high)
    return gap > _TOLERANCE * max(first.high, second.high)


def _flag(title: str, detail: str, figures: Iterable[Figure]) -> Flag:
    figures = tuple(figures)
    return Flag(
        title=title,
        detail=detail,
        quotes=tuple(
            {
                id(each.statement): Quote(statement=each.statement, at=each.amount.start) for each in figures
            }.values()
        ),
        dimensions=frozenset({_DIMENSION.get(figures[0].subject, "traction")}),
    )


def _founding_years(statements: Sequence[Statement]) -> Iterator[Flag]:
    found = [
        (match[1] or match[2], statement)
        for statement in statements
        if (match := _FOUNDED.search(statement.masked))
    ]
    second = next((each for each in found if each[0] != found[0][0]), None)
    if second:
        yield Flag(
            title="Contradicting numbers: the founding year",
            detail=f"{found[0][0]} in one place, {second[0]} in another.",
            quotes=(Quote(statement=found[0][1]), Quote(statement=second[1])),
            dimensions=frozenset({"team"}),
        )


def _only(figures: Sequence[Figure], subject: str, qualifier: str = "") -> Figure | None:
    """The deck's one statement of today's `subject`; None where it states none or several."""
    found = [
        each
        for each in figures
        if each.subject == subject and qualifier in each.qualifier and each.tense == "now" and not each.period
    ]
    return found[0] if found and not any(_exclude(found[0], other) for other in found) else None


def _annual_against_monthly(figures: Sequence[Figure]) -> Iterator[Flag]:
    monthly, annual = _only(figures, "MRR"), _only(figures, "ARR")
    if not monthly or not annual:
        return
    low, high = 12 * monthly.low, 12 * monthly.high
    if max(low, annual.low) - min(high, annual.high) > 2 * _TOLERANCE * max(high, annual.high):
        yield _flag(
            "Contradicting numbers: ARR is not twelve times MRR",
            f"Twelve times {monthly.amount.text} is not {annual.amount.text}.",
            (monthly, annual),
        )


def _markets_in_order(figures: Sequence[Figure]) -> Iterator[Flag]:
    for large, small in (("TAM", "SAM"), ("SAM", "SOM"), ("TAM", "SOM")):
        outer, inner = _first(figures, large), _first(figures, small)
        if outer and inner and outer.unit == inner.unit and inner.low > outer.high:
            yield _flag(
                f"Contradicting numbers: {small} larger than {large}",
                f"The {small} of {inner.amount.text} cannot be part of a {large} of {outer.amount.text}.",
                (outer, inner),
            )
            return


def _first(figures: Sequence[Figure], subject: str) -> Figure | None:
    return next((figure for figure in figures if figure.subject == subject and figure.tense == "now"), None)


def _value_against_cost(figures: Sequence[Figure]) -> Iterator[Flag]:
    value, cost, ratio = (_only(figures, subject) for subject in ("LTV", "CAC", "LTV/CAC"))
    if value and cost and ratio and cost.low > 0 and abs(value.low / cost.low - ratio.low) > 0.2 * ratio.low:
        yield _flag(
            "Contradicting numbers: LTV/CAC",
            f"{value.amount.text} divided by {cost.amount.text} is not {ratio.amount.text}.",
            (value, cost, ratio),
        )


def _customers_times_price(statements: Sequence[Statement], figures: Sequence[Figure]) -> Iterator[Flag]:
    """Only where the deck states one price, one number of paying customers and one MRR or ARR."""
    price = _only_price(statements)
    customers = _only(figures, "customers", "pay")
    sales = _only(figures, "MRR") or _only(figures, "ARR")
    if not price or not customers or not sales or price.amount.unit != sales.unit:
        return
    a_month = price.amount.low * price.times_a_month * (1 if sales.subject == "MRR" else 12)
    worth = customers.amount.low * a_month
    if not 0.4 < worth / sales.low < 2.5:
        yield Flag(
            title=f"Contradicting numbers: customers times price against {sales.subject}",
            detail=f"{customers.amount.text} times {price.amount.text} is about {worth:,.0f}, not {sales.amount.text}.",
            quotes=(
                Quote(statement=customers.statement, at=customers.amount.start),
                Quote(statement=price.statement, at=price.amount.start),
                Quote(statement=sales.statement, at=sales.amount.start),
            ),
            dimensions=frozenset({"traction"}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Price:
    amount: Amount
    times_a_month: float
    statement: Statement


def _only_price(statements: Sequence[Statement]) -> _Price | None:
    """The one price of a deck; None where there are several, or one by seats, users or tiers."""
    prices = [
        _Price(amount=amount, times_a_month=1 if match[2].startswith("mo") else 1 / 12, statement=statement)
        for statement in statements
        if "finances" in statement.dimensions
        for match in _PRICE.finditer(statement.masked)
        for amount in statement.amounts
        if amount.token == match[1]
    ]
    is_plain = all(
        price.amount.low == price.amount.high and not _TIERS.search(price.statement.masked)
        for price in prices
    )
    values = {(price.amount.low, price.times_a_month) for price in prices}
    return prices[0] if is_plain and len(values) == 1 else None


_TIERS = re.compile(r"\b(?:from|starting|ab|seats?|users?|tiers?|nutzer)\b")
_FROM_TO = compiled(rf"""
    \b(?:from|von)\s*({MONEY}|{COUNT})[^;{AMOUNT[1:-1]}]{{0,30}}\b(?:to|auf)\s*({MONEY}|{COUNT})[^;.{AMOUNT[1:-1]}]{{0,40}}({PERCENT}|{MULTIPLE})
    ({PERCENT}|{MULTIPLE})[^;.{AMOUNT[1:-1]}]{{0,30}}\b(?:from|von)\s*({MONEY}|{COUNT})[^;{AMOUNT[1:-1]}]{{0,30}}\b(?:to|auf)\s*({MONEY}|{COUNT})
""")


def _growth_arithmetic(statements: Sequence[Statement]) -> Iterator[Flag]:
    for statement in statements:
        found = _FROM_TO.search(statement.masked)
        if not found or re.search(
            r"month|mom\b|week|quarter|monat|cagr|per |churn|retention|margin",
            statement.masked[found.start() : found.end() + 25],
        ):
            continue
        amounts = {amount.token: amount for amount in statement.amounts}
        start, end, growth = (amounts[found[a] or found[b]] for a, b in ((1, 5), (2, 6), (3, 4)))
        if start.kind != end.kind or not start.low or not growth.low:
            continue
        ratio, claimed = end.low / start.low, growth.low / 100 if growth.kind == "percent" else growth.low
        readings = (ratio, ratio - 1) if ratio > 1 else (ratio, 1 - ratio)
        if all(abs(reading - claimed) > 0.2 * claimed for reading in readings):
            yield Flag(
                title="Contradicting numbers: growth that does not add up",
                detail=f"From {start.text} to {end.text} is not {growth.text}.",
                quotes=(Quote(statement=statement, at=start.start),),
                dimensions=frozenset({"traction"}),
            )


def _use_of_funds(statements: Sequence[Statement]) -> Iterator[Flag]:
    """Section by section, as a deck may give the same shares twice."""
    sections: dict[int, list[tuple[Amount, Statement]]] = {}
    for statement in statements:
        if is_share_of_funds(statement):
            shares = (
                amount
                for amount in statement.amounts
                if amount.kind == "percent" and amount.low == amount.high
            )
            sections.setdefault(statement.section, []).extend((amount, statement) for amount in shares)
    for entries in sections.values():
        total = sum(amount.low for amount, _ in entries)
        if len(entries) >= 2 and total > 101:
            yield Flag(
                title="Contradicting numbers: the use of funds adds up to more than 100 %",
                detail=" + ".join(amount.text for amount, _ in entries[:_MOST_SHARES]) + f" = {total:g} %.",
                quotes=tuple(
                    {id(each): Quote(statement=each) for _, each in entries[:_MOST_SHARES]}.values()
                ),
                dimensions=frozenset({"ask"}),
            )
            return


def is_share_of_funds(statement: Statement) -> bool:
    """Whether the statement says on what a share of the money would be spent."""
    masked = statement.masked
    if _NOT_SPENT.search(masked):
        return False
    if "use of funds" in statement.topics:
        return bool(statement.amounts)
    if "ask" not in statement.dimensions:
        return False
    is_entry = (
        statement.form in {"item", "row"} and statement.is_home("ask") and _ENTRY.search(masked) is not None
    )
    return is_entry or _SPENT.search(masked) is not None
