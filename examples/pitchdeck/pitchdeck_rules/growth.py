"""Claims that the company grew, and whether the deck says from what or to what."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from pitchdeck_rules.amounts import AMOUNT, COUNT, MONEY, MULTIPLE, PERCENT
from pitchdeck_rules.figures import SALES
from pitchdeck_rules.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pitchdeck_rules.figures import Figure
    from pitchdeck_rules.statements import Statement

_METRIC = (
    r"(?:revenues?|mrr|arr|sales|turnover|users?|customers?|subscribers?|clients?|bookings|orders|gmv|downloads|traffic"
    r"|sign-?ups|usage|umsatz|umsätze|erlöse|kunden(?:zahl)?|nutzer(?:zahl)?\w*)"
)
_RATE = rf"(?:{PERCENT}|{MULTIPLE})"
_GAP = rf"[^;{AMOUNT[1:-1]}]"
_GREW = r"\b(?:grew|grow|grows|growing|grown|growth|wachsen|wächst|wuchsen|wuchs|gewachsen|wachstum\w*)\b"
_PACE = r"\b(?:growth|wachstum|mom|yoy|(?:week|month|quarter|year)[- ](?:over|on)[- ](?:week|month|quarter|year))\b"
_ROSE = r"\b(?:up|increased|rose|risen|jumped|exploded|gestiegen)\b"
_TIMES = r"\b(?:doubled|tripled|quadrupled|verdoppelt|verdreifacht)\b"
_CLAIM = compiled(rf"""
    {_GREW}{_GAP}{{0,50}}{_RATE}
    {_RATE}[^;.,{AMOUNT[1:-1]}]{{0,30}}{_PACE}
    \b{_METRIC}\b[^;.{AMOUNT[1:-1]}]{{0,30}}(?:{_ROSE}{_GAP}{{0,20}}{_RATE}|{_TIMES})
    {_TIMES}[^;.]{{0,30}}\b{_METRIC}\b
""")
_SALES_METRIC = re.compile(r"(?:mrr|arr|sales|turnover|umsatz|umsätze|erlöse|revenues?)$")
_NOT_OURS = compiled(r"""
    \b(?:market|industry|sector|cagr|demand|category|segment|competitors?|their)\b | \b(?:markt\w*|branche|nachfrage)\b
""")
_LATER = compiled(r"""
    \b(?:forecast\w*|project(?:ed|ions?|s|ing)|will|expect\w*|plan(?:s|ned|ning)?|target\w*|aim|goal)\b
    \b(?:prognos\w+|planen|geplant|erwart\w+|werden)\b
""")
_BASE = compiled(rf"""
    {MONEY} | (?:from|to|of|on|von|auf)\s*{COUNT} | {COUNT} (?:[\w-]+ ){{0,2}}{_METRIC}
""")


def growth_claims(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Statements that the company itself grew: not its market, not what its product does for others, not plans."""
    for statement in statements:
        if not {"traction", "finances", "ask"} & statement.dimensions:
            continue
        if {"projection", "plan", "market", "competition"} & set(statement.topics):
            continue
        masked = statement.masked
        if _CLAIM.search(masked) and not _NOT_OURS.search(masked) and not _LATER.search(masked):
            yield statement


def judged_claims(
    statements: Sequence[Statement], figures: Sequence[Figure]
) -> Iterator[tuple[Statement, bool]]:
    """Each claim, with whether the deck gives, in it or elsewhere, an absolute number of what grew."""
    today = [
        figure for figure in figures if figure.tense != "plan" and figure.subject not in {"ask", "team size"}
    ]
    has_sales = any(figure.subject in SALES for figure in today)
    sections = {figure.statement.section for figure in today}
    own = [each for each in statements if {"traction", "finances"} & each.dimensions]
    is_stated = cache(lambda metric: has_sales if _SALES_METRIC.match(metric) else _is_stated(metric, own))
    for claim in growth_claims(statements):
        metric = re.search(_METRIC, claim.masked)
        is_elsewhere = is_stated(metric[0]) if metric else has_sales or claim.section in sections
        yield claim, is_elsewhere or _BASE.search(claim.masked) is not None


def _is_stated(metric: str, statements: Sequence[Statement]) -> bool:
    stem = re.escape(metric[:4])
    stated = re.compile(
        rf"(?:{MONEY}|{COUNT})[^;.{AMOUNT[1:-1]}]{{0,25}}\b{stem}|\b{stem}[^;.{AMOUNT[1:-1]}]{{0,25}}(?:{MONEY}|{COUNT})"
    )
    return any(stated.search(each.masked) for each in statements)
