"""Foreign projects, `--from FORMAT DIR`: checked, and asked about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import foreign
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.foreign import findings
from llmdo.foreign.known import formats, table_of
from llmdo.services.extensions import extensions_here

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.foreign.lines import Line
    from llmdo.services.root import Tell


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignOutcome:
    """The result of a check of a foreign project."""

    findings: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    root: Path
    format: str


def check(origin: tuple[str, str]) -> ForeignOutcome:
    """The findings about the project, and the reasons why parts could not be read.

    Raises:
        LlmdoError: There is no such project, or no such format.
    """
    name, folder = origin
    read = foreign.read(name, Path(folder), extensions=extensions_here())
    return ForeignOutcome(
        findings=findings.check(read),
        files=read.team.files,
        root=read.root,
        format=read.team.format,
    )


def opened(origin: tuple[str, str], tell: Tell) -> Foreign:
    """The project that `--from` names. A warning says if unreadable files may be missing in the answer."""
    name, folder = origin
    read = foreign.read(name, Path(folder), extensions=extensions_here())
    unread = sum(problem.severity == "error" for problem in read.team.problems)
    guessed = sum(problem.code == "LDO150" for problem in read.team.problems)
    for number, problem in ((unread, "could not be read"), (guessed, "had to be guessed at")):
        if number:
            places = "1 place" if number == 1 else f"{number} places"
            tell(f"warning: {places} {problem} (`llmdo check --from {name} {folder}` shows them)")
    return read


def table(name: str) -> tuple[Line, ...]:
    """The capabilities of each tool of a format, with sources.

    Raises:
        LlmdoError: There is no table of it.
    """
    known = formats(extensions_here())
    if name not in known:
        raise LlmdoError(
            f"there is no table of `{name}`" if name else "a code, or `--from FORMAT`, is missing",
            hint=f"there are tables of {', '.join(known)}",
        )
    return table_of(known[name])
