"""The code that a workspace would execute, as the lines that a person reads: nothing of it can hide or pretend."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, overload

from llmdo.base.visible import visible, without_runs
from llmdo.runtime.approvals.drawing import MARGIN, rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.services.trust import GivenTrust, InventoryItem, TrustQuestion

FIRST_LINES = 4  # of a file that is folded
FIRST_CHANGES = 40  # lines of what changed in one
KINDS = {
    "python": "Python",
    "judge": "Python that judges",
    "package": "installed Python",
    "server": "MCP server",
    "program": "program",
    "shell": "commands",
}


def described(
    question: TrustQuestion, columns: int, *, folded: bool = True, unfolding: str = "show"
) -> Iterator[str]:
    """The rows of a question, of files their first lines if `folded`.

    The rows then name `unfolding` as the way to see the rest. Commands and rules are always there in full.
    """
    since = f" (your last yes here was on {visible(question.since)})" if question.since else ""
    yield f"{visible(str(question.root), prose=True)} would run this as you{since}:"
    same: list[str] = []
    for item in question.items:
        text, before = _text(question.texts[item.key]), _text(question.before.get(item.key))
        if before == text and folded:
            same.append(item.name)
            continue
        yield _title(item, before, text)
        changed = before is not None and before != text and folded
        lines = _changes(before or "", text) if changed else text.split("\n")
        is_foldable = item.kind in ("python", "program") and folded
        most = FIRST_CHANGES if changed else FIRST_LINES
        for line in _begun(lines, most, unfolding) if is_foldable else lines:
            yield from (f"{MARGIN}{row}" for row in rows(_drawn(line), max(columns - len(MARGIN), 1)))
    for key in sorted(question.before.keys() - question.texts.keys()):
        yield f"  gone since: {visible(key, prose=True)}"
    if same:
        names = ", ".join(visible(name) for name in same)
        yield f"  as you know it: {names}"


def listed(answers: Iterable[GivenTrust]) -> list[str]:
    """The answers that hold, a line each."""
    return [
        f"{answer.when}  {answer.kind:<7}  {visible(answer.folder, prose=True)}"
        + (f"  {(answer.digest or '')[:19]}" if answer.kind == "content" else "")
        for answer in answers
    ]


@overload
def _text(text: str) -> str: ...


@overload
def _text(text: str | None) -> str | None: ...


def _text(text: str | None) -> str | None:
    """A text without the end of its last line."""
    return text and text.removesuffix("\n")


def _title(item: InventoryItem, before: str | None, text: str) -> str:
    number = text.count("\n") + 1
    size = f", {number:,} line{'s' if number > 1 else ''}"
    state = "" if before is None else " (as you know it)" if before == text else " (changed)"
    return f"  {KINDS[item.kind]} {visible(item.name)}{size}{state}"


def _drawn(line: str) -> str:
    return without_runs(visible(line.replace("\t", "    "), prose=True))


def _begun(lines: Sequence[str], first: int, unfolding: str) -> Iterator[str]:
    """All lines of a short text, of a longer one the first."""
    missing = len(lines) - first
    if missing <= 1:
        yield from lines
        return
    yield from lines[:first]
    yield f"... {missing:,} more lines; `{unfolding}` shows them"


def _changes(before: str, now: str) -> list[str]:
    """The lines that changed, with those around them."""
    diff = unified_diff(before.split("\n"), now.split("\n"), lineterm="", n=2)
    return [line for number, line in enumerate(diff) if number > 1]
