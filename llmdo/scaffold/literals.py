"""Values in the formats of our files, with any characters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def yaml(value: object) -> str:
    """A value in YAML: JSON with all unprintable characters escaped."""
    plain = json.dumps(value, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in plain)


def toml(value: object) -> str:
    """A value in TOML, with tables inline."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{toml_key(key)} = {toml(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool | int):
        return json.dumps(value)
    return toml_text(str(value))


def toml_text(text: str) -> str:
    """A text in TOML, which escapes as YAML does."""
    return yaml(text)


def toml_key(*names: str) -> str:
    """A key in TOML, dotted if there are several names."""
    return ".".join(name if _BARE.fullmatch(name) else toml_text(name) for name in names)
