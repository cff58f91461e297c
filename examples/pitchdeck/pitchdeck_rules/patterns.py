"""How the patterns of these rules are written down."""

from __future__ import annotations

import re


def one_of(words: str) -> str:
    """A pattern of alternatives, written one after another with ` | ` or a line end between them."""
    return "(?:" + "|".join(re.split(r" +\| +|\n", re.sub(r"(?m)^\s+|\s+$", "", words))) + ")"


def compiled(words: str) -> re.Pattern[str]:
    """The compiled pattern of such alternatives, for text in lower case."""
    return re.compile(one_of(words))
