"""The header of an agent's file as Claude Code reads it: as YAML, else with the value of each single line in quotes.

What is then still no YAML is ignored as a whole, and a line that ends with CRLF gets no quotes (watched in 2.1.328:
which agents a request lists).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.headers import of_yaml
from llmdo.syntax import frontmatter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source

_AS_BLOCK = "write `KEY: |`, and the value on the lines below, indented"
_IN_LF = ", or save the file with LF line ends"

MENDED = "mend its header, which Claude Code ignores"

_HEADER = re.compile(r"---[ \t]*\n(.*?)^---", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"([A-Za-z_-]+):\s+(.+)")
_SPECIAL = re.compile(r"[{}\[\]*&#!|>%@`]|: ")


def ignored(source: Source) -> Diagnostic | None:
    """The problem by which Claude Code ignores the header of a file, with a hint; None if it reads it."""
    problem = next(iter(of_yaml(frontmatter.parse(source).document.problems)), None)
    header = _HEADER.match(source.text)
    if problem is None or header is None or problem.code != "LDO101":
        return None
    from llmdo.syntax.header import parse  # which imports a parser

    def is_read(returns: frozenset[int]) -> bool:
        return not of_yaml(parse(source, "\n".join(_quoted(header[1], returns)), aliases=True).problems)

    if is_read(source.returns):
        return None
    in_lf = _IN_LF if source.returns and is_read(frozenset()) else ""
    return replace(problem, hint=f"{problem.hint or _AS_BLOCK}{in_lf}")


def _quoted(header: str, returns: frozenset[int]) -> Iterator[str]:
    """The lines of a header, in which a value with a sign of YAML is in double quotes, unless it is in quotes.

    `returns` are the lines of its file that end with CRLF, which stay as they are.
    """
    for number, line in enumerate(header.split("\n"), start=2):
        key = None if number in returns else _LINE.fullmatch(line)
        value = key[2] if key else ""
        if key is None or (value[0] == value[-1] and value[0] in "\"'") or not _SPECIAL.search(value):
            yield line
        else:
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            yield f'{key[1]}: "{escaped}"'
