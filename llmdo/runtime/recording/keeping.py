"""The journal of a run: its creation, its share of its conversation's limits, its entries at the start and the end."""

from __future__ import annotations

import asyncio
import json
import math
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from llmdo.base import digest
from llmdo.base.backtrace import Frame
from llmdo.base.values import fields
from llmdo.graph.limits import ConversationLimits
from llmdo.journal.binding import Binding, reached
from llmdo.journal.decided import decided_in, record_of
from llmdo.journal.entries import ClaimedError, JournalError, StoreError
from llmdo.journal.kept_sources import KeptSources, kept_entry
from llmdo.journal.opening import runs_of
from llmdo.journal.spending import Claims, allot, shared_out
from llmdo.journal.summary import ending
from llmdo.runtime.budget import DEFAULT_REQUESTS
from llmdo.runtime.outcome import RunOutcome, Usage
from llmdo.runtime.recording.entries import history_entry, messages_entry
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import EndedError
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.workspace import lock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from llmdo.journal.conversation import Earlier
    from llmdo.journal.entries import JournalEntry
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.options import RunOptions
    from llmdo.runtime.recording.log import RunLog


Result = TypeVar("Result")

_AS_THEY_ARE = ("run", "entry", "status", "output", "reached", "error", "hint", "is_typed")
"""The fields of an outcome that the journal keeps unchanged."""


@contextmanager
def keeping(root: Path, run: str, environ: Mapping[str, str]) -> Iterator[Recorder]:
    """The journal of a new run while the block runs; removed afterwards if the run did not begin.

    Raises:
        JournalError: It cannot be written.
    """
    runs = runs_of(root, environ)
    runs.prepare()
    with runs.claim(run), runs.create(run) as journal:
        try:
            yield Recorder(journal, Redaction.of(environ))
        finally:
            is_empty = next(journal.entries(), None) is None
            journal.close()
            if is_empty:
                runs.discard(run)


@asynccontextmanager
async def aside(manager: AbstractContextManager[Result]) -> AsyncIterator[Result]:
    """The context of `manager` in a running event loop, entered and left in threads.

    Both are completed even if the caller is cancelled meanwhile.
    """
    opened = ExitStack()
    try:
        yield await _aside(lambda: opened.enter_context(manager))
    finally:
        await _aside(opened.close)


async def _aside(work: Callable[[], Result]) -> Result:
    """The result of `work` in a thread; a cancellation takes effect after its end."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as again:
            cancellation = again
    if cancellation is not None:
        task.exception()  # which nobody waits for any more
        raise cancellation
    return task.result()


async def begin(config: RuntimeConfig, text: str, options: RunOptions, text_of: Callable[[str], str]) -> None:
    """Records that the run begins or resumes with this input and these options; `text_of` reads a file of its code.

    From then on it has its share of the limits of its conversation.

    Raises:
        LlmdoError: The journal cannot be written, or nothing is left of a limit.
    """
    log, continues = config.log, options.continues
    if config.entry.conversation_limits != ConversationLimits():
        continues = await _aside(lambda: take_share(config, continues))
    if not isinstance(log, Recorder):
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
        attachments=tuple((attached.name, attached.kind) for attached in options.attachments),
        continues=continues,
        untrusted_input=options.untrusted_input,
        item=options.item,
    )
    # What an answer is about does not change when something changes that the run does not use.
    config.ledger.lock = digest.of_text(lock.dump(binding.graph))
    isolation = str(config.resolver.isolation) if config.resolver.isolation else None
    journal, code, workspace = log.journal, config.graph.code, config.folders.workspace
    if log.mode.live and journal.last("run") is None and not options.continues and options.history:
        journal.add(*history_entry(binding.entry, options.history, log.encoding))
    if not (code and log.mode.live) or journal.last("run") is not None:
        await log.begin(binding, options.mode, isolation, options.limits, workspace)
        return
    files = KeptSources.of(journal)
    with files.held():  # until the journal names what is kept
        if (name := await _aside(lambda: files.keep(code, text_of))) is not None:
            journal.add(kept_entry(binding.entry, name))
        await log.begin(binding, options.mode, isolation, options.limits, workspace)


def recorded_outcome(log: RunLog, outcome: RunOutcome) -> RunOutcome:
    """`outcome`, or the recorded end of the run that a faultless replay reached.

    The cause of that end (a person, a question, a provider) is absent from a replay. For a completed run, the replayed
    outcome counts.
    """
    if not isinstance(log, Recorder) or log.mode.live:
        return outcome
    reason = log.brake.reason
    if isinstance(reason, EndedError) or (reason is None and not log.mode.shows_tools):
        ended = ending(log.journal)
        if ended is not None and ended.outcome != "completed":
            return outcome_in(ended, log.journal.whole(ended))
    return outcome


def outcome_in(ended: JournalEntry, data: Mapping[str, Any]) -> RunOutcome:
    """The recorded outcome of a run; `data` is the body of the entry.

    Raises:
        JournalError: The entry does not say how the run ended.
    """
    try:
        by_worker = {name: _usage_in(used) for name, used in data["usage_by_worker"].items()}
        return RunOutcome(
            **{name: data[name] for name in _AS_THEY_ARE},
            out_of_quota=bool(data.get("out_of_quota")),  # which earlier journals do not say
            diverged=bool(data.get("diverged")),
            truncated=data.get("truncated"),
            unpriced=int(data["unpriced"]) if "unpriced" in data else _unpriced_earlier(data["usage"]),
            frames=tuple(Frame(**frame) for frame in data["frames"]),
            value=json.loads(data["output"]) if data["is_typed"] and data["output"] else data["output"],
            usage=_usage_in(data["usage"]),
            usage_by_worker=by_worker,
            denied=tuple(decided_in(call["path"], call, {}) for call in data["denied"]),
        )
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise JournalError(f"{ended.path}: the journal does not say how its run ended") from error


def plain_outcome(outcome: RunOutcome) -> dict[str, object]:
    """An outcome as the plain data of the journal, without its messages, which have their own entry."""
    denied = [{"path": call.path, **record_of(call)} for call in outcome.denied]
    plain = asdict(replace(outcome, value=None, denied=(), messages=(), new_messages=()))
    for name in ("value", "messages", "new_messages"):  # the text of the value is there
        del plain[name]
    if outcome.labels is None:
        del plain["labels"]
    return {**plain, "denied": denied}


def _unpriced_earlier(used: Mapping[str, Any]) -> int:
    """The unpriced requests by an older journal: all if it has no cost."""
    return int(used["requests"]) if used["cost_usd"] is None else 0


def _usage_in(used: Mapping[str, Any]) -> Usage:
    cost = used["cost_usd"]
    return Usage(**{**used, "cost_usd": None if cost is None else Decimal(str(cost))})


async def keep_outcome(log: RunLog, outcome: RunOutcome) -> RunOutcome:
    """`outcome`, now in the journal; on failure, the outcome says so, and the run is not over."""
    try:
        if isinstance(log, Recorder):
            if outcome.new_messages and log.mode.live:
                step = 1 + log.journal.count(outcome.entry, "messages")
                log.journal.add(*messages_entry(outcome.entry, step, outcome.new_messages, log.encoding))
            await log.end(outcome.entry, outcome.status, plain_outcome(outcome))
    except JournalError as error:
        unrecorded = f"how the run ended is not recorded: {error}"
        if isinstance(error, StoreError | ClaimedError):
            return replace(outcome, status="interrupted", error=outcome.error or unrecorded)
        return replace(outcome, error=outcome.error or unrecorded)
    return outcome


def take_share(config: RuntimeConfig, continues: Earlier | None) -> Earlier | None:
    """Lowers the run's budget to its share; returns `continues` with the conversation's use by now.

    Raises:
        LlmdoError: A limit is reached, or other runs have reserved the rest.
    """
    limits = {limit: most for limit, most in _amounts(config.entry.conversation_limits) if most is not None}
    log, wanted = config.log, dict(_amounts(config.budget.limits))
    if wanted["requests"] is None:
        wanted["requests"] = DEFAULT_REQUESTS
    if isinstance(log, Recorder) and log.mode.live:
        allotment = allot(log.journal, config.entry.name, continues, limits, wanted)
        share, continues = allotment.share, continues and replace(continues, spent=allotment.spent)
    else:  # a replay uses no more than the run did, which reserved no more than that
        used = Claims(used=continues.spent) if continues else Claims()
        share = shared_out(limits, wanted, used, is_new=not log.keeps)
    own = {name: math.inf if most is None else most for name, most in wanted.items()}
    config.budget.lower({name: most for name, most in share.items() if most < own[name]})
    return continues


def _amounts(limits: object) -> list[tuple[str, float | None]]:
    """The limits that a conversation may have, by name."""
    return [(limit.name, getattr(limits, limit.name)) for limit in fields(ConversationLimits)]
