"""Whether an edited worker file still means the same to a check.

Most edits change a prompt, a description or a comment. A check of a text for models looks at four things: whether the
lock has it, its aliases of the path map, hidden characters, and whether a prompt is empty. So after such an edit the
last answer holds, except for the part about the lock, and only the edited file is read. Any other edit is left to a
check.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from llmdo.base.values import Json

    Meaning = tuple[str, str, str, str | None, str | None, tuple[str, ...], tuple[int, ...]]
    """Of a file: its text up to the prompt; the digests of the prompt and of that in the lock, which is empty if there
    is none; its description and that in the lock; the aliases that both texts mention; the lines of the file with
    findings other than that a text differs from the lock.
    """

MAX_TEXT = 256 * 1024  # bytes: of longer ones a check is made
FENCE = "\n---\n"
DESCRIPTION_CHANGED = "its description changed"
PROMPT_CHANGED = "its prompt changed"
_READING = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)


def head_of(text: str, *, is_plain: bool = False) -> str | None:
    """The text of a worker file up to its prompt; None if it may hold hidden characters, or there is no header.

    `is_plain` says that it is known to be nothing but printable ASCII and line breaks.
    """
    end = text.find(FENCE, 3)
    if not text.startswith("---\n") or end < 0:
        return None
    if not is_plain and not (text.isascii() and text.replace("\n", "").isprintable()):
        return None
    return text[: end + len(FENCE)]


def mentioned(prompt: str, description: str | None, aliases: tuple[str, ...]) -> tuple[str, ...]:
    """The aliases of the path map that the texts of a worker mention, as `checks.delegation` has it."""
    texts = (prompt, description or "")
    return tuple([alias for alias in aliases if any(alias.rstrip("/") in text for text in texts)])


def changed_texts(meaning: Meaning) -> tuple[str, ...]:
    """The differences from the lock, in its words and order; none if the lock does not have the worker."""
    _, digest, locked, description, locked_description, _, _ = meaning
    if not locked:
        return ()
    changes = (
        (DESCRIPTION_CHANGED, description != locked_description),
        (PROMPT_CHANGED, digest != locked),
    )
    return tuple([words for words, is_changed in changes if is_changed])


def meaning_now(path: str, before: Meaning, aliases: tuple[str, ...]) -> Meaning | None:
    """The meaning of the file at the absolute `path`, if at most its texts for models differ in meaning; else None."""
    text = _text(path)
    head = None if text is None else head_of(text)
    if text is None or head is None:
        return None
    head_before, _, locked, description, locked_description, mentioned_before, placed = before
    if head != head_before:
        data, data_before = _data(head), _data(head_before)
        if data is None or data_before is None or not _has_same_lines(head, head_before, placed):
            return None
        description = _taken_description(data)
        if description == "" or _taken_description(data_before) == "" or repr(data) != repr(data_before):
            return None
    prompt = text[len(head) :]
    if not prompt.strip() or mentioned(prompt, description, aliases) != mentioned_before:
        return None
    from llmdo.base.digest import of_text  # only where a file was edited

    return (head, of_text(prompt), locked, description, locked_description, mentioned_before, placed)


def says_the_same(before: Meaning, now: Meaning) -> bool:
    """Whether the statements about the lock are the same, and at the same place."""
    changes = changed_texts(now)
    return changes == changed_texts(before) and (not changes or now[0] == before[0])


def _has_same_lines(head: str, before: str, placed: tuple[int, ...]) -> bool:
    if not placed:
        return True
    lines, lines_before = head.split("\n"), before.split("\n")
    return len(lines) == len(lines_before) > max(placed) and all(
        lines[number - 1] == lines_before[number - 1] for number in placed
    )


def _taken_description(data: dict[str, Json]) -> str | None:
    """The description, which is removed from the header; None if it has none, and empty if it is no text."""
    if "description" not in data:
        return None
    description = data.pop("description")
    return description if isinstance(description, str) else ""


def _data(head: str) -> dict[str, Json] | None:
    from llmdo.syntax import plain

    return plain.read(head[4 : 1 - len(FENCE)], is_plain=True)


def _text(path: str) -> str | None:
    """The text of a regular file that is no link; None for any other, and if it is large or not plain ASCII."""
    descriptor = os.open(path, _READING)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_TEXT:
            return None
        content = os.read(descriptor, MAX_TEXT + 1)
        return content.decode("ascii") if len(content) == status.st_size and content.isascii() else None
    finally:
        os.close(descriptor)
