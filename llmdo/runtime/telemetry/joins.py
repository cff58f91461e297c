"""Secrets in text that arrives in pieces: a secret cut in two shows in neither, so some text is held back.

Held back are the last word, which may begin a token; the text after the `://` of an address; and the beginning of a
multi-word secret of the environment. Of a private key nothing is passed on.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from llmdo.journal.secret_forms import in_small_quotes
from llmdo.runtime.telemetry.events import (
    ModelResponded,
    RunFinished,
    StreamBroken,
    TextDelta,
    ToolCallDelta,
    WorkerFinished,
)
from llmdo.runtime.telemetry.redaction import REDACTED, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.runtime.telemetry.events import Event
    from llmdo.runtime.telemetry.redaction import Redaction

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
