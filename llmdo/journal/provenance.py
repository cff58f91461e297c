"""What the caller of a waiting call had read before, and which of it has the call's values word for word.

A model may write the same text by chance, or another form of what it read: a value whose source is not known may come
from anywhere, and a source is a place that has it, no proof.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Literal

from llmdo.base.values import dataclass
from llmdo.journal.entries import BEGUN_AGAIN, lineage
from llmdo.journal.tree import result_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.questions import Waiting
    from llmdo.journal.stored import JournalStore

SHORTEST = 4  # characters of a value: a shorter one is anywhere
MOST_VALUES = 200  # of one call

ReadKind = Literal["input", "files", "answer", "result", "person", "earlier"]
"""`answer`: of another worker; `result`: of a tool; `earlier`: the messages that the run goes on from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBefore:
    """Something that came to the caller before it made the call."""

    kind: ReadKind
    path: str
    """The call path at which it came in."""
    who: str
    """The tool, the worker or the person that it comes from; empty for the input."""
    raised: tuple[str, ...] = ()
    """The capabilities of the call that brought it."""
    labels: tuple[str, ...] = ()
    """The labels, in terms of flow rules, that came in first with it."""
    texts: tuple[str, ...] | None = None
    """None if the journal does not have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSource:
    """A value of a call, and what has it word for word."""

    name: str
    """The argument, with the place in it: `to`, `lines[0].text`."""
    sources: tuple[ReadBefore, ...] = ()
    """None if it is not known where it comes from."""
    is_short: bool = False
    """Whether it is too short to tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where the values of a call come from, as far as its journal tells."""

    read: tuple[ReadBefore, ...]
    """In the order in which it came."""
    values: tuple[ValueSource, ...]
    labels: Mapping[str, str] | None
    """All labels, with the call paths at which they came in; None without flow rules, or of an earlier llmdo."""


def provenance(journal: JournalStore, question: Waiting) -> Provenance:
    """The provenance of the call that `question` is about."""
    labels = question.record.get("labels")
    read = tuple(_read(journal, question, labels or {}))
    return Provenance(read=read, values=tuple(_values(question, read)), labels=labels)


def _values(question: Waiting, read: tuple[ReadBefore, ...]) -> Iterator[ValueSource]:
    arguments = question.record["arguments"]
    for name, value in islice(_leaves("", arguments), MOST_VALUES):
        text = value if isinstance(value, str) else json.dumps(value)
        short = len(text.strip()) < SHORTEST or isinstance(value, bool) or value is None
        persons = tuple(each for each in read if each.kind == "person")
        having = (
            persons or () if short else persons or tuple(each for each in read if _has(each, text.strip()))
        )
        yield ValueSource(name=name, sources=having, is_short=short and not having)


def _leaves(name: str, value: object) -> Iterator[tuple[str, object]]:
    """The values of JSON that hold no others, by the way to each."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(f"{name}.{key}" if name else str(key), each)
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _leaves(f"{name}[{number}]", each)
    else:
        yield name, value


def _has(read: ReadBefore, text: str) -> bool:
    """Whether it has the text, and not as a part of a longer word or number."""
    return any(_is_in(text, each) for each in read.texts or ())


def _is_in(text: str, whole: str) -> bool:
    at = whole.find(text)
    while at >= 0:
        before, after = whole[at - 1 : at] if at else "", whole[at + len(text) : at + len(text) + 1]
        if not (before.isalnum() and text[0].isalnum()) and not (after.isalnum() and text[-1].isalnum()):
            return True
        at = whole.find(text, at + 1)
    return False


def _read(journal: JournalStore, question: Waiting, labels: Mapping[str, str]) -> Iterator[ReadBefore]:
    """What came to the nearest worker above the call, and to code between them, before its model was last asked."""
    workers = {entry.path: str(entry.data["worker"]) for entry in journal.entries("call")}
    above = question.path.rpartition("/")[0]
    caller = next((place for place in lineage(above) if place in workers), above)
    readers = {place for place in lineage(above) if len(place) >= len(caller)}
    raised: dict[str, tuple[str, ...]] = {}
    arrived: list[ReadBefore] = []
    read: list[ReadBefore] = []
    first = {
        place: tuple(sorted(each for each, at in labels.items() if at == place)) for place in labels.values()
    }
    if any(True for _ in journal.entries("history")) or _continues(journal):
        read.append(ReadBefore(kind="earlier", path=caller, who="", texts=None))
    for entry in journal.entries(
        "call", "files", "sent", "decision", "finished", "return", "asked", "answered"
    ):
        if entry.kind == "asked" and entry.path == question.path and entry.step == question.entry.step:
            break
        if entry.kind == "sent" and entry.path == caller:
            read, arrived = [*read, *arrived], []
        elif entry.kind == "decision":
            raised[entry.path] = tuple(map(str, entry.data.get("raised") or ()))
        elif (came := _came(entry, caller, readers, workers, question)) is not None:
            kind, who, value = came
            texts = None if value is None else tuple(_texts(value))
            arrived.append(
                ReadBefore(
                    kind=kind,
                    path=entry.path,
                    who=who,
                    raised=raised.get(entry.path, ()),
                    labels=first.get(entry.path, ()),
                    texts=texts,
                )
            )
    by_code = above != caller  # which has what came since
    yield from (*read, *(each for each in arrived if by_code or each.kind == "person"))


def _came(
    entry: JournalEntry, caller: str, readers: set[str], workers: Mapping[str, str], question: Waiting
) -> tuple[ReadKind, str, object] | None:
    """The kind, the origin and the value of what an entry brings to the caller; None if it brings nothing."""
    data, above = entry.data, entry.path.rpartition("/")[0]
    match entry.kind:
        case "call" if entry.path == caller:
            return "input", "", data["input"]
        case "files" if entry.path == caller:
            return "files", "", None
        case "answered" if (
            entry.path == question.path and data.get("arguments") == question.record["arguments"]
        ):
            return "person", str(data.get("by")), None
        case "return" if above in readers and entry.path in workers:
            return "answer", workers[entry.path], data.get("output") or data.get("error")
        case "finished" if (
            above in readers and entry.path not in workers and entry.outcome not in BEGUN_AGAIN
        ):
            return "result", entry.path.rpartition("/")[2].partition("#")[0], result_in(data)
    return None


def _continues(journal: JournalStore) -> bool:
    first = next(journal.entries("run"), None)
    return first is not None and first.data.get("continues") is not None


def _texts(value: object) -> Iterator[str]:
    """The texts and numbers in a value."""
    for _, each in _leaves("", value):
        yield each if isinstance(each, str) else json.dumps(each)
