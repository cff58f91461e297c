"""Files of other formats to `Document`, as tolerantly as their own tools read them: every guess is a finding."""

from __future__ import annotations

import itertools
import json
import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import finding, nearest
from llmdo.base.source import Source, Span
from llmdo.base.values import dataclass, replace
from llmdo.syntax import frontmatter
from llmdo.syntax.document import Document, LazyPlaces, Place
from llmdo.syntax.json_places import json_places

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location
    from llmdo.base.values import Json
    from llmdo.syntax.document import Route
    from llmdo.syntax.header import YamlBounds
    from llmdo.syntax.json_places import RepeatedKey

    Spans = Mapping[Route, tuple[Span, Span]]

HARMLESS = ("an anchor", "an integer has", "only finite numbers")
"""Beginnings of problems that leave nothing out: an anchor without an alias, a number that is kept as text."""
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*"?)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
"""A text of JSON, as its first group, or a comment; neither needs an end, so that each is looked at once."""
SURPLUS = re.compile(r'("(?:[^"\\\n]|\\.)*"?)|,(?=\s*[\]}])')
"""A text, perhaps without an end, or a comma behind which a list or a table ends."""
MANY = 200  # lines of a header: looking for misspelt keys in more would take long

IN_PLACE_OF_TEXT = " in place of the text in its header"
"""The place of a line for a header that is a text without keys."""
_FENCED = re.compile(r"\s*---[ \t]*\n(?P<header>.*?)(?:^|\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_OPENED = re.compile(r"\A---[ \t]+(?=\n)")
_CUT = re.compile(r"---[ \t]*\n(?P<header>.*?)---", re.DOTALL)
_BELOW_CUT = re.compile(r"---[ \t]*\n.*?(?P<end>^---).*?\n(?P<lost>.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_END = re.compile(r"^---[ \t]*$", re.MULTILINE)
_REST_OF_FENCE = re.compile(r"(?P<dashes>-*)[ \t]*(?=\n|\Z)")
"""What a line has behind the `---` that ends a header, if it is no text."""
_FENCE = "---"
_FIRST = 2  # the line of a file in which a header begins
_NEWLINE = "\n"
_BLANKS = " \t"
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?=[ \t]|$)[ \t]*(.*)")
_UNSPACED = re.compile(r"^([A-Za-z_][\w-]*):(?=[^\s:/])", re.MULTILINE)
"""A key without a blank behind its colon, which is none."""
_COMMENTS = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_TOOL = re.compile(r"[^\s,()\"'\[\]]+(?:\((?:[^()]|\([^()]*\))*\))?")
"""A tool in a text that separates several by commas or blanks, with its parentheses."""
_START = re.compile(r"\A(\ufeff?(?:[ \t]*(?:#[^\n]*)?\r?\n)*)---(?=\s|\Z)")
"""The line with which a file of a single YAML document may begin."""


@dataclass(frozen=True, slots=True)
class Text:
    """A file with a header, in its two parts."""

    document: Document
    """The header; its problems are the guesses."""
    start: int
    """The offset in the text at which the prompt begins."""

    @property
    def prompt(self) -> str:
        """The body, unchanged."""
        return self.document.source.text[self.start :]


def text(source: Source, keys: Iterable[str]) -> Text | None:
    """The header and the prompt of a file whose format has these `keys`; None without a header.

    Invalid YAML is read as people meant it: a key at the start of a line, with all up to the next as its value.
    """
    strict = frontmatter.parse(source)
    problems = strict.document.problems
    if not problems:
        return Text(strict.document, strict.start)
    fenced = _FENCED.match(source.text)
    if fenced is None:
        return None
    start, end = fenced.span("header")
    line = source.text.count("\n", 0, start) + 1
    guesses = (
        [] if problems[0].code != "LDO109" else [_guess(problems[0], "so the next lines were taken for it")]
    )
    return Text(_by_chunks(source, source.text[start:end], line, frozenset(keys), guesses), fenced.end())


def cut(source: Source) -> tuple[Source, Span | None] | None:
    """The file as a client reads it that ends a header at the first `---`; None if both are plain lines of their own.

    With the place of that `---`, unless nothing is lost by it: but for blanks, it begins a line of dashes. Blanks
    behind the `---` that opens the header are none of it.
    """
    opened = _OPENED.sub(_FENCE, source.text, count=1)
    read = source if opened == source.text else replace(source, text=opened)
    return _cut(read) or (None if read is source else (read, None))


def _cut(source: Source) -> tuple[Source, Span | None] | None:
    first = _CUT.match(source.text)
    if first is None:
        return None
    start, end = first.end("header"), first.end()
    rest = source.text[end:]
    above = source.text[:start]
    in_line = above[above.rfind(_NEWLINE) + 1 :]
    fence = None if in_line.strip(_BLANKS) else _REST_OF_FENCE.match(rest)
    if fence:
        below = rest[fence.end() :]
        lasts = _keeps_on(below) if in_line else fence["dashes"] and _continues(below)
        if not lasts:
            ended = f"{above.removesuffix(in_line)}---{below}"
            return (replace(source, text=ended), None) if in_line or fence[0] else None
    line = source.text.count("\n", 0, start) + 1
    column = start - source.text.rfind("\n", 0, start)
    # With a line break more the place of the `---` is known from the file (`below_cut`).
    closed = f"{above}\n---{'' if rest.startswith(_NEWLINE) else _NEWLINE}{rest}"
    return replace(source, text=closed, is_plain=False), Span(line, column, line, column + end - start)


def _continues(below: str) -> bool:
    """Whether a header continues below a line of dashes: with a key, and an end of its own."""
    after = below.removeprefix(_NEWLINE)
    return _KEY.match(after) is not None and _END.search(after) is not None


def _keeps_on(below: str) -> bool:
    """Whether a header continues below indented dashes: with its text, with a key, or with one of agents further on."""
    end = _END.search(below)
    lines = [line for line in below[: end.start()].split(_NEWLINE) if line.strip()] if end else []
    keys = [match[1] if (match := _KEY.match(line)) else "" for line in lines]
    is_text = bool(lines) and lines[0][0] in _BLANKS
    return is_text or any(keys[:1]) or not frontmatter.OF_AGENTS.isdisjoint(keys)


def uncut(source: Source, at: Span) -> str:
    """The hint for a header that a client ends at a `---`: there may be more above its end, or no other end."""
    *_, rest = source.text.split("\n", at.line - 1)
    rest = rest[at.end_column - 1 :]
    end = _END.search(rest)
    if end is None:
        return "write `---` in a line of its own"
    return f"leave {_cuts(rest, rest[: end.start()])} out of the header"


def _cuts(rest: str, lost: str) -> str:
    """What has to go so that a header keeps a text below a `---`, with the dashes that begin the rest of its line."""
    dashes = rest[: len(rest) - len(rest.lstrip("-"))]
    return "every `---`" if _FENCE in lost.lstrip("-") else f"`---{dashes}`"


class BelowCut(NamedTuple):
    """What stands below the `---` at which a client ended a header too early."""

    line: int
    """The line of the `---`."""
    keys: frozenset[str]
    cuts: str
    """What has to go so that they count, as a hint names it."""


def below_cut(source: Source) -> BelowCut:
    """What a header lost because its client ended it too early; no keys if it did not."""
    below = None if source.is_plain else _BELOW_CUT.match(source.text)
    if below is None:
        return BelowCut(0, frozenset(), "")
    keys = (match[1] for line in below["lost"].split("\n") if (match := _KEY.match(line)))
    line = source.text.count("\n", 0, below.start("end"))
    return BelowCut(
        line, frozenset(keys), _cuts(source.text[below.end("end") :].removeprefix(_NEWLINE), below["lost"])
    )


def headless(source: Source, rest: str, code: str = "LDO152") -> Diagnostic:
    """The finding about a file without a header, or with one below something else; `rest` says what follows."""
    if late := frontmatter.late_header(source):
        message = f"`{source.path}` has no header, as {late.fault}{rest}"
        return finding(code, late.above, message, hint=late.hint)
    fault = "no header"
    if source.text.startswith("---\n"):
        fault = "a header without " + ("keys" if _FENCED.match(source.text) else "an end (`---`)")
    return finding(code, source.location(), f"`{source.path}` has {fault}{rest}")


def keyless(source: Source) -> tuple[str, ...] | None:
    """What a header without keys has in place of them: the names of those that lack a blank behind the colon.

    None if it has keys, or nothing but comments, or if there is no header.
    """
    fenced = _FENCED.match(source.text)
    if fenced is None or any(map(_KEY.match, fenced["header"].split("\n"))):
        return None
    return tuple(_UNSPACED.findall(fenced["header"])) if _COMMENTS.sub("", fenced["header"]).strip() else None


def unspaced(source: Source, key: str) -> Location | None:
    """The place of a key in a header that lacks a blank behind its colon; None without one."""
    fenced = _FENCED.match(source.text)
    for match in _UNSPACED.finditer(fenced["header"]) if fenced else ():
        if match[1] == key and fenced:
            start = fenced.start("header") + match.start()
            return source.location(source.span_between(start, start + len(match[0])))
    return None


def prompt_alone(source: Source) -> Text:
    """A file without a header."""
    return Text(Document(source, {}, dict), 0)


def misspelt(name: str, known: Collection[str]) -> str | None:
    """The known name that `name` certainly means; None if it is known itself, or may be somebody's own.

    Other tools skip unknown keys, and people keep notes there: `version` is no `permission`.
    """
    match = None if name in known else nearest(name, known)
    if match is None or abs(len(match) - len(name)) > 2:  # letters left out or added by mistake
        return None
    return match


def yaml(source: Source, *, aliases: bool = False, bounds: YamlBounds | None = None) -> Document:
    """The document of a file that is YAML as a whole, read as far as it can be.

    `aliases` are read on request only: not every tool reads them. `bounds` are those of a header by default.
    """
    return _whole(source, source.text, aliases=aliases, bounds=bounds)


def without_comments(text: str) -> str:
    """The text of JSON, with blanks in place of its comments."""
    return COMMENT.sub(_blank, text)


def json_with_comments(source: Source) -> Document:
    """The document of a file that is JSON, perhaps with comments and trailing commas."""
    plain = without_comments(source.text)
    document = _whole(source, plain)  # JSON is YAML, and so has places
    if not document.problems:
        return document
    plain = plain_json(source.text)
    try:
        data = json.loads(plain, object_pairs_hook=dict)
    except (ValueError, RecursionError):
        return document
    return Document(source, data if isinstance(data, dict) else {}, _PlacesOfJson(plain))


@dataclass(frozen=True, slots=True)
class _PlacesOfJson:
    """The places of a file of JSON that is no YAML."""

    text: str

    def __call__(self) -> Spans:
        return json_places(self.text).spans


def repeated_keys(document: Document) -> tuple[RepeatedKey, ...]:
    """The keys that a file of JSON gives again: nothing is left of what the first of them held."""
    index = document.index
    return json_places(index.text).repeated if isinstance(index, _PlacesOfJson) else ()


def plain_json(text: str) -> str:
    """The text of JSON, with blanks in place of its comments, and of commas behind which nothing follows."""
    return SURPLUS.sub(lambda match: match[1] or " ", without_comments(text))


def with_items(document: Document, key: str, items: re.Pattern[str]) -> Document:
    """The document, with a place for every match of `items` in its text at `key`, by number."""
    if not isinstance(document.data.get(key), str):
        return document
    return replace(document, index=_ItemPlaces(document, key, items))


ToolItem = tuple[str, str | None, Place]
"""A tool, the text in its parentheses, and its place."""


def tool_items(document: Document, key: str) -> Iterator[ToolItem]:
    """The tools that a header lists at `key`."""
    value = document.data.get(key)
    document = with_items(document, key, _TOOL)
    texts = value if isinstance(value, list) else [value]
    for number, text in enumerate(texts):
        for part, item in enumerate(_TOOL.findall(text) if isinstance(text, str) else ()):
            tool, _, pattern = item.partition("(")
            place = Place(document, (key, number if isinstance(value, list) else part))
            yield tool, pattern.removesuffix(")") if pattern else None, place


@dataclass(frozen=True, slots=True)
class _ItemPlaces(LazyPlaces):
    """The places of a document, and those of items in a text."""

    document: Document
    key: str
    items: re.Pattern[str]

    def __call__(self) -> Spans:
        spans = dict(self.document.index())
        _, whole = spans.get((self.key,), (None, None))
        spans.update({(self.key, number): (span, span) for number, span in enumerate(self._within(whole))})
        return spans

    def quickly(self, route: Route, part: int) -> Span | None:
        """The place of an item of the text, or one that the document finds quickly."""
        if not isinstance(self.document.index, LazyPlaces):
            return None
        if len(route) != 2 or route[0] != self.key or not isinstance(route[1], int):
            return self.document.index.quickly(route, part)
        return next(islice(self._within(self.document.index.quickly(route[:1], 1)), route[1], None), None)

    def _within(self, whole: Span | None) -> Iterator[Span]:
        if whole is None:
            return
        for chunk in self.items.finditer(self.document.source.marked(whole)):
            item = chunk[0].strip()
            start = whole.column + chunk.start() + chunk[0].index(item)
            yield Span(whole.line, start, whole.line, start + len(item))


def _blank(comment: re.Match[str]) -> str:
    return comment[1] or re.sub(r"[^\n]", " ", comment[0])


def _whole(source: Source, text: str, *, aliases: bool = False, bounds: YamlBounds | None = None) -> Document:
    text = _START.sub(r"\1   ", text)  # in place of the three signs, so that all places stay
    if not text.strip():
        return Document(source, {}, dict)
    from llmdo.syntax import header
    from llmdo.syntax.yaml_file import moved, of_a_file, shifted

    parsed = header.parse(source, text, aliases=aliases, bounds=bounds or header.HEADER_BOUNDS)
    problems = tuple(
        finding(
            "LDO153",
            replace(problem.at, span=shifted(problem.at.span, -1) if problem.at.span else None),
            f"{of_a_file(problem.message)}, so part of it was not read",
            hint=problem.hint,
        )
        for problem in parsed.problems
        if not problem.message.startswith(HARMLESS)
    )
    return Document(
        source,
        parsed.data,
        lambda: moved(
            header.places(source, text, aliases=aliases, bounds=bounds or header.HEADER_BOUNDS), -1
        ),
        problems,
    )


def _by_chunks(
    source: Source, header: str, first: int, keys: frozenset[str], guesses: list[Diagnostic]
) -> Document:
    """The header read key by key: each value as YAML, else as plain text."""
    from llmdo.syntax import header as in_yaml
    from llmdo.syntax.yaml_file import moved, shifted

    data: dict[str, Json] = {}
    spans: list[Callable[[], Spans]] = []
    for line, lines in _apart(source, _chunks(header.split("\n"), keys)):
        chunk = "\n".join(lines)
        parsed = in_yaml.parse(source, chunk)
        shift = first + line - 2
        if not parsed.problems:
            data.update(parsed.data)
            spans.append(lambda chunk=chunk, shift=shift: moved(in_yaml.places(source, chunk), shift))  # type: ignore[misc]
            continue
        key = _KEY.match(lines[0])
        if key is None:
            continue  # nothing but text before the first key
        problem = parsed.problems[0]
        at = replace(problem.at, span=shifted(problem.at.span, shift) if problem.at.span else None)
        how = "name by name" if key[1] == "tools" and key[2].startswith("[") else "as plain text"
        guesses.append(_guess(replace(problem, at=at), f"so `{key[1]}` was read {how}"))
        data[key[1]] = _plain(key[2], lines[1:])
        spans.append(lambda key=key, at=first + line: _spans_of(key, at))  # type: ignore[misc]
    return Document(
        source,
        data,
        lambda: {route: span for spans_of_chunk in spans for route, span in spans_of_chunk().items()},
        tuple(guesses),
    )


def _chunks(lines: list[str], keys: frozenset[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines of each key, with the number of the first: a line without a key of the format is text."""
    at = 0
    for number, line in enumerate(lines):
        key = _KEY.match(line)
        if number and key and (key[1] in keys or (number < MANY and nearest(key[1], keys))):
            yield at, lines[at:number]
            at = number
    yield at, lines[at:]


def _apart(source: Source, chunks: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """The chunks, of which one with a fault below a key of others keeps what stands above, and each key is one more.

    A key of others in a text that is no YAML itself is a part of the text.
    """
    from llmdo.syntax.header import parse

    for at, lines in chunks:
        others = [number for number, line in enumerate(lines) if number and _KEY.match(line)]
        problems = parse(source, "\n".join(lines)).problems if others else ()
        span = problems[0].at.span if problems else None
        cut = max((number for number in others if span and number <= span.line - _FIRST), default=0)
        if not cut or parse(source, "\n".join(lines[:cut])).problems:
            yield at, lines
            continue
        starts = [0, *(number for number in others if number >= cut), len(lines)]
        yield from ((at + start, lines[start:end]) for start, end in itertools.pairwise(starts))


def _plain(inline: str, block: list[str]) -> str | list[str]:
    """The value of a block that is not YAML: a list if every line is an item, else text."""
    words = [line.strip() for line in block if line.strip()]
    if not inline and words and all(word.startswith("- ") for word in words):
        return [_unquoted(word[2:]) for word in words]
    first = [] if inline in ("|", ">", "|-", ">-") else [inline]
    return _unquoted("\n".join([*first, *words]))


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _spans_of(key: re.Match[str], line: int) -> Spans:
    whole = Span(line, key.start(1) + 1, line, key.end(1) + 1)
    value = Span(line, key.start(2) + 1, line, key.end(2) + 1)
    return {(key[1],): (whole, value if key[2] else whole)}


def _guess(problem: Diagnostic, consequence: str) -> Diagnostic:
    return finding("LDO150", problem.at, f"{problem.message}, {consequence}", hint=problem.hint)
