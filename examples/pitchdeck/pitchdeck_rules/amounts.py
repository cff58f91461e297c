"""Amounts in a sentence: money, percentages, multiples and counts, in English and continental notation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["money", "percent", "multiple", "count"]

_BASES: dict[Kind, int] = {"money": 0xE000, "percent": 0xE800, "multiple": 0xF000, "count": 0xF400}
_TOKENS = 0x400  # per kind and sentence; the private use area has room for no more

MONEY = "[\ue000-\ue3ff]"
PERCENT = "[\ue800-\uebff]"
MULTIPLE = "[\uf000-\uf3ff]"
COUNT = "[\uf400-\uf7ff]"
AMOUNT = "[\ue000-\uf7ff]"

_SCALES = {
    "k": 1e3, "tsd": 1e3, "tausend": 1e3, "thousand": 1e3, "mille": 1e3,
    "m": 1e6, "mm": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "millions": 1e6, "millionen": 1e6,
    "millones": 1e6, "milioni": 1e6, "b": 1e9, "bn": 1e9, "mrd": 1e9, "md": 1e9, "billion": 1e9, "billions": 1e9,
    "milliarde": 1e9, "milliarden": 1e9, "milliards": 1e9, "tn": 1e12, "trillion": 1e12, "lakh": 1e5,
    "crore": 1e7,
}  # fmt: skip
_CURRENCIES = {
    "$": "USD", "us$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "us-dollar": "USD",
    "us-dollars": "USD",
    "€": "EUR", "eur": "EUR", "euro": "EUR", "euros": "EUR", "t€": "EUR", "teur": "EUR", "m€": "EUR", "k€": "EUR",
    "meur": "EUR", "£": "GBP", "gbp": "GBP", "pounds": "GBP", "chf": "CHF", "franken": "CHF", "francs": "CHF",
    "¥": "JPY", "yen": "JPY", "₹": "INR", "inr": "INR", "rs.": "INR", "a$": "AUD", "c$": "CAD", "s$": "SGD",
}  # fmt: skip
_WORDS = {
    word: float(value)
    for value, words in enumerate(
        ("two zwei", "three drei", "four vier", "five fünf", "six sechs", "seven sieben", "eight acht",
         "nine neun", "ten zehn", "eleven elf", "twelve zwölf"),
        start=2,
    )
    for word in words.split()
}  # fmt: skip

_PLAIN = r"\d{1,3}(?:[.,'\u2019\u00a0\u2009\u202f]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d+)?"
_SPACED = r"\d{1,3}(?:[.,'\u2019\u00a0\u2009\u202f ]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d+)?"
_SCALE = (
    r"(?:\s?(?:tsd|tausend|thousand|mille|mio|millions?|millionen|millones|milioni|mrd|md|billions?|milliarden?"
    r"|milliards|trillion|bn|mn|mm|lakh|crore|tn)\b(?:\.(?=\s?(?:€|\$|eur|usd|chf|fr)))?"
    r"|k(?!\w)|[mb](?!\w)|\s(?-i:[MBK])(?![\w'\u2019]))"
)
_BEFORE = r"(?:us\$|[acs]\$|\$|€|£|¥|₹|rs\.|(?:usd|eur|gbp|chf|inr|teur|t€)\b)"
_AFTER = (
    r"(?:%|percent\b|per cent\b|prozent\b|pct\b|x(?!\w)|\u00d7|-?fold\b|-?fach\w*|t€|k€|m€|€|\$(?!\s?\d)|£"
    r"|(?:teur|meur|eur|euros?|usd|us-dollars?|dollars?|gbp|pounds|chf|franken|francs|yen|inr)\b)"
)


def _pattern(number: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\w.,/#])(?<![a-z]-)(?:(?P<before>{_BEFORE})\s?)?(?P<low>{number})(?P<scale>{_SCALE})?"
        rf"(?:[-\u2013\u2014](?:{_BEFORE}\s?)?(?P<high>{number})(?P<scale2>{_SCALE})?)?"
        rf"(?:\+?\s?(?P<after>{_AFTER}))?"
        r"(?P<unit>(?<=\d)[a-z]\w*)?",
        re.IGNORECASE,
    )


_AMOUNTS = {False: _pattern(_PLAIN), True: _pattern(_SPACED)}
_DIGIT = re.compile(r"\d")
_NUMBER_WORD = re.compile(r"\b(?:" + "|".join(_WORDS) + r")\b", re.IGNORECASE)
_DATE = re.compile(
    r"\b\d{4}-\d{2}(?:-\d{2})?\b|\b\d{1,2}\.\d{1,2}\.\d{2,4}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d{1,2}/\d{4}\b"
    r"|\b(?:fy|q[1-4]|h[12])[ /'\u2019-]?\d{2,4}\b|\b[qh]\d\b|\b(?:19|20)\d\d\s?[-\u2013/]\s?(?:(?:19|20)\d\d|\d\d)\b"
    r"|(?<![\d$€£.,])(?:19|20)\d\d(?:[ep]\b|(?![\d%$€£]|[.,]\d|\s?(?:%|x\b|k\b|€|\$|usd\b|eur\b|"
    r"(?:[\w-]+\s){0,2}?(?:users|customers|clients|subscribers|people|hours|downloads|kunden|nutzer|stunden)\b)))"
    r"|\b(?:in|since|by|until|im|seit|bis|early|late|end of|mid|ende)[ -](?:19|20)\d\d\b|\b24/7\b"
    r"|(?<!last )(?<!\ba )(?<!per )(?<!each )(?<!every )(?<!this )(?<!jeden )(?<!pro )(?<!im )(?<!am )"
    r"\b(?:year|month|quarter|week|day|jahr|monat|quartal|woche|tag|phase|stage|cohort) \d{1,2}\b(?![.,]\d)"
    r"|\b\d{1,2}\.?\s(?:jan|feb|mar|mär|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zä]*\b",
    re.IGNORECASE,
)
_NAME_ENDS = re.compile(r"(?:st|nd|rd|th|d|g|e|er|re|p|[a-z]\d\w*)$", re.IGNORECASE)
"""Letters that make a name or an ordinal of the digits before them: 5G, 3D, 4th."""
_MARKET_NAME = re.compile(r"\b(TAM|SAM|SOM)\b(?! [A-Z])")
_COMMA_WORDS = re.compile(
    r"\b(?:der|die|und|ist|mit|für|wir|les|des|est|pour|nous|los|para|una|gli|che|della)\b", re.IGNORECASE
)
_POINT_WORDS = re.compile(r"\b(?:the|and|is|with|for|we|our|of|to)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number as written in a sentence, with its range where it is one."""

    kind: Kind
    low: float
    high: float
    unit: str
    """The currency of money; otherwise empty."""
    text: str
    start: int
    token: str
    """The one character that stands for it in the masked sentence."""

    @property
    def is_digits(self) -> bool:
        """Whether it was written in digits, not as a word."""
        return not self.text.isalpha()


def uses_decimal_comma(text: str) -> bool:
    """Whether the text is in a language that writes 1.200,50 for what English writes 1,200.50."""
    sample = text[:20_000]  # the language does not change after that
    return len(_COMMA_WORDS.findall(sample)) > len(_POINT_WORDS.findall(sample))


def read_amounts(text: str, *, decimal_comma: bool) -> tuple[Amount, ...]:
    """The amounts in `text`, in order; dates, versions and names with digits are left out."""
    if not _DIGIT.search(text):
        matches: list[re.Match[str]] = []
    else:
        dates = [found.span() for found in _DATE.finditer(text)]
        matches = [
            found
            for found in _AMOUNTS[decimal_comma].finditer(text)
            if not any(start < found.end("low") and found.start("low") < end for start, end in dates)
            and not (found["unit"] and _NAME_ENDS.match(found["unit"]))
        ]
    found_words = [found for found in _NUMBER_WORD.finditer(text) if not _covers(matches, found)]
    everything = sorted((*matches, *found_words), key=lambda found: found.start())[:_TOKENS]
    return tuple(_amount(found, index, decimal_comma=decimal_comma) for index, found in enumerate(everything))


def mask(text: str, amounts: tuple[Amount, ...]) -> str:
    """`text` in lower case, but for TAM, SAM and SOM, with one character of its kind in the place of each amount."""
    parts: list[str] = []
    position = 0
    for amount in amounts:
        parts += (text[position : amount.start], f" {amount.token} ")
        position = amount.start + len(amount.text)
    return re.sub(r"[ \t]+", " ", _lower("".join((*parts, text[position:]))))


def _lower(text: str) -> str:
    """`text` in lower case but for the names of markets, as Sam and Tam are also names of people."""
    parts = _MARKET_NAME.split(text)
    return "".join(part if index % 2 else part.lower() for index, part in enumerate(parts))


def _covers(matches: list[re.Match[str]], word: re.Match[str]) -> bool:
    return any(found.start() < word.end() and word.start() < found.end() for found in matches)


def _amount(found: re.Match[str], index: int, *, decimal_comma: bool) -> Amount:
    if found.re is _NUMBER_WORD:
        value = _WORDS[found[0].lower()]
        token = chr(_BASES["count"] + index)
        return Amount(
            kind="count", low=value, high=value, unit="", text=found[0], start=found.start(), token=token
        )
    before, after = (found["before"] or "").lower(), (found["after"] or "").lower()
    currency = _CURRENCIES.get(before) or _CURRENCIES.get(after, "")
    kind: Kind = "money" if currency else _kind_of_suffix(after)
    scale = _scale(found["scale"] or found["scale2"], before, after)
    low = _value(found["low"], decimal_comma=decimal_comma) * scale
    high = low
    if found["high"]:
        high = _value(found["high"], decimal_comma=decimal_comma) * _scale(
            found["scale2"] or found["scale"], before, after
        )
    written = found[0].removesuffix(found["unit"] or "").rstrip()
    return Amount(
        kind=kind,
        low=min(low, high),
        high=max(low, high),
        unit=currency,
        text=written,
        start=found.start(),
        token=chr(_BASES[kind] + index),
    )


def _kind_of_suffix(after: str) -> Kind:
    if after.startswith("%") or after in {"percent", "per cent", "prozent", "pct"}:
        return "percent"
    return (
        "multiple" if after in {"x", "\u00d7"} or after.lstrip("-").startswith(("fold", "fach")) else "count"
    )


def _scale(written: str | None, before: str, after: str) -> float:
    if before in {"t€", "teur"} or after in {"t€", "teur", "k€"}:
        return 1e3
    if after in {"m€", "meur"}:
        return 1e6
    return _SCALES[written.strip().rstrip(".").lower()] if written else 1.0


def _value(written: str, *, decimal_comma: bool) -> float:
    digits = re.sub(r"['\u2019\s\u00a0\u2009\u202f]", "", written)
    separators = [character for character in digits if character in ".,"]
    if not separators:
        return float(digits)
    last = separators[-1]
    head, tail = digits.rsplit(last, 1)
    grouped = len(tail) == 3 and (len(separators) > 1 or (last == ".") == decimal_comma) and head != "0"
    if grouped and len(set(separators)) == 1:
        return float(head.replace(last, "") + tail)
    return float(re.sub(r"[.,]", "", head) + "." + tail)
