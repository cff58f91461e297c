"""The journal of a run from its making on, and what it is told when the run begins and when it is over."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from llmdo import digest, lock
from llmdo.journal import Runs
from llmdo.journal.binding import Binding, reached
from llmdo.journal.entries import JournalError
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.telemetry.redaction import Redaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.options import RunOptions
    from llmdo.runtime.outcome import RunOutcome


@contextmanager
def keeping(root: Path, run: str, environ: Mapping[str, str]) -> Iterator[Recorder]:
    """The journal of the new run of that id, while the block runs. It is removed where the run did not begin.

    Raises:
        JournalError: It cannot be written.
    """
    runs = Runs(root)
    runs.prepare()
    with runs.claim(run), runs.create(run) as journal:
        try:
            yield Recorder(journal, Redaction.of(environ))
        finally:
            is_empty = next(journal.entries(), None) is None
            journal.close()
            if is_empty:
                runs.discard(run)


async def begin(config: RuntimeConfig, text: str, options: RunOptions) -> None:
    """Keeps that the run begins, or goes on, with this input and these options.

    Raises:
        JournalError: It cannot be written.
    """
    if config.recorder is None:
        return
    references = config.agents.references
    binding = Binding(
        entry=config.entry.name,
        input=text,
        models=references,
        paths=options.paths,
        max_depth=options.max_depth,
        graph=reached(config.graph, config.entry.name, references),
        prompts={name: config.agents.prompts[name] for name in references},
    )
    # What an answer is about does not change when something changes that the run does not use.
    config.ledger.lock = digest.of_text(lock.dump(binding.graph))
    isolation = config.resolver.isolation
    await config.recorder.begin(binding, options.mode, str(isolation) if isolation else None, options.limits)


async def kept(recorder: Recorder | None, outcome: RunOutcome) -> RunOutcome:
    """`outcome`, which its journal holds now; where that failed, the outcome says so."""
    try:
        if recorder:
            await recorder.end(outcome.entry, outcome.status, asdict(outcome))
    except JournalError as error:
        return replace(outcome, error=outcome.error or f"how the run ended is not recorded: {error}")
    return outcome
