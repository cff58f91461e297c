"""Files of JSON to `Document`, with their first fault as a finding: what it costs is the client's."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.values import replace
from llmdo.foreign.reading import COMMENT, SURPLUS, json_with_comments, plain_json, without_comments
from llmdo.syntax.document import Document

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source

_BEFORE_END = re.compile(r",\s*$")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*\s*:")
_BARE = re.compile(r"(?:\$\{\{[^\n]*?\}\}|\$\{[^}\n]*\}|[^\s,\[\]{}\"'`])+")
"""A value without quotes, such as `yes`, `012` or `${TOKEN}`."""
_AROUND_VALUE = ' \t\r\n,:[]{}"'
_CONSTANT = re.compile(r'("(?:[^"\\\n]|\\.)*"?)|-?(?:NaN|Infinity)')
_TEXT = re.compile(r"[A-Za-z_/~@$]")
"""The first sign of a value that is surely a text."""
_OTHER_WORDS = frozenset({"true", "false", "null", "none", "nil", "undefined", "nan", "infinity"})
"""The words for values other than texts, in small letters, in languages that write them otherwise than JSON."""

_FAULTS = (
    ("Expecting ',' delimiter", "`,` is missing before this"),
    ("Expecting ':' delimiter", "`:` is missing before this"),
    ("Invalid control character", "no text of JSON has a tab or a line break in it"),
    ("Invalid \\", "JSON knows no such escape"),
    ("Unterminated string", "the quotes that open here are never closed"),
    ("Extra data", "the JSON ends before this"),
)
"""The beginning of a message of Python about JSON, and our sentence."""


class JsonFault(NamedTuple):
    """The first fault of a text: its offsets, and a sentence about it."""

    start: int
    end: int
    message: str
    is_bare: bool = False
    """Whether a value lacks its quotes."""


def strict_json(source: Source, product: str) -> Document:
    """The document of a file that is JSON; an empty one, with the fault as its problem, of any other text.

    `product` is the client that ignores such a file.
    """
    fault = _fault(source.text)
    if fault is None:
        return json_with_comments(source)
    problem = _problem(source, fault, f"so {product} ignores the whole file", _hint(source.text))
    return Document(source, {}, dict, (problem,))


def tolerant_json(source: Source, product: str, *, takes_commas: bool = True) -> Document:
    """The document of a file that is JSON, perhaps with comments, and with commas before an end if it `takes_commas`.

    Of any other text it is what can be read, with the fault as its problem, as `product` may ignore such a file.
    """
    document = json_with_comments(source)
    plain = without_comments(source.text)
    fault = _fault(plain_json(plain) if takes_commas else plain)
    if fault is None:
        return document
    consequence = "part of it was not read" if document.problems else f"{product} may ignore the whole file"
    return replace(document, problems=(_problem(source, fault, f"so {consequence}", _hint(plain)),))


def is_strict_json(text: str) -> bool:
    """Whether a text is JSON, or empty."""
    return _fault(text) is None


def _problem(source: Source, fault: JsonFault, consequence: str, hint: str | None = None) -> Diagnostic:
    at = source.location(source.span_between(fault.start, fault.end))
    text, word = without_comments(source.text), source.text[fault.start : fault.end]
    quoted = f'{text[: fault.start]}"{word}"{text[fault.end :]}'
    if (
        fault.is_bare
        and _TEXT.match(word)
        and word.lower() not in _OTHER_WORDS
        and is_strict_json(plain_json(quoted))
    ):
        hint = hint or "put it in double quotes"
    return finding("LDO153", at, f"{fault.message}, {consequence}", hint=hint)


def _fault(text: str) -> JsonFault | None:
    """The first fault; None for JSON, and for an empty file."""
    if not text.strip():
        return None
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        return _worded(text, error)
    except (ValueError, RecursionError):
        constant = next((each for each in _CONSTANT.finditer(text) if each[1] is None), None)
        if constant:
            return JsonFault(*constant.span(), f"`{constant[0]}` is no value of JSON")
        return JsonFault(0, 0, "this is no JSON that can be read")
    return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _worded(text: str, error: json.JSONDecodeError) -> JsonFault:
    at = error.pos
    if text.startswith(("//", "/*", "#"), at):
        comment = COMMENT.match(text, at)
        end = comment.end() if comment and text[at] == "/" else at + 1
        return JsonFault(at, min(end, (text.find("\n", at) + 1 or len(text) + 1) - 1), "JSON has no comments")
    comma = _BEFORE_END.search(text, 0, at) if text.startswith(("]", "}"), at) else None
    if comma or (text.startswith(",", at) and SURPLUS.match(text, at)):
        at = comma.start() if comma else at
        return JsonFault(at, at + 1, "nothing follows this `,`, which is no JSON")
    if at >= len(text.rstrip()):
        return JsonFault(at, at, "the file ends before its JSON does")
    if text[at] in "'`":
        return JsonFault(at, at + 1, "JSON has double quotes alone")
    if "property name" in error.msg and (word := _WORD.match(text, at)):
        return JsonFault(at, word.end() - 1, "a key of JSON is in double quotes")
    if bare := _bare(text, error):
        return bare
    for beginning, sentence in _FAULTS:
        if error.msg.startswith(beginning):
            return JsonFault(at, at + 1, sentence)
    return JsonFault(at, at + 1, "this is no JSON from here on")


def _bare(text: str, error: json.JSONDecodeError) -> JsonFault | None:
    """The fault of a value that is neither in quotes nor a number or a word of JSON."""
    start = error.pos
    while start and text[start - 1] not in _AROUND_VALUE:
        start -= 1
    if not error.msg.startswith("Expecting value") and (start == error.pos or "delimiter" not in error.msg):
        return None
    word = _BARE.match(text, start)
    if word is None or word.end() <= error.pos or not text[:start].strip():
        return None
    return JsonFault(*word.span(), f"`{excerpt(word[0])}` is no value of JSON", is_bare=True)


def _hint(text: str) -> str | None:
    """What to take out, if the file is JSON without its comments and commas."""
    plain = without_comments(text)
    commas = _count(SURPLUS, plain)
    left = plain_json(text)
    if not is_strict_json(left) or left == text:
        return None
    comments = _count(COMMENT, text)
    parts = [] if plain == text else ["the comment" if comments == 1 else f"all {comments:,} comments"]
    if commas:
        parts.append("the `,`" if commas == 1 else f"each of the {commas:,} `,` before a `]` or `}}`")
    return f"take {' and '.join(parts)} out"


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for match in pattern.finditer(text) if match[1] is None)
