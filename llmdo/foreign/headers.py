"""Headers that are no YAML: llmdo reads them as people meant them, and each client makes something else of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.foreign.reading import HARMLESS
from llmdo.syntax import frontmatter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source

_HEADER = re.compile(r"---[ \t]*\n(.*?)^---", re.DOTALL | re.MULTILINE)
_OURS = re.compile(
    r"not allowed in a header|is given twice|is not text$|a key is missing|too many|nested more|larger than|no `---`"
)
"""Problems that are YAML all the same: those of llmdo's own formats."""
_STRICT = re.compile(r"is given twice|a key is missing")
"""Those among them that are none for a parser that keeps to the specification."""


def of_yaml(problems: Iterable[Diagnostic], *, is_strict: bool = False) -> list[Diagnostic]:
    """The problems of a text that is no YAML; `is_strict`: for a parser that takes no key twice."""
    return [
        each
        for each in problems
        if not each.message.startswith(HARMLESS)
        and (not _OURS.search(each.message) or (is_strict and _STRICT.search(each.message)))
    ]


def yaml_fault(source: Source) -> Diagnostic | None:
    """The problem by which a strict client finds no YAML between two `---`, of which the first begins the file.

    Blanks behind a `---` are none.
    """
    header = _HEADER.match(source.text)
    if header is None:
        return next(iter(frontmatter.parse(source).document.problems), None)
    from llmdo.syntax.header import parse  # which imports a parser

    return next(iter(of_yaml(parse(source, header[1], aliases=True).problems, is_strict=True)), None)
