"""A client that is talked to in JSON, a message a line, as an editor does; every question is answered with yes."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from bench.clients.process import ClientEndedError, started

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    Heard = Callable[[Mapping[str, Any]], object]


class Talk:
    """A conversation with a client; `heard` gets each of its messages, and gives the answer to a question."""

    def __init__(self, child: subprocess.Popen[str], heard: Heard) -> None:
        self._child = child
        self._heard = heard

    def request(self, method: str, params: Mapping[str, object], until: tuple[str, str] | None = None) -> Any:
        """The result of a request; with `until`, once the client sends that of a thread."""
        self.send({"id": method, "method": method, "params": params})
        result = None
        assert self._child.stdout
        for line in self._child.stdout:
            message = json.loads(line) if line.startswith("{") else {}
            if "method" in message:
                answer = self._heard(message)
                if "id" in message:
                    self.send({"id": message["id"], "result": answer})
            elif message.get("id") == method:
                if "error" in message:
                    raise ClientEndedError(f"it answered {method} with {json.dumps(message['error'])}")
                result = message.get("result")
            if until:
                is_over = (message.get("method"), message.get("params", {}).get("threadId")) == until
            else:
                is_over = "method" not in message and message.get("id") == method
            if is_over:
                return result
        raise ClientEndedError(f"it ended before it had answered {method}")

    def send(self, message: Mapping[str, object]) -> None:
        """Sends a message, unless the client has ended."""
        assert self._child.stdin
        with suppress(BrokenPipeError):
            self._child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            self._child.stdin.flush()


@contextmanager
def talking(words: Sequence[str], environ: Mapping[str, str], folder: Path, heard: Heard) -> Iterator[Talk]:
    """A conversation with a client in a folder, which is ended with the block."""
    with started(words, environ, folder) as child:
        yield Talk(child, heard)
