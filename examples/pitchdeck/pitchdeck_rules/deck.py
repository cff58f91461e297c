"""The text of a deck as statements, each with its slide, its lines and what the heading above it announces."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Dimension = Literal["problem", "solution", "team", "market", "traction", "finances", "ask"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

_TITLES: Mapping[Dimension, str] = {
    "problem": r"problems?|pains?|pain points?|challenges?|unmet needs?",
    "solution": r"solutions?|products?|technology|how it works|what we (?:do|build|make|offer)",
    "team": r"team|founders?|founding team|who we are|leadership|management",
    "market": r"markets?|market size|opportunity|competition|competitors|competitive landscape|alternatives",
    "traction": r"traction|progress|momentum|metrics|kpis|(?<!target )customers|pilots?|where we are(?: today)?",
    "finances": r"finances|financials?|unit economics|(?:business|revenue) model|pricing|(?:financial )?plan",
    "ask": r"ask|raise|funding|fundraising|investment|(?:seed )?round|use of (?:funds|proceeds)|join us",
}
_ANY_TITLE = "|".join(_TITLES.values())
_ANNOUNCED: Mapping[Dimension, re.Pattern[str]] = {
    dimension: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for dimension, words in _TITLES.items()
}
_ONLY_TITLES = re.compile(
    rf"(?:(?:the|our) )?(?:{_ANY_TITLE})(?: (?:and|&) (?:{_ANY_TITLE}))*", re.IGNORECASE
)
_MOST_WORDS, _MOST_CHARACTERS = 6, 70  # a longer line is a sentence, not a heading
_UNDERLINED, _STANDING, _BOLD_DEPTH, _LABEL_DEPTH = (
    2,
    3,
    7,
    8,
)  # how deep such headings stand; hashes are 1 to 6

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_HASHES = re.compile(r" {0,3}(#{1,6})\s+(.*?)[\s#]*$")
_BOLD = re.compile(r"\s*\*\*([^*]+)\*\*\s*:?\s*$")
_LABEL = re.compile(r"\s*\**([^:*|]{3,40}):\**(?:\s+|$)")
_SLIDE = re.compile(
    r"[\s#*=\[-]*slide\s+(\d{1,3})(?:[\s\])*=-]*$|[\])*]*\s*[:.|\u2013\u2014-]+\s*(.*?)[\s*=#]*$)",
    re.IGNORECASE,
)
_RULE = re.compile(r"\s*([-=*_])(?:\s*\1){2,}\s*$")
_ITEM = re.compile(r"\s*(?:>\s*)*(?:[-*+\u2022\u2013]|\d{1,2}[.)])\s+(?=\S)")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_ROW_RULE = re.compile(r"\s*\|[\s|:-]+$")
_SETTING = re.compile(r"\s*$|\s*[\w-]+\s*:|\s+\S|- ")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z$\u20ac\u00a3\"\u201c])")
_PLACEHOLDER = re.compile(r"\W*(?:tbd|tba|todo|n/a|coming soon|to follow)\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of one line, letter by letter."""

    line: int
    """1-based, as an editor shows it."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence, a list item or a row of a table."""

    fragments: tuple[Fragment, ...]
    """One for each line that it stands in."""
    slide: int | None
    heading: str
    dimensions: frozenset[Dimension]
    """What the heading announces; none for a heading of other words."""

    @property
    def text(self) -> str:
        """The statement on one line."""
        return " ".join(fragment.text for fragment in self.fragments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deck:
    """A deck as these rules see it."""

    path: str
    title: str
    """The first heading; empty where there is none, or where it is that of a section."""
    lines: int
    slides: int
    """How many slides it marks; 0 where it marks none."""
    statements: tuple[Statement, ...]
    comments: tuple[Statement, ...]
    """HTML comments, which no reader of the rendered deck sees."""

    def about(self, dimension: Dimension) -> tuple[Statement, ...]:
        """The statements under headings that announce `dimension`."""
        return tuple(statement for statement in self.statements if dimension in statement.dimensions)


def read_deck(content: str, path: str) -> Deck:
    """The deck that `content` holds. A placeholder such as "TBD" states nothing and is left out."""
    lines = re.split(r"\r\n|\r|\n", _INVISIBLE.sub("", content))
    if not lines[-1]:
        lines.pop()
    reader = _Reader(lines)
    reader.read()
    return Deck(
        path=path,
        title=reader.title or "",
        lines=len(lines),
        slides=len(reader.slides),
        statements=tuple(reader.statements),
        comments=tuple(reader.comments),
    )


@dataclass(slots=True)
class _Reader:
    """One pass over the lines, with the slide and the heading that hold at each."""

    lines: Sequence[str]
    statements: list[Statement] = field(default_factory=list)
    comments: list[Statement] = field(default_factory=list)
    title: str | None = None
    slides: set[int] = field(default_factory=set)
    _slide: int | None = None
    _heading: str = ""
    _dimensions: frozenset[Dimension] = frozenset()
    _depth: int = 0
    _block: list[Fragment] = field(default_factory=list)

    def read(self) -> None:
        start = _end_of_front_matter(self.lines)
        has_labels = any(_SLIDE.match(line) for line in self.lines)
        marks = frozenset() if has_labels else frozenset(_slide_marks(self.lines, start))
        if marks:
            self._enter_slide(1)
        last_comment_end = max((i for i, line in enumerate(self.lines) if "-->" in line), default=-1)
        index = start
        while index < len(self.lines):
            if index in marks:
                self._end_block()
                self._enter_slide((self._slide or 0) + 1)
            elif "<!--" in self.lines[index]:
                index = self._set_comment_aside(index, last_comment_end)
            else:
                self._read_line(index)
            index += 1
        self._end_block()

    def _set_comment_aside(self, start: int, last_end: int) -> int:
        """The last line of the comment that begins in line `start`; it is that line where nothing closes it."""
        self._end_block()
        end = start
        while end < last_end and "-->" not in self.lines[end]:
            end += 1
        texts = [(number, self.lines[number - 1].strip()) for number in range(start + 1, end + 2)]
        self.comments.append(self._statement(tuple(Fragment(number, text) for number, text in texts if text)))
        return end

    def _read_line(self, index: int) -> None:
        line = self.lines[index]
        if not line.strip() or _RULE.match(line) or line.lstrip().startswith("```"):
            self._end_block()
        elif slide := _SLIDE.match(line):
            self._end_block()
            self._enter_slide(int(slide[1]))
            self._enter_section(slide[2] or "", depth=1)
        elif heading := _heading(self.lines, index):
            self._end_block()
            self._enter_section(*heading)
        elif _ROW.match(line):
            self._end_block()
            is_header = index + 1 < len(self.lines) and _ROW_RULE.match(self.lines[index + 1])
            if not is_header and not _ROW_RULE.match(line):
                self._add([Fragment(index + 1, line.strip())])
        else:
            self._read_text(index + 1, line)

    def _read_text(self, number: int, line: str) -> None:
        may_be_labelled = not self._dimensions or self._depth == _LABEL_DEPTH
        if may_be_labelled and (label := _LABEL.match(line)) and _ONLY_TITLES.fullmatch(label[1]):
            self._end_block()
            self._enter_section(label[1], _LABEL_DEPTH)
            line = line[label.end() :]
        elif item := _ITEM.match(line):
            self._end_block()
            line = line[item.end() :]
        if line.strip():
            self._block.append(Fragment(number, line.strip()))

    def _enter_slide(self, number: int) -> None:
        self._slide = number
        self.slides.add(number)

    def _enter_section(self, title: str, depth: int) -> None:
        is_short = len(title.split()) <= _MOST_WORDS
        announced = frozenset(name for name in DIMENSIONS if is_short and _ANNOUNCED[name].search(title))
        if self.title is None and title:
            self.title = "" if announced else title
        if announced or depth <= self._depth:  # else a subheading, such as a name below "Team"
            self._heading, self._dimensions, self._depth = title, announced, depth

    def _end_block(self) -> None:
        """Part the lines gathered so far into sentences."""
        sentence: list[Fragment] = []
        for fragment in self._block:
            for part in _SENTENCE_END.split(fragment.text):
                sentence.append(Fragment(fragment.line, part))
                if part.endswith((".", "!", "?")):
                    self._add(sentence)
                    sentence = []
        if sentence:
            self._add(sentence)
        self._block.clear()

    def _add(self, fragments: Sequence[Fragment]) -> None:
        if not _PLACEHOLDER.match(fragments[0].text):
            self.statements.append(self._statement(tuple(fragments)))

    def _statement(self, fragments: tuple[Fragment, ...]) -> Statement:
        return Statement(
            fragments=fragments, slide=self._slide, heading=self._heading, dimensions=self._dimensions
        )


def _heading(lines: Sequence[str], index: int) -> tuple[str, int] | None:
    """Title and depth where the line is a heading: marked as one, or standing alone like one."""
    line = lines[index]
    if hashes := _HASHES.match(line):
        return hashes[2], len(hashes[1])
    title = line.strip()
    if len(title) > _MOST_CHARACTERS or title[-1] in ".!?,;" or _ITEM.match(line) or _ROW.match(line):
        return None
    if bold := _BOLD.match(line):
        return bold[1], _BOLD_DEPTH
    if index and lines[index - 1].strip() and not _RULE.match(lines[index - 1]):
        return None
    if _is_rule(lines, index + 1, "-="):
        return title, _UNDERLINED
    is_capitals = title.isupper() and not any(character.isdigit() for character in title)
    if is_capitals or _ONLY_TITLES.fullmatch(title):
        return title, _STANDING
    return (title, 1) if index == 0 and not "".join(lines[1:2]).strip() else None


def _slide_marks(lines: Sequence[str], start: int) -> Iterator[int]:
    """The rules that part slides: they underline no heading, and something stands before and after each."""
    is_rule = [_is_rule(lines, index, "-*_") for index in range(len(lines))]
    last = max((i for i, line in enumerate(lines) if line.strip() and not is_rule[i]), default=-1)
    has_content = False
    for index in range(start, last):
        underlines = index > 0 and bool(lines[index - 1].strip()) and _heading(lines, index - 1) is not None
        if is_rule[index] and not underlines:
            if has_content:
                yield index
            has_content = False
        elif lines[index].strip():
            has_content = True


def _is_rule(lines: Sequence[str], index: int, marks: str) -> bool:
    rule = _RULE.match(lines[index]) if index < len(lines) else None
    return rule is not None and rule[1] in marks


def _end_of_front_matter(lines: Sequence[str]) -> int:
    """The first line after the settings that some programs for slides keep at the top; 0 where there are none."""
    if not lines or lines[0].strip() != "---":
        return 0
    end = next((i for i in range(1, min(len(lines), 40)) if lines[i].strip() == "---"), 0)
    return end + 1 if end and all(_SETTING.match(line) for line in lines[1:end]) else 0
