"""Digests: of text, and of data in its canonical form."""

from __future__ import annotations

import hashlib
import json

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def of_text(text: str) -> str:
    """The digest of `text`, such as `sha256:9f86...`; it says its algorithm, so that another may follow."""
    return of_bytes(text.encode("utf-8", "surrogatepass"))


def of_bytes(content: bytes) -> str:
    """The digest of `content`."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def of_data(value: object) -> str:
    """The digest of JSON-like data; neither the order of keys nor the layout of its file matters."""
    return of_text(canonical(value))


def canonical(value: object) -> str:
    """JSON-like data as one line of JSON with sorted keys."""
    return _ENCODER.encode(value)
