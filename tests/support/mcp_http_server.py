"""An MCP server over HTTP in this very process, which keeps what it was asked and misbehaves on demand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOOLS = [
    {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object", "properties": {}}}
    for name in ("hello", "huge", "elsewhere", "broken")
]


@dataclass
class Remote:
    """A running server."""

    url: str
    headers: list[dict[str, str]] = field(default_factory=list)
    """Those of each request."""
    elsewhere: list[str] = field(default_factory=list)
    """What was asked of the address that it redirects to."""


@contextmanager
def remote() -> Iterator[Remote]:
    """A server on 127.0.0.1."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/elsewhere":
                remote_server.elsewhere.append(body.decode())
                return self.reply(404, {})
            remote_server.headers.append({key.lower(): value for key, value in self.headers.items()})
            message = json.loads(body)
            if "id" not in message:
                return self.reply(202, None)
            called = message["method"] == "tools/call" and message["params"]["name"]
            if called == "elsewhere":
                self.send_response(307)
                self.send_header("Location", f"http://localhost:{self.server.server_port}/elsewhere")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            if called == "broken":
                return self.reply(500, {})
            self.reply(200, {"jsonrpc": "2.0", "id": message["id"], **answer(message, called)})
            return None

        def do_GET(self) -> None:
            self.reply(405, None)

        def do_DELETE(self) -> None:
            self.reply(405, None)

        def reply(self, status: int, body: Any) -> None:
            content = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            try:
                self.wfile.write(content)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    remote_server = Remote(f"http://127.0.0.1:{server.server_port}/mcp")
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield remote_server
    finally:
        server.shutdown()
        server.server_close()


def answer(message: dict[str, Any], called: str | bool) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "remote", "version": "2"}
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": TOOLS}}
        case "tools/call":
            text = "x" * 20_000_000 if called == "huge" else "hello"
            return {"result": {"content": [{"type": "text", "text": text}]}}
        case "ping":
            return {"result": {}}
    return {"error": {"code": -32601, "message": "no such method"}}
