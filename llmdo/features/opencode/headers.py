"""The header of an agent's file as opencode reads it: as YAML, else with a text for each value that has a colon.

A file whose header is then still no YAML is refused (`config/markdown.ts` and `config/agent.ts` of 1.18.33); but one
without such a value is taken for a prompt as a whole: `gray-matter` remembers each text that it was given before it
reads it, and gives the same text back as one without a header (watched with 1.18.33).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import finding
from llmdo.base.source import Span
from llmdo.base.values import replace
from llmdo.features.opencode import FORMAT
from llmdo.features.opencode.text_keys import with_text_keys
from llmdo.foreign.headers import of_yaml
from llmdo.foreign.team import Unread
from llmdo.syntax import frontmatter
from llmdo.syntax.header import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source

_HEADER = re.compile(r"---\r?\n(.*?)\r?\n---", re.DOTALL)
_LINE = re.compile(r"([A-Za-z_]\w*)\s*:\s*(.*)", re.ASCII)
_LINE_END = re.compile(r"\r?\n")
_RULES = re.compile(r"(?:permission|tools)\s*:")
"""A key that decides what an agent may do."""
_TABBED = re.compile(r"( *)(\t[ \t]*)(.*)", re.DOTALL)
_TOP = (
    f"write `{FORMAT.few_tools}` between two lines `---` at the start of the file, and what else it needs; it loses "
    "the rest"
)


class ReadHeader(NamedTuple):
    """A file of an agent as opencode reads it, with the finding about that."""

    source: Source | None
    """The file as opencode reads it; None if it does not load the file."""
    noted: Diagnostic | None = None
    has_header: bool = True
    """Whether opencode reads its header, if there is any; else all of it is the prompt."""


def as_read(source: Source) -> ReadHeader:
    """A file of an agent as opencode reads it."""
    problem = next(iter(frontmatter.parse(source).document.problems), None)
    header = _HEADER.match(source.text)
    if problem is None or header is None:
        return ReadHeader(source)
    keyed = with_text_keys(header[1])
    if keyed not in (None, header[1]):
        return as_read(_with_header(source, header, keyed))
    text = _untabbed(header[1])
    if text != header[1] and _is_yaml(source, text):
        return _without_tabs(source, header, text)
    lines = _LINE_END.split(header[1])
    sanitized = "\n".join(_sanitized(lines))
    if _is_yaml(source, sanitized):
        texts = [_as_text(line) for line in lines]
        is_rule = any(line != own and _RULES.match(own) for line, own in zip(lines, texts, strict=True))
        joined = "\n".join(texts)
        own = with_text_keys(joined) or joined
        is_guess = own != joined or (is_rule and not _is_yaml(source, header[1]))
        return ReadHeader(_with_header(source, header, own) if is_guess else source)
    if sanitized != header[1]:
        message = f"{problem.message}, so opencode loads nothing of this file"
        return ReadHeader(None, finding("LDO152", problem.at, message, hint=problem.hint))
    message = f"{problem.message}, so opencode reads no header, and takes all of this file for the prompt"
    return ReadHeader(source, finding("LDO150", problem.at, message, hint=problem.hint), has_header=False)


def unread(source: Source) -> Unread | None:
    """The reason for which opencode reads no header of an agent's file; None if it does."""
    noted = as_read(source)
    if noted.has_header or noted.noted is None:
        return None
    return Unread(noted.noted.at, "opencode reads no header of its file", _TOP)


def _is_yaml(source: Source, header: str) -> bool:
    text = with_text_keys(header)
    return text is not None and not of_yaml(parse(source, text, aliases=True).problems, is_strict=True)


def _with_header(source: Source, header: re.Match[str], text: str) -> Source:
    whole = source.text[: header.start(1)] + text + source.text[header.end(1) :]
    return replace(source, text=whole, is_plain=False)


def _without_tabs(source: Source, header: re.Match[str], text: str) -> ReadHeader:
    """A file in which tabs indent nothing, and the finding about the first line that begins with one."""
    seen = _with_header(source, header, with_text_keys(text) or text)
    for number, (line, own) in enumerate(zip(header[1].split("\n"), text.split("\n"), strict=True), 2):
        # One in front of the first key of a table does no harm.
        if own.strip() and len(own) < len(line) and (tabbed := _TABBED.match(line)):
            at = source.location(Span(number, 1, number, tabbed.start(3) + 1))
            message = "a tab indents nothing for opencode, so what is behind it stands as deep as the blanks before it"
            return ReadHeader(seen, finding("LDO150", at, message, hint="indent with spaces"))
    return ReadHeader(seen)


def _untabbed(header: str) -> str:
    """A header without tabs in front of its lines, which js-yaml skips as it does blanks behind a key.

    In front of the first key of a table a tab counts as one blank.
    """
    lines, above = [], -1
    for line in header.split("\n"):
        tabbed = _TABBED.match(line)
        own = line
        if tabbed:
            starts = len(tabbed[1]) > above and tabbed[3].strip()
            own = " " * tabbed.start(3) + tabbed[3] if starts else tabbed[1] + tabbed[3]
        if own.strip() and not own.lstrip().startswith("#"):
            above = len(own) - len(own.lstrip(" "))
        lines.append(own)
    return "\n".join(lines)


def _sanitized(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a header, in which a value with a colon is a text of its own."""
    for line in lines:
        key = _with_colon(line)
        yield from (f"{key[1]}: |-", f"  {key[2].strip()}") if key else (line,)


def _as_text(line: str) -> str:
    """The same of one line, which stays one."""
    key = _with_colon(line)
    text = key[2].strip().replace("'", "''") if key else ""
    return f"{key[1]}: '{text}'" if key else line


def _with_colon(line: str) -> re.Match[str] | None:
    """The key and the value of a line that opencode makes a text."""
    key = _LINE.fullmatch(line)
    value = key[2].strip() if key else ""
    return key if ":" in value and value[0] not in "\"'" else None
