"""Which dimensions a sentence speaks of: by the section it stands in, and by words that are clear anywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pitchdeck_rules.amounts import AMOUNT, COUNT, MONEY, PERCENT
from pitchdeck_rules.patterns import compiled, one_of
from pitchdeck_rules.words import CUES, DIMENSION_BY_TOPIC, DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pitchdeck_rules.words import Dimension, Topic

_NAME = re.compile(
    r"(?:[A-Z\u00c0-\u00de][\w'\u2019-]+|\b[A-Z]\.) (?:[A-Z]\. )?"
    r"(?:(?:von|van|de|der|da|di|al) )*[A-Z\u00c0-\u00de][\w'\u2019-]+"
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
_OUTLOOK = compiled(rf"""
    \b(?:project(?:ed|ions?)|expect\w*|forecast\w*|will|plan(?:s|ned)?|target\w*|goal|prognos\w+|geplant|erwart\w+)\b
    \b(?:get|take|bring)s? us to\b | {COUNT} (?:months|monate) (?:to|bis)\b
""")
_HOLDERS = one_of(r"""
    customers | users | clients | subscribers | pilots? | downloads | sign-?ups | kunden | nutzer\w* | pilotkunden
    abonnenten | backers
""")
_WE = r"(?:we|i|wir|ich)"
_THEY = r"\b(?!we\b|our\b|competitors\b|incumbents\b)[a-z-]{3,}s"
_PART = r"(?:half|third|quarter|hours|days)"
_ABOUT = r"(?:about|around|roughly|another|at least|up to|rund|etwa|circa|noch|to raise|(?:\w+ )?of)"
_PLACED = one_of(r"""
    live | placed | installed | sold | deployed | shipped | delivered | under contract | in the field | in use
    verkauft
    installiert | ausgeliefert | im einsatz
""")
_REGIONS = one_of(r"""
    us | usa | u\.s\. | uk | eu | europe | america | north america | germany | france | italy | spain | india | canada
    dach | deutschland | österreich | europa | world
""")
_OWN_HOLDERS = rf"\b(?:we|our|wir|haben|unsere?n?)\b[^.;]{{0,30}}{COUNT} (?:[\w-]+ ){{0,2}}{_HOLDERS}\b"
_SALES = r"\b(?:revenues?|gmv|sales|umsatz|bookings)\b"
_PERIODS = r"(?:month|year|seat|user|unit|order|mo|monat|jahr|nutzer)\b(?! (?:ago|earlier|later))"

_ASKED = compiled(rf"""
    \b{_WE}\b[^.;]{{0,30}}\b(?:raise|raising|seek|seeking|looking for|ask|asking)\b[^.;]{{0,30}}{MONEY}
    \b{_WE} (?:[\w-]+ )?(?:need|want|require|brauchen?|benötigen)(?: an?)? (?:{_ABOUT} )*{MONEY}
    ^\W*(?:want(?:ed)?|need(?:ed)?|seeking|raising|looking for|asking for|gesucht|suchen)\W{{1,3}}(?:{_ABOUT} )*{MONEY}
    \b{_WE}\b[^.;]{{0,20}}\bsuchen?\b[^.;]{{0,30}}{MONEY} | \bsuchen wir\b[^.;]{{0,30}}{MONEY}
""")
_SPENT_BY = re.compile(
    rf"\b(?!we\b|us\b)[\w-]+ spends? (?:\w+ ){{0,2}}{MONEY} (?:an?|per|each|every) {_PERIODS}"
)
"""What buyers spend: the size of a market, not the price of the company."""
_NOT_ASKED = re.compile(rf"{MONEY} (?:(?:in|of|an) )?(?:[\w-]+ )?(?:(?:/|per|a|pro|im) ?{_PERIODS}|{_SALES})")
"""Money that is needed each month, or sales that are looked for."""
_UNMISTAKABLE: Mapping[Dimension, re.Pattern[str]] = {
    "problem": compiled(rf"""
        {_THEY} (?:lose|waste|bin|throw away|discard|scrap|spend)\b[^.;]{{0,30}}(?:{AMOUNT}|\b{_PART}\b)
        \b(?:tell|told) us (?:that )?they (?:lose|waste|cannot|can't|struggle|hate)\b
        \b(?:tell|told) us\b[^.;]{{0,60}}\b(?:too|never|cannot|can't)\b
    """),
    "team": compiled(rf"""
        ^\W*(?:we are a )?team of {COUNT} | \bwe are {COUNT} (?:people|engineers|founders)\b | \bwir sind {COUNT}\b
    """),
    "traction": compiled(rf"""
        \b{_WE} (?:are|sind) (?:[\w-]+ )?(?:in|at|bei) {COUNT} | {COUNT} (?:[\w-]+ ){{1,3}}(?:pay|paid) us\b
        {COUNT} (?:[\w-]+ ){{1,2}}im einsatz\b
        {_OWN_HOLDERS} | ^\W*{COUNT} (?:[\w-]+ ){{0,2}}{_PLACED}\b
        \b{_WE} (?:have )?(?:[\w-]+ ){{0,2}}(?:sold|installed|shipped|signed|placed|delivered)\b[^.;]{{0,20}}{COUNT}
    """),
    "ask": _ASKED,
}
"""What leaves no doubt, whatever heading it stands under."""
_CLEAR: Mapping[Dimension, re.Pattern[str]] = {
    "problem": compiled(r"\bthe (?:core |real |main |big )?(?:problem|pain)\b | \bdas problem\b"),
    "solution": compiled(r"""
        ^\W*we (?:make|build|turn|sell|rent|offer|grow|run|put|fly|send|write|teach|print)\b
        \bour (?:solution|product|platform|app|software)\b | \bunsere? (?:lösung|plattform|produkt)\b
    """),
    "team": compiled(rf"""
        \bteam of (?:about )?{COUNT} | {COUNT} (?:employees|ftes?|people on) | {COUNT} mitarbeiter
        \bi (?:am|was|ran|run|led) an?\b[^.;]{{0,40}}\byears\b
    """),
    "market": compiled(rf"""
        \b(?:TAM|SAM|SOM)\b | {COUNT}[^.;]{{0,60}}(?: x |\u00d7|\*)[^.;]{{0,20}}{MONEY}
        {MONEY}[^.]{{0,30}}\b(?:market|industry|markt)\b
        \b(?:market|markt)\b[^.{MONEY[1:-1]}]{{0,40}}{MONEY} | \bcompetitors?\b | \bcompetition\b
        \bwettbewerber\b | \bkonkurrenz\b | ^\W*vs\b | ^\W*{COUNT} [a-z-]+ {_REGIONS}\W*$
        ^\W*(?!we\b|wir\b)[\w-]+ (?:(?:and|und) [\w-]+ )?(?:sells?|offers?|biete[nt])\b[^.;]*\b(?:but|only|nur|aber)\b
        {_SPENT_BY.pattern}
        \bthere are (?:[\w-]+ ){{0,2}}{COUNT} (?:[\w-]+ ){{1,4}}(?:in|across) (?:the )?{_REGIONS}\b
        {COUNT} (?:[\w-]+ ){{1,4}}(?:in|across) (?:the )?{_REGIONS}\b[^.;]{{0,20}}(?:\(|\bbuy\b|\bspend\b|\bpay\b)
        \bin (?:the )?{_REGIONS}\b[^.;]{{0,15}}(?:there are|gibt es)[^.;]{{0,15}}{COUNT}
        \bes gibt\b[^.;]{{0,15}}{COUNT}
    """),
    "traction": compiled(rf"""
        {COUNT} (?:[\w-]+ ){{0,3}}{_HOLDERS}\b | \bmrr\b | \barr\b | \bletters? of intent\b | \bwait-?list\b
        {COUNT} (?:[\w-]+ ){{1,2}}(?:ordered|bought|booked|subscribed|renewed|signed up)\b
        \bwe (?:made|earned|billed|invoiced|turned over) {MONEY}
        {_SALES}[^.;]{{0,30}}{MONEY} | {MONEY}[^.;{MONEY[1:-1]}]{{0,20}}{_SALES}
        ^\W*(?:[\w-]+ ){{0,2}}(?:customers|users|active|orders|retention|churn)\b[^|]*\|(?:[^|]*{AMOUNT}[^|]*\|){{2}}
    """),
    "finances": compiled(rf"""
        \bgross margin | \bcac\b | \bltv\b | \bburn(?:ing| rate)?\b | \brunway\b | \bbreak-?even\b | \bdeckungsbeitrag\b
        ^\W*(?:[\w-]+ ){{0,2}}(?:revenues?|turnover|umsatz)\b[^.;]{{0,30}}{MONEY} | \bgm\W{{1,3}}{PERCENT}
        \bwe (?:made|earned|billed|invoiced|turned over) {MONEY} | \bbom\W{{1,3}}{MONEY}
        {PERCENT} (?:take rate|commission) | {PERCENT} (?:[\w-]+ )?margins?\b | \bmargins?\b[^.;]{{0,15}}{PERCENT}
        {MONEY} ?(?:/|per|a|pro|im|je) ?{_PERIODS} | {MONEY} (?:each|apiece|pro stück)\b
        \b(?:pays?|paid) (?:us )?{MONEY}
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
    "market": frozenset({"problem", "finances", "traction", "ask", "use of funds", "projection"}),
    "traction": frozenset({"problem", "market", "competition", "plan", "projection", "ask", "use of funds"}),
}
"""Sections whose numbers are of others or of the future, so that clear words are not enough there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What a statement speaks of."""

    dimensions: frozenset[Dimension]
    topics: tuple[Topic, ...]
    """Those of its section; none where it clearly speaks of something else."""


def classify(text: str, masked: str, topics: tuple[Topic, ...]) -> Classification:
    """What a statement of a section about `topics` speaks of."""
    clear = frozenset(name for name in DIMENSIONS if _is_clear(name, masked))
    unmistakable = frozenset(_unmistakable_dimensions(text, masked, topics))
    own = list(dict.fromkeys(DIMENSION_BY_TOPIC[topic] for topic in topics if topic in DIMENSION_BY_TOPIC))
    weights = {name: _weight(name, masked, clear) for name in own or DIMENSIONS}
    if own and unmistakable and not unmistakable & set(own) and not any(weights.values()):
        return Classification(dimensions=unmistakable | (clear - set(own)), topics=())
    most = max(weights.values())
    heaviest = [name for name in weights if most and weights[name] == most]
    if len(own) > 1:
        own = heaviest or own[:1]
    elif not own and not set(topics) & {"plan", "past"}:
        own = list(unmistakable) or heaviest[:2]
    allowed = (name for name in clear if _is_allowed(name, masked, frozenset(topics)))
    return Classification(dimensions=frozenset((*own, *allowed, *unmistakable)), topics=topics)


def _unmistakable_dimensions(text: str, masked: str, topics: tuple[Topic, ...]) -> Iterator[Dimension]:
    if _INTRODUCED.search(text) or (_ROLE.search(masked) and _NAME.search(text)):
        yield "team"
    for name, pattern in _UNMISTAKABLE.items():
        if not pattern.search(masked):
            continue
        if name == "problem" and topics != ("market",):
            continue
        if name == "ask" and (_NOT_ASKED.search(masked) or set(topics) & {"past", "plan"}):
            continue
        if name == "traction" and (
            _OUTLOOK.search(masked) or set(topics) & {"competition", "plan", "projection"}
        ):
            continue
        yield name


def names_somebody(text: str) -> bool:
    """Whether a person is named: a name that stands alone, or beside a role, or before a mark as in a list."""
    if _INTRODUCED.search(text):
        return True
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


def _weight(dimension: Dimension, masked: str, clear: frozenset[Dimension]) -> int:
    return len(set(CUES[dimension].findall(masked))) + 2 * (dimension in clear)


def _is_clear(dimension: Dimension, masked: str) -> bool:
    if (dimension == "finances" and _SPENT_BY.search(masked)) or (
        dimension == "traction" and _OUTLOOK.search(masked)
    ):
        return False
    return _CLEAR[dimension].search(masked) is not None


def _is_allowed(dimension: Dimension, masked: str, topics: frozenset[Topic]) -> bool:
    """Whether clear words are enough in a section about `topics`."""
    if dimension in {"problem", "solution"} and topics:
        return False
    if topics & _FOREIGN.get(dimension, frozenset()):
        return dimension == "traction" and _OWN.search(masked) is not None
    return True
