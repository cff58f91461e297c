"""The ids of runs, and references by which people name things with ids."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import LlmdoError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\.[1-9][0-9]{0,5})?")
_OF_FILE = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\.[1-9][0-9]{0,5}(?=\.))?)\.")
_OF_LATER_RUN = re.compile(r"[1-9][0-9]{0,5}\.")

_AT_ONCE = 256
PART = ".part"
"""The part of a file name after the id of a run being imported."""


def new_run() -> str:
    """A unique id for a run; ids sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"[:-3] + f"-{secrets.token_hex(4)}"


def new_runs() -> Iterator[str]:
    """Unique ids for runs, each after the one before; those of `new_run` have no order within a millisecond."""
    last = ""
    while True:
        for run in sorted(new_run() for _ in range(_AT_ONCE)):
            if run > last:
                last = run
                yield run


def require_id(run: str) -> str:
    """`run`, if it is an id.

    Raises:
        LlmdoError: Otherwise.
    """
    if not _RUN.fullmatch(run):
        raise LlmdoError(f"`{run}` is not the id of a run")
    return run


def first_run(run: str) -> str:
    """The first run that this one replaced; else its own id."""
    return run.partition(".")[0]


def later_run(run: str, number: int) -> str:
    """The id of that replacement of `run`; 0 is the first run."""
    return f"{first_run(run)}.{number}" if number else first_run(run)


def belongs(name: str, run: str) -> bool:
    """Whether that file belongs to the run, not to one that replaced it."""
    before, _, rest = name.partition(f"{run}.")
    return not before and bool(rest) and not _OF_LATER_RUN.match(rest)


def run_of_file(name: str) -> str | None:
    """The id of the run that owns that file, if any."""
    start = _OF_FILE.match(name)
    return start and start[1]


class Named(NamedTuple):
    """A kind of things with ids, in words for messages."""

    noun: str
    plural: str
    listed: str
    """The way to list all."""
    begun: str
    """The way to the first."""


RUNS = Named("run", "runs", "`llmdo runs` lists them", "`llmdo run` starts one")


def match(
    reference: str, names: Sequence[str], kind: Named, may_be_last: Callable[[str], bool] = lambda _: True
) -> str:
    """The one id among `names` that `reference` is, ends with or begins.

    `last` is the last of them, or the last that `may_be_last`, if one may.

    Raises:
        LlmdoError: None or several match.
    """
    if reference in names:
        return reference
    if reference == "last" and names:
        return next((name for name in reversed(names) if may_be_last(name)), names[-1])
    matches = (
        [name for name in names if name.startswith(reference) or name.endswith(reference)]
        if reference
        else []
    )
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise LlmdoError(
            f"`{reference}` may be {len(matches)} {kind.plural}", hint=f"such as `{matches[-1]}`"
        )
    if not names:
        raise LlmdoError(f"there is no {kind.noun} here yet", hint=kind.begun)
    raise LlmdoError(
        f"there is no {kind.noun} `{reference}`", hint=did_you_mean(reference, names) or kind.listed
    )
