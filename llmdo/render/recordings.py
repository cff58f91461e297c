"""The results of recordings: as text, as the JSON document `llmdo.test/1`, and as a JUnit report."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.base.jsonable import document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.services.resume_replay import Repeated


def _sentences(repeated: Repeated) -> tuple[str, ...]:
    """All sentences about one of them."""
    flips = (
        f"{flip.path}: `{flip.tool}` was {flip.before} and is {flip.after}"
        + (f": {'; '.join(flip.reasons)}" if flip.reasons else "")
        for flip in repeated.flips
    )
    return (*([repeated.problem] if repeated.problem else []), *repeated.divergences, *flips)


def as_text(recordings: Sequence[Repeated], judged: str) -> str:  # noqa: ARG001  # all formats are called alike
    """A line for each, with the reasons below the failed ones."""
    return "".join(f"{line}\n" for repeated in recordings for line in _lines(repeated))


def _lines(repeated: Repeated) -> Iterator[str]:
    yield f"{shown(repeated.file)}: {'as it was' if repeated.status == 'passed' else 'failed'}"
    for sentence in _sentences(repeated):
        yield from (f"  {shown(line)}" for line in sentence.split("\n"))


def as_json(recordings: Sequence[Repeated], judged: str) -> str:
    """The document; `judged` is the object of comparison, `requests` or `decisions`."""
    failed = sum(repeated.status != "passed" for repeated in recordings)
    return document("llmdo.test/1", {"judged": judged, "recordings": recordings, "failed": failed})


def as_junit(recordings: Sequence[Repeated], judged: str) -> str:
    """One test suite, a test case for each."""
    failures = sum(repeated.status == "failed" for repeated in recordings)
    errors = sum(repeated.status == "error" for repeated in recordings)
    counts = f'name="llmdo test" tests="{len(recordings)}" failures="{failures}" errors="{errors}"'
    cases = "".join(_case(repeated, judged) for repeated in recordings)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites {counts}>\n<testsuite {counts}>\n{cases}</testsuite>\n</testsuites>\n"
    )


def _case(repeated: Repeated, judged: str) -> str:
    opening = f'<testcase classname="llmdo.test.{judged}" name="{escape(shown(repeated.file))}"'
    if repeated.status == "passed":
        return f"{opening}/>\n"
    element = "error" if repeated.problem else "failure"
    lines = [escape(shown(line)) for line in _sentences(repeated)]
    whole = "\n".join(lines)
    return f'{opening}>\n<{element} message="{lines[0]}" type="{judged}">{whole}</{element}>\n</testcase>\n'
