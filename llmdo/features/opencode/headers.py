"""The header of an agent's file as opencode reads it: as YAML, else with a text for each value that has a colon.

What is then still no YAML is refused with the whole file (`config/markdown.ts` and `config/agent.ts` of 1.18.34).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from llmdo.base.diagnostic import finding
from llmdo.syntax import frontmatter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source

_HEADER = re.compile(r"---\r?\n(.*?)\r?\n---", re.DOTALL)
_LINE = re.compile(r"([A-Za-z_]\w*)\s*:\s*(.*)", re.ASCII)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_EVENTS = 10_000  # keys, values and ends: a header with more is left to the reader of every format


def refusal(source: Source) -> Diagnostic | None:
    """The finding about a file that opencode refuses; None if it reads the file."""
    problem = next(iter(frontmatter.parse(source).document.problems), None)
    header = _HEADER.match(source.text)
    if problem is None or header is None or _is_yaml("\n".join(_sanitized(header[1]))):
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


def _is_yaml(text: str) -> bool:
    """Whether a text is YAML without a key twice at its top, and each alias has its anchor before it."""
    anchors: set[str] = set()
    try:
        for number, event in enumerate(yaml.parse(text, Loader=_LOADER)):
            if number >= MAX_EVENTS:
                return True
            if isinstance(event, yaml.AliasEvent):
                if event.anchor not in anchors:
                    return False
            elif isinstance(event, yaml.NodeEvent) and event.anchor:
                anchors.add(event.anchor)
    except yaml.YAMLError:
        return False
    keys = [key[1] for line in text.splitlines() if (key := _LINE.fullmatch(line))]
    return len(keys) == len(set(keys))
