"""The list of a survey: a line for each repository at a commit, with the folder of its clone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from llmdo.base.diagnostic import LlmdoError, excerpt
from llmdo.base.source import Location, Span
from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT = 12  # signs of a commit, as people compare it

_LINE = re.compile(
    r"(?P<repository>[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)@(?P<commit>[0-9a-f]{40}(?:[0-9a-f]{24})?)(?:\s+(?P<clone>\S.*))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProject:
    """A public repository at a fixed commit."""

    repository: str
    """`owner/name`, as GitHub has it."""
    commit: str
    clone: str
    """The folder of the clone, relative to the current one."""

    @property
    def short(self) -> str:
        """The commit, shortened."""
        return self.commit[:SHORT]

    @property
    def page(self) -> str:
        """The name of its page; owners have no dots in their names."""
        return f"{self.repository.replace('/', '.')}.{self.short}.html"

    @property
    def address(self) -> str:
        """The address of the repository on GitHub."""
        return f"https://github.com/{self.repository}"

    def address_of(self, path: str, line: str) -> str:
        """The address of a line of a file at the commit."""
        return f"{self.address}/blob/{self.commit}/{quote(path, errors='surrogateescape')}#L{line}"


def read(path: str) -> tuple[ListedProject, ...]:
    """The projects of the list at `path`, sorted by their names; lines with `#` and empty ones are none.

    Raises:
        LlmdoError: It cannot be read, a line is of another form, or a project is listed twice.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise LlmdoError(f"cannot read the list `{path}`: {reason.lower()}") from error
    projects = sorted(_lines(path, text), key=lambda project: (project.repository.casefold(), project.commit))
    if not projects:
        raise LlmdoError(f"the list `{path}` names no project", hint="write lines `owner/name@COMMIT CLONE`")
    return tuple(projects)


def _lines(path: str, text: str) -> Iterator[ListedProject]:
    known: set[tuple[str, str]] = set()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        at = Location(path, Span(number, 1, number, len(line) + 1))
        match = _LINE.fullmatch(words)
        if match is None:
            raise LlmdoError(
                f"`{excerpt(words)}` is not `owner/name@COMMIT CLONE`",
                hint="COMMIT is the whole name of a commit: a branch or a tag moves",
                at=at,
            )
        repository, commit = match["repository"], match["commit"]
        key = (repository.casefold(), commit[:SHORT])
        if key in known:
            raise LlmdoError(f"`{repository}` at `{commit[:SHORT]}` is listed twice", at=at)
        known.add(key)
        yield ListedProject(repository=repository, commit=commit, clone=match["clone"] or repository)
