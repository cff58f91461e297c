"""The header of an agent's file as opencode reads it: as YAML, else with a text for each value that has a colon.

What is then still no YAML is refused with the whole file (`config/markdown.ts` and `config/agent.ts` of 1.18.34).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.foreign.reading import HARMLESS
from llmdo.syntax import frontmatter
from llmdo.syntax.header import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source

_HEADER = re.compile(r"---\r?\n(.*?)\r?\n---", re.DOTALL)
_LINE = re.compile(r"([A-Za-z_]\w*)\s*:\s*(.*)", re.ASCII)


def refusal(source: Source) -> Diagnostic | None:
    """The finding about a file that opencode refuses; None if it reads the file."""
    problem = next(iter(frontmatter.parse(source).document.problems), None)
    header = _HEADER.match(source.text)
    if problem is None or header is None:
        return None
    text = "\n".join(_sanitized(header[1]))
    if all(each.message.startswith(HARMLESS) for each in parse(source, text, aliases=True).problems):
        return None
    message = f"{problem.message}, so opencode loads nothing of this file"
    return finding("LDO152", problem.at, message, hint=problem.hint)


def _sanitized(header: str) -> Iterator[str]:
    """The lines of a header, in which a value with a colon is a text of its own."""
    for line in header.splitlines():
        key = _LINE.fullmatch(line)
        value = key[2].strip() if key else ""
        if key and ":" in value and value[0] not in "\"'":
            yield f"{key[1]}: |-"
            yield f"  {value}"
        else:
            yield line
