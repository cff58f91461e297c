"""Binary content as a journal keeps it: once, under a digest, without its secrets."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.journal.spans import SecretSpan


@dataclass(frozen=True, slots=True)
class Content:
    """Content, and the places of the secrets cut out of it."""

    rest: bytes
    spans: tuple[SecretSpan, ...] = ()

    @property
    def name(self) -> str:
        """The digest under which the journal keeps it."""
        return digest_of(packed(self.spans).encode() + b"\0" + self.rest if self.spans else self.rest)


def packed(spans: Sequence[SecretSpan]) -> str:
    """Spans as the file has them; the journal knows the variable of each secret."""
    if not spans:
        return ""
    return json.dumps(
        [[span.at, span.length, span.secret, span.form] for span in spans], separators=(",", ":")
    )


def digest_of(content: bytes) -> str:
    """The digest that names `content` without cut secrets."""
    return f"sha256:{sha256(content).hexdigest()}"
