"""Secrets of the environment in a journal: cut out of its texts, and put back from their variables.

A span holds the place of each cut, the length of its replacement and the secret's number. The journal knows a secret by
its variable and a salted scrypt digest alone. Nothing in a text asks for a replacement, so no text becomes a secret,
and a value put back has the digest of the value cut.
"""

from __future__ import annotations

import json
import os
import re
from hashlib import scrypt
from hmac import compare_digest
from itertools import chain, count
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base import credentials
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.journal.entries import DamagedError, JournalError
from llmdo.journal.spans import SecretSpan, joined

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

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


_FILL = b"\\u0000"
"""The replacement of a cut in JSON. No value of the environment can hold it, so it never forms a secret."""

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*', re.DOTALL)
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")


class Registered(NamedTuple):
    """A secret as a journal knows it."""

    number: int
    variable: str
    salt: bytes
    """That of the run."""
    digest: bytes


@dataclass(frozen=True, slots=True)
class Known:
    """The secrets of one environment, in all their forms."""

    values: Mapping[str, Sequence[str]]
    """Variable to the secrets in its value."""
    in_json: Mapping[bytes, Form]
    in_bytes: Mapping[bytes, Form]

    @property
    def in_texts(self) -> dict[str, Form]:
        """Each form, by its text."""
        return {formed(form.secret, form.steps): form for form in self.in_bytes.values()}

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Known:
        """The values of variables listed or named like secrets, and the passwords of addresses."""
        listed = frozenset(environ.get(credentials.LISTED, "").split(","))
        values: dict[str, list[str]] = {}
        in_json: dict[bytes, Form] = {}
        in_bytes: dict[bytes, Form] = {}
        for variable in sorted(environ):
            for secret in credentials.secrets_of(variable, environ[variable], is_listed=variable in listed):
                if "\0" in secret:
                    continue  # of no environment of a process
                values.setdefault(variable, []).append(secret)
                for steps in STEPS:
                    levels = nested(secret, steps)
                    for form in chain(*levels[1:]):
                        in_json.setdefault(encoded(secret, form), Form(variable, secret, form))
                    for form in chain(*levels[:-1]):
                        in_bytes.setdefault(encoded(secret, form), Form(variable, secret, form))
        return cls(values, in_json, in_bytes)

    def without(self, content: bytes) -> bytes:
        """`content` without the forms in it."""
        return _without(content, self.in_bytes, is_json=False)[0]

    def variable_in(self, text: str) -> str | None:
        """The variable of a form in `text`, if any."""
        places = _without(text.encode("utf-8", "surrogateescape"), self.in_bytes, is_json=False)[1]
        return places[0][2].variable if places else None


NOTHING = Known({}, {}, {})


class Secrets:
    """The secrets of one run: those that its journal knows by their digests, and those of the environment."""

    def __init__(self, known: Known, registered: Iterable[Registered] = ()) -> None:
        self.known = known
        self.registered = list(registered)
        """Those cut so far, in the order of their numbers."""
        self.stored = len(self.registered)
        """The number of them in the file."""
        self._salt = self.registered[0].salt if self.registered else os.urandom(16)
        self._digests: dict[str, bytes] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._values: dict[int, str | None] = {}
        self.stand_ins: dict[bytes, Form] = {}
        """The stand-ins for secrets that cannot be put back, known to this process alone."""

    def cut(
        self, text: bytes, *, is_json: bool = True, only: Container[str] | None = None
    ) -> tuple[bytes, tuple[SecretSpan, ...]]:
        """`text` without all secrets, or those of some variables, and the spans of the cuts."""
        forms = self.known.in_json if is_json else self.known.in_bytes
        if only is not None:
            forms = {needle: form for needle, form in forms.items() if form.variable in only}
        rest, places = _without(text, forms, is_json=is_json)
        if not places:
            return rest, ()
        return rest, tuple(
            SecretSpan(at, length, self._number(form.variable, form.secret), form.variable, form.steps)
            for at, length, form in places
        )

    def whole(self, text: bytes, spans: Sequence[SecretSpan], *, is_json: bool = True) -> bytes:
        """`text` with its secrets put back, byte for byte.

        A stand-in known to `lacks` replaces a value that its variable no longer has.

        Raises:
            JournalError: There can be no stand-in, or the spans are not those of the text.
        """
        if not spans:
            return text
        try:
            return joined(text, spans, lambda span: self._put_back(span, is_json=is_json))
        except ValueError as error:
            raise DamagedError(f"the journal is damaged: {error}") from error

    def lacks(self, value: object) -> str | None:
        """A variable without the value that `value` needs; None if it holds no stand-in."""
        return next((form.variable for token, form in self.stand_ins.items() if _holds(value, token)), None)

    def missing(self, variable: str) -> LlmdoError:
        """The error for a variable without the value that was cut."""
        has = "another one now" if variable in self.known.values else "none now"
        return LlmdoError(
            f"the value that `{variable}` had when it was recorded is needed, and it has {has}",
            hint=f"the journal keeps no secret: set `{variable}` to the value that it had",
        )

    def learn(self, registered: Iterable[Registered]) -> None:
        """Takes in secrets cut since by another process that resumed the run."""
        self.registered = list(registered)
        self.stored = len(self.registered)

    def variable(self, number: int) -> str:
        """The variable of that secret.

        Raises:
            JournalError: None exists.
        """
        if not 0 < number <= len(self.registered):
            raise DamagedError(f"the journal is damaged: it knows no secret {number}")
        return self.registered[number - 1].variable

    def compared(
        self, text: bytes, only: Container[str] | None, *, is_json: bool = True
    ) -> tuple[bytes, list[tuple[int, str, str]]]:
        """`text` without secrets and stand-ins, and the place, variable and form of each.

        Independent of the values of variables. `only` limits it to some variables.
        """
        forms = self.known.in_json if is_json else self.known.in_bytes
        if self.stand_ins:
            forms = {**forms, **self.stand_ins}
        if only is not None:
            forms = {needle: form for needle, form in forms.items() if form.variable in only}
        rest, places = _without(text, forms, is_json=is_json)
        return rest, [(at, form.variable, form.steps.rstrip("aj")) for at, _, form in places]

    def _put_back(self, span: SecretSpan, *, is_json: bool) -> bytes:
        secret = self._value(span.secret)
        if secret is not None:
            return encoded(secret, span.form)
        if is_json and not span.form:  # a number, which no text can stand for
            problem = self.missing(span.variable)
            raise JournalError(problem.message, hint=problem.hint)
        form = Form(span.variable, str(span.secret), span.form.rstrip("aj"))
        for token, other in self.stand_ins.items():
            if other == form:
                return token
        token = f"[redacted {re.sub(r'[^A-Za-z0-9_]', '_', span.variable)} {token_hex(8)}]".encode()
        self.stand_ins[token] = form
        return token

    def _value(self, number: int) -> str | None:
        """The secret of that number, if its variable has it."""
        if number not in self._values:
            registered = self.registered[number - 1]
            values = self.known.values.get(registered.variable, ())
            self._values[number] = next(
                (value for value in values if compare_digest(self._digest(value), registered.digest)),
                None,
            )
        return self._values[number]

    def _number(self, variable: str, secret: str) -> int:
        """The number of a secret, assigned at its first cut."""
        key = (variable, secret)
        if key not in self._numbers:
            digest = self._digest(secret)
            same = (
                registered.number
                for registered in self.registered
                if registered.variable == variable and registered.digest == digest
            )
            if (number := next(same, None)) is None:
                number = len(self.registered) + 1
                self.registered.append(Registered(number, variable, self._salt, digest))
            self._numbers[key] = number
            self._values[number] = secret
        return self._numbers[key]

    def _digest(self, secret: str) -> bytes:
        """The digest that identifies a secret: slow to make, so that guesses cost something."""
        if secret not in self._digests:
            content = secret.encode("utf-8", "surrogateescape")
            self._digests[secret] = scrypt(content, salt=self._salt, n=2**14, r=8, p=1)
        return self._digests[secret]


def _without(
    text: bytes, forms: Mapping[bytes, Form], *, is_json: bool
) -> tuple[bytes, list[tuple[int, int, Form]]]:
    """`text` without `forms`; the place, the length of the replacement and the form of each."""
    if not forms:
        return text, []
    # Far quicker than a pattern of all of them, and mostly none is present.
    small = text.lower()
    present = [
        form
        for form, named in forms.items()
        if (form.lower() in small if named.steps[:1] in EITHER_CASE else form in text)
    ]
    if not present:
        return text, []
    by_text = {needle.decode("latin-1"): forms[needle] for needle in present}
    expressions = [pattern_of(needle, by_text[needle]) for needle in sorted(by_text, key=len, reverse=True)]
    pattern = re.compile("|".join(expressions).encode("latin-1"))
    matches = _in_json(text, pattern) if is_json else ((match, b"\0") for match in pattern.finditer(text))
    pieces: list[bytes] = []
    places: list[tuple[int, int, Form]] = []
    end = length = 0
    for match, instead in matches:
        form = form_of(match[0].decode("latin-1"), by_text)
        if is_json and instead != _FILL:
            form = form._replace(steps="")
        pieces += (text[end : match.start()], instead)
        length += match.start() - end
        places.append((length, len(instead), form))
        length += len(instead)
        end = match.end()
    return b"".join((*pieces, text[end:])), places


def _in_json(text: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[re.Match[bytes], bytes]]:
    """The matches of `pattern` in the texts and numbers of JSON, each with its replacement."""
    for token in _TOKENS.finditer(text):
        start, end = token.span()
        if token[0][:1] != b'"':
            matches = [match for match in pattern.finditer(text, start, end) if _NUMBER.fullmatch(match[0])]
            digits = _digits(text[start:end], pattern) if matches else b""
            yield from ((match, digits) for match in matches)
            continue
        at = start + 1
        while match := pattern.search(text, at, end - 1):
            at = match.end()
            if _is_inside_escape(text, match.start(), start + 1):
                at = match.start() + 1
            else:
                yield match, _FILL


def _digits(number: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """The digits to replace the matches of `pattern` in a number, so that none is left."""
    return next(
        digits
        for digits in (b"%d" % candidate for candidate in count(1))
        if not pattern.search(pattern.sub(digits, number))
    )


def _is_inside_escape(text: bytes, at: int, start: int) -> bool:
    """Whether the character of JSON at a place begins before it; the text begins at `start`."""
    for before in range(1, 6):  # `\u` and four digits
        place = at - before
        if place < start or text[place : place + 1] != b"\\":
            continue
        run = place - start + 1 - len(text[start : place + 1].rstrip(b"\\"))
        return run % 2 == 1 and before < (6 if text[place + 1 : place + 2] == b"u" else 2)
    return False


def _holds(value: object, token: bytes) -> bool:
    """Whether `token` is in `value`: data, messages, or binary content."""
    match value:
        case str():
            return token.decode() in value
        case bytes():
            return token in value
        case dict():
            return any(_holds(key, token) or _holds(item, token) for key, item in value.items())
        case list() | tuple() | set() | frozenset():
            return any(_holds(item, token) for item in value)
    kind = type(value)
    names: Iterable[str] = getattr(kind, "__dataclass_fields__", getattr(kind, "__pydantic_fields__", ()))
    return any(_holds(getattr(value, name, None), token) for name in names)
