"""Files of JSON to `Document`, as clients read them that ignore one with a comment or any other fault."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NoReturn

from llmdo.base.diagnostic import finding
from llmdo.foreign.reading import COMMENT, SURPLUS, json_with_comments, without_comments
from llmdo.syntax.document import Document

if TYPE_CHECKING:
    from llmdo.base.source import Source

_BEFORE_END = re.compile(r",\s*$")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*\s*:")

_FAULTS = (
    ("Expecting ',' delimiter", "`,` is missing before this"),
    ("Expecting ':' delimiter", "`:` is missing before this"),
    ("Invalid control character", "no text of JSON has a tab or a line break in it"),
    ("Invalid \\", "JSON knows no such escape"),
    ("Unterminated string", "the quotes that open here are never closed"),
    ("Extra data", "the JSON ends before this"),
)
"""The beginning of a message of Python about JSON, and our sentence."""


def strict_json(source: Source, product: str) -> Document:
    """The document of a file that is JSON; an empty one, with the fault as its problem, of any other text.

    `product` is the client that ignores such a file.
    """
    fault = _fault(source.text)
    if fault is None:
        return json_with_comments(source)
    start, end, message = fault
    at = source.location(source.span_between(start, end))
    message = f"{message}, so {product} ignores the whole file"
    return Document(source, {}, dict, (finding("LDO153", at, message, hint=_hint(source.text)),))


def is_strict_json(text: str) -> bool:
    """Whether a text is JSON, or empty."""
    return _fault(text) is None


def _fault(text: str) -> tuple[int, int, str] | None:
    """The offsets of the first fault, and a sentence about it; None for JSON, and for an empty file."""
    if not text.strip():
        return None
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        return _worded(text, error)
    except (ValueError, RecursionError):
        return 0, 0, "this is no JSON that can be read"
    return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _worded(text: str, error: json.JSONDecodeError) -> tuple[int, int, str]:
    at = error.pos
    if text.startswith(("//", "/*", "#"), at):
        comment = COMMENT.match(text, at)
        end = comment.end() if comment and text[at] == "/" else at + 1
        return at, min(end, (text.find("\n", at) + 1 or len(text) + 1) - 1), "JSON has no comments"
    comma = _BEFORE_END.search(text, 0, at) if text.startswith(("]", "}"), at) else None
    if comma or (text.startswith(",", at) and SURPLUS.match(text, at)):
        at = comma.start() if comma else at
        return at, at + 1, "nothing follows this `,`, which is no JSON"
    if at >= len(text.rstrip()):
        return at, at, "the file ends before its JSON does"
    if text[at] == "'":
        return at, at + 1, "JSON has double quotes alone"
    if "property name" in error.msg and (word := _WORD.match(text, at)):
        return at, word.end() - 1, "a key of JSON is in double quotes"
    for beginning, sentence in _FAULTS:
        if error.msg.startswith(beginning):
            return at, at + 1, sentence
    return at, at + 1, "this is no JSON from here on"


def _hint(text: str) -> str | None:
    """What to take out, if the file is JSON without its comments and commas."""
    plain = without_comments(text)
    commas = _count(SURPLUS, plain)
    left = SURPLUS.sub(lambda match: match[1] or "", plain)
    if not is_strict_json(left) or left == text:
        return None
    comments = _count(COMMENT, text)
    parts = [] if plain == text else ["the comment" if comments == 1 else f"all {comments:,} comments"]
    if commas:
        parts.append("the `,`" if commas == 1 else f"each of the {commas:,} `,` before a `]` or `}}`")
    return f"take {' and '.join(parts)} out"


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for match in pattern.finditer(text) if match[1] is None)
