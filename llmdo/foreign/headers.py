"""Headers that are no YAML: llmdo reads them as people meant them, and each client makes something else of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.reading import HARMLESS
from llmdo.syntax import frontmatter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    """The first problem by which a strict client finds no YAML between two `---` in the first lines of a file."""
    return next(yaml_faults(source), None)


def yaml_faults(source: Source) -> Iterator[Diagnostic]:
    """Such problems: the place of the first `---`, and what else is none once that begins the file.

    Blanks behind a `---` are none.
    """
    header = _HEADER.match(source.text)
    if header is None:
        yield from frontmatter.parse(source).document.problems[:1]
        header = _HEADER.match(source.text, len(source.text) - len(source.text.lstrip()))
        if header is None:
            return
    from llmdo.syntax.header import parse  # which imports a parser
    from llmdo.syntax.yaml_file import shifted

    lines = source.text.count("\n", 0, header.start())
    for each in of_yaml(parse(source, header[1], aliases=True).problems, is_strict=True)[:1]:
        span = each.at.span
        yield replace(each, at=replace(each.at, span=shifted(span, lines) if span else None))
