"""What may be written down: text without secrets, values as plain data, binary content as its digest.

A seat belt, not a wall: a model that was told a secret can write it in another form.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST = 8  # characters: shorter values are ordinary words too often
DEEPEST = 64  # levels: deeper data is a cycle, or nobody's to read

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)

_BEGINNINGS = (
    "sk-", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox",
    "k_live_", "k_test_", "AIza", "hf_", "npm_", "pypi-", "eyJ", "PRIVATE KEY",
)  # fmt: skip
"""What each of `_KNOWN_FORMS` holds: to look for these first is a hundred times as fast."""

_KNOWN_FORMS = re.compile(
    r"""
    \bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{16,}                 # model providers
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                        # AWS
    | \b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})  # GitHub
    | \bglpat-[A-Za-z0-9_-]{16,}                           # GitLab
    | \bxox[abeprs]-[A-Za-z0-9-]{10,}                      # Slack
    | \b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}               # Stripe
    | \bAIza[A-Za-z0-9_-]{30,}                             # Google
    | \b(?:hf|npm)_[A-Za-z0-9]{20,}                        # Hugging Face, npm
    | \bpypi-[A-Za-z0-9_-]{20,}                            # Python packages
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}  # JSON web tokens
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Redaction:
    """Takes the secrets of one environment, and whatever looks like a token, out of what is written down."""

    _names: Mapping[str, str]
    """Each form of a secret to the variable that holds it."""
    _values: re.Pattern[str] | None

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Redaction:
        """The one that knows the values of all variables whose names speak of secrets."""
        names = {
            form: name
            for name, value in environ.items()
            if _SECRET_NAME.search(name) and len(value) >= SHORTEST
            for form in _forms(value)
        }
        longest_first = sorted(names, key=len, reverse=True)
        return cls(names, re.compile("|".join(map(re.escape, longest_first))) if names else None)

    def text(self, text: str) -> str:
        """`text`, with the name of its variable in place of each secret."""
        if self._values is not None:
            text = self._values.sub(lambda found: f"[redacted {self._names[found[0]]}]", text)
        if any(beginning in text for beginning in _BEGINNINGS):
            return _KNOWN_FORMS.sub("[redacted]", text)
        return text

    def plain(self, value: object, depth: int = 0) -> object:
        """`value` as data that JSON can hold: no secrets, and digest and size in place of bytes."""
        match value:
            case None | bool():
                return value
            case str():
                return self.text(str(value))
            case int() | float():
                return self._number(value)
            case bytes() | bytearray() | memoryview():
                content = bytes(value)
                return {"bytes": len(content), "sha256": sha256(content).hexdigest()}
            case _ if depth >= DEEPEST:
                return "[too deep]"
            case Mapping():
                return {self.text(str(key)): self.plain(one, depth + 1) for key, one in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self.plain(one, depth + 1) for one in value]
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
        return {name: self.plain(part, depth + 1) for name, part in parts.items()}


def _forms(value: str) -> Iterator[str]:
    """The forms in which a secret is often written."""
    yield value
    yield quote(value, safe="")
    yield base64.b64encode(value.encode("utf-8", "surrogateescape")).decode().rstrip("=")


def _as_text(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # from the methods of the workspace's own types
        return f"[{type(value).__name__}: {type(error).__name__}]"
