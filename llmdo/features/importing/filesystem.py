"""File tools of other formats as the built-in `filesystem`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmdo.policy.authority import Capability

_READS = frozenset({"fs.list", "fs.read"})
_WRITES = frozenset({"fs.write", "fs.write.protected"})
FILES = _READS | _WRITES | {"fs.write.code"}  # which only some formats tell from other writes
IMPLIED = {"fs.read": "fs.read.protected", "fs.write": "fs.write.code"}
"""Capabilities of `filesystem` that other formats do not tell from these, and so decide alike."""


def filesystem(files: set[Capability]) -> dict[str, list[str]] | None:
    """The configuration of `filesystem` with exactly these capabilities, or None."""
    whole = {capability.name for capability in files if capability.scope is None}
    if (
        whole & _READS not in (frozenset(), _READS)
        or whole & _WRITES not in (frozenset(), _WRITES)
        or not whole
        or any(capability.name not in whole for capability in files)
    ):
        return None
    config: dict[str, list[str]] = {} if whole & _READS else {"read": []}
    return {**config, "write": ["**"]} if whole & _WRITES else {"read": ["**"]}
