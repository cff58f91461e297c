"""The key of the call that runs: a tool passes it on, so that a service which is asked twice acts once.

It is the same whenever that call of that run is carried out again, also in a run that begins anew in its place.
"""

from __future__ import annotations

from contextvars import ContextVar
from hashlib import sha256
from typing import Protocol


class KeyedCode(Protocol):
    """What the runtime knows of the code that runs; here nothing but its key matters."""

    @property
    def key(self) -> str | None:
        """The key of the call whose tool it is; None of the function of an entry."""
        ...


VARIABLE = "LLMDO_CALL_KEY"
"""Where commands find it."""

META = "llmdo/call-key"
"""Where MCP servers find it, in `_meta` of the call."""

SCOPE: ContextVar[KeyedCode | None] = ContextVar("llmdo_scope", default=None)
"""The code that runs, or that began what runs. `llmdo.runtime.place` alone sets it; there is no other such variable."""


def key_of(run: str, path: str, step: int) -> str:
    """The key of the execution of that number of the call at `path`, where `run` is the first run of its item."""
    return sha256(f"{run}\n{path}\n{step}".encode()).hexdigest()


def current() -> str | None:
    """The key of the call that runs now, or that began what runs now; None where none does."""
    scope = SCOPE.get()
    return None if scope is None else scope.key
