"""The run of one item of a batch: begun, gone on with, or only looked at where it is over."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import ClaimedError, JournalError, NotOpenError
from llmdo.journal.items import Result
from llmdo.journal.location import ElsewhereError
from llmdo.journal.opening import runs_of
from llmdo.journal.summary import ending, unfinished
from llmdo.runtime import RunOptions
from llmdo.runtime import run as run_entry
from llmdo.runtime.models.choice import ModelChoice
from llmdo.runtime.recording.keeping import keeping_aside, outcome_in
from llmdo.services.basis import DriftError
from llmdo.services.batch.files import KeptFiles, attached_of
from llmdo.services.resume import ResumeRequest, going_on
from llmdo.services.soundness import tell_nobody

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.base.values import Json
    from llmdo.graph.resolved import Graph
    from llmdo.journal.batches import BatchStore
    from llmdo.journal.items import BatchItem
    from llmdo.journal.ports import JournalStore, RunIndex
    from llmdo.runtime import AttachmentResolver, RunOutcome
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.services.host import Approving
    from llmdo.workspace.trust import Consent


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchBasis:
    """What all items of a batch run with."""

    root: Path
    graph: Graph
    prompts: Mapping[str, str]
    entry: str
    models: Mapping[str, str]
    """Worker to the reference of its model."""
    max_depth: int | None
    locked: bool
    store: BatchStore
    files: AttachmentResolver
    """Where files come from that no item brings."""
    answering: Approving
    consent: Consent
    environ: Mapping[str, str]
    redaction: Redaction
    debug: bool = False


async def carry_out(basis: BatchBasis, item: BatchItem) -> Result | None:
    """What became of an item that was taken; None where another process works on its run.

    Its journal decides: what is over is only read, what stopped goes on, and nothing is done twice.
    """
    runs = await asyncio.to_thread(runs_of, basis.root, basis.environ)
    is_new = False
    try:
        if await asyncio.to_thread(runs.has, item.run):
            ended = await _continued(basis, item, runs)
            if ended is not None:
                return ended if isinstance(ended, Result) else result_of(ended, basis.redaction)
        is_new = True
        return result_of(await _begun(basis, item), basis.redaction)
    except ClaimedError:
        return None
    except DriftError as error:
        return Result(state="refused", error=error.message, hint=error.hint)
    except ElsewhereError as error:
        hint = "`llmdo batch retry BATCH --unsure again` there, or say that all machines see one folder"
        return Result(state="unsure", error=error.message, hint=f"{hint}: `[workspace] shared = true`")
    except LlmdoError as error:
        if is_new and isinstance(error, JournalError):
            if await asyncio.to_thread(runs.has, item.run):
                return None  # another process began the run meanwhile
            raise  # no journal can be written, that of the next item no more than this one
        # It cannot start: nothing was asked of a model
        return Result(state="failed", error=error.message, hint=error.hint)


def result_of(outcome: RunOutcome, redaction: Redaction) -> Result:
    """What became of the item whose run ended so; secrets of the environment are in none of it."""
    state = outcome.status if outcome.status in ("completed", "failed", "waiting") else "queued"
    output: object = None
    if outcome.output is not None:
        # Taken out of JSON as text, a secret that is a number would leave no JSON.
        text = outcome.output
        output = redaction.plain(json.loads(text)) if outcome.is_typed else redaction.text(text)
    return Result(
        state="queued" if outcome.out_of_quota else state,
        output=cast("Json", output),
        error=outcome.error and redaction.text(outcome.error),
        hint=outcome.hint and redaction.text(outcome.hint),
        requests=outcome.usage.requests,
        input_tokens=outcome.usage.input_tokens,
        output_tokens=outcome.usage.output_tokens,
        cost_usd=outcome.usage.cost_usd,
        out_of_quota=outcome.out_of_quota,
    )


async def _continued(basis: BatchBasis, item: BatchItem, runs: RunIndex) -> RunOutcome | Result | None:
    """What became of an item whose run has a journal; None where no run began in it, and nothing is left of it.

    Raises:
        ClaimedError: Another process works on it.
    """
    held = ExitStack()
    try:
        journal = await asyncio.to_thread(_taken, held, runs, item)
        if (
            await asyncio.to_thread(journal.last, "run") is None
        ):  # whoever made it was killed before the run began
            await asyncio.to_thread(runs.discard, item.run)
            return None
        return await asyncio.to_thread(_standing, basis, item, journal) or await _gone_on(
            basis, item, journal
        )
    except NotOpenError:
        with await asyncio.to_thread(runs.read, item.run, whole=True) as journal:
            if result := _standing(basis, item, journal):
                return result
        raise ClaimedError(f"another process has changed run `{item.run}`") from None
    finally:
        await asyncio.to_thread(held.close)


def _taken(held: ExitStack, runs: RunIndex, item: BatchItem) -> JournalStore:
    """The journal of an item's run, which this process has for as long as `held` is open.

    Raises:
        ClaimedError: Another process works on it.
        NotOpenError: It does not go on by itself, and no person has decided that it does.
    """
    held.enter_context(runs.claim(item.run, by="person" if item.retry else "worker"))
    return held.enter_context(runs.open(item.run))


def _standing(basis: BatchBasis, item: BatchItem, journal: JournalStore) -> Result | None:
    """What is said of an item whose run is over, or a person has to decide about; None where it goes on."""
    return _ended(basis, item, journal) or _doubtful(item, journal)


def _ended(basis: BatchBasis, item: BatchItem, journal: JournalStore) -> Result | None:
    """What became of an item whose run is over; None where it goes on."""
    last = ending(journal)
    if last is None or last.outcome == "interrupted" or (last.outcome != "completed" and item.retry):
        return None
    journal.know(basis.redaction.known)
    outcome = outcome_in(last, journal.for_output(last))
    if outcome.out_of_quota:
        return None
    return result_of(outcome, basis.redaction)


def _doubtful(item: BatchItem, journal: JournalStore) -> Result | None:
    """What is said of an item with a call that was started and not finished, where no person has said what to do."""
    calls = unfinished(journal)
    if not calls or item.retry in ("again", "give-up"):
        return None
    listed = ", ".join(f"`{tool}` at {path}" for path, tool in calls.items())
    return Result(
        state="unsure",
        error=f"{listed}: started and not finished when the run stopped, so it may have taken effect",
        hint="look, then `llmdo batch retry BATCH --unsure again`, or `--unsure give-up`",
    )


async def _begun(basis: BatchBasis, item: BatchItem) -> RunOutcome:
    """How the run of an item ended that begins now."""
    options = _of_item(
        RunOptions(
            run=item.run,
            input=item.input,
            models=ModelChoice(by_worker=basis.models),
            max_depth=basis.max_depth,
            locked=basis.locked,
        ),
        basis,
        item,
    )
    async with keeping_aside(basis.root, item.run, basis.environ) as recorder:
        return await run_entry(
            basis.graph,
            root=basis.root,
            prompts=basis.prompts,
            entry=basis.entry,
            options=replace(options, recorder=recorder),
        )


async def _gone_on(basis: BatchBasis, item: BatchItem, journal: JournalStore) -> RunOutcome:
    """How the run of an item ended that goes on where it stopped."""
    calls = tuple(unfinished(journal))
    request = ResumeRequest(
        root=basis.root,
        run=item.run,
        again=calls if item.retry == "again" else (),
        give_up=calls if item.retry == "give-up" else (),
        accepting=f"`llmdo resume {item.run} {{flags}}`",
        environ=basis.environ,
    )
    resumed = await asyncio.to_thread(going_on, journal, request, tell_nobody, basis.consent)
    return await run_entry(
        resumed.basis.graph,
        root=basis.root,
        prompts=resumed.basis.prompts,
        entry=resumed.entry,
        options=_of_item(resumed.options, basis, item),
    )


def _of_item(options: RunOptions, basis: BatchBasis, item: BatchItem) -> RunOptions:
    """`options` with what holds for every run of the batch, and with the files of the item."""
    attached, kept = attached_of(item, basis.store)
    return replace(
        options,
        attachments=attached,
        attachment_resolver=KeptFiles(basis.store, kept, basis.files),
        approver=basis.answering.approver,
        mode=basis.answering.mode,
        tightening=basis.answering.tightening,
        consent=basis.consent,
        debug=basis.debug,
    )
