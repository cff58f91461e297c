"""What a figure can be a figure of: the words that stand before or after its amount in a masked sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pitchdeck_rules.amounts import AMOUNT

if TYPE_CHECKING:
    from pitchdeck_rules.amounts import Kind

_FAR = rf"[^;,.{AMOUNT[1:-1]}]{{0,40}}"
_NEAR = rf"[^;,.{AMOUNT[1:-1]}]{{0,25}}"
_LINK = r"(?:(?:in|of|as|the|our|total|current|a|an|im)\s+)?(?:[\w-]+ ){0,2}?"
_RAISING = (
    r"(?:raise|raises|raising|seeks?|seeking|ask(?:s|ing)?(?: for| is)?|looking for"
    r"|round(?: size)?|investment(?: of)?|suchen|sucht|einwerben|aufnehmen|kapitalbedarf"
    r"|finanzierungsbedarf|finanzierungsrunde|runde|levons|cherchons|buscamos)"
)
_NEEDING = r"(?:needs?|needed|wants?|wanted|requires?|brauchen?|benötig(?:en|t))"
_ROUND = r"(?:pre-?seed|seed|series [a-d]|round|investment|funding|finanzierung\w*|runde|convertible|safe\b)"
_MONTHLY = r"(?:monthly recurring revenue|\bmrr\b|monatlich wiederkehrende\w* (?:umsätze|erlöse|umsatz))"
_ANNUAL = r"(?:annual(?:ly)? recurring revenue|annual(?:ised|ized) (?:recurring )?revenue|\barr\b)"
_SALES = (
    r"(?:\brevenues?\b|\bturnover\b|\bsales\b(?! (?:team|cycle|people|force|staff|manager))"
    r"|chiffre d['\u2019]affaires|\bumsatz\w*|\bumsätze\b|\berlöse?\b)"
)
_MARGIN = r"(?:gross margins?|bruttomarge|rohmarge)"
_COST_OF_CUSTOMER = r"(?:\bcac\b|customer acquisition costs?|cost of acquisition)"
_VALUE_OF_CUSTOMER = r"(?:\bltv\b|lifetime value|\bclv\b)"
_STAFF = (
    r"(?:(?:full-time )?employees|people (?:on|in) (?:the|our) team|team members|ftes?\b|staff\b|mitarbeiter\w*"
    r"|-?person team|-?köpfig\w* team)"
)
HOLDERS = (
    r"(?:customers?|users?|clients?|subscribers?|pilots|downloads|sign-?ups|members|merchants|backers"
    r"|kunden|nutzer(?:innen)?|pilotkunden|abonnenten|mitglieder|anwender)"
)
"""Those whom a company counts as its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A quantity that decks state."""

    name: str
    kinds: frozenset[Kind]
    before: re.Pattern[str]
    """Matches up to the end of what stands before the amount."""
    after: re.Pattern[str]
    """Matches at the start of what stands after it."""


def _subject(name: str, kinds: str, before: str, after: str = r"(?!)") -> Subject:
    known: tuple[Kind, ...] = ("money", "percent", "multiple", "count")
    return Subject(
        name=name,
        kinds=frozenset(kind for kind in known if kind in kinds.split()),
        before=re.compile(rf"(?:{before})$"),
        after=re.compile(rf"\s*(?:{after})"),
    )


SUBJECTS = (
    _subject(
        "pre-money valuation",
        "money",
        rf"pre-?money{_NEAR}",
        r"pre(?:-?money)?\b(?!-?\s?(?:seed|orders?|series))",
    ),
    _subject("post-money valuation", "money", rf"post-?money{_NEAR}", r"post(?:-?money)?\b"),
    _subject(
        "valuation", "money", rf"(?:valuation|\bcap\b|bewertung){_NEAR}", r"(?:valuation|cap\b|bewertung)"
    ),
    _subject("MRR", "money count", rf"{_MONTHLY}{_FAR}", rf"{_LINK}{_MONTHLY}"),
    _subject("ARR", "money count", rf"{_ANNUAL}{_FAR}", rf"{_LINK}{_ANNUAL}"),
    _subject(
        "TAM", "money", rf"(?:\bTAM\b|total addressable market){_FAR}", r"\(?(?:TAM\b|total addressable)"
    ),
    _subject(
        "SAM",
        "money",
        rf"(?:\bSAM\b|serviceable (?:addressable|available) market){_FAR}",
        r"\(?(?:SAM\b|serviceable a)",
    ),
    _subject(
        "SOM", "money", rf"(?:\bSOM\b|serviceable obtainable market){_FAR}", r"\(?(?:SOM\b|serviceable o)"
    ),
    _subject(
        "market size",
        "money",
        rf"\b(?:market|markt(?:volumen|größe)?)(?: size| volume)?{_FAR}",
        r"(?:[\w-]+ ){0,4}?(?:market|industry|markt)\b",
    ),
    _subject(
        "market size", "money", r"(?:=| (?:sind das|ergibt|comes to|adds up to|makes|equals|that is))\s*"
    ),
    _subject(
        "LTV/CAC", "multiple count", rf"ltv ?(?:/|:|to) ?cac(?: ratio)?{_NEAR}", r"ltv ?(?:/|:|to) ?cac"
    ),
    _subject("CAC", "money", rf"{_COST_OF_CUSTOMER}{_NEAR}", rf"\(?{_COST_OF_CUSTOMER}"),
    _subject("LTV", "money", rf"{_VALUE_OF_CUSTOMER}{_NEAR}", rf"\(?{_VALUE_OF_CUSTOMER}"),
    _subject("gross margin", "percent", rf"{_MARGIN}{_NEAR}", _MARGIN),
    _subject(
        "monthly churn",
        "percent",
        rf"monthly (?:[\w-]+ )?churn{_NEAR}",
        r"(?:monthly (?:[\w-]+ )?churn|churn (?:per|a) month)",
    ),
    _subject(
        "annual churn",
        "percent",
        rf"(?:annual|yearly) (?:[\w-]+ )?churn{_NEAR}",
        r"(?:annual|yearly) (?:[\w-]+ )?churn",
    ),
    _subject("burn", "money", rf"\bburn(?:ing| rate)?{_NEAR}", r"(?:[\w/]+ ){0,2}?burn"),
    _subject("ask", "money", rf"\b{_RAISING}{_NEAR}", rf"(?:[\w-]+ ){{0,2}}?{_ROUND}"),
    _subject("need", "money", rf"\b{_NEEDING}{_NEAR}"),
    _subject(
        "revenue",
        "money",
        rf"(?:{_SALES}{_FAR}|\bwe (?:made|earned|billed|invoiced|turned over)\s*)",
        rf"(?:(?:a|per) (?:month|year) )?{_LINK}{_SALES}",
    ),
    _subject(
        "team size",
        "count",
        r"(?:team of|team size\W{1,3}|headcount\W{1,3}|we are(?: now)?(?: a team of)?|wir sind|teamgröße\W{1,3})"
        r"(?: about| now| zu)?\s*",
        _STAFF,
    ),
    _subject(
        "payers",
        "count",
        r"(?!)",
        rf"(?!(?:[\w-]+ ){{0,3}}{HOLDERS}\b)(?:[a-zà-ÿ-]+ ){{1,2}}?(?:pay|paid|zahlen) (?:us\b|uns\b|{AMOUNT})",
    ),
    _subject(
        "holders",
        "count",
        rf"(?:^|\|)\W*(?:[\w-]+ ){{0,2}}{HOLDERS}\W*[:|=]\s*(?:over |about |~|>)?\s*",
        rf"(?:[\w-]+ ){{0,3}}?{HOLDERS}\b",
    ),
)
"""In order: an amount is of the first subject whose words stand beside it. `holders` stands for each of `HOLDERS`,
`payers` for customers that the company calls by another name."""
