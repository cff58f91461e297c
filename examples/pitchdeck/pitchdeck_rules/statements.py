"""A deck as statements: sentences, list items and table rows, each with what it speaks of."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

from pitchdeck_rules.amounts import mask, read_amounts, uses_decimal_comma
from pitchdeck_rules.classification import classify, names_somebody
from pitchdeck_rules.instructions import follows_instruction, is_instruction
from pitchdeck_rules.words import DIMENSION_BY_TOPIC, is_question, topics_of_label, topics_of_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pitchdeck_rules.amounts import Amount
    from pitchdeck_rules.deck import Deck, Line
    from pitchdeck_rules.words import Dimension, Topic

Form = Literal["prose", "item", "row", "title"]

_LONGEST = 1500  # characters; a longer sentence is a file without sentences and is read in parts
_WRAPPED = 60  # characters; a shorter line of text ends what it says
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"\u201d\u2019')\]*_]*\s+(?=[\"\u201c\u201e(\[*_~>]*[A-Z\u00c0-\u00de\d$\u20ac\u00a3])"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|z\. ?b|d\. ?h|u\. ?a|dr|mrs?|ms|prof|inc|ltd|co|corp|vs|approx|ca|etc|mio|mrd|tsd|st|no|nr|bzw"
    r"|incl|inkl|est|fig|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|dez)"
    r"|(?<![\w&.-])(?<!series )[a-z]|(?<![\d.,$\u20ac\u00a3])\d{1,2})\.$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION = 8  # characters, with its stop
_LABELLED = re.compile(
    r"\W*([^:*_|.,;()\u2013\u2014]{2,40}?)(?:\*\*|__)?(?:\s*:|\s+[\u2013\u2014-]\s|\s*\|)(?:\*\*|__)?\s*\S"
)
_PERSON = re.compile(
    r"\W*(?:(?:Dr|Prof|Mr|Mrs|Ms)\.? )*[A-Z\u00c0-\u00de][\w'\u2019-]+ [A-Z\u00c0-\u00de][\w'\u2019-]+\W*"
    r"(?:[,(:]|\s[-\u2013\u2014]\s)"
)
_SECTION_LABEL = re.compile(
    r"\W*(?:the )?(?:problem|pain|solution|team|founders|market|competition|competitors|traction|business model"
    r"|ask|lösung|gründer|markt|wettbewerb|wettbewerber|traktion|geschäftsmodell|kapitalbedarf)\W*:",
    re.IGNORECASE,
)
"""Labels that begin a section wherever they stand."""
_LISTS: frozenset[Topic] = frozenset({"ask", "use of funds", "team", "competition"})
"""Sections in which such a label may name a share of the money, a role or a point of comparison."""
_PLACEHOLDER = re.compile(
    r"\W*(?:tb[dac]|to ?do|coming soon|to be (?:announced|determined|added|defined|done)|n ?/ ?a|lorem ipsum.*|xx+"
    r"|folgt|wird ergänzt|noch offen|placeholder|insert .{0,40} here)?\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of one line, letter by letter."""

    line: int
    slide: int | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that the deck says."""

    pieces: tuple[Piece, ...]
    """Where it stands; a wrapped sentence has a piece on each line."""
    text: str
    masked: str
    """In lower case, with one character for each amount."""
    amounts: tuple[Amount, ...]
    form: Form
    topics: tuple[Topic, ...]
    """Of the section that it stands in; none where it clearly speaks of something else."""
    section: int
    """Counts headings; statements of one section share it."""
    header: tuple[str, ...] = ()
    """The head of the table, for a row of it."""
    is_instruction: bool = False
    dimensions: frozenset[Dimension] = frozenset()

    def is_home(self, dimension: Dimension) -> bool:
        """Whether it stands in the section about `dimension`."""
        return any(DIMENSION_BY_TOPIC.get(topic) == dimension for topic in self.topics)

    @property
    def line(self) -> int:
        """The line on which it begins."""
        return self.pieces[0].line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgement:
    """What the words of a sentence and its section say of it."""

    amounts: tuple[Amount, ...]
    masked: str
    is_instruction: bool
    dimensions: frozenset[Dimension]
    topics: tuple[Topic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    level: int
    topics: tuple[Topic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Lines that belong together: a paragraph, a list item with its wrapped lines, one row."""

    lines: tuple[Line, ...]
    form: Form
    topics: tuple[Topic, ...]
    section: int
    header: tuple[str, ...] = ()


def read_statements(deck: Deck, company: str = "") -> tuple[Statement, ...]:
    """Everything that the deck of `company` says, in order, without its title, its structure and its placeholders."""
    decimal_comma = uses_decimal_comma("\n".join(line.text for line in deck.lines if line.kind != "hidden"))
    judge = cache(partial(_judge, decimal_comma=decimal_comma))  # large decks repeat themselves
    return _with_section_dimensions(
        [
            statement
            for block in _blocks(deck)
            for statement in _block_statements(block, judge)
            if not _PLACEHOLDER.match(statement.text) and not _is_bare_topic(statement)
        ],
        company,
    )


def _with_section_dimensions(statements: list[Statement], company: str) -> tuple[Statement, ...]:
    """Where a heading names no topic, a statement without clear words speaks of what most of its section does.

    One that begins with the company's name says what the company does.
    """
    names = re.compile(rf"{re.escape(company.split()[0])} [a-z\u00df-\u00ff]" if company else r"(?!)")
    statements = [
        replace(statement, dimensions=frozenset({"solution"}))
        if not statement.topics
        and not statement.dimensions
        and not statement.is_instruction
        and names.match(statement.text)
        else statement
        for statement in statements
    ]
    counts: dict[int, Counter[Dimension]] = {}
    for statement in statements:
        if not statement.topics:
            counts.setdefault(statement.section, Counter()).update(statement.dimensions)
    main_by_section = {
        section: frozenset(name for name, times in count.items() if 2 * times > count.total())
        for section, count in counts.items()
    }
    return tuple(
        replace(statement, dimensions=main_by_section[statement.section])
        if not statement.topics
        and not statement.dimensions
        and not statement.is_instruction
        and statement.form != "title"
        else statement
        for statement in statements
    )


def read_hidden_statements(deck: Deck) -> tuple[Statement, ...]:
    """What stands in comments and front matter: nothing that counts, but perhaps an instruction."""
    judge = partial(_judge, decimal_comma=False)
    return tuple(
        replace(statement, dimensions=frozenset())
        for line in deck.lines
        if line.kind == "hidden" and line.text.strip()
        for statement in _block_statements(
            _Block(lines=(line,), form="prose", topics=("other",), section=0), judge
        )
    )


def title_line(deck: Deck) -> Line | None:
    """The line with the deck's title, where its first words are one."""
    shown = [line for line in deck.lines if line.kind not in {"blank", "mark", "hidden"}][:2]
    first = next((line for line in shown if line.kind != "heading" or line.title), None)
    if first is None or first.kind not in {"heading", "text"}:
        return None
    words = first.title if first.kind == "heading" else first.text.strip()
    if topics_of_label(words) and "other" not in topics_of_label(words):
        return None
    is_short = len(words.split()) <= 6 and words[-1:] not in {".", "!", "?", ":", ","}
    below = [line.text.strip() for line in deck.lines[first.number : first.number + 2]] + ["", ""]
    is_alone = not below[0]
    has_subtitle = not below[1] or deck.lines[first.number + 1].kind == "heading"
    is_named = (
        len(words.split()) <= 2 and has_subtitle and below[0][-1:].isalpha() and len(below[0]) < _WRAPPED
    )
    return first if first.kind == "heading" or (is_short and (is_alone or is_named)) else None


def _is_bare_topic(statement: Statement) -> bool:
    return len(statement.text) <= 40 and bool(topics_of_label(re.sub(r"[\W_]+$", "", statement.text)))


def _blocks(deck: Deck) -> Iterator[_Block]:
    stack: list[_Section] = []
    header: tuple[str, ...] = ()
    title, section, slide = title_line(deck), 0, None
    lines: list[Line] = []
    for line, following in zip(deck.lines, (*deck.lines[1:], None), strict=True):
        if lines and not _continues(lines, line):
            yield _block(lines, stack, section, header)
            lines = []
        if line.slide != slide and line.slide is not None:
            stack, slide, section = [], line.slide, section + 1
        if line.kind not in {"row", "mark"}:
            header = ()
        if line is title:
            continue
        if line.kind == "heading":
            stack, section = _descend(stack, line), section + 1
            if _says_something(line):
                yield _block([line], stack, section, header)
        elif line.kind == "row" and following and following.kind == "mark" and "|" in following.text:
            header = cells(line.text)
        elif line.kind in {"item", "row", "text"}:
            if not lines and not stack and line.slide is None:
                section += 1  # without headings each paragraph is a section
            lines.append(line)
    if lines:
        yield _block(lines, stack, section, header)


def _block(lines: list[Line], stack: list[_Section], section: int, header: tuple[str, ...]) -> _Block:
    kind = lines[0].kind
    form: Form = (
        "title" if kind == "heading" else "row" if kind == "row" else "item" if kind == "item" else "prose"
    )
    topics = stack[-1].topics if stack else ()
    return _Block(lines=tuple(lines), form=form, topics=topics, section=section, header=header)


def cells(row: str) -> tuple[str, ...]:
    """The cells of a table row."""
    return tuple(cell.strip() for cell in row.strip().strip("|").split("|"))


def _descend(stack: list[_Section], heading: Line) -> list[_Section]:
    """The sections open below `heading`; one without topics of its own has those of the section around it."""
    around = [section for section in stack if section.level < heading.level]
    topics = topics_of_title(heading.title) or (around[-1].topics if around else ())
    return [*around, _Section(level=heading.level, topics=topics)]


def _says_something(heading: Line) -> bool:
    """Whether a heading is also a statement: a claim, a number or somebody's name, not only the name of a section."""
    words = len(heading.title.split())
    is_topic = bool(topics_of_title(heading.title))
    if is_topic and is_question(heading.title):
        return False
    if any(character.isdigit() for character in heading.title):
        return True
    return words >= 5 if is_topic else words >= 4 or names_somebody(heading.title)


def _continues(lines: list[Line], line: Line) -> bool:
    """Whether `line` goes on with what the last of `lines` says."""
    if line.kind != "text" or lines[0].kind not in {"text", "item"}:
        return False
    before, words = lines[-1].text.rstrip(), line.text.strip()
    if lines[0].kind == "item" and line.text[:1].isspace():
        return True
    if _PERSON.match(words) and _PERSON.match(lines[0].text.strip()):
        return False  # one person a line
    if re.match(r"[^.:]{1,30}:\s", words):
        return False  # a line such as "Market: ..." begins something new
    if before[-1:] in ".!?:;":
        return lines[0].kind == "text" and len(before) >= _WRAPPED
    return words[:1].islower() or len(before) >= _WRAPPED


def _judge(text: str, topics: tuple[Topic, ...], *, decimal_comma: bool) -> _Judgement:
    amounts = read_amounts(text, decimal_comma=decimal_comma)
    masked = mask(text, amounts)
    classification = classify(text, masked, topics)
    return _Judgement(
        amounts=amounts,
        masked=masked,
        is_instruction=is_instruction(text),
        dimensions=classification.dimensions,
        topics=classification.topics,
    )


def _block_statements(
    block: _Block, judge: Callable[[str, tuple[Topic, ...]], _Judgement]
) -> Iterator[Statement]:
    starts: list[int] = []
    joined = ""
    for line in block.lines:
        starts.append(len(joined))
        joined += _words(line, block.form) + " "
    topics = _labelled_topics(joined, block)
    is_instructed = False
    for start, end in _sentences(joined):
        text = joined[start:end]
        judgement = judge(text, topics)
        is_instructed = judgement.is_instruction or (is_instructed and follows_instruction(text))
        yield Statement(
            pieces=tuple(_pieces(block, starts, joined, start, end)),
            text=text,
            masked=judgement.masked,
            amounts=judgement.amounts,
            form=block.form,
            topics=judgement.topics,
            section=block.section,
            header=block.header,
            is_instruction=is_instructed,
            dimensions=frozenset() if is_instructed else judgement.dimensions,
        )


def _labelled_topics(words: str, block: _Block) -> tuple[Topic, ...]:
    """The topics of a block: those of the label before it, or else those of its section."""
    labelled = _LABELLED.match(words)
    announced = topics_of_label(labelled[1].strip()) if labelled else ()
    if not block.topics or block.topics == ("other",):
        return announced or block.topics
    is_section = _SECTION_LABEL.match(words) is not None and block.form == "prose"
    return announced if announced and is_section and not _LISTS & set(block.topics) else block.topics


def _words(line: Line, form: Form) -> str:
    if form == "title" and line.title in line.text:
        return line.title
    return line.text[line.start :].strip()


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends, without the white space around it."""
    start = 0
    ends = [
        found.end()
        for found in _SENTENCE_END.finditer(text)
        if not _ABBREVIATION.search(text, max(0, found.start() - _LONGEST_ABBREVIATION), found.start())
    ]
    for end in (*ends, len(text)):
        while end - start > _LONGEST:
            cut = text.rfind(" ", start + 1, start + _LONGEST)
            cut = cut if cut > start else start + _LONGEST
            yield from _trimmed(text, start, cut)
            start = cut
        yield from _trimmed(text, start, end)
        start = end


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    sentence = text[start:end]
    if sentence.strip():
        yield start + len(sentence) - len(sentence.lstrip()), start + len(sentence.rstrip())


def _pieces(block: _Block, starts: list[int], joined: str, start: int, end: int) -> Iterator[Piece]:
    for index in range(bisect_right(starts, start) - 1, bisect_left(starts, end)):
        line, last = block.lines[index], starts[index + 1] if index + 1 < len(starts) else len(joined)
        if text := joined[max(starts[index], start) : min(last, end)].strip():
            yield Piece(line=line.number, slide=line.slide, text=text)
