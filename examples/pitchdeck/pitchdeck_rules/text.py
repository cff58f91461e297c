"""Bytes of an attachment -> text that can be quoted, or the reason why there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2069\ufeff\ue000-\uf8ff\U000e0000-\U000e007f]"
)
_FORMATS = {
    b"%PDF": "a PDF file",
    b"PK\x03\x04": "a packed file, as office programs write them",
    b"\xd0\xcf\x11\xe0": "an old office file",
    b"{\\rtf": "an RTF file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """What was read from a file."""

    content: str
    """Without invisible characters; line ends are as in the file."""
    notes: tuple[str, ...] = ()
    """What the reader of the report should know about the reading."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that holds no text for these rules."""

    what: str
    """What it is instead, such as "a PDF file"."""


def read_text(content: bytes | str, media_type: str = "text/plain") -> Text | Unreadable:
    """The text of a file: UTF-8 with or without a byte-order mark, UTF-16 with one, else Latin-1."""
    if isinstance(content, str):
        return _visible(content, ())
    for magic, what in _FORMATS.items():
        if content.startswith(magic):
            return Unreadable(what)
    if media_type.startswith(("image/", "audio/", "video/")) or media_type == "application/pdf":
        return Unreadable(f"a file of type {media_type}") if content else _visible("", ())
    if content.startswith(_UTF16):
        return _visible(content.decode("utf-16", errors="replace"), ("read as UTF-16",))
    if b"\x00" in content:
        return Unreadable("a binary file")
    try:
        return _visible(content.decode("utf-8-sig"), ())
    except UnicodeDecodeError:
        return _visible(_decode_latin(content), ("not valid UTF-8, so read as Latin-1",))


def _decode_latin(content: bytes) -> str:
    try:
        return content.decode("cp1252")  # Latin-1 as Windows writes it, with the euro sign
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _visible(content: str, notes: tuple[str, ...]) -> Text:
    visible, removed = _INVISIBLE.subn("", content)
    if removed:
        plural = "characters were" if removed > 1 else "character was"
        notes = (*notes, f"{removed} invisible {plural} removed before reading")
    return Text(content=visible, notes=notes)
