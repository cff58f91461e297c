"""The problems of a header that is no YAML: our sentence for what PyYAML refuses, at the place of the mistake."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Diagnostic, finding
from llmdo.base.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from yaml import MarkedYAMLError, ScalarEvent

    from llmdo.base.source import Location, Source


def merge_conflict(source: Source, marker: re.Match[str]) -> Diagnostic:
    """The problem of a merge conflict at `marker`, a match in a header."""
    hint = "keep one side and delete the lines that start with `<<<<<<<`, `=======` and `>>>>>>>`"
    return finding("LDO101", _matched(source, marker), "a merge conflict is left in this file", hint=hint)


def bad_character(source: Source, match: re.Match[str]) -> Diagnostic:
    """The problem of that one character, a match in a header."""
    message = f"the character U+{ord(match[0]):04X} is not allowed in a header"
    hint = "write it as an escape in double quotes"
    return finding("LDO101", _matched(source, match), message, hint=hint)


def _matched(source: Source, match: re.Match[str]) -> Location:
    """The place of a match within one line of a header, counted as all places are: a line stands above the header.

    The header may be a part of one, or a file, whose readers move every place by the lines that stand above it there.
    """
    header, start = match.string, match.start()
    line, column = header.count("\n", 0, start) + 2, start - header.rfind("\n", 0, start)
    return source.location(Span(line, column, line, column + len(match[0])))


_OF_ESCAPES = "quoted scalar.*(?:escape|hex)"
UNKNOWN_ESCAPE = "double quotes know no such escape"
"""What a problem says that stands at the backslash."""

_TROUBLES: tuple[tuple[str, str, str | None], ...] = (
    ("cannot start any token", "text cannot start with `{}`", "put it in quotes"),
    ("scanning an (?:alias|anchor)", "text cannot start with `{}`", "put it in quotes"),
    ("(?:scanning|parsing) a tag", "text cannot start with `{}`", "put it in quotes"),
    ("node content", "text cannot start with `{}`", "put it in quotes"),
    ("mapping values are not allowed", "a `:` before a blank is not allowed here", None),
    ("quoted scalar.* end of stream", "the quotes that open here are never closed", None),
    (_OF_ESCAPES, UNKNOWN_ESCAPE, "write `\\\\` for `\\`"),
    ("',' or '\\]'", "`,` or `]` is missing in a list", None),
    ("',' or '}'", "`,` or `}}` is missing in a mapping", None),
    ("could not find expected ':'", "`:` is missing after this key", None),
    ("parsing a block mapping", "a new key is missing here", None),
    ("parsing a block collection", "a new item, with `- `, is missing here", None),
    ("sequence entries", "a list cannot start on this line", "start it on the line below its key"),
    ("document start", "nothing may stand before or after the keys of a header", None),
    ("scanning a block scalar", "nothing but a comment may follow `|` and `>`", None),
)
"""A pattern for PyYAML's message in either of its loaders, our sentence with the character there, and a hint."""

_AT_THE_START = re.compile(
    r"(?:scanning|parsing) (?:an alias|an anchor|a tag|a simple key|a \S*quoted scalar.* end of stream)"
)
"""Mistakes shown at the start of the text that holds them, not at the point of their detection."""

_SINGLE, _DOUBLE = "'", '"'
_ENDS = {
    "]": "the list ends at this `]`, and text follows",
    "}": "the mapping ends at this `}`, and text follows",
}
"""What is wrong where text follows the end of a list or table in brackets, by that end."""
_AFTER_END = re.compile(r"(?:parsing a block (?:mapping|collection)|scanning a block scalar)")
_IN_BRACKETS = re.compile(r" *(?:- +)*(?:[\w-]+ *: +)?[\[{]")
"""A line whose value begins with a bracket."""
_ESCAPED = {_SINGLE: "''", _DOUBLE: '\\"'}
"""The form of a quote inside quotes of its kind."""

_QUOTES = {
    (False, False): "quotes",
    (False, True): "single quotes",
    (True, False): "double quotes",
    (True, True): 'double quotes, with each of its own as `\\"`,',
}
"""The quotes for a text, by whether it holds single ones, and double ones."""

_SECOND_COLON = re.compile(r"[^'\"\[{]*: +[^'\"\[{|>].*:(?: |$)")


def quotes_problem(
    source: Source, header: str, scalar: ScalarEvent | None, error: MarkedYAMLError
) -> Diagnostic | None:
    """The problem of text after the quotes of `scalar`; if these span lines, it is that the first was not closed."""
    mark = error.problem_mark
    if mark is None or scalar is None or scalar.style not in _ESCAPED:
        return None
    start, end = scalar.start_mark, scalar.end_mark
    if start is None or end is None or end.line != mark.line or header[end.index : mark.index].strip(" |>"):
        return None
    if start.line != end.line:
        at = Span(start.line + 2, start.column + 1, start.line + 2, start.column + 2)
        message, hint = "the quotes that open here are not closed on their line", None
    else:
        at = Span(end.line + 2, end.column, end.line + 2, end.column + 1)
        message = "the quotes close here, and text follows"
        whole = header.split("\n")[end.line]
        if whole.rstrip().endswith(scalar.style):
            hint = f"write `{_ESCAPED[scalar.style]}` for a quote that is part of the text"
        else:
            hint = f"put the text in {_quotes_for(whole)}".rstrip(",")
    return finding("LDO101", source.location(at), message, hint=hint)


def _quotes_for(line: str) -> str:
    return _QUOTES[_SINGLE in line, _DOUBLE in line]


def _brackets_problem(
    source: Source, header: str, error: MarkedYAMLError, is_yaml: Callable[[str], bool]
) -> Diagnostic | None:
    """The problem of text behind the bracket that ends a value: what begins with `|` there is no block either."""
    mark = error.context_mark if error.context == "while scanning a block scalar" else error.problem_mark
    if mark is None or not _AFTER_END.search(error.context or ""):
        return None
    before = header[mark.index - mark.column : mark.index].rstrip(" ")
    message = _ENDS.get(before[-1:])
    if message is None:
        return None
    whole = header.split("\n")[mark.line]
    is_mended = _IN_BRACKETS.match(whole) and is_yaml(_up_to_next_key(header, mark.line))
    hint = f"put the text in {_quotes_for(whole)}".rstrip(",") if is_mended else None
    at = Span(mark.line + 2, len(before), mark.line + 2, len(before) + 1)
    return finding("LDO101", source.location(at), message, hint=hint)


_HEX = "[0-9A-Fa-f]{2}"
_ESCAPE = re.compile(
    rf"\\(?:[\n\t 0abtnvfreNLP_/\"\\]|x{_HEX}|(?:u|U0000)(?![Dd][89A-Fa-f]){_HEX}{_HEX}"
    rf"|U00(?:0[1-9A-Fa-f]|10){_HEX}{_HEX})"
)
"""An escape in double quotes (YAML 1.1, section 5.7); half a character has none."""


def _unknown_escape(header: str, start: int) -> int:
    """The index of the first backslash from `start` on that begins no escape."""
    while (at := header.find("\\", start)) >= 0 and (escape := _ESCAPE.match(header, at)):
        start = escape.end()
    return max(at, 0)


def unknown_escapes(text: str, start: int) -> list[int]:
    """The offsets of backslashes that begin no escape, from `start` within double quotes to where these end."""
    at, unknown = start, []
    while at < len(text) and text[at] != _DOUBLE:
        escape = _ESCAPE.match(text, at)
        if text[at] == "\\" and escape is None:
            unknown.append(at)
        at = escape.end() if escape else at + 1
    return unknown


_KEY = re.compile(r"[A-Za-z_][\w-]*[ \t]*:(?: |$)")
_UNSPACED = re.compile(r"[A-Za-z_][\w-]*:(?=[^\s:/])")
"""A key without a blank behind its colon, which is none."""


_MANY = 200  # lines below one that is indented too deep: looking for others in more would take long
_DEEP = re.compile(r"( +)[A-Za-z_][\w-]*:(?= |$)")
_IN_ITEM = re.compile(r"( *- +| +)[A-Za-z_][\w-]*: +(?:[^\s|>#]|[|>]\w)")
"""A key of an item of a list, or of another table within a header, with its value."""


def dedented(header: str, number: int) -> tuple[str, int, int] | None:
    """A header with a line indented as the key above it in an item, and the lines below it that are as deep.

    With the number of blanks that are moved to the ends of these lines, and that of the line behind them.
    """
    lines = header.split("\n")
    own = _DEEP.match(lines[number]) if 0 < number < len(lines) else None
    above = _IN_ITEM.match(lines[number - 1]) if own else None
    if own is None or above is None or len(above[1]) >= len(own[1]):
        return None
    shift, end = len(own[1]) - len(above[1]), number + 1
    while end < len(lines) and lines[end].startswith(own[1]):
        end += 1
    moved = [each[shift:] + " " * shift for each in lines[number:end]]
    return "\n".join([*lines[:number], *moved, *lines[end:]]), shift, end


def _deep_problem(
    source: Source, header: str, number: int, is_yaml: Callable[[str], bool]
) -> Diagnostic | None:
    """The problem of a line that is indented deeper than the key above it, if that is all that is wrong there."""
    first = dedented(header, number)
    if first is None:
        return None
    text = first[0]
    for other in range(first[2], min(text.count("\n"), number + _MANY)):
        text = (dedented(text, other) or (text,))[0]
    line = header.split("\n")[number]
    key = _DEEP.match(line)
    if key is None or not is_yaml(text):
        return None
    at = source.location(Span(number + 2, len(key[1]) + 1, number + 2, key.end() + 1))
    lines = ", with the lines below it that are as deep," if first[2] > number + 1 else ""
    hint = f"indent it{lines} as the key above"
    return finding("LDO101", at, "this key is indented deeper than the one above it", hint=hint)


def unspaced_key(line: str) -> str | None:
    """The name with which a line begins that would be a key with a blank behind its colon."""
    key = _UNSPACED.match(line)
    return key[0].rstrip(":") if key else None


def no_blank_behind(key: str) -> tuple[str, str]:
    """The sentence about such a line, and the hint."""
    return f"a blank is missing behind this `{key}:`", f"write a blank behind the colon of `{key}`"


def _unspaced_problem(source: Source, header: str, reason: str, line: int) -> Diagnostic | None:
    """The problem of such a line."""
    key = unspaced_key(header.split("\n")[line]) if "could not find expected ':'" in reason else None
    if key is None:
        return None
    message, hint = no_blank_behind(key)
    at = source.location(Span(line + 2, 1, line + 2, len(key) + 2))
    return finding("LDO101", at, message, hint=hint)


def _up_to_next_key(header: str, number: int) -> str:
    """The header up to the key below a line, with the text of that line, and of those indented below it, in quotes."""
    lines = header.split("\n")
    below = lines[number + 1 :]
    while below and (not below[0].strip() or below[0].startswith(" ")):
        below.pop(0)
    end = next((index for index, each in enumerate(below) if _KEY.match(each)), len(below))
    quoted = f"{lines[number].partition(':')[0]}: ''"
    return "\n".join([*lines[:number], quoted, *below[:end], ""])


_VALUE = re.compile(r"(?P<key> *(?:- +)*)[^:]*: *(?P<text>.*)")


def _quotes_for_all(header: str, number: int, is_yaml: Callable[[str], bool]) -> str | None:
    """The text that needs quotes, with the kind of them: that of a line, or with the lines below that are part of it.

    None if quotes around all of it are not enough, as it has a backslash that double quotes know not.
    """
    above, (line, *below) = header.split("\n")[:number], header.split("\n")[number:]
    own = _VALUE.match(line)
    if own is None:
        return None
    more = [*itertools.takewhile(lambda each: not each.strip() or _indent(each) > len(own["key"]), below)]
    while more and not more[-1].strip():
        more.pop()
    if not more or is_yaml("\n".join([*above, f"{line[: own.start('text')]}''", *more, ""])):
        return f"the text in {_quotes_for(line)}"
    text = "\n".join([own["text"], *more])
    escaped = text.replace(_DOUBLE, _ESCAPED[_DOUBLE])
    if not is_yaml("\n".join([*above, f'{line[: own.start("text")]}"{escaped}"', ""])):
        return None
    return f"the text, with the indented lines below it, in {_QUOTES[True, _DOUBLE in text]}"


_FARTHEST = 1_000_000  # blanks: more than a header has
_BLOCK = re.compile(r"(?P<indent> *)(?:- +)*[\w.-]+ *: +[|>][-+0-9]*(?: +#.*)? *")
"""A line whose text stands below it."""
_NO_TEXT = re.compile(r" *(?:#|- |[\w.-]+ *(?:$|:(?: |$)))")
"""A line that is rather meant as a key, an item or a comment than as text."""


def _leaves_text(header: str, number: int) -> bool:
    """Whether a line is the first below a text of several lines that is indented less, and no key of its own."""
    lines = header.split("\n")
    if _NO_TEXT.match(lines[number]):
        return False
    own = _indent(lines[number])
    least = _FARTHEST
    for line in reversed(lines[:number]):
        if (block := _BLOCK.fullmatch(line)) and len(block["indent"]) < least:
            return own < least < _FARTHEST
        if line.strip():
            least = min(least, _indent(line))
            if least <= own:
                return False
    return False


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def syntax_problem(
    source: Source, header: str, error: MarkedYAMLError, is_yaml: Callable[[str], bool]
) -> Diagnostic:
    """PyYAML's message about the header in one sentence, at its place.

    `is_yaml` is asked whether the edit of a hint mends it: lines below a text may be no part of it once it has quotes.
    """
    if (brackets := _brackets_problem(source, header, error, is_yaml)) is not None:
        return brackets
    reason = f"{error.context or ''}: {error.problem}"
    mark = error.problem_mark or error.context_mark
    if error.context_mark and (_AT_THE_START.search(reason) or (mark and mark.index >= len(header))):
        mark = error.context_mark
    if mark is None:
        return finding("LDO101", source.location(), "the header is not valid YAML")
    line, column, index = mark.line, mark.column, mark.index
    if unspaced := _unspaced_problem(source, header, reason, line):
        return unspaced
    if re.search("mapping values|block mapping", reason) and (
        deep := _deep_problem(source, header, line, is_yaml)
    ):
        return deep
    if error.context_mark and re.search(_OF_ESCAPES, reason):
        index = _unknown_escape(header, error.context_mark.index)
        line, column = header.count("\n", 0, index), index - header.rfind("\n", 0, index) - 1
    character = header[index : index + 1].strip("\n")
    span = Span(line + 2, column + 1, line + 2, column + 1 + len(character))
    message, hint = _sentence(reason, header, line, character, is_yaml)
    return finding("LDO101", source.location(span), message, hint=hint)


def _sentence(
    reason: str, header: str, line: int, character: str, is_yaml: Callable[[str], bool]
) -> tuple[str, str | None]:
    """The sentence about a character at which PyYAML stops for a reason, and its hint."""
    whole = header.split("\n")[line] if character else ""
    if character == "\t":
        return "a tab is not allowed here", "indent with spaces"
    if character == "," and "node content" in reason:
        return "an item is missing before this `,`", "delete the `,`"
    if character and _leaves_text(header, line):
        hint = "indent it, and what of that text follows, as the lines above"
        return "this line is not indented as the text above it", hint
    usual_hint: str | None
    message, usual_hint = next(
        (
            (sentence.format(character), hint)
            for pattern, sentence, hint in _TROUBLES
            if re.search(pattern, reason) and (character or "{}" not in sentence)
        ),
        ("the header is not valid YAML from here on", None),
    )
    if "mapping values" in reason and _SECOND_COLON.match(whole) and is_yaml(_up_to_next_key(header, line)):
        quotes = _quotes_for_all(header, line, is_yaml)
        return message, quotes and f"put {quotes} if the `: ` is part of it"
    return message, usual_hint
