"""A deck: its lines, numbered as in the file, each with its slide and with what it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pitchdeck_rules.words import is_question, topics_of_label, topics_of_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind = Literal["heading", "item", "row", "text", "blank", "mark", "hidden"]

_RULE = re.compile(r"\s*(?:([-=*_~^#])\1{2,}|(?:[-*_] ){2,}[-*_])\s*$")
_ATX = re.compile(r"\s{0,3}(#{1,6})(?:\s+|(?<=##)(?=\S))(.*?)[\s#]*$")
_BOLD = re.compile(r"\s*(?:\*\*|__)((?:\d{1,2}[.)]\s*)?[^*_\d]{1,70}?)(?:\*\*|__)\s*:?\s*$")
_NUMBERED = re.compile(r"\s*(?:\d{1,2}|[IVX]{1,4})[.)]\s+(.*\S)\s*$")
_ITEM = re.compile(
    r"\s*(?:>\s*)*(?:[-*+\u2022\u2023\u25aa\u25e6\u25cf\u2013\u2014\u2192\u2713\u2714\u2705\u27a4\u00bb]"
    r"|\d{1,2}[.)]|[a-z]\))\s+(?:\[[ xX]\]\s+)?(?=\S)"
)
_QUOTE = re.compile(r"\s*(?:>\s*)+")
_DELIMITER = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_LABEL = re.compile(
    r"\s*(?P<hash>\#{1,6}\s+)?(?:[-=*_\[(>~\s]*)(?P<word>slide|folie|page|seite|diapositiv[ea]|diapo)\s*"
    r"(?:\#|no\.?|nr\.?)?\s*(?P<number>\d{1,3})(?:\s*(?:/|of|von|sur)\s*\d{1,3})?"
    r"(?P<sep>[\s\])*_=~]*(?:$|[:.)\]|=~*\u2013\u2014-]+\s*))?(?P<title>.*?)[\s\-=*_~\])\#]*$",
    re.IGNORECASE,
)
_FRONT_MATTER_LINE = re.compile(r"\s*$|\s*[\w-]+\s*:|\s+\S|\s*-\s|\s*#")
_LABEL_WORD = re.compile("slide|folie|page|seite|diapo", re.IGNORECASE)
_MOST_LINES = 8_000  # different ones; repeated lines cost little
_LONGEST_LINE = 1000  # characters; a longer line is text, whatever marks it holds
_LONGEST_HEADING = 70  # characters; a longer bare line is a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a deck."""

    number: int
    """1-based, as an editor shows it."""
    text: str
    slide: int | None
    kind: Kind
    title: str = ""
    """The words of a heading, without its markup."""
    level: int = 0
    """How deep a heading stands; 0 for the label of a slide."""
    start: int = 0
    """Where the words of the line begin, after a list mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deck:
    """A deck as these rules see it."""

    name: str
    """The path that the caller used for it."""
    lines: tuple[Line, ...]
    slides: int
    """How many slides it marks; 0 where it marks none."""
    notes: tuple[str, ...] = ()


def read_deck(content: str, name: str, notes: tuple[str, ...] = ()) -> Deck:
    """The deck written in `content`; every line of the file, up to a limit, is one of its lines."""
    all_texts = re.split(r"\r\n|\r|\n", content)
    texts = all_texts[: _readable(all_texts)]
    if len(texts) < len(all_texts):
        notes = (*notes, f"only the first {len(texts):,} of {len(all_texts):,} lines were read")
    hidden = _hidden_lines(texts)
    slide_by_line = _slides(texts, hidden)
    lines = tuple(_line(texts, index, hidden, slide_by_line.get(index)) for index in range(len(texts)))
    return Deck(name=name, lines=lines, slides=len(set(slide_by_line.values())), notes=notes)


def _readable(texts: Sequence[str]) -> int:
    """How many lines to read: all, unless the file holds more different ones than any deck does."""
    seen: set[str] = set()
    for index, text in enumerate(texts):
        seen.add(text)
        if len(seen) > _MOST_LINES:
            return index
    return len(texts)


def _hidden_lines(texts: Sequence[str]) -> frozenset[int]:
    """Lines that no reader of the rendered deck sees: front matter and HTML comments."""
    hidden: set[int] = set()
    if texts[0].strip() == "---":
        end = next((i for i in range(1, min(len(texts), 40)) if texts[i].strip() in {"---", "..."}), 0)
        if end > 1 and all(_FRONT_MATTER_LINE.match(text) for text in texts[1:end]):
            hidden.update(range(end + 1))
    index = 0
    while index < len(texts):
        if texts[index].lstrip().startswith("<!--"):
            close = next((i for i in range(index, len(texts)) if "-->" in texts[i]), None)
            if close is None:  # never closed: hiding the rest of the deck would be worse
                break
            if not texts[close].split("-->", 1)[1].strip():
                hidden.update(range(index, close + 1))
            index = close
        index += 1
    return frozenset(hidden)


def _slides(texts: Sequence[str], hidden: frozenset[int]) -> dict[int, int]:
    """The slide of each line: by "Slide 3" labels, else by form feeds, else by separators."""
    labels = {i: label for i, text in enumerate(texts) if i not in hidden and (label := _label(text))}
    if labels and _are_footers(texts, labels):
        ends = sorted(labels)
        starts = [0, *(index + 1 for index in ends)]
        return dict(
            _spread(ends[-1] + 1, {at: labels[end][0] for at, end in zip(starts, ends, strict=False)})
        )
    if labels:
        return dict(_spread(len(texts), {i: number for i, (number, _) in labels.items()}))
    feeds = [i for i, text in enumerate(texts) if i and text.startswith("\f")]
    if feeds:
        return dict(_spread(len(texts), {0: 1} | {i: order for order, i in enumerate(feeds, start=2)}))
    separators = [i for i in range(len(texts)) if i not in hidden and _is_separator(texts, i)]
    dashes = [i for i in separators if texts[i].strip()[0] != "="]
    separators = dashes or separators
    if len(separators) < 2 and not any(_opens_heading(texts, index) for index in separators):
        return {}
    return _count_slides(texts, hidden, frozenset(separators))


def _are_footers(texts: Sequence[str], labels: dict[int, tuple[int, str]]) -> bool:
    """Whether the labels stand below their slides: bare, the last one at the end, something before the first."""
    used = [index for index, text in enumerate(texts) if text.strip()]
    return used[-1] in labels and used[0] not in labels and not any(title for _, title in labels.values())


def _opens_heading(texts: Sequence[str], index: int) -> bool:
    return _ATX.match(_following(texts, index)) is not None


def _following(texts: Sequence[str], index: int) -> str:
    """The next line that is not blank; the empty text after the last one."""
    return next((texts[i] for i in range(index + 1, len(texts)) if texts[i].strip()), "")


def _label(text: str) -> tuple[int, str] | None:
    if len(text) > _LONGEST_LINE or not _LABEL_WORD.search(text, 0, _LONGEST_HEADING):
        return None
    found = _LABEL.match(text)
    if not found or not (found["sep"] is not None or found["hash"] or text.strip().isupper()):
        return None
    if found["word"].lower() in {"page", "seite"} and not found["title"] and not found["hash"]:
        return None  # the foot of a printed page
    return int(found["number"]), found["title"].strip()


def _spread(count: int, starts: dict[int, int]) -> Iterator[tuple[int, int]]:
    slide: int | None = None
    for index in range(count):
        slide = starts.get(index, slide)
        if slide is not None:
            yield index, slide


def _count_slides(texts: Sequence[str], hidden: frozenset[int], separators: frozenset[int]) -> dict[int, int]:
    slide, is_used = 1, False
    slides: dict[int, int] = {}
    for index, text in enumerate(texts):
        if index in separators:
            slide, is_used = slide + is_used, False
        elif index not in hidden and text.strip():
            is_used = True
            slides[index] = slide
    return slides


def _is_separator(texts: Sequence[str], index: int) -> bool:
    """Whether a line of dashes parts slides: it underlines no heading and is not the top of a box."""
    if not _RULE.match(texts[index]) or texts[index].strip()[0] not in "-*_=":
        return False
    return not _underlines(texts, index) and not (
        index + 2 < len(texts) and _underlines(texts, index + 2) and bool(_RULE.match(texts[index + 2]))
    )


def _underlines(texts: Sequence[str], index: int) -> bool:
    """Whether the line at `index` is the underline of a heading in the line above it."""
    rule = _RULE.match(texts[index])
    if index == 0 or rule is None or rule[1] is None or rule[1] == "#":
        return False
    title = texts[index - 1].strip()
    if not title or len(title) > _LONGEST_HEADING or title[-1] in ".!?;," or title[0] in "|>":
        return False
    if _RULE.match(title) or _ATX.match(title) or _label(title):
        return False
    if _ITEM.match(title) and not _NUMBERED.match(title):
        return False
    if index > 1 and texts[index - 2].strip() and not _RULE.match(texts[index - 2]):
        return False
    if rule[1] == "=":
        return True
    if rule[1] != "-":
        return len(texts[index].strip()) >= len(title) - 2
    following = _following(texts, index)
    return not _ATX.match(following) and not _label(following)


def _line(texts: Sequence[str], index: int, hidden: frozenset[int], slide: int | None) -> Line:
    text = texts[index].lstrip("\f")
    number = index + 1
    if index in hidden:
        return Line(number=number, text=text, slide=slide, kind="hidden")
    if not text.strip():
        return Line(number=number, text=text, slide=slide, kind="blank")
    if len(text) > _LONGEST_LINE:
        return Line(number=number, text=text, slide=slide, kind="text")
    if (
        _RULE.match(text)
        or text.lstrip().startswith(("```", "~~~"))
        or ("|" in text and _DELIMITER.match(text))
    ):
        return Line(number=number, text=text, slide=slide, kind="mark")
    if heading := _heading(texts, index, hidden):
        level, title = heading
        return Line(number=number, text=text, slide=slide, kind="heading", title=title, level=level)
    if _is_row(texts, index):
        return Line(number=number, text=text, slide=slide, kind="row")
    if item := _ITEM.match(text):
        return Line(number=number, text=text, slide=slide, kind="item", start=item.end())
    quote = _QUOTE.match(text)
    return Line(number=number, text=text, slide=slide, kind="text", start=quote.end() if quote else 0)


def _is_row(texts: Sequence[str], index: int) -> bool:
    text = texts[index].strip()
    if text.startswith("|") and text.count("|") > 1:
        return True
    neighbours = (texts[i] for i in (index - 1, index + 1) if 0 <= i < len(texts))
    return "|" in text and any("|" in near and (_DELIMITER.match(near) or "|" in near) for near in neighbours)


def _heading(texts: Sequence[str], index: int, hidden: frozenset[int]) -> tuple[int, str] | None:
    """Level and title where the line is a heading: marked as one, or bare and standing like one."""
    text = texts[index].lstrip("\f")
    if label := _label(text):
        return 0, _plain(label[1])
    if atx := _ATX.match(text):
        return (len(atx[1]), _plain(atx[2])) if _plain(atx[2]) else None
    if index + 1 < len(texts) and _underlines(texts, index + 1):
        return (1 if texts[index + 1].strip()[0] == "=" else 2), _plain(text)
    if text.lstrip().startswith(("|", ">")):
        return None
    if (bold := _BOLD.match(text)) and bold[1][-1] not in ".!?":
        return 5, _plain(bold[1])
    opens = (
        index == 0
        or index - 1 in hidden
        or not texts[index - 1].strip()
        or bool(_RULE.match(texts[index - 1]))
    )
    if opens and _is_capitals(text):
        return 3, _plain(text)
    numbered = _NUMBERED.match(text)
    if numbered and index + 1 < len(texts) and _NUMBERED.match(texts[index + 1]):
        return None  # a list
    if not numbered and _ITEM.match(text):
        return None
    title = _plain(text)
    if opens and is_question(title) and topics_of_title(title):
        return 4, title
    return (4, title) if (opens or text.rstrip().endswith(":")) and topics_of_label(title) else None


def _is_capitals(text: str) -> bool:
    title = _plain(text)
    letters = [character for character in title if character.isalpha()]
    return (
        len(letters) >= 3
        and all(character.isupper() for character in letters if character.lower() != character.upper())
        and not any(character.isdigit() for character in title)
        and len(title.split()) <= 8
        and title[-1] not in ".,;"
        and not (_ITEM.match(text) and not _NUMBERED.match(text))
    )


def _plain(title: str) -> str:
    """A heading without numbering, pictures and emphasis."""
    title = re.sub(r"\*\*|__|`", "", title).strip()
    title = re.sub(r"^(?:\d{1,2}(?:[.)]|\s*[-\u2013\u2014:])\s*|[IVX]{1,4}[.)]\s+)", "", title)
    return re.sub(r"^[^\w\u20ac$\u00a3\"'(]+|[\s:*_]+$", "", title)
