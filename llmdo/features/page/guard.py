"""The access control of the server: it admits a browser of this machine to its own page, and holders of the token.

Other people have accounts on this machine, and every site that a browser shows can send requests to it. So a request
has to name this server (else a name that was rebound to 127.0.0.1 would do), must not come from another site, and
for data has to bring the token, which only the person at this terminal was given. Browsers send a header
`Authorization` to no other site unasked, which is why there is no cookie.
"""

from __future__ import annotations

import hmac
import json
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from llmdo.base.values import Json

API = "/api/"
MAX_BODY = 8 * 1024 * 1024  # bytes: an edited call of a megabyte, as JSON, has room
LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})
EVERYWHERE = frozenset({"0.0.0.0", "[::]"})  # noqa: S104  # what a person may ask for, with a warning

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(\d{1,5}))?")
_ADDRESS = re.compile(r"\[[0-9a-f:.]+\]|\d{1,3}(?:\.\d{1,3}){3}")

HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""The headers of every response."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered."""

    status: int
    message: str

    @property
    def data(self) -> Json:
        """As the body of the response."""
        return {"error": self.message, "hint": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The checks of every request before anything reads it."""

    token: str
    host: str = "127.0.0.1"
    """The host name it listens at, an IPv6 address in brackets."""

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Why a request is refused, or None."""
        named = _HOST.fullmatch(headers.get("host", "").lower())
        if named is None or not self._is_own(named[1]):
            return Refusal(421, "this server has another name; open the link that `llmdo page` prints")
        if method not in ("GET", "HEAD", "POST"):
            return Refusal(405, "only GET and POST are known here")
        is_data = path.startswith(API)
        if not _is_of_this_page(headers, named[0], is_data=is_data):
            return Refusal(403, "requests of other sites are refused")
        if is_data and not hmac.compare_digest(
            headers.get("authorization", "").encode("latin-1"), f"Bearer {self.token}".encode()
        ):
            return Refusal(401, "the token is missing or not that of this server")
        if method == "POST":
            return _refusal_of_body(headers)
        return None

    def _is_own(self, name: str) -> bool:
        """Whether a request that names this host means this server: an address cannot be rebound, a name can."""
        if name in LOCAL or name == self.host:
            return True
        if self.host not in EVERYWHERE:
            return False
        return bool(_ADDRESS.fullmatch(name)) or name == socket.gethostname().lower()


def _is_of_this_page(headers: Mapping[str, str], host: str, *, is_data: bool) -> bool:
    """Whether a browser, if it is one, says that the page itself asks, or a person who opens it.

    The port is compared too, and that of the request counts: a tunnel may have given this server another.
    """
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
        return False
    site = headers.get("sec-fetch-site", "same-origin")
    if is_data:
        return site == "same-origin"
    is_opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return site in ("same-origin", "none") or is_opened


def _refusal_of_body(headers: Mapping[str, str]) -> Refusal | None:
    # A form of another site can send three types without being asked first; JSON is none of them.
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return Refusal(415, "a request has to be JSON")
    length = headers.get("content-length", "")
    if not length.isascii() or not length.isdigit():
        return Refusal(411, "a request has to say how long it is")
    if int(length) > MAX_BODY:
        return Refusal(413, f"a request may have at most {MAX_BODY // 1024:,} KiB")
    return None


class GuardedApp:
    """An application behind a guard; every response of it has the headers that restrict the page."""

    def __init__(self, app: ASGIApp, guard: Guard, policy: str, entered: Callable[[], None]) -> None:
        self._app = app
        self._guard = guard
        self._headers = (*HEADERS, (b"content-security-policy", policy.encode()))
        self._entered = entered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        names = [name for name, _ in scope["headers"]]
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._guard.refusal(scope["method"], scope["path"], headers)
        if any(names.count(name) > 1 for name in (b"host", b"origin", b"authorization", b"content-length")):
            refusal = Refusal(400, "a header is sent twice")
        if refusal is None:
            if scope["path"].startswith(API):
                self._entered()
            await self._app(scope, receive, send_safely)
            return
        body = json.dumps(refusal.data).encode()
        start = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send_safely({"type": "http.response.start", "status": refusal.status, "headers": start})
        await send_safely({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
