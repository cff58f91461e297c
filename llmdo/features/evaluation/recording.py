"""The recording of an eval: the answers of models in its runs, written next to it, and replayed without a key."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.features.batch import commands as batches
from llmdo.journal import recorded
from llmdo.journal.opening import runs_of
from llmdo.syntax import discovery
from llmdo.workspace.evals import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.base.values import Json
    from llmdo.features.evaluation.outcome import Variant
    from llmdo.features.evaluation.suite import Suite
    from llmdo.graph.resolved import Graph
    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.recording.encoding import Encoding
    from llmdo.runtime.telemetry.redaction import Redaction

ENDING = f".recorded{recorded.SUFFIX}"
KEPT = ("parts", "usage", "model_name", "provider_name", "finish_reason", "kind")
"""The kept parts of an answer: without its time and the provider's id of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRecording:
    """A recording that was written."""

    file: str
    requests: int
    lacking: tuple[str, ...]
    """The cases with an answer that cannot be replayed, and why."""


def file_of(name: str) -> str:
    """The recording of the eval of that name, as a path of the workspace."""
    return f"{FOLDER}/{name}{ENDING}"


def is_there(root: Path, name: str) -> bool:
    """Whether the eval of that name was recorded."""
    return discovery.exists(root, file_of(name)) is None


def models_of(root: Path, name: str, entry: str, graph: Graph) -> tuple[str, ...]:
    """The values of `--model` by which every worker answers from the recording.

    Raises:
        LlmdoError: There is no recording, or it is of another entry.
    """
    file, hint = file_of(name), f"`llmdo eval {name} --record` writes it, with the models that the files name"
    source, problems = discovery.read_source(root, file, limit=recorded.LARGEST)
    if problems:
        raise LlmdoError(problems[0].message, hint=hint)
    recording = recorded.parse(source.text, file)
    if (recording.eval, recording.entry) != (name, entry):
        raise LlmdoError(
            f"`{file}` is of the eval `{recording.eval}` and its entry `{recording.entry}`", hint=hint
        )
    return tuple(f"{worker}=replay:{file}" for worker in sorted(graph.workers))


def write(root: Path, suite: Suite, variant: Variant, environ: Mapping[str, str]) -> WrittenRecording:
    """Writes the answers of models in the runs of a variant and of its judges, without secrets.

    Raises:
        LlmdoError: A run cannot be read, or the file not be written.
    """
    from llmdo.runtime.telemetry.redaction import Redaction  # which takes a second

    redaction = Redaction.of(environ)
    runs = runs_of(root)
    run_recordings = []
    for case, run in _runs(root, variant):
        if runs.has(run):
            with runs.read(run, whole=True) as journal:
                journal.know(redaction.known)
                run_recordings.append(_run(journal, case, redaction))
    recording = recorded.Recording(
        eval=suite.name, entry=suite.entry, runs=tuple(filter(None, run_recordings))
    )
    file = file_of(suite.name)
    path, unfinished = root / file, root / f"{file}.{os.getpid()}.new"
    try:
        unfinished.write_text(recorded.dump(recording), encoding="utf-8", newline="\n")
        unfinished.replace(path)
    except OSError as error:
        raise LlmdoError(f"cannot write `{path}`: {error.strerror}") from error
    lacking = {
        f"{run.case}: {request.path} is without {request.lacks}": None
        for run in recording.runs
        for request in run.requests
        if request.lacks
    }
    return WrittenRecording(
        file=file, requests=sum(len(run.requests) for run in recording.runs), lacking=tuple(lacking)
    )


def _runs(root: Path, variant: Variant) -> Iterator[tuple[str, str]]:
    """The runs of the cases and of the judges, each with its case."""
    cases = {trial.run: trial.case for trial in variant.trials}
    yield from ((case, run) for run, case in cases.items())
    for batch in variant.judges.values():
        if batches.is_there(root, batch):
            for item in batches.show(root, batch)[1]:
                yield cases.get(item.key.rpartition("#")[0], item.key), item.run


def _run(journal: JournalStore, case: str, redaction: Redaction) -> recorded.RecordedRun | None:
    from llmdo.runtime.recording.encoding import Encoding

    first = recorded.begun(journal)
    if first is None:
        return None
    encoding = Encoding(redaction, journal.know(redaction.known))
    return recorded.RecordedRun(
        case=case,
        entry=first.path,
        input=recorded.given_to(first),
        requests=tuple(_request(entry, journal, encoding) for entry in journal.entries("request")),
    )


def _request(entry: JournalEntry, journal: JournalStore, encoding: Encoding) -> recorded.RecordedRequest:
    """A request with its answer, without known secrets and apparent tokens."""
    whole = _kept(journal.whole(entry)["response"])
    text = json.dumps(_kept(entry.data["response"]), ensure_ascii=False)
    clean = json.loads(encoding.without_secrets(text.encode("utf-8", "surrogatepass")))
    lacks = "a secret that it held" if clean != whole else None
    from llmdo.runtime.recording.encoding import KEPT as BESIDE

    if f'"{BESIDE}"' in text:
        lacks = "what is no text"
    return recorded.RecordedRequest(
        path=entry.path, step=entry.step, sent=entry.data["asked"], answer=clean, lacks=lacks
    )


def _kept(response: Mapping[str, Json]) -> dict[str, Json]:
    return {name: response[name] for name in KEPT if name in response}
