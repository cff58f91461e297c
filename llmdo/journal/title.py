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
    text = title_text(template, text)
    first = next((line for line in map(str.strip, text.splitlines()) if line), "")
    return first if len(first) <= LONGEST else f"{first[: LONGEST - 1]}…"


def title_text(template: str | None, text: str) -> str:
    """The text of which a title is the start of the first line: secrets are cut out of it before that is."""
    filled = filled_title(template, fields_of(text)) if template else None
    return text if filled is None else filled


def filled_title(template: str, fields: Mapping[str, object]) -> str | None:
    """`template` with these fields, of any length; None if one is missing."""
    names = [field for field in _FIELD.findall(template) if field not in _BRACES]
    if any(name[1:-1] not in fields for name in names):
        return None
    return _FIELD.sub(lambda match: _filled(match[0], fields), template)


def _filled(field: str, fields: Mapping[str, object]) -> str:
    if field in _BRACES:
        return field[0]
    value = fields[field[1:-1]]
    return " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())


def fields_of(text: str) -> Mapping[str, object]:
    """The fields of a JSON object; none of any other text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
