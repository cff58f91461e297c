"""The written forms of a secret: quoted, as digits, as JSON, in another case."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

STEPS = ("", "q", "b", "p", "s", "h", "u", "U", "L")
EITHER_CASE = frozenset("qpsh")
"""The steps whose hexadecimal digits may each be in either case."""
_STEP = re.compile("([A-Za-z])([01]*)")
_QUOTED = re.compile("%[0-9A-Fa-f]{2}")
_QUOTED_LETTER = re.compile("(?<=%)[A-Fa-f]|(?<=%[0-9A-Fa-f])[A-Fa-f]")
_LETTER = re.compile("[A-Fa-f]")
_DIGITS = re.compile("[0-9a-f]+")
_QUOTE = re.compile("%[0-9A-Fa-f]{1,2}")
_NESTED = 3  # levels: JSON in a text of JSON in a text of JSON


class Form(NamedTuple):
    """A secret in one of its written forms."""

    variable: str
    secret: str
    steps: str
    """The steps from the secret to the form, in order.

    `q` quotes it for an address, `p` with `+` for spaces, `s` leaves slashes; `b` writes it as base64, `u` as that of
    addresses, `h` as hexadecimal digits, `U` and `L` in large and in small letters; `j` and `a` as a text of JSON, `a`
    in ASCII. After `q`, `p`, `s` and `h`, one digit for each letter among the digits tells its case: 0 small, 1 large;
    no digits if all are as the step writes them. Earlier journals have `l` for quotes in small letters, and `H` for
    hexadecimal digits in large ones.
    """


def formed(text: str, steps: str) -> str:
    """The secret `text` in the form that `steps` make of it."""
    secret = text
    for step, cases in _STEP.findall(steps):
        text = _written(text, secret, step)
        if cases:
            text = _in_cases(text, step, cases)
    return text


def encoded(secret: str, steps: str) -> bytes:
    """The form in bytes."""
    # A value that is not UTF-8 has surrogates, which JSON keeps as such.
    errors = "surrogatepass" if steps.endswith(("j", "a")) else "surrogateescape"
    return formed(secret, steps).encode("utf-8", errors)


def _written(text: str, secret: str, step: str) -> str:
    """The result of a step on `text`, or on the secret itself."""
    from base64 import b64encode, urlsafe_b64encode  # lists of runs need none of these
    from urllib.parse import quote, quote_plus

    if step in "buhH":
        content = secret.encode("utf-8", "surrogateescape")
        if step in "hH":
            return content.hex() if step == "h" else content.hex().upper()
        return (b64encode if step == "b" else urlsafe_b64encode)(content).decode().rstrip("=")
    match step:
        case "q" | "s":
            return quote(text, safe="" if step == "q" else "/", errors="surrogateescape")
        case "p":
            return quote_plus(text, errors="surrogateescape")
        case "l":
            return _QUOTED.sub(lambda quoted: quoted[0].lower(), text)
        case "U":
            return text.upper()
        case "L":
            return text.lower()
    return json.dumps(text, ensure_ascii=step == "a")[1:-1]


def _in_cases(text: str, step: str, cases: str) -> str:
    """`text`, as `step` writes it, with the letters among its digits in these cases, 0 or 1 each."""
    each = iter(cases)
    turned = lambda letter: letter[0].upper() if next(each, "0") == "1" else letter[0].lower()  # noqa: E731
    return _letters(step).sub(turned, text)


def _letters(step: str) -> re.Pattern[str]:
    return _LETTER if step == "h" else _QUOTED_LETTER


def form_of(text: str, forms: Mapping[str, Form]) -> Form:
    """The one of `forms` that is written as `text`, with its cases; `pattern_of` one of them has matched it."""
    if form := forms.get(text):
        return form
    needle = _QUOTED.sub(lambda quoted: quoted[0].upper(), text)
    form = forms[needle] if needle in forms else forms[text.lower()]
    step = form.steps[0]
    cases = "".join("01"[letter.isupper()] for letter in _letters(step).findall(text))
    return form._replace(steps=f"{step}{cases}{form.steps[1:]}")


def in_small_quotes(text: str) -> str:
    """`text` with the digits of quotes in small letters, also of one that it ends in."""
    return _QUOTE.sub(lambda quote: quote[0].lower(), text)


def pattern_of(needle: str, form: Form) -> str:
    """The expression of a form, for hexadecimal digits in either case."""
    escaped = re.escape(needle)
    step = form.steps[:1]
    if step not in EITHER_CASE:
        return escaped
    if step == "h":  # what stands for a secret that is lacking has other letters, too
        return f"(?i:{escaped})" if _DIGITS.fullmatch(needle) else escaped
    return _QUOTED.sub(lambda quoted: f"(?i:{quoted[0]})", escaped)


def nested(secret: str, steps: str) -> list[list[str]]:
    """`steps`, and those for JSON texts of it, nested: each level as the steps that differ."""
    levels = [[steps]]
    for _ in range(_NESTED):
        differing = {formed(secret, more): more for base in levels[-1] for more in (f"{base}a", f"{base}j")}
        levels.append(list(differing.values()))
    return levels
