"""Text of others as Markdown that shows it and obeys none of it."""

from __future__ import annotations

import re

from llmdo.base.diagnostic import shown

_PLAIN = re.compile(r"(?! )[\w .:/>()*#+,-]+(?<! )", re.ASCII)
_MARKUP = re.compile(r"[\\`*_{}\[\]<>()#+!|&~@$^=\"']|^-|:(?! )|(?<=www)\.")

_APART = dict.fromkeys("@#", "&#8203;")
"""The text put after characters that mention people and issues, as these are looked for in the text as it is shown."""


def escaped(text: str) -> str:
    """`text` as Markdown that looks like it: no markup, link or mention, also inside a table."""
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};{_APART.get(match[0], '')}", shown(text))


def code(words: str) -> str:
    """Words of a stranger as code: as they are if nothing in them can end it."""
    return (
        f"`{words}`" if _PLAIN.fullmatch(words) else f"<code>{_MARKUP.sub(_reference, shown(words))}</code>"
    )


def with_code(text: str) -> str:
    """A message as Markdown: text in backticks as code, all of it escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return "".join(code(part) if number % 2 else escaped(part) for number, part in enumerate(parts))


def _reference(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"
