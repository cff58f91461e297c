"""Whether an edited worker file still means to a check what it meant before.

Most edits change a prompt, or a comment. To a check a prompt is whether the lock has it, which aliases of the path map
it mentions, and that nothing in it is hidden. So after such an edit the answer of the last check stands, and the edited
file is all that is read. Whatever is less simple than that is left to a check.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    Meaning = tuple[str, str, str, tuple[str, ...], bool]
    """Of a file: its text up to the prompt; the digests of the prompt and of that in the lock, empty where there is
    none; the aliases that the prompt mentions; whether something is said about a place in the file."""

MAX_TEXT = 256 * 1024  # bytes: of longer ones a check is made
FENCE = "\n---\n"
_READING = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)


def head_of(text: str, *, is_plain: bool = False) -> str | None:
    """The text of a worker file up to its prompt; None where something in it may not show, or there is no header.

    `is_plain` says that it is known to be nothing but printable ASCII and line breaks.
    """
    end = text.find(FENCE, 3)
    if not text.startswith("---\n") or end < 0:
        return None
    if not is_plain and not (text.isascii() and text.replace("\n", "").isprintable()):
        return None
    return text[: end + len(FENCE)]


def mentioned(prompt: str, aliases: tuple[str, ...]) -> tuple[str, ...]:
    """The aliases of the path map that a prompt mentions, as `checks.delegation` has it."""
    return tuple([alias for alias in aliases if alias.rstrip("/") in prompt])


def meaning_now(path: str, before: Meaning, aliases: tuple[str, ...]) -> Meaning | None:
    """What the file at the absolute `path` means, if that is to a check what it meant `before`; else None."""
    text = _text(path)
    head = None if text is None else head_of(text)
    if text is None or head is None:
        return None
    before_head, digest, locked, before_mentioned, has_places = before
    if head != before_head and (has_places or not _is_same_header(head, before_head)):
        return None
    prompt = text[len(head) :]
    if mentioned(prompt, aliases) != before_mentioned:
        return None
    from llmdo.base.digest import of_text  # only where a file was edited

    now = of_text(prompt)
    return (
        (head, now, locked, before_mentioned, has_places) if (now == locked) == (digest == locked) else None
    )


def _is_same_header(head: str, before: str) -> bool:
    from llmdo.syntax import plain

    data = plain.read(head[4 : 1 - len(FENCE)])
    return data is not None and repr(data) == repr(plain.read(before[4 : 1 - len(FENCE)]))


def _text(path: str) -> str | None:
    """The text of a regular file that is no link; None for any other, and where it is large or not plain ASCII."""
    descriptor = os.open(path, _READING)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_TEXT:
            return None
        content = os.read(descriptor, MAX_TEXT + 1)
        return content.decode("ascii") if len(content) == status.st_size and content.isascii() else None
    finally:
        os.close(descriptor)
