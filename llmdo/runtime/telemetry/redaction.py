"""Redaction of records: text without secrets, also in pieces, values as plain data, binary content as its digest.

A seat belt, not a wall: a model that knows a secret can write it in another form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from hashlib import sha256
from math import isfinite
from string import ascii_letters, digits
from typing import TYPE_CHECKING

from llmdo.base import credentials
from llmdo.journal.secrets import Form, Known, form_of, in_small_quotes, pattern_of
from llmdo.runtime.telemetry.events import (
    ModelResponded,
    RunFinished,
    StreamBroken,
    TextDelta,
    ToolCallDelta,
    WorkerFinished,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.runtime.telemetry.events import Event

REDACTED = "[redacted]"

WORDS = f"{ascii_letters}{digits}_.:/+=-"
"""The characters of tokens, and of the beginnings of addresses."""

DEEPEST = 64  # levels: deeper data is a cycle, or nobody's to read


@dataclass(frozen=True, slots=True)
class Redaction:
    """Removes the secrets of one environment, and anything like a token, from records."""

    _forms: Mapping[str, Form]
    """Each form of a secret by its spelling."""
    _values: re.Pattern[str] | None
    known: Known
    """The known secrets, for the contents of a journal."""
    phrases: tuple[str, ...] = ()
    """The forms of secrets that are more than a word, in small quotes."""

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Redaction:
        """The redaction of variables with the names of secrets, and of the passwords of addresses in others."""
        known = Known.of(environ)
        forms = known.in_texts
        longest_first = sorted(forms, key=len, reverse=True)
        expressions = [pattern_of(text, forms[text]) for text in longest_first]
        pattern = re.compile("|".join(expressions)) if forms else None
        return cls(
            forms, pattern, known, tuple(map(in_small_quotes, (form for form in forms if form.strip(WORDS))))
        )

    def text(self, text: str) -> str:
        """`text`, with the name of its variable in place of each secret."""
        if self._values is not None:
            text = self._values.sub(
                lambda match: f"[redacted {form_of(match[0], self._forms).variable}]", text
            )
        return credentials.without_tokens(text, REDACTED)

    def suspects(self, text: str) -> bool:
        """Whether `text`, plain or as JSON, may hold a secret or token; a no is certain."""
        if self._values is not None and self._values.search(text):
            return True
        return credentials.may_hold_token(text)

    def content(self, content: bytes) -> bytes:
        """`content` without its secrets as text, so that its digest gives none away."""
        return self.known.without(content)

    def plain(self, value: object) -> object:
        """`value` as data for JSON: no secrets, and digest and size in place of bytes."""
        texts: list[str] = []
        if _is_plain(value, texts) and not self.suspects("\n".join(texts)):
            return value
        return self._plain(value, 0)

    def _plain(self, value: object, depth: int) -> object:
        match value:
            case None | bool():
                return value
            case str():
                return self.text(str(value))
            case int() | float():
                return self._number(value)
            case bytes() | bytearray() | memoryview():
                content = bytes(value)
                return {"bytes": len(content), "sha256": sha256(self.content(content)).hexdigest()}
            case _ if depth >= DEEPEST:
                return "[too deep]"
            case Mapping():
                return {self.text(str(key)): self._plain(item, depth + 1) for key, item in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self._plain(item, depth + 1) for item in value]
        return self._object(value, depth)

    def _number(self, value: float) -> object:
        written = str(value)
        return value if isfinite(value) and self.text(written) == written else self.text(written)

    def _object(self, value: object, depth: int) -> object:
        # Not `isinstance`, which would ask every model class there is.
        of_model = getattr(type(value), "__pydantic_fields__", None)
        if of_model is not None:
            parts = {name: getattr(value, name, None) for name in of_model}
        elif type(value).__str__ is object.__str__ and is_dataclass(value) and not isinstance(value, type):
            parts = {field.name: getattr(value, field.name, None) for field in fields(value)}
        else:
            return self.text(_as_text(value))
        return {name: self._plain(part, depth + 1) for name, part in parts.items()}


def _is_plain(value: object, texts: list[str], depth: int = 0) -> bool:
    """Whether JSON can hold `value` as it is; adds all its texts to `texts`."""
    kind = type(value)
    if kind is str:
        texts.append(value)  # type: ignore[arg-type]
        return True
    if kind is dict:
        return depth < DEEPEST and all(
            type(key) is str and _is_plain(key, texts) and _is_plain(item, texts, depth + 1)
            for key, item in value.items()  # type: ignore[attr-defined]
        )
    if kind is list:
        return depth < DEEPEST and all(_is_plain(item, texts, depth + 1) for item in value)  # type: ignore[attr-defined]
    if kind is int or (kind is float and isfinite(value)):  # type: ignore[arg-type]
        texts.append(str(value))
        return True
    return value is None or kind is bool


def _as_text(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # from the methods of the workspace's own types
        return f"[{type(value).__name__}: {type(error).__name__}]"


_ADDRESS = re.compile(r"""://[^\s/@"'<>${}]*\Z""")
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_END_OF_KEY = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_PART_OF_KEY = re.compile(r"-----BEGIN [A-Z ]*-{0,4}\Z")
_LONGEST_END = 128  # characters


class RedactedText:
    """A text without secrets that arrives piece by piece."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._held = ""
        self._is_in_key = False

    def add(self, piece: str) -> str:
        """The text that can be passed on after `piece`; often nothing."""
        passed = ""
        self._held += piece
        while True:
            boundary = (_END_OF_KEY if self._is_in_key else _KEY).search(self._held)
            if boundary is None:
                break
            if not self._is_in_key:
                passed += self._redaction.text(self._held[: boundary.start()]) + REDACTED
            self._held = self._held[boundary.end() :]
            self._is_in_key = not self._is_in_key
        if self._is_in_key:
            self._held = self._held[-_LONGEST_END:]
            return passed
        ready = self._ready()
        passed += self._redaction.text(self._held[:ready])
        self._held = self._held[ready:]
        return passed

    def end(self) -> str:
        """The rest: nothing more arrives."""
        rest = "" if self._is_in_key else self._redaction.text(self._held)
        self._held, self._is_in_key = "", False
        return rest

    def _ready(self) -> int:
        """The length of the held text outside any unfinished secret."""
        ready = len(self._held.rstrip(WORDS))
        for beginning in (_ADDRESS, _PART_OF_KEY):
            if match := beginning.search(self._held):
                ready = min(ready, match.start())
        before, held = ready + 1, in_small_quotes(self._held)
        while before > ready:
            before, ready = (
                ready,
                min((_before(form, held, ready) for form in self._redaction.phrases), default=ready),
            )
        return ready


def _before(secret: str, held: str, ready: int) -> int:
    """`ready`, or the earlier place at which `secret` may begin in the held text and exceed it."""
    start = held.find(secret[0], max(0, ready - len(secret) + 1), ready)
    while start != -1:
        if secret.startswith(held[start : start + len(secret)]):
            return start
        start = held.find(secret[0], start + 1, ready)
    return ready


class RedactedPieces:
    """The events of a run, with answers free of secrets, even of those split between pieces.

    Held text of an answer comes before its end is reported; of a broken answer it never comes, for it may begin a
    secret.
    """

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._texts: dict[str, dict[int, tuple[TextDelta | ToolCallDelta, RedactedText]]] = {}
        """By call path, then by the number of the call; -1 for the text."""

    def take(self, event: Event) -> Iterator[Event]:
        """The events that can be reported once `event` has happened."""
        match event:
            case TextDelta():
                if text := self._text_of(event, -1).add(event.text):
                    yield replace(event, text=text)
                return
            case ToolCallDelta():
                if arguments := self._text_of(event, event.index).add(event.arguments):
                    yield replace(event, arguments=arguments)
                return
            case ModelResponded():
                yield from self._rest(event.path)
            case StreamBroken() | WorkerFinished():
                self._texts.pop(event.path, None)
            case RunFinished():
                self._texts.clear()
        yield event

    def _text_of(self, event: TextDelta | ToolCallDelta, number: int) -> RedactedText:
        texts = self._texts.setdefault(event.path, {})
        text = texts[number][1] if number in texts else RedactedText(self._redaction)
        texts[number] = (event, text)
        return text

    def _rest(self, path: str) -> Iterator[Event]:
        for event, text in self._texts.pop(path, {}).values():
            if rest := text.end():
                if isinstance(event, TextDelta):
                    yield replace(event, text=rest)
                else:
                    yield replace(event, arguments=rest)
