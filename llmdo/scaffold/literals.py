"""Values in the formats of our files, with any characters."""

from __future__ import annotations

import json
from collections.abc import Mapping


def yaml(value: object) -> str:
    """A value in YAML: JSON with all unprintable characters escaped."""
    plain = json.dumps(value, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in plain)


def toml(value: object) -> str:
    """A value in TOML, with tables inline."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {toml(item)}' for key, item in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return toml_text(str(value))


def toml_text(text: str) -> str:
    """A text in TOML: JSON, with one more character escaped."""
    return json.dumps(text).replace("\x7f", "\\u007f")
