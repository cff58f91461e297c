"""What recordings showed: as text, as the JSON document `llmdo.test/1`, and as a JUnit report."""

from __future__ import annotations

import json
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.journal.rejudging import Flip


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """What one recording showed."""

    file: str
    run: str | None = None
    """None, as is `entry`, where it cannot be read."""
    entry: str | None = None
    problem: str | None = None
    """Why it could not be repeated."""
    divergences: tuple[str, ...] = ()
    """Where the workspace does something else than was recorded, a sentence each: the first is the last."""
    flips: tuple[Flip, ...] = ()

    @property
    def status(self) -> str:
        """In a word."""
        if self.problem:
            return "error"
        return "failed" if self.divergences or self.flips else "passed"

    @property
    def lines(self) -> tuple[str, ...]:
        """All that is to be said about it."""
        flips = (
            f"{one.path}: `{one.tool}` was {one.before} and is {one.after}"
            + (f": {'; '.join(one.reasons)}" if one.reasons else "")
            for one in self.flips
        )
        return (*([self.problem] if self.problem else []), *self.divergences, *flips)


def as_text(found: Sequence[Repeated], judged: str) -> str:  # noqa: ARG001  # all formats are called alike
    """A line for each, and below those that failed why."""
    return "".join(f"{line}\n" for one in found for line in _lines(one))


def _lines(one: Repeated) -> Iterator[str]:
    yield f"{shown(one.file)}: {'as it was' if one.status == 'passed' else 'failed'}"
    for said in one.lines:
        yield from (f"  {shown(line)}" for line in said.split("\n"))


def as_json(found: Sequence[Repeated], judged: str) -> str:
    """The document; `judged` says what was looked at, `requests` or `decisions`."""
    document = {
        "schema": "llmdo.test/1",
        "judged": judged,
        "recordings": [
            {
                "file": one.file,
                "run": one.run,
                "entry": one.entry,
                "status": one.status,
                "error": one.problem,
                "divergences": list(one.divergences),
                "flips": [asdict(flip) for flip in one.flips],
            }
            for one in found
        ],
        "failed": sum(one.status != "passed" for one in found),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_junit(found: Sequence[Repeated], judged: str) -> str:
    """One test suite, a test case for each."""
    failures = sum(one.status == "failed" for one in found)
    errors = sum(one.status == "error" for one in found)
    counts = f'name="llmdo test" tests="{len(found)}" failures="{failures}" errors="{errors}"'
    cases = "".join(_case(one, judged) for one in found)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites {counts}>\n<testsuite {counts}>\n{cases}</testsuite>\n</testsuites>\n"
    )


def _case(one: Repeated, judged: str) -> str:
    opening = f'<testcase classname="llmdo.test.{judged}" name="{escape(shown(one.file))}"'
    if one.status == "passed":
        return f"{opening}/>\n"
    element = "error" if one.problem else "failure"
    told = "\n".join(escape(shown(line)) for line in one.lines)
    first = escape(shown(one.lines[0]))
    return f'{opening}>\n<{element} message="{first}" type="{judged}">{told}</{element}>\n</testcase>\n'
