"""Text that others wrote, as Markdown that shows it and obeys none of it."""

from __future__ import annotations

import re

from llmdo.base.diagnostic import shown

_MARKUP = re.compile(r"[\\`*_{}\[\]<>()#+!|&~@:$^=\"'-]|(?<=www)\.")


def escaped(text: str) -> str:
    """`text` as Markdown that looks like it: no markup, link or mention, also inside a table."""
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", shown(text))


def with_code(text: str) -> str:
    """A message as Markdown: what stands in backticks as code, all of it escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return "".join(
        f"<code>{escaped(part)}</code>" if number % 2 else escaped(part) for number, part in enumerate(parts)
    )
