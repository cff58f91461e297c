"""Notifies a workspace's webhook that a run ended: signed, tried again, and never in the way of the run.

Messages follow standardwebhooks.com, so that receivers have libraries to verify them. A thread sends each; the end of
the process waits for it, for a while.
"""

from __future__ import annotations

import atexit
import base64
import binascii
import hmac
import http.client
import json
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Thread
from threading import enumerate as living
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from llmdo.base.credentials import LISTED
from llmdo.base.jsonable import record
from llmdo.journal.questions import waiting
from llmdo.journal.summary import title_and_item
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.graph.settings import Notify
    from llmdo.journal.run_item import RunItem
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.outcome import RunOutcome

ENDS = frozenset({"waiting", "completed", "failed"})
"""The endings that somebody is notified of."""

PAUSES = (1.0, 4.0, 10.0)
"""The usual seconds between attempts."""

PATIENCE = 5.0  # seconds for which an attempt waits for an answer
LAST = 20.0  # seconds for which the end of the process waits for a message
MOST = 32  # messages under way in one process: a batch ends runs faster than a receiver that is gone fails
LARGEST = 256 * 1024  # bytes of a message: what receivers commonly take
SHORTEST = 16  # characters of a secret

_NAME = "llmdo webhook"
_PREFIX = "whsec_"
_LOOPBACK = re.compile(r"localhost|127\.[0-9.]+|::1")
_AGAIN = frozenset({408, 425, 429})
"""Refusals after which the same message may be taken."""


class UnusableError(ValueError):
    """A variable's value cannot be used; says why, without the value."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """The address and signing secret of messages. Never shown."""

    url: str
    secret: bytes

    @classmethod
    def of(cls, notify: Notify, environ: Mapping[str, str]) -> Receiver:
        """The receiver that the variables name.

        Raises:
            UnusableError: They name none.
        """
        return cls(_url(notify.url_env, environ), _secret(notify.secret_env, environ))


def _url(name: str, environ: Mapping[str, str]) -> str:
    url = _value(name, environ)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise UnusableError(f"`{name}` holds no address") from None
    if not host or not url.isascii() or not url.isprintable() or " " in url:
        raise UnusableError(f"`{name}` holds no address")
    if parts.scheme != "https" and not (parts.scheme == "http" and _LOOPBACK.fullmatch(host)):
        raise UnusableError(f"the address in `{name}` does not begin with `https://`")
    if "@" in parts.netloc:
        raise UnusableError(f"the address in `{name}` holds a user name")
    return url


def _secret(name: str, environ: Mapping[str, str]) -> bytes:
    text = _value(name, environ)
    if len(text) < SHORTEST:
        raise UnusableError(f"the secret in `{name}` has fewer than {SHORTEST} characters")
    if not text.startswith(_PREFIX):
        return text.encode("utf-8", "surrogateescape")
    try:
        return base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        raise UnusableError(f"what follows `{_PREFIX}` in `{name}` is not base64") from None


def _value(name: str, environ: Mapping[str, str]) -> str:
    if not (value := environ.get(name, "").strip()):
        raise UnusableError(f"`{name}` is not set")
    return value


@dataclass(frozen=True, slots=True)
class Message:
    """The message about the end of one run."""

    id: str
    """The same in every attempt, even if another process follows a killed one."""
    run: str
    body: bytes


def answering(notify: Notify, outcome: RunOutcome, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Where the questions of a run that waits are answered: a command, and a link into a page if it is known."""
    if outcome.status != "waiting":
        return {}
    command = {"command": f"llmdo approve {outcome.run}"}
    if not notify.page_env:
        return command
    try:
        page = _url(notify.page_env, environ).partition("#")[0]
    except UnusableError as problem:
        _warn(f"the webhook is not told where run {outcome.run} is answered: {problem}")
        return command
    return {**command, "link": f"{page}#/inbox/{outcome.run}"}


def message_of(
    outcome: RunOutcome,
    workspace: str,
    session: int,
    content: Mapping[str, object] | None,
    places: Mapping[str, str],
    item: RunItem | None = None,
) -> Message:
    """The message with ids and names of the run and its item, the `places` of its answers, and `content` if any."""
    data: dict[str, object] = {
        "run": outcome.run,
        "entry": outcome.entry,
        "workspace": workspace,
        "status": outcome.status,
        **({"item": record(item)} if item else {}),
        **places,
    }
    whole = {
        "type": f"run.{outcome.status}",
        "timestamp": datetime.now(UTC).isoformat(),
        "data": data | dict(content or {}),
    }
    body = json.dumps(whole).encode()
    if len(body) > LARGEST:
        body = json.dumps(whole | {"data": data | {"too_large": True}}).encode()
    return Message(f"{outcome.run}.{outcome.status}.{session}", outcome.run, body)


def content_of(
    outcome: RunOutcome,
    title: str,
    journal: JournalStore | None,
    notify: Notify,
    environ: Mapping[str, str],
) -> Mapping[str, object]:
    """A run's title, output and error, and its waiting questions, without secrets of the environment."""
    listed = ",".join((environ.get(LISTED, ""), notify.url_env, notify.secret_env))
    plain = Redaction.of({**environ, LISTED: listed}).plain
    text = outcome.output
    questions = waiting(journal).values() if journal and outcome.status == "waiting" else ()
    content = {
        "title": title,
        "output": json.loads(text) if outcome.is_typed and text else text,
        "error": outcome.error,
        "questions": [
            {"path": question.path, **{name: question.record[name] for name in ("tool", "arguments")}}
            for question in questions
        ],
    }
    return {name: plain(value) for name, value in content.items()}


def tell(
    notify: Notify,
    outcome: RunOutcome,
    *,
    workspace: str,
    session: int,
    journal: JournalStore | None,
    environ: Mapping[str, str],
    pauses: tuple[float, ...] = PAUSES,
) -> None:
    """Notifies the webhook. Returns at once, and raises nothing; a line reports failures."""
    if outcome.status not in ENDS:
        return
    try:
        receiver = Receiver.of(notify, environ)
        title, item = title_and_item(journal) if journal else ("", None)
        content = content_of(outcome, title, journal, notify, environ) if notify.content else None
        places = answering(notify, outcome, environ)
        message = message_of(outcome, workspace, session, content, places, item)
    except Exception as error:  # whatever it is, it is no reason for a run to fail
        _give_up(outcome.run, str(error) if isinstance(error, UnusableError) else type(error).__name__)
        return
    if sum(thread.name == _NAME for thread in living()) >= MOST:
        _give_up(outcome.run, f"{MOST} messages wait for an answer already")
        return
    sending = _Sending(receiver, message, pauses)
    atexit.register(sending.wait)
    sending.start()


class _Sending(Thread):
    def __init__(self, receiver: Receiver, message: Message, pauses: tuple[float, ...]) -> None:
        super().__init__(name=_NAME, daemon=True)
        self._receiver, self._message, self._pauses = receiver, message, pauses
        self._end = time.monotonic() + LAST

    def run(self) -> None:
        """Returns when it has arrived, or is given up."""
        try:
            if problem := delivered(self._receiver, self._message, self._pauses):
                _give_up(self._message.run, problem)
        finally:
            atexit.unregister(self.wait)

    def wait(self) -> None:
        """Returns when it is delivered or given up, or the process has waited long enough."""
        with suppress(OSError, ValueError):
            sys.stdout.flush()  # who reads what the run said does not wait
        with suppress(KeyboardInterrupt):
            self.join(max(0.0, self._end - time.monotonic()))
        if self.is_alive():
            _give_up(self._message.run, "the process ends")


def delivered(receiver: Receiver, message: Message, pauses: tuple[float, ...]) -> str | None:
    """Sends the message, repeatedly if that may help. Returns None if it arrived, else why not."""
    opener = build_opener(_NoRedirects)
    problem = None
    for pause in (0.0, *pauses):
        time.sleep(pause)
        problem, may_help = _attempt(opener, receiver, message)
        if problem is None or not may_help:
            return problem
    return problem


def _attempt(opener: OpenerDirector, receiver: Receiver, message: Message) -> tuple[str | None, bool]:
    """Why the message did not arrive, or None; and whether another attempt may help."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"llmdo/{__version__}",
        **signed(receiver.secret, message, int(time.time())),
    }
    try:
        request = Request(receiver.url, message.body, headers, method="POST")  # noqa: S310  # judged by `_url`
        with opener.open(request, timeout=PATIENCE):
            return None, False
    except HTTPError as refusal:
        refusal.close()
        return f"it answered {refusal.code}", refusal.code >= 500 or refusal.code in _AGAIN
    except (OSError, http.client.HTTPException, ValueError) as error:  # whose words may hold the address
        is_late = isinstance(getattr(error, "reason", error), TimeoutError)
        return "it did not answer in time" if is_late else "it cannot be reached", True


def signed(secret: bytes, message: Message, at: int) -> dict[str, str]:
    """The headers that prove the message's sender, time and integrity."""
    text = b".".join((message.id.encode(), str(at).encode(), message.body))
    signature = base64.b64encode(hmac.digest(secret, text, "sha256")).decode()
    return {
        "webhook-id": message.id,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{signature}",
    }


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects: nobody who answers decides the address of messages."""

    def redirect_request(self, *_: object) -> None:
        """None: no other request."""


def _give_up(run: str, problem: str) -> None:
    """Reports that nobody was notified, for which no run waits or fails."""
    _warn(f"the webhook was not notified of run {run}: {problem}")


def _warn(sentence: str) -> None:
    with suppress(OSError, ValueError):
        sys.stderr.write(f"warning: {sentence}\n")
        sys.stderr.flush()
