"""The key of the call that runs: a tool passes it on, so that a service which is asked twice acts once.

It is the same whenever that call of that run is carried out again, also in a run that begins anew in its place.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "LLMDO_CALL_KEY"
"""Where commands find it."""

META = "llmdo/call-key"
"""Where MCP servers find it, in `_meta` of the call."""

_KEY: ContextVar[str | None] = ContextVar("llmdo_call_key", default=None)


def key_of(run: str, path: str, step: int) -> str:
    """The key of the execution of that number of the call at `path`, where `run` is the first run of its item."""
    return sha256(f"{run}\n{path}\n{step}".encode()).hexdigest()


def current() -> str | None:
    """The key of the call that runs now, or that began what runs now; None where none does."""
    return _KEY.get()


@contextmanager
def keyed(key: str) -> Iterator[None]:
    """Around the tool of a call."""
    token = _KEY.set(key)
    try:
        yield
    finally:
        with suppress(ValueError):  # a coroutine that its loop gave up is closed in another context
            _KEY.reset(token)
