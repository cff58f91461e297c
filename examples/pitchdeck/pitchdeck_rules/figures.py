"""Amounts of money, and the statements that give a key figure in words which leave no doubt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pitchdeck_rules.deck import Deck, Dimension, Statement

_SCALES = {
    "k": 1e3,
    "m": 1e6,
    "mn": 1e6,
    "million": 1e6,
    "b": 1e9,
    "bn": 1e9,
    "billion": 1e9,
    "trillion": 1e12,
}
_SCALE = rf"\s?(?:{'|'.join(sorted(_SCALES, key=len, reverse=True))})\b"
_SIGN = r"(?:US\$|[$\u20ac\u00a3]|\b(?:USD|EUR|GBP|CHF)\s)"
MONEY = rf"{_SIGN}\s?\d[\d.,]*(?:{_SCALE})?"
NUMBER = rf"(?<![\w.,/-])(?:{MONEY}|(?!(?:19|20)\d\d\b)\d[\d.,]*(?:{_SCALE})?(?![\w/-]))"
"""A number that is no year and no part of a name such as 5G or 24/7."""

NOT_TODAY = (
    r"\b(?:will|would|could|can|should|if|expect\w*|project(?:ed|ions?)|forecasts?|plan(?:s|ned)?|targets?|goals?"
    r"|aims?|potential|up to|gets? us to|by (?:the end of )?20\d\d|year (?:one|two|three|1|2|3)"
    r"|no|not|never|without|zero|competitors?)\b|n't\b"
)
"""Words of a plan, a condition, a denial, or somebody else's numbers."""

_MONEY_PARTS = re.compile(rf"({_SIGN})\s?(\d[\d.,]*\d|\d)({_SCALE})?", re.IGNORECASE)
_PLAIN_NUMBER = re.compile(r"\d+|\d+\.(?:\d{1,2}|\d{4,})|\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_FIRST_PERSON = re.compile(r"\b(?:we|our|us|I|my)\b", re.IGNORECASE)
_RAISING = r"(?:\b(?:raising|seeking|looking for|asking for)|\bwe (?:raise|need|seek|ask for))"
_OTHER_ROUNDS = r"\b(?:not|never|no|raised|previous\w*|earlier|later|next round)\b"
_HOLDERS = r"(?:customers|users|clients|subscribers)"
_REVENUE = r"\b(?:MRR|ARR|revenues?|sales)\b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A key figure: how it is worded, and what makes another figure of it."""

    name: str
    dimension: Dimension
    sections: frozenset[Dimension]
    """Where it is looked for, besides under headings that announce nothing."""
    wording: re.Pattern[str]
    """Its first group is the amount."""
    unless: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A statement that gives a key figure."""

    kind: Kind
    statement: Statement
    amount: str
    """As written."""


def _kind(name: str, *sections: Dimension, wording: str, unless: str) -> Kind:
    """The figure `name`, which belongs to the first of `sections`."""
    return Kind(
        name=name,
        dimension=sections[0],
        sections=frozenset(sections),
        wording=re.compile(wording.replace("AMOUNT", f"({MONEY})"), re.IGNORECASE),
        unless=re.compile(unless, re.IGNORECASE),
    )


RAISING = _kind(
    "Raising",
    "ask",
    wording=rf"{_RAISING}\b[^.;]{{0,30}}?AMOUNT|AMOUNT (?:\w+ )?(?:round|raise)\b",
    unless=_OTHER_ROUNDS,
)
VALUATION = _kind(
    "Valuation",
    "ask",
    wording=r"AMOUNT (?:pre-money|post-money|valuation)\b|\bvaluation(?: of| is|:) AMOUNT",
    unless=_OTHER_ROUNDS,
)
REVENUE = _kind(
    "Revenue",
    "traction",
    "finances",
    wording=rf"{_REVENUE}[^.;]{{0,20}}?AMOUNT|AMOUNT (?:in |of )?{_REVENUE}",
    unless=NOT_TODAY,
)
CUSTOMERS = _kind(
    "Customers or users",
    "traction",
    wording=rf"({NUMBER}) (?:(?:paying|active|monthly|registered) ){{0,2}}{_HOLDERS}\b",
    unless=NOT_TODAY,
)
MARKET = _kind(
    "Market size",
    "market",
    wording=r"\b(?:market|industry|TAM|SAM)\b[^.;]{0,60}?AMOUNT",
    unless=r"\bmarket share\b",
)
KINDS = (RAISING, VALUATION, REVENUE, CUSTOMERS, MARKET)


def key_figures(deck: Deck) -> tuple[Figure, ...]:
    """Every statement that gives a key figure, in the order of `KINDS` and of the deck."""
    return tuple(figure for kind in KINDS for figure in _figures(deck, kind))


def _figures(deck: Deck, kind: Kind) -> Iterator[Figure]:
    for statement in deck.statements:
        text = statement.text
        is_here = statement.dimensions & kind.sections or (not statement.dimensions and _is_own(deck, text))
        if is_here and (wording := kind.wording.search(text)) and not kind.unless.search(text):
            amount = next(group for group in wording.groups() if group)
            yield Figure(kind=kind, statement=statement, amount=amount)


def _is_own(deck: Deck, text: str) -> bool:
    """Whether it speaks of the company: in the first person, or by the first word of the deck's title."""
    name = re.match(r"\W*(\w+)", deck.title)
    return _FIRST_PERSON.search(text) is not None or (name is not None and name[1].lower() in text.lower())


def value(amount: str) -> tuple[str, float] | None:
    """Currency and value of an amount of money; None where the notation leaves a doubt, as 1.200 and 1,5 do."""
    parts = _MONEY_PARTS.fullmatch(amount.rstrip(".,"))
    if parts is None or not _PLAIN_NUMBER.fullmatch(parts[2]):
        return None
    scale = _SCALES[parts[3].strip().lower()] if parts[3] else 1.0
    return parts[1].strip().upper(), float(parts[2].replace(",", "")) * scale
