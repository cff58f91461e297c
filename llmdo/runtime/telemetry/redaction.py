"""Redaction of records: text without secrets, values as plain data, binary content as its digest.

A seat belt, not a wall: a model that knows a secret can write it in another form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from math import isfinite
from string import ascii_letters, digits

from llmdo.base import credentials
from llmdo.journal.secret_forms import Form, form_of, in_small_quotes, pattern_of
from llmdo.journal.secrets import Known

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
