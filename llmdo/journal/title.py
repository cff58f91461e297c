"""The title of a run, made of its input."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 120  # characters
_FIELD = re.compile(r"\{\{|\}\}|\{[^{}]*\}")
_BRACES = ("{{", "}}")


def title_of(template: str | None, text: str) -> str:
    """The title of a run with the input `text`, in one line; empty where that has no words.

    A `template` has fields of a JSON object in braces; if the input lacks one, its first line counts.
    """
    fields = _fields(text) if template else {}
    names = [field for field in _FIELD.findall(template or "") if field not in _BRACES]
    if template and all(name[1:-1] in fields for name in names):
        text = _FIELD.sub(lambda match: _filled(match[0], fields), template)
    first = next((line for line in map(str.strip, text.splitlines()) if line), "")
    return first if len(first) <= LONGEST else f"{first[: LONGEST - 1]}…"


def _filled(field: str, fields: Mapping[str, object]) -> str:
    if field in _BRACES:
        return field[0]
    value = fields[field[1:-1]]
    return " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())


def _fields(text: str) -> Mapping[str, object]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
