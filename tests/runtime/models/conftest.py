"""What the tests of provider code share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import pytest

from tests.support.provider import Answer, Server

Serve = Callable[..., Server]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts the scripted test server with a script for each worker, and leads the clients to it."""
    with ExitStack() as stack:

        def start(**scripts: Sequence[Answer]) -> Server:
            server = stack.enter_context(Server(scripts).running())
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            return server

        yield start
