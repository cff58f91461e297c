"""The key of the running call: a tool passes it on, so that a service which is asked twice acts once.

It stays the same when this call of the run is executed again, also in a run that replaces it.
"""

from __future__ import annotations

from contextvars import ContextVar
from hashlib import sha256
from typing import Protocol


class KeyedCode(Protocol):
    """The runtime's view of the running code; only its key matters here."""

    @property
    def key(self) -> str | None:
        """The key of the tool's call; None for the function of an entry."""
        ...


VARIABLE = "LLMDO_CALL_KEY"
"""The environment variable in which commands find it."""

META = "llmdo/call-key"
"""The field of `_meta` of a call in which an MCP server finds it."""

SCOPE: ContextVar[KeyedCode | None] = ContextVar("llmdo_scope", default=None)
"""The running code, or the code that started it. Only `llmdo.runtime.place` sets it; no other such variable exists."""


def key_of(run: str, path: str, step: int) -> str:
    """The key of execution number `step` of the call at `path`; `run` is the first run of its item."""
    return sha256(f"{run}\n{path}\n{step}".encode()).hexdigest()


def current() -> str | None:
    """The key of the running call, or of the call that started the running code; None outside of calls."""
    scope = SCOPE.get()
    return None if scope is None else scope.key
