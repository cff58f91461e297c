"""The chained record of a session's decisions, in the form of `llmdo runs audit`."""

from __future__ import annotations

import json
import os
from importlib import import_module
from time import gmtime, strftime, time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_TAIL = 1024 * 1024  # bytes, of which a record is a small part
_MOST_RECORD = 256 * 1024  # bytes: of a larger record much is left out
_MOST_LIST = 100
_MOST = 200  # characters of an argument: the client's own transcript has all of it
_MOST_ARGUMENTS = 20


def append(path: str, record: Mapping[str, object]) -> None:
    """Adds a record to the file at `path`, after its last whole one; what a kill left of another is cut off.

    Raises:
        OSError: It cannot be written.
    """
    sha256 = _sha256()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        tail = file.read()
        whole = tail.rpartition(b"\n")[0]
        number, head = 0, "0" * 64
        if whole:
            last = json.loads(whole.rpartition(b"\n")[2])
            number, head = last["n"], last["hash"]
        now = time()
        stamp = {"time": f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(now))}.{int(now % 1 * 1e6):06}+00:00"}
        before = {"n": number + 1, "kind": record["kind"], **stamp}
        text = _text({**before, **record, "prev": head})
        if len(text) > _MOST_RECORD:
            text = _text({**before, **_fitting(record), "prev": head})
        line = f'{text[:-1]},"hash":"{sha256(text.encode("ascii")).hexdigest()}"}}\n'
        end = size - len(tail) + len(whole) + 1 if whole else 0
        if end != size:
            file.truncate(end)
        file.seek(end)
        file.write(line.encode("ascii"))


def short(arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments of a call, as far as they tell which call it was."""
    return {
        str(name)[:_MOST]: value if isinstance(value, bool | int | float) or value is None else _cut(value)
        for name, value in [*arguments.items()][:_MOST_ARGUMENTS]
    }


def _fitting(record: Mapping[str, object]) -> dict[str, object]:
    """A record with less in it, that says so: else the next one could not be added after it."""
    fitting: dict[str, object] = {"cut": True}
    for name, value in record.items():
        if isinstance(value, list):
            more = [f"and {len(value) - _MOST_LIST:,} more"] if len(value) > _MOST_LIST else []
            fitting[name] = [*map(_cut, value[:_MOST_LIST]), *more]
        else:
            fitting[name] = _cut(value) if isinstance(value, str) else value
    return fitting


def _cut(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}... ({len(text):,} characters)"


def _sha256() -> Callable[[bytes], Any]:
    """SHA-256 without the library of `hashlib`, which takes longer to load than all records of a session to hash."""
    for name in ("_sha2", "_sha256"):
        try:
            made: Callable[[bytes], Any] = import_module(name).sha256
        except ImportError:
            continue
        return made
    from hashlib import sha256

    return sha256


def _text(record: Mapping[str, object]) -> str:
    return json.dumps(record, separators=(",", ":"))
