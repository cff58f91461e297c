"""Which dimensions a sentence speaks of: by the section it stands in, and by words that are clear anywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pitchdeck_rules.amounts import AMOUNT, COUNT, MONEY, PERCENT
from pitchdeck_rules.patterns import compiled, one_of
from pitchdeck_rules.words import CUES, DIMENSION_BY_TOPIC, DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pitchdeck_rules.words import Dimension, Topic

_NAME = re.compile(
    r"[A-Z\u00c0-\u00de][\w'\u2019-]+ (?:[A-Z]\. )?(?:(?:von|van|de|der|da|di|al) )*[A-Z\u00c0-\u00de][\w'\u2019-]+"
)
_ROLE = compiled(r"""
    \b(?:ceo|cto|coo|cfo|cpo|cmo|co-?founders?|founders?|gründer(?:in)?|geschäftsführer(?:in)?)\b
""")
_INTRODUCED = re.compile(
    r"\b(?:(?:[Mm]y|[Oo]ur) (?:brother|sister|wife|husband|friend|colleague|co-?founder|partner|[Cc][A-Z]O)"
    r"|(?:[Mm]ein|[Uu]nser)e? (?:Bruder|Schwester|Frau|Mann|Freund(?:in)?|Kolleg(?:e|in)|Mitgründer(?:in)?)"
    r"|I am|I['\u2019]m|[Mm]y name is|[Ii]ch bin|[Ii]ch heiße|[Mm]ein Name ist),? "
    r"(?!(?:CEO|CTO|COO|CFO)\b)[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]+"
)
"""Somebody who is named in the first person: "I am Priya", "my brother Arun"."""
_FOUNDED_BY = re.compile(r"\bfounded (?:in \S+ )?by\s*$", re.IGNORECASE)
_OWN = compiled(r"""
    \b(?:we|our|us|paying|active|signed|live|already|today|wir|unsere?n?|haben|zahlende?|bereits)\b
""")
_OUTLOOK = compiled(r"""
    \b(?:project(?:ed|ions?)|expect\w*|forecast\w*|will|plan(?:s|ned)?|target\w*|goal|prognos\w+|geplant|erwart\w+)\b
""")
_HOLDERS = one_of(r"""
    customers | users | clients | subscribers | pilots? | downloads | sign-?ups | kunden | nutzer\w* | pilotkunden
    abonnenten
""")
_SALES = r"\b(?:revenues?|gmv|sales|umsatz|bookings)\b"
_PEOPLE = r"(?:we|i|wir|ich)"
_ABOUT = r"(?:about|around|roughly|another|at least|up to|a total of|rund|etwa|circa|ca\.|noch|(?:\w+ )?of|to raise)"
_ASKING = rf"""
    \b{_PEOPLE}\b(?:['\u2019](?:re|m))?[^.;]{{0,30}}\b(?:rais(?:e|ing)|seek(?:ing)?|looking for|ask(?:ing)?(?: \w+)? for)\b[^.;]{{0,30}}{MONEY}
    \b{_PEOPLE}\b[^.;]{{0,20}}\b(?:suchen?|einwerben|aufnehmen)\b[^.;]{{0,30}}{MONEY}
    \b{_PEOPLE} (?:[\w-]+ )?(?:need|want|require|brauchen?|benötigen|möchten)(?: an?| one)? (?:{_ABOUT} )*{MONEY}
"""
"""What a company says that asks for money, whatever section it stands in."""
_PLACED = r"""
    (?:placed|installed|sold|deployed|shipped|delivered|rented|under contract|in the field|in use|verkauft|installiert
    im einsatz|ausgeliefert)\b
""".replace("\n    im", "|im").strip()
_REGIONS = r"""
    (?:u\.?s\.?a?|uk|eu|europe|north america|america|germany|france|italy|spain|india|china|japan|canada|world
"""
_PERIODS = r"(?:month|year|seat|user|unit|order|mo|monat|jahr|nutzer)\b(?! (?:ago|earlier|later))"

_CLEAR: Mapping[Dimension, re.Pattern[str]] = {
    "problem": compiled(r"\bthe (?:core |real |main |big )?(?:problem|pain)\b | \bdas problem\b"),
    "solution": compiled(r"""
        \bour (?:solution|product|platform|app|software)\b | \bunsere? (?:lösung|plattform|produkt)\b
    """),
    "team": compiled(rf"""
        \bteam of (?:about )?{COUNT} | {COUNT} (?:employees|ftes?|people on) | {COUNT} mitarbeiter
    """),
    "market": compiled(rf"""
        \b(?:TAM|SAM|SOM)\b | {COUNT}[^.;]{{0,60}}(?: x |\u00d7|\*)[^.;]{{0,20}}{MONEY}
        {MONEY}[^.]{{0,30}}\b(?:market|industry|markt)\b
        \b(?:market|markt)\b[^.{MONEY[1:-1]}]{{0,40}}{MONEY} | \bcompetitors?\b | \bcompetition\b
        \bwettbewerber\b | \bkonkurrenz\b
    """),
    "traction": compiled(rf"""
        {COUNT} (?:[\w-]+ ){{0,3}}{_HOLDERS}\b | \bmrr\b | \barr\b | \bletters? of intent\b | \bwait-?list\b
        {_SALES}[^.;]{{0,30}}{MONEY} | {MONEY}[^.;{MONEY[1:-1]}]{{0,20}}{_SALES}
        ^\W*(?:[\w-]+ ){{0,2}}(?:customers|users|active|orders|retention|churn)\b[^|]*\|(?:[^|]*{AMOUNT}[^|]*\|){{2}}
    """),
    "finances": compiled(rf"""
        \bgross margin | \bcac\b | \bltv\b | \bburn(?:ing| rate)?\b | \brunway\b | \bbreak-?even\b | \bdeckungsbeitrag\b
        {PERCENT} (?:take rate|commission) | {PERCENT} (?:[\w-]+ )?margins?\b | \bmargins?\b[^.;]{{0,15}}{PERCENT}
         {MONEY} ?(?:/|per|a|pro|im|je) ?{_PERIODS}
    """),
    "ask": compiled(rf"""
        \b(?:raise|raising|raises|seeks?|seeking|looking for|need|wir suchen|suchen wir)\b[^.]{{0,40}}{MONEY}
        {MONEY} (?:[\w-]+ ){{0,2}}(?:pre-?seed|seed|series [a-d]|finanzierungsrunde)\b | \b(?:pre|post)-money\b
        \bkapitalbedarf\b
    """),
}
_FOREIGN: Mapping[Dimension, frozenset[Topic]] = {
    "ask": frozenset({"problem", "market", "competition"}),
    "finances": frozenset({"problem", "market", "competition", "team", "use of funds"}),
    "market": frozenset({"finances", "traction", "ask", "use of funds", "projection"}),
    "traction": frozenset({"problem", "market", "competition", "plan", "projection", "ask", "use of funds"}),
}
"""Sections whose numbers are of others or of the future, so that clear words are not enough there."""


def dimensions_of(text: str, masked: str, topics: tuple[Topic, ...]) -> frozenset[Dimension]:
    """The dimensions that a statement of a section about `topics` speaks of."""
    own = list(dict.fromkeys(DIMENSION_BY_TOPIC[topic] for topic in topics if topic in DIMENSION_BY_TOPIC))
    if len(own) > 1:
        weights = {name: _weight(name, masked) for name in own}
        most = max(weights.values())
        own = [name for name in own if most and weights[name] == most] or own[:1]
    elif not own and not set(topics) & {"plan", "past"}:
        own = list(_cue_dimensions(masked))
    return frozenset((*own, *_clear_dimensions(text, masked, frozenset(topics))))


def _cue_dimensions(masked: str) -> tuple[Dimension, ...]:
    """The dimensions that a sentence speaks of most, by its words; at most two."""
    weights = {name: _weight(name, masked) for name in DIMENSIONS}
    most = max(weights.values())
    return tuple(name for name in DIMENSIONS if most and weights[name] == most)[:2]


def names_somebody(text: str) -> bool:
    """Whether a person is named: a name that stands alone, or beside a role, or before a mark as in a list."""
    name = _NAME.search(text)
    if name is None:
        return False
    rest = text[name.end() :].lstrip("*_ ")
    is_marked = not rest or rest[0] in ",(:|-\u2013\u2014"
    return (
        is_marked
        or _FOUNDED_BY.search(text, 0, name.start()) is not None
        or _ROLE.search(text.lower()) is not None
    )


def _weight(dimension: Dimension, masked: str) -> int:
    return len(set(CUES[dimension].findall(masked))) + 2 * (_CLEAR[dimension].search(masked) is not None)


def _clear_dimensions(text: str, masked: str, topics: frozenset[Topic]) -> Iterator[Dimension]:
    if _ROLE.search(masked) and _NAME.search(text):
        yield "team"
    for name in DIMENSIONS:
        if not _CLEAR[name].search(masked) or (name in {"problem", "solution"} and topics):
            continue
        if name == "traction" and _OUTLOOK.search(masked):
            continue
        if topics & _FOREIGN.get(name, frozenset()) and not (name == "traction" and _OWN.search(masked)):
            continue
        yield name
