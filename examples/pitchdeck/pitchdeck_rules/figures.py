"""What a company says of itself in numbers: each figure with its subject, its time and its place."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pitchdeck_rules.amounts import AMOUNT, MONEY
from pitchdeck_rules.patterns import compiled
from pitchdeck_rules.statements import cells
from pitchdeck_rules.subjects import HOLDERS, SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pitchdeck_rules.amounts import Amount
    from pitchdeck_rules.statements import Statement
    from pitchdeck_rules.subjects import Subject
    from pitchdeck_rules.words import Topic

Tense = Literal["now", "past", "plan"]

MARKETS = frozenset({"TAM", "SAM", "SOM", "market size"})
SALES = frozenset({"MRR", "ARR", "revenue"})

_REACH = 120  # characters around an amount; words further away belong to something else
_PLAN = compiled(r"""
    \b(?:will|would|could|should|plan(?:s|ned|ning)?|project(?:ed|ions?|s)|forecast\w*|expect\w*)\b
    \b(?:target\w*|goals?|aim|to reach|reach(?:es)?|(?:gets?|takes?|brings?) us to|by (?:the )?end of)\b
    \b(?:by (?:20\d\d|q[1-4])|potential\w*|if we|next year|within \S+ (?:months|years)|erwart\w+)\b
    \b(?:plan(?:en|t|ung)|ziel\w*|prognos\w+|bis (?:ende )?20\d\d|werden|wird|soll\w*|könnt\w+)\b
""")
_PAST = compiled(r"""
    \b(?:previously|last year|(?:months?|years?|year) (?:ago|earlier)|used to)\b
    \b(?:initially|at launch|at first|vorjahr\w*|letzte[sn] jahr|damals|zuvor|started with)\b
    \b(?:began with|first (?:month|year|quarter|week))\b
""")
_BEFORE_NOW = re.compile(r"\blast (?:month|quarter|week)\b")
"""The latest period that is over, unless the sentence also speaks of today."""
_NOW = re.compile(r"\b(?:today|now|current(?:ly)?|already|heute|derzeit|aktuell)\b")
_FROM = re.compile(
    r"\b(?:from|von|vs\.?|versus|compared (?:to|with)|after|statt|instead of|nach)\s*(?:about |just |only |rund )?$"
)
_RATE = re.compile(r"\s*(?:(?:per|each|a|every|pro|je)\s\w|/\s?\w)")
_EACH = re.compile(
    r"\b(?:per|each|every|average|avg|arpu|typical|je|pro|durchschnitt\w*|(?:one|a single))\b[^;.,]{0,25}$"
)
_PER_UNIT = re.compile(r"(?:/|\bper|\bpro|\bje)\s?(?!month|year|mo\b|monat|jahr)[a-z]")
_PER_HEAD = re.compile(
    r"[^;.]{0,25}\b(?:per|each|pro|je) (?:customer|user|client|seat|unit|kunde|nutzer|clinic|store|site)"
)
_NOT_OWN = compiled(r"""
    \b(?:potential|target\w*|prospective|addressable|possible|their|market of|all|out of|in the world)\b(?! than)
    \b(?:new|neue|first|next|another|additional|more|lost|churned|per|each|every|average|avg)\b(?! than)
    \b(?:mögliche|potenzielle|weitere)\b(?! than)
""")
_SOME = re.compile(
    r"\s*(?:have |has )?(?:already |since )?(?:extended|renewed|left|churned|upgraded|cancel+ed)\b"
)
"""What some customers did, so that their number is not that of all."""
_OTHERS = re.compile(r"\b(?:competitors?|incumbents?|rivals?|wettbewerber|konkurren\w+)\b")
_WE = re.compile(r"\b(?:we|our|us|team|have|signed|wir|unsere?|haben)\b")
_RAISING = re.compile(
    r"\b(?:rais(?:e|es|ing)|seek(?:s|ing)?|ask|round|seed|series [a-d]|such(?:en|t)|einwerben|kapitalbedarf"
    r"|finanzierungs\w+)\b"
    r"|\b(?:we|i|wir|ich)\b[^;.]{0,30}\b(?:looking for|asking for)\b|^\W*(?:looking for|asking for)\b"
)
_NEEDING = re.compile(r"(?:^\W*|\b(?:we|i|wir|ich)\b[^;.]{0,30}\b)(?:need|want|require|brauch|benötig)")
_OF_SALES = re.compile(r"\s*(?:(?:in|of) )?(?:[\w-]+ )?(?:revenues?|sales|gmv|arr|mrr|umsatz)\b")
_BARE_ASK = re.compile(
    rf"^\W*(?:(?:amount|total|size|target|volume|sum|round|betrag|summe|volumen)\W+)?({MONEY})"
    r"\s*(?:$|[.,;:(\u2013\u2014-]|(?:now|(?:in )?total|insgesamt|of which|at|on|for"
    r"|to|over|in exchange|as|via|by|with|zu|für|um|bei|auf|von|als)\b)"
)
"""Money with which a line of an ask section begins, so that it needs no verb: "€6M at €20M pre"."""
_OTHER_ROUND = re.compile(
    r"\b(?:raised|previous\w*|next|future|follow-on|later|grants?|danach|nächste\w*|spätere?)\b[^;]{0,50}$"
)
_ALREADY = re.compile(
    r"\s*(?:[\w-]+ ){0,2}?(?:committed|already|secured|raised|in grants|to date|so far|later|bereits|zugesagt)\b"
)
_QUALIFIER = compiled(r"""
    \b(?:paying|paid|(?:monthly |daily |weekly )?active|registered|free|trial|beta|pilot|enterprise)\b
    \b(?:smb|business|private|signed|live|waitlist\w*|(?:mehr als )?zahlende?|aktive?|registrierte?)\b
""")
_ALL = r"(?:and|or|in|across|worldwide|globally|today|now|so|since|already|as|to|love|are|have|use|trust|pay|und|heute)"
_SCOPE = re.compile(
    r"[^.;]{0,45}?\b(?:in|at|from|on|aus|bei) (?:our|the|[A-Z\u00c0-\u00de])[\w-]*"
    rf"|\s*(?!{_ALL}\b)[a-zà-ÿ]+(?: \w+)?"
)
"""Words after customers or users that speak of some of them only: "who stayed", "gave feedback", "in Germany"."""
_REGION = re.compile(
    r"[^.;,]*?\b(?:in (?:the )?[A-Z][\w-]+|world\w*|global\w*|Europ\w+|US|USA|UK|German\w*|Deutsch\w*)\b"
)
_MONTHS = r"(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*"
_PERIOD = compiled(rf"""
    \b(?:q[1-4]|h[12]|fy)[ /'-]?\d{{2,4}}\b | \b\d{{4}}-\d{{2}}\b | \b(?:{_MONTHS}\.? )?(?:19|20)\d\d[ep]?\b
    \b(?:year|month|quarter|week|jahr|monat|phase|stage|cohort) \d{{1,2}}\b | \bq[1-4]\b
    \b(?:january|february|march|april|june|july|august|september|october|november|december)\b
    \b(?:januar|februar|märz|juni|juli|oktober|dezember|letztes jahr|dieses jahr)\b
    \b(?:last (?:year|quarter|month|week)|this year)\b
""")
_ABOVE = re.compile(r"(?:over|more than|above|exceed\w*|>|at least|mehr als|über|mindestens)\s*$")
_BELOW = re.compile(r"(?:under|less than|almost|nearly|up to|below|<|fast|knapp|unter|bis zu)\s*$")
_ABOUT = re.compile(r"(?:~|\u2248|\b(?:about|around|circa|ca\.|roughly|approx\.?|rund|etwa))\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One amount with what it is an amount of."""

    subject: str
    low: float
    high: float
    """The range that the amount as written leaves open."""
    unit: str
    period: str
    """The year or month it belongs to, as written; empty for today."""
    tense: Tense
    qualifier: str
    """What narrows the subject: "paying"."""
    scope: str
    """Words after customers or users that may narrow them further: "in Germany", "who stayed"."""
    amount: Amount
    statement: Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sighting:
    """An amount beside the words of a subject."""

    subject: str
    statement: Statement
    amount: Amount
    before: str
    """Everything masked before the amount; in a table, the words that head its column and its row."""
    words: str
    """The words of the subject."""
    after: str
    """What follows the amount, after the words of the subject where they follow it."""


def read_figures(statements: Iterable[Statement]) -> tuple[Figure, ...]:
    """The company's own figures, in the order of the deck; those of competitors and of earlier rounds are left out."""
    told = [
        statement
        for statement in statements
        if statement.amounts and not statement.is_instruction and "past" not in statement.topics
    ]
    figures = tuple(
        _figure(sighting) for statement in told for sighting in _sightings(statement) if _is_own(sighting)
    )
    asked = [figure for figure in figures if figure.subject == "ask"]
    needed = [replace(figure, subject="ask") for figure in figures if figure.subject == "need"][:1]
    stated = (figure for figure in figures if figure.subject != "need")
    return tuple(stated) if asked else (*stated, *(list(_bare_ask(told)) or needed))


def _bare_ask(statements: list[Statement]) -> Iterator[Figure]:
    """The one amount that opens a line of an ask section; none where several do, as they may be parts of it."""
    found = [
        _Sighting(subject="ask", statement=statement, amount=amount, before=before, words="", after=after)
        for statement in statements
        if "ask" in statement.topics and "use of funds" not in statement.topics and statement.form != "row"
        if (match := _BARE_ASK.match(statement.masked))
        for amount in statement.amounts
        if amount.token == match[1]
        for before, after in [_surroundings(statement, amount)]
        if not _ALREADY.match(after)
    ]
    if len(found) == 1:
        yield _figure(found[0])


def _sightings(statement: Statement) -> Iterator[_Sighting]:
    for amount in statement.amounts:
        before, after = _surroundings(statement, amount)
        for subject in SUBJECTS:
            if amount.kind not in subject.kinds or not _is_plausible(subject, amount):
                continue
            found = subject.after.match(after) or subject.before.search(before)
            if found:
                yield _Sighting(
                    subject=subject.name,
                    statement=statement,
                    amount=amount,
                    before=before,
                    words=found[0],
                    after=after[found.end() :] if found.re is subject.after else after,
                )
                break


def _surroundings(statement: Statement, amount: Amount) -> tuple[str, str]:
    before, _, after = statement.masked.partition(amount.token)
    if statement.form != "row":
        return before[-_REACH:].rstrip(), after[:_REACH]
    row = cells(statement.masked)
    column = next((index for index, cell in enumerate(row) if amount.token in cell), 0)
    head = statement.header[column].lower() if column < len(statement.header) else ""
    label = re.sub(AMOUNT, "", row[0]) if column else ""
    cell_before, _, cell_after = row[column].partition(amount.token)
    return f"{head} | {label} | {cell_before}".rstrip(), cell_after


def _is_plausible(subject: Subject, amount: Amount) -> bool:
    """Whether a bare count can be the money that the subject is an amount of: 12k or 4,000, not 3."""
    return amount.kind != "count" or "money" not in subject.kinds or amount.low >= 500


def _is_own(sighting: _Sighting) -> bool:
    statement, near = sighting.statement, sighting.before[-60:]
    topics = set(statement.topics)
    if sighting.subject in MARKETS:
        return sighting.words[0].isalpha() or "market" in topics
    if "competition" in topics or topics == {"problem"} or _OTHERS.search(statement.masked):
        return False
    if sighting.subject in {"ask", "need"}:
        return _is_asked(sighting)
    if sighting.subject in {*SALES, "burn"}:
        is_per_unit = _PER_UNIT.search(sighting.words) or _PER_HEAD.match(sighting.after)
        return "market" not in topics and not _EACH.search(near) and not is_per_unit
    if sighting.subject in {"holders", "payers", "team size"}:
        return _is_own_count(sighting, topics)
    return True


def _is_asked(sighting: _Sighting) -> bool:
    """Whether the money is for this round: not for another one, not each month, and no sales that are looked for."""
    near = sighting.before[-60:]
    if _OTHER_ROUND.search(near) or _ALREADY.match(sighting.after):
        return False
    if _RATE.match(sighting.after) or _OF_SALES.match(sighting.after):
        return False
    if re.match(r"\s*in 20\d\d\b", sighting.after) and re.search(r"\b(?:want|plan|intend|will|hope)", near):
        return False
    pattern = _NEEDING if sighting.subject == "need" else _RAISING
    return sighting.statement.is_home("ask") or pattern.search(f"{near} {sighting.words}") is not None


def _is_own_count(sighting: _Sighting, topics: set[Topic]) -> bool:
    masked, words = sighting.statement.masked, f"{sighting.before[-30:]} {sighting.words}"
    if _NOT_OWN.search(words) or _RATE.match(sighting.after) or _SOME.match(sighting.after):
        return False
    if topics & {"market", "ask", "use of funds", "plan"} and not re.search(
        r"\b(?:we have|our|signed|wir haben|unsere)\b", masked
    ):
        return False
    is_alone = not sighting.before.strip(" *_") or sighting.words.startswith(("headcount", "team size"))
    return (
        sighting.subject != "team size"
        or "team" in topics
        or is_alone
        or bool(_WE.search(sighting.before[-60:]))
    )


def _figure(sighting: _Sighting) -> Figure:
    is_exact = sighting.subject == "ask" or sighting.subject.endswith("valuation")
    low, high = _bounds(sighting.amount, sighting.before, is_exact=is_exact)
    subject = sighting.subject
    if subject == "holders":
        holder = re.search(HOLDERS, sighting.words)
        subject = _plural(holder[0]) if holder else subject
    elif subject == "payers":
        subject = "customers"
    return Figure(
        subject=subject,
        low=low,
        high=high,
        unit=sighting.amount.unit,
        period=_period(sighting),
        tense=_tense(sighting),
        qualifier=_qualifier(sighting),
        scope=_scope(sighting),
        amount=sighting.amount,
        statement=sighting.statement,
    )


def _plural(holder: str) -> str:
    return holder if holder.endswith(("s", "n", "r")) and not holder.endswith("er") else f"{holder}s"


def _bounds(amount: Amount, before: str, *, is_exact: bool) -> tuple[float, float]:
    """What the amount can stand for: half a unit of its last digit more or less, unless it is exact."""
    low, high = amount.low, amount.high
    decimals = re.search(r"[.,](\d{1,2})(?!\d)", amount.text)
    digits = float(re.sub(r"\D", "", amount.text) or amount.low)
    unit = high / digits if digits and high == low else 0.0
    margin = unit / 2 if not is_exact and (decimals or unit >= 1000) else 0.0
    low, high = low - margin, high + margin
    if _ABOVE.search(before) or amount.text.endswith("+"):
        high *= 1.6
    if _BELOW.search(before):
        low *= 0.6
    if _ABOUT.search(before):
        low, high = low * 0.85, high * 1.15
    return low, high


def _qualifier(sighting: _Sighting) -> str:
    around = f"{sighting.before[-25:]} {sighting.words} {sighting.after[:20]}"
    if sighting.subject == "holders":
        return " ".join(sorted(set(_QUALIFIER.findall(around))))
    if sighting.subject == "payers":
        return "paying"
    if sighting.subject == "revenue":
        if re.search(r"\bmonth(?:ly)?\b|/ ?mo\b|\bmonat(?:lich\w*)?\b", around):
            return "monthly"
        return "annual" if re.search(r"annual|per year|a year|p\. ?a\.|jahres|jährlich", around) else ""
    if sighting.subject == "market size":
        region = _REGION.match(_words_after(sighting))
        kind = set(re.findall(r"[a-zà-ÿ-]{3,}", sighting.words)) - {"market", "size", "markt", "industry"}
        return " ".join((*sorted(kind), region[0].split()[-1] if region else "")).strip()
    return ""


def _words_after(sighting: _Sighting) -> str:
    return sighting.statement.text[sighting.amount.start + len(sighting.amount.text) :]


def _scope(sighting: _Sighting) -> str:
    if sighting.subject == "payers":
        return re.split(r"\b(?:pay|paid|zahlen)\b", sighting.words)[0].strip()
    if sighting.subject != "holders":
        return ""
    after = _words_after(sighting)
    tail = re.split(HOLDERS, after, maxsplit=1, flags=re.IGNORECASE)[-1]
    scope = _SCOPE.match(tail) if tail != after else None
    return scope[0].strip() if scope else ""


def _period(sighting: _Sighting) -> str:
    """The time label that stands nearest to the amount, in its sentence or in the head of its table."""
    if sighting.statement.form == "row":
        label = _PERIOD.search(sighting.before) or _PERIOD.search(sighting.statement.masked)
        is_series = len(sighting.statement.header) > 2
        return label[0] if label else sighting.before.partition(" | ")[0] if is_series else ""
    masked = sighting.statement.masked
    place = masked.index(sighting.amount.token)
    labels = sorted(
        _PERIOD.finditer(masked), key=lambda label: min(abs(label.start() - place), abs(label.end() - place))
    )
    return labels[0][0] if labels else ""


def _tense(sighting: _Sighting) -> Tense:
    masked, token = sighting.statement.masked, sighting.amount.token
    clause = next((part for part in re.split("[,;]", masked) if token in part), masked)
    if _FROM.search(sighting.before) or _PAST.search(clause):
        return "past"
    if _BEFORE_NOW.search(clause) and _NOW.search(masked):
        return "past"
    around = f"{sighting.before[-60:]} {sighting.words}"
    if sighting.subject != "ask":  # what a round is to reach lies in the future, the round does not
        around += f" {sighting.after[:40]}"
    is_outlook = bool({"projection", "plan"} & set(sighting.statement.topics))
    is_aim = sighting.subject in SALES and "ask" in sighting.statement.topics and not _NOW.search(around)
    if is_outlook or is_aim or _PLAN.search(around):
        return "plan"
    return "now"
