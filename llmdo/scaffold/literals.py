"""Values as the formats of our files have them, whatever characters they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping


def yaml(value: object) -> str:
    """A value as YAML has it: JSON, and whatever is no plain character spelled out."""
    plain = json.dumps(value, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in plain)


def toml(value: object) -> str:
    """A value as TOML has it: what is a table stands on one line."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {toml(item)}' for key, item in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return toml_text(str(value))


def toml_text(text: str) -> str:
    """A text as TOML has it: JSON, but for a character that JSON leaves and TOML does not."""
    return json.dumps(text).replace("\x7f", "\\u007f")
