"""The kinds of files, other than text, that a model can be given."""

from __future__ import annotations

from pathlib import PurePosixPath

_TYPES = {
    ".pdf": "application/pdf",
    ".doc": "application/msword",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xls": "application/vnd.ms-excel",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".ogg": "audio/ogg",
    ".flac": "audio/flac",
    ".mp4": "video/mp4",
    ".mov": "video/quicktime",
    ".webm": "video/webm",
}
"""Written out, since the system's own table differs from machine to machine."""


def media_type(path: str) -> str | None:
    """The media type for the ending of `path`; None for text and for types that no model takes."""
    return _TYPES.get(PurePosixPath(path).suffix.lower())


def text_of(content: bytes) -> str | None:
    """`content` as UTF-8 without its byte-order mark; None if it is no text."""
    if b"\0" in content or content.startswith(b"%PDF-"):
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def endings_of(media: str) -> tuple[str, ...]:
    """The file endings of a media type, also for kinds of text."""
    endings = tuple(ending for ending, of_ending in _TYPES.items() if of_ending == media)
    return endings or _TEXTS.get(media, ())


_TEXTS = {
    "text/plain": (".txt",),
    "text/markdown": (".md",),
    "text/csv": (".csv",),
    "text/html": (".html", ".htm"),
    "application/json": (".json",),
}

MEDIA_TYPES = frozenset(_TYPES.values())
