"""The anchor next to a journal: how much of it was on disk before an action relied on it.

SQLite takes the first broken frame of its log for the end of the log. Later frames are lost, and a run resumed from
there would repeat actions. The anchor says how much there has to be.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Self

from llmdo.journal.audit import Link
from llmdo.journal.entries import DamagedError, Heads
from llmdo.journal.sqlite.connection import unreadable

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".anchor"

_SLOT = 512  # bytes, which a disk writes as a whole
_SLOTS = 2  # written in turn: one that was cut off leaves the one before

force = getattr(os, "fdatasync", os.fsync)
"""Returns when writes to an open file are on disk."""


class Anchor:
    """The file of one journal, to be written."""

    __slots__ = ("_descriptor", "_number", "heads")

    def __init__(self, descriptor: int, number: int, heads: Heads) -> None:
        """Made by `create` and `open`."""
        self._descriptor = descriptor
        self._number = number
        self.heads = heads
        """The last ones written."""

    @classmethod
    def create(cls, journal: Path, heads: Heads) -> Self:
        """A new one for the journal at that path, with these heads.

        Raises:
            OSError: Cannot be made.
        """
        descriptor = os.open(path_of(journal), os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600)
        anchor = cls(descriptor, 0, heads)
        os.write(descriptor, _slot(0, heads) * _SLOTS)
        force(descriptor)
        return anchor

    @classmethod
    def open(cls, journal: Path) -> Self:
        """The anchor of the journal at that path.

        Raises:
            OSError: It is not there, or cannot be written.
            JournalError: Damaged.
        """
        number, heads = _read(journal)
        return cls(os.open(path_of(journal), os.O_RDWR), number, heads)

    def put_down(self, heads: Heads) -> None:
        """Returns when these heads are on disk."""
        self._number += 1
        os.lseek(self._descriptor, self._number % _SLOTS * _SLOT, os.SEEK_SET)
        os.write(self._descriptor, _slot(self._number, heads))
        force(self._descriptor)
        self.heads = heads

    def close(self) -> None:
        """Closes the file."""
        with suppress(OSError):
            os.close(self._descriptor)


def path_of(journal: Path) -> Path:
    """The anchor's path for the journal at that path."""
    return journal.with_name(f"{journal.name}{SUFFIX}")


def anchored(journal: Path) -> Heads | None:
    """The required heads of the journal at that path; None if it has no anchor.

    Raises:
        JournalError: The anchor is damaged, or cannot be read.
    """
    try:
        return _read(journal)[1]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path_of(journal), error) from error


def _read(journal: Path) -> tuple[int, Heads]:
    path = path_of(journal)
    with path.open("rb") as file:
        content = file.read(_SLOT * _SLOTS)
    slots = [_understood(content[at : at + _SLOT]) for at in range(0, _SLOT * _SLOTS, _SLOT)]
    whole = [slot for slot in slots if slot is not None]
    if not whole:
        raise DamagedError(f"`{path}` is damaged", hint="without it nobody can tell how much is missing")
    return max(whole, key=lambda slot: slot[0])


def _slot(number: int, heads: Heads) -> bytes:
    content = {"n": number, "entries": _plain(heads.entries), "records": _plain(heads.records)}
    text = json.dumps({**content, "sha256": _sum(content)}).encode("ascii")
    return text.ljust(_SLOT - 1) + b"\n"


def _understood(slot: bytes) -> tuple[int, Heads] | None:
    try:
        content = json.loads(slot)
        noted = content.pop("sha256")
        if noted != _sum(content):
            return None
        return content["n"], Heads(Link(*content["entries"]), Link(*content["records"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _plain(link: Link) -> list[object]:
    return [link.number, link.head]


def _sum(content: object) -> str:
    return sha256(json.dumps(content).encode("ascii")).hexdigest()
