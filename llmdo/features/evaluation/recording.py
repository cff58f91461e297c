"""The recording of an eval, made and replayed, and the workspace at another revision."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, near_or_all
from llmdo.base.values import dataclass, replace
from llmdo.features.batch import commands as batches
from llmdo.graph.inventory import Inventory
from llmdo.journal import recorded
from llmdo.journal.opening import runs_of
from llmdo.services.diff import WORKTREE
from llmdo.services.run import PreparedRun
from llmdo.services.soundness import require_sound, resolved
from llmdo.syntax import commits as git
from llmdo.syntax import discovery
from llmdo.workspace import project as projects
from llmdo.workspace.evals import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.values import Json
    from llmdo.features.batch.commands import BatchHost
    from llmdo.features.evaluation.outcome import Variant
    from llmdo.features.evaluation.suite import Suite
    from llmdo.graph.resolved import Graph
    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.recording.encoding import Encoding
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.workspace.project import Project

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
    for case, run in runs_in(root, variant):
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


def runs_in(root: Path, variant: Variant) -> Iterator[tuple[str, str]]:
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


MAX_BYTES = 64_000_000  # of all files of a revision that are read
BETWEEN = ".."
SHOWN = 5  # files in a sentence


def both(text: str) -> tuple[str, str]:
    """The two revisions of `A..B`.

    Raises:
        LlmdoError: It is not of that form.
    """
    before, between, after = text.partition(BETWEEN)
    if not (before and between and after) or before == after or BETWEEN in after:
        raise LlmdoError(
            f"`--rev {text}` does not name two revisions", hint=f"such as `--rev main..{WORKTREE}`"
        )
    return before, after


def commit_of(root: Path, revision: str) -> str | None:
    """The commit of a revision; None for the files in the folder.

    Raises:
        LlmdoError: There is no such revision.
    """
    return None if revision == WORKTREE else git.commit_of(root, revision)


@contextmanager
def prepared(
    now: Project, commit: str, label: str, entry: str, *, runs_code: bool, locked: bool, host: BatchHost
) -> Iterator[PreparedRun]:
    """The entry as it was at a commit, ready to be run in the workspace as it is `now`.

    Its Python is that of the workspace, or with `runs_code` its own.

    Raises:
        InvalidTeamError: The workspace had mistakes then.
        UntrustedError: Its Python would be imported, and the host's consent refuses it.
        LlmdoError: It cannot be read, or its Python differs and was not asked for.
    """
    root = now.workspace.root
    with TemporaryDirectory(prefix="llmdo-rev-") as name:
        folder = Path(name)
        _write(root, commit, label, folder)
        then = projects.read(folder, copy_of=root)
        differing = sorted(path for path, _ in then.graph.code.items() ^ now.graph.code.items())
        if differing and not runs_code:
            named = ", ".join(f"`{path}`" for path in dict.fromkeys(differing[:SHOWN]))
            raise LlmdoError(
                f"the Python at `{label}` is not that of the workspace: {named}",
                hint=f"read it there; `--sources {label}` runs it",
            )
        require_sound(then, host.tell, reviewed=now.locked.graph)
        graph = resolved(then, host.tell, host.consent)
        if entry not in graph.entries:
            raise LlmdoError(
                f"at `{label}` there is no entry `{entry}`", hint=near_or_all(entry, graph.entries, "entry")
            )
        # What governs a run in this workspace is protected from it, whatever the run itself consists of.
        yield PreparedRun(
            root=root,
            graph=replace(graph, governing=Inventory.of(now.graph).governing),
            prompts=then.prompts,
            entry=entry,
            input=None,
            locked=locked,
            code=folder if differing else None,
            sources="run",
        )


def _write(root: Path, commit: str, label: str, folder: Path) -> None:
    """Writes the regular files of the workspace at a commit below `folder`."""
    blobs = {
        path: blob for path, blob in git.files(root, commit).items() if blob.is_regular and _is_inside(path)
    }
    # What this clone lacks is an error below.
    if sum(blob.size or 0 for blob in blobs.values()) > MAX_BYTES:
        raise LlmdoError(f"the files at `{label}` are larger than {MAX_BYTES:,} bytes together")
    contents = git.contents(root, [blob.name for blob in blobs.values()])
    for path, blob in blobs.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(contents[blob.name])


def _is_inside(path: str) -> bool:
    """Whether a path of a tree stays below the folder that it is written to, whoever made the tree."""
    parts = PurePosixPath(path).parts
    return not path.startswith("/") and ".." not in parts and ".git" not in parts and ".llmdo" not in parts
