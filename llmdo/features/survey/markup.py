"""Documents of HTML: text is escaped, with what is invisible in it spelled out, and only what stands here may run."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.features.page import shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SHEETS = (
    shell.STATIC / "styles/10-base.css",
    Path(__file__).with_name("static") / "survey.css",
)
"""The style sheet that all pages of llmdo share, and that of a survey."""


class Markup(str):
    """A piece of a document, which is not escaped again."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str) -> Markup:
    """An element; `class_` is the attribute `class`, and `data_key` is `data-key`."""
    stated = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_text(value)}"' for key, value in attributes.items()
    )
    return Markup(f"<{name}{stated}>{joined(children)}</{name}>")


def joined(children: Iterable[str], by: str = "") -> Markup:
    """Pieces of a document one after the other: text among them is escaped."""
    return Markup(by.join(child if isinstance(child, Markup) else _text(child) for child in children))


def link(address: str, *children: str) -> Markup:
    """A link to another page."""
    return element("a", *children, href=address)


def verbatim(words: str) -> Markup:
    """Words of a project as code."""
    return element("code", words)


def sentence(text: str, words: Callable[[str], str] = str) -> Markup:
    """A message that begins with a capital; what stands in backticks is code, and `words` makes the rest."""
    parts = f"{text[:1].upper()}{text[1:]}".split("`")
    if len(parts) % 2 == 0:
        return Markup(_text(text))
    return joined(verbatim(part) if number % 2 else words(part) for number, part in enumerate(parts))


def _text(text: str) -> str:
    return html.escape(shown(text))


def document(title: str, *body: str, script: str = "") -> str:
    """A document that holds all that it needs."""
    style = "".join(sheet.read_text(encoding="utf-8") for sheet in _SHEETS)
    lines = ("<body>", element("main", *body, class_="page survey"))
    return shell.composed(script, style, {}, lines, shown(title)).html
