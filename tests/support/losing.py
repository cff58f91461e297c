"""A way to a server of PostgreSQL on which replies are lost."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress


class LosingReplies:
    """Between a process and its server; once told to, it delivers what is sent next, and loses the reply."""

    def __init__(self, port: int, times: int = 1, sign: bytes = b"") -> None:
        """Over so many connections, each time that it is told to; a reply that has the sign in it, where one is given."""
        self._port, self._times, self._lost, self._sign = port, times, 0, sign
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.loses = threading.Event()
        self._clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Breaks all connections on the side of the process: the server goes on with what it has."""
        for client in self._clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self._clients.append(client)
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self._port)) as server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    content = ready.recv(65536)
                    if not content or (ready is server and self.loses.is_set() and self._loses(content)):
                        return
                    (server if ready is client else client).sendall(content)

    def _loses(self, content: bytes) -> bool:
        if content[:1] in (b"N", b"R", b"S") or self._sign not in content:  # a new connection is made
            return False
        self._lost += 1
        if self._lost >= self._times:
            self.loses.clear()
            self._lost = 0
        return True

    def close(self) -> None:
        self._listening.close()
