"""A scripted model on 127.0.0.1: what a client asks it is kept, and it answers as a script says."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol

from llmdo.base.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call of a tool that the model asks for."""

    id: str
    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """What the model says: calls, or a text."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request of a client."""

    instructions: str
    prompt: str
    tools: Mapping[str, Mapping[str, Any]]
    """The declarations of the tools that it shows, by their names."""
    results: Mapping[str, str] = field(default_factory=dict)
    """What came of calls, by their ids."""


class Wire(Protocol):
    """One API of models: a module each."""

    PATH: str

    def asked(self, body: Mapping[str, Any]) -> ModelRequest:
        """The request in a body."""
        ...

    def stream(self, answer: ScriptedAnswer, path: str, /) -> Iterator[str]:
        """The events of an answer."""
        ...


def text_of(content: object) -> str:
    """The text in the content of a message."""
    if isinstance(content, list):
        return "\n".join(text_of(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port of a server on 127.0.0.1; it ends with the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serving(wire: Wire, script: Callable[[ModelRequest], ScriptedAnswer]) -> Iterator[int]:
    """The port of a model that answers by a script; it ends with the block."""

    class _Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if wire.PATH not in self.path:
                self.send_error(404)
                return
            self.send_response(200)
            kind = "application/json" if self.path.endswith(":generateContent") else "text/event-stream"
            self.send_header("Content-Type", kind)
            self.end_headers()
            for event in wire.stream(script(wire.asked(json.loads(body))), self.path):
                self.wfile.write(event.encode())

        def log_message(self, *_: object) -> None:
            """Nothing: the results are what is printed."""

    with listening(_Handler) as port:
        yield port
