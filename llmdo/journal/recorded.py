"""The models' answers in the runs of an eval, as one text file: reviewed like a lock, played by `replay:FILE.json`.

A run is known by its entry and input; a request by its place in the run, and the digests of all its parts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.jsonable import record
from llmdo.base.values import dataclass, field, in_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import JournalStore

SCHEMA = "llmdo.recording/1"
SUFFIX = ".json"
LARGEST = 256 * 1024 * 1024  # bytes
AGAIN = "record again with `llmdo eval {eval} --record`"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """A request and its answer."""

    path: str
    """The call path of the worker."""
    step: int
    """Its number there."""
    sent: Mapping[str, Any] = field(metadata=in_json("asked"))
    """The model, and the digests of the messages."""
    answer: Mapping[str, Any]
    lacks: str | None = field(default=None, metadata=in_json(sparse=True))
    """The part left out of the answer, so that it cannot be given again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """The requests of a run."""

    case: str
    """The case that was run, or whose output was judged."""
    entry: str
    input: str = field(metadata=in_json("given"))
    """The digest of its input, and of the names of its attachments."""
    requests: tuple[RecordedRequest, ...]

    def request(self, path: str, step: int) -> RecordedRequest | None:
        """The request at that place."""
        return next((each for each in self.requests if (each.path, each.step) == (path, step)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The runs of an eval, and of its judges."""

    eval: str
    entry: str
    runs: tuple[RecordedRun, ...]

    def run(self, entry: str, text: str) -> RecordedRun | None:
        """The run of that entry with that input digest."""
        return next((run for run in self.runs if (run.entry, run.input) == (entry, text)), None)

    @property
    def again(self) -> str:
        """The advice for making another one."""
        return AGAIN.format(eval=self.eval)


def begun(journal: JournalStore) -> JournalEntry | None:
    """The entry about the start of the run; None if it never started."""
    return next(journal.entries("run"), None)


def given_to(first: JournalEntry) -> str:
    """The digest of a run's input and attachment names, from its first entry."""
    names = [name for name, _ in first.data.get("attachments") or ()]
    return digest.of_data([first.digest, names])


def dump(recording: Recording) -> str:
    """The text of its file: the same for the same answers."""
    keys = {"schema": SCHEMA, **record(recording)}
    return json.dumps(keys, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def parse(text: str, name: str) -> Recording:
    """The recording in a text.

    Raises:
        LlmdoError: `name` holds something else.
    """
    hint = "`llmdo eval NAME --record` writes one"
    try:
        data = json.loads(text)
        if data["schema"] != SCHEMA:
            raise LlmdoError(f"`{name}` is not a recording that this llmdo can read", hint=hint)
        return Recording(
            eval=str(data["eval"]), entry=str(data["entry"]), runs=tuple(map(_run, data["runs"]))
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LlmdoError(f"`{name}` is not a recording of an eval", hint=hint) from error


def _run(data: Mapping[str, Any]) -> RecordedRun:
    return RecordedRun(
        case=str(data["case"]),
        entry=str(data["entry"]),
        input=str(data["given"]),
        requests=tuple(
            RecordedRequest(
                path=str(each["path"]),
                step=int(each["step"]),
                sent={**each["asked"]},
                answer={**each["answer"]},
                lacks=each.get("lacks"),
            )
            for each in data["requests"]
        ),
    )
