"""The run of one item of a batch: started, resumed, or only read if it is over."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.batch.unsettled import (
    REBIND,
    UNBOUND,
    StuckRunError,
    asked_before,
    effects_of,
    elsewhere,
    unsettled_result,
)
from llmdo.journal import ClaimedError, JournalError, NotOpenError
from llmdo.journal.binding import binding_of, differences
from llmdo.journal.entries import CANCELLED, DamagedError, StoreError
from llmdo.journal.items import BEHIND, Result
from llmdo.journal.location import ElsewhereError
from llmdo.journal.naming import later_run
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import waiting
from llmdo.journal.run_item import RunItem
from llmdo.journal.summary import ending, failed
from llmdo.journal.unsettled import probing, unsettled
from llmdo.runtime import RefuseSome
from llmdo.runtime.attached import Attached, WorkspaceFiles, in_workspace
from llmdo.runtime.models.choice import ModelChoice
from llmdo.runtime.recording.keeping import aside, outcome_in
from llmdo.runtime.recording.replay_mode import UnfinishedError
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.services.basis import DriftError
from llmdo.services.plan import ResumeRequest, continuation
from llmdo.services.soundness import tell_nobody
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.paths import PathRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.values import Json
    from llmdo.journal.items import BatchItem, BatchStore, InputFile
    from llmdo.journal.stored import JournalStore, RunIndex
    from llmdo.policy.authority import Capability
    from llmdo.runtime import RunOutcome
    from llmdo.runtime.attached import AttachmentResolver
    from llmdo.services.basis import Origin
    from llmdo.services.plan import Approving, RunPlan
    from llmdo.services.run import PreparedRun
    from llmdo.workspace.trust import Consent


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files of a workspace, those of an item with the content that was put in."""

    store: BatchStore
    files: Mapping[str, InputFile]
    """By their paths in the workspace."""
    fallback: AttachmentResolver

    async def read(self, path: str, most: int) -> bytes:
        """The content of the file at `path`.

        Raises:
            PathRefused: It cannot be read, or has more than `most` bytes.
        """
        if (file := self.files.get(path)) is None:
            return await self.fallback.read(path, most)
        try:
            content = self.store.path_of(file).read_bytes()
        except OSError as error:
            raise PathRefused(path, f"is no longer kept: {error.strerror}") from error
        if sha256(content).hexdigest() != file.digest:
            raise PathRefused(path, "has changed since it was put in")
        if len(content) > most:
            raise PathRefused(path, f"is larger than {most:,} bytes")
        return content


def name_of(path: str, root: Path) -> str:
    """The name of a file in its batch: its path in the workspace, or its absolute path if it is outside."""
    absolute = str(Path(path).absolute())
    try:
        return in_workspace(absolute, root)
    except LlmdoError:
        return absolute


def attached_of(item: BatchItem, store: BatchStore) -> tuple[tuple[Attached, ...], dict[str, InputFile]]:
    """The attachments of an item, and those among them that are paths of the workspace."""
    outside = [file for file in item.files if Path(file.name).is_absolute()]
    inside = {file.name: file for file in item.files if file not in outside}
    attached = (
        *(Attached(name=name) for name in inside),
        *(
            Attached(name=file.name, kind="outside", outside=Path(file.name), stored=store.path_of(file))
            for file in outside
        ),
    )
    return attached, inside


class _LostError(Exception):
    """Another process has taken an item since this one did, and decides about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRefusal:
    """The questions of one item that are refused, whatever else answers."""

    by: str
    """The source of the refusal, in words for the user."""
    capabilities: tuple[Capability, ...]

    def before(self, answering: Approving) -> Approving:
        """The approver of the item, before `answering`, that of all."""
        named = ", ".join(map(str, self.capabilities))
        approver = RefuseSome(self.capabilities, self.by, answering.approver)
        return replace(answering, approver=approver, mode=f"refuse {named}, else {answering.mode}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchBasis:
    """The basis of all items of a batch."""

    plan: RunPlan
    """A new run, without the parts that are an item's own."""
    store: BatchStore
    files: AttachmentResolver
    """The source of files that no item brings."""
    answering: Approving
    environ: Mapping[str, str]
    redaction: Redaction
    sources: Origin
    """The origin with which stopped runs resume."""
    is_bound: bool = True
    """Whether new runs use the lock of the batch."""
    is_fleet: bool = False
    """Whether a worker of a fleet takes the items: then a record of the database names the models."""
    allow_drift: tuple[str, ...] = ()
    """The parts that may have changed since resumed runs began."""
    refused: Mapping[str, ItemRefusal] = field(default_factory=dict)
    """Refusals by the key of their item."""
    evaluation: Mapping[str, str] = field(default_factory=dict)
    """The fields of `RunItem` that an evaluation gives all items."""


@contextmanager
def basis_of(
    prepared: PreparedRun,
    store: BatchStore,
    answering: Approving,
    environ: Mapping[str, str],
    consent: Consent,
    *,
    is_bound: bool,
    is_fleet: bool = False,
    debug: bool = False,
    refused: Mapping[str, ItemRefusal] = MappingProxyType({}),
) -> Iterator[BatchBasis]:
    """The basis of all items of the batch in `store`."""
    settings = store.batch.settings
    choice = ModelChoice(by_worker=settings["models"], source="fleet" if is_fleet else "person")
    with closing(Root.of(prepared.folders)) as confined:
        yield BatchBasis(
            plan=prepared.plan(models=choice, max_depth=settings["max_depth"], consent=consent, debug=debug),
            sources=prepared.sources,
            store=store,
            files=WorkspaceFiles(confined),
            answering=answering,
            environ=environ,
            redaction=Redaction.of(environ),
            is_bound=is_bound,
            is_fleet=is_fleet,
            refused=refused,
            evaluation=settings.get("evaluation", {}),
        )


async def execute(basis: BatchBasis, item: BatchItem) -> Result | None:
    """Runs a taken item; None if another process works on it.

    Its journal decides: a finished run is only read, a stopped one resumes, and nothing is done twice. A run is started
    in its place only if a person has it retried, and it cannot resume.
    """
    runs = await asyncio.to_thread(runs_of, basis.plan.root, basis.environ)
    try:
        return await _carried_out(basis, item, runs)
    except (ClaimedError, _LostError):
        return None
    except StuckRunError as stuck:
        if not item.retry or item.retry == "give-up" or not basis.is_bound:
            return stuck.result
        if stuck.effects and item.retry != "again":
            return asked_before(stuck, later_run(item.run, item.attempt + 1))
    anew = await asyncio.to_thread(basis.store.begin_anew, item)
    return None if anew is None else await execute(basis, replace(anew, retry=""))


async def _carried_out(basis: BatchBasis, item: BatchItem, runs: RunIndex) -> Result | None:
    """Starts or resumes the run of an item.

    Raises:
        ClaimedError: Another process has its run.
        _LostError: Another process took the item.
        StuckRunError: Its run has begun, and cannot go on.
    """
    if item.has_begun or await asyncio.to_thread(runs.has, item.run):
        ended = await _continued(basis, item, runs)
        if ended is not None:
            return ended if isinstance(ended, Result) else result_of(ended, basis.redaction)
    if not basis.is_bound:
        return Result(state="refused", error=UNBOUND, hint=REBIND)
    try:
        return result_of(await _begun(basis, item), basis.redaction)
    except StoreError:
        raise
    except JournalError:
        if await asyncio.to_thread(runs.has, item.run):
            return None  # another process began the run meanwhile
        raise  # no journal can be written, that of the next item no more than this one
    except LlmdoError as error:  # it cannot start: nothing was asked of a model
        return Result(state="failed", error=error.message, hint=error.hint)


def result_of(outcome: RunOutcome, redaction: Redaction) -> Result:
    """The result of an item from the outcome of its run, without secrets of the environment."""
    state = outcome.status if outcome.status in ("completed", "failed", "waiting", "cancelled") else "queued"
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
        cost_usd=None if outcome.unpriced else outcome.usage.cost_usd or Decimal(0),
        out_of_quota=outcome.out_of_quota,
    )


async def _continued(basis: BatchBasis, item: BatchItem, runs: RunIndex) -> RunOutcome | Result | None:
    """Resumes the run of an item if it may have begun; None if it has not, and nothing is left of it.

    Raises:
        ClaimedError: Another process has its run.
        _LostError: Another process took the item.
        StuckRunError: It cannot go on.
        StoreError: Its state is unknown.
    """
    held, journal = ExitStack(), None
    try:
        journal = await asyncio.to_thread(_taken, held, runs, item)
        if journal is None:
            return None
        if await asyncio.to_thread(journal.last, "run") is None:  # whoever made it was killed before that
            return await asyncio.to_thread(_discarded, basis, item, runs)
        await asyncio.to_thread(
            _noted, basis, item
        )  # again, as the machine may have failed before it was on disk
        if result := await asyncio.to_thread(_standing, basis, item, journal):
            return result
        return await _gone_on(basis, item, journal)
    except NotOpenError:
        with await asyncio.to_thread(runs.read, item.run, whole=True) as seen:
            if result := _standing(basis, item, seen):
                return result
        raise ClaimedError(f"another process has changed run `{item.run}`") from None
    except (DriftError, DamagedError) as error:
        raise StuckRunError(error, None if journal is None else effects_of(journal)) from error
    except (ClaimedError, StuckRunError, StoreError):
        raise
    except ElsewhereError as error:
        return elsewhere(error)
    except LlmdoError as error:  # nothing was asked of a model
        return Result(state="failed", error=error.message, hint=error.hint)
    finally:
        await asyncio.to_thread(held.close)


def _discarded(basis: BatchBasis, item: BatchItem, runs: RunIndex) -> None:
    """Removes the journal of an item's run that never began.

    Raises:
        _LostError: Another process took the item.
        StuckRunError: It may have begun later than its journal says.
    """
    if item.is_behind:
        raise StuckRunError(LlmdoError(f"run `{item.run}` has begun: {BEHIND}"), None)
    _noted(basis, item, has_begun=False)  # first, as this process may be killed between the two
    runs.discard(item.run)


def _noted(basis: BatchBasis, item: BatchItem, *, has_begun: bool = True) -> None:
    """Keeps whether the run of an item may have begun; this process holds the run, so it has both or neither.

    Raises:
        _LostError: Another process took the item.
    """
    if not basis.store.note_begun(item, has_begun=has_begun):
        raise _LostError


def _taken(held: ExitStack, runs: RunIndex, item: BatchItem) -> JournalStore | None:
    """The journal of an item's run, held by this process as long as `held` is open; None if it has none yet.

    Only the holder of the run knows: another process that lost the item removes the journal that it made.

    Raises:
        StuckRunError: Its journal is gone.
        ClaimedError: Another process has it.
        NotOpenError: It does not go on by itself, and no person has decided that it does.
    """
    held.enter_context(runs.claim(item.run, by="person" if item.retry else "worker"))
    if runs.has(item.run):
        return held.enter_context(runs.open(item.run))
    if item.has_begun:
        raise StuckRunError(LlmdoError(f"run `{item.run}` has begun, and its journal is gone"), None)
    return None


def _standing(basis: BatchBasis, item: BatchItem, journal: JournalStore) -> Result | None:
    """The result of an item whose run is over, or needs a person's decision; None if it goes on."""
    return _ended(basis, item, journal) or unsettled_result(item, journal)


def _ended(basis: BatchBasis, item: BatchItem, journal: JournalStore) -> Result | None:
    """The result of an item whose run is over; None if it goes on."""
    last = ending(journal)
    if last is not None and last.outcome == "waiting" and not waiting(journal):
        return None  # its answers are there
    if (
        last is None
        or last.outcome == "interrupted"
        or (last.outcome not in ("completed", CANCELLED) and item.retry)
    ):
        return None
    journal.know(basis.redaction.known)
    outcome = outcome_in(last, journal.for_output(last))
    if outcome.out_of_quota:
        return None
    return result_of(outcome, basis.redaction)


async def _begun(basis: BatchBasis, item: BatchItem) -> RunOutcome:
    """Starts the run of an item.

    Raises:
        _LostError: Another process took the item.
    """
    plan = _of_item(basis.plan.saying(run=item.run, input=item.input), basis, item)
    async with aside(_journaled(basis, item, plan)) as journaled:
        return await journaled.outcome()


@contextmanager
def _journaled(basis: BatchBasis, item: BatchItem, plan: RunPlan) -> Iterator[RunPlan]:
    """`plan` with the journal of an item's new run, whose item is marked as possibly begun from then on.

    If it did not begin, both are restored.

    Raises:
        _LostError: Another process took the item.
    """
    with plan.with_journal(basis.environ) as journaled:
        _noted(basis, item)
        try:
            yield journaled
        finally:
            if journaled.recorder.journal.last("run") is None:  # it could not begin
                basis.store.note_begun(item, has_begun=False)


async def _gone_on(basis: BatchBasis, item: BatchItem, journal: JournalStore) -> RunOutcome | Result:
    """Resumes the stopped run of an item, or gives the result that a person has to decide about.

    Raises:
        StuckRunError: It deviated from its journal.
    """
    open_calls, crashed = tuple(unsettled(journal)), tuple(failed(journal)) if item.retry else ()
    doubted = (*open_calls, *(path for path in crashed if path not in probing(journal)))
    journal.know(basis.redaction.known)
    changed = differences(binding_of(journal), basis.plan.basis.graph) if basis.allow_drift else {}
    request = ResumeRequest(
        root=basis.plan.root,
        run=item.run,
        sources=basis.sources,
        allow_drift=tuple(name for name in basis.allow_drift if name in changed),
        again=doubted if item.retry == "again" else (),
        retried=() if item.retry == "give-up" else crashed,
        give_up=open_calls if item.retry == "give-up" else (),
        accepting=f"`llmdo resume {item.run} {{flags}}`",
        environ=basis.environ,
    )
    plan = await asyncio.to_thread(continuation, journal, request, tell_nobody, basis.plan.options.consent)
    outcome = await _of_item(plan, basis, item).outcome()
    if outcome.diverged:
        raise StuckRunError(LlmdoError(outcome.error or "", hint=outcome.hint), effects_of(journal))
    stopped = plan.recorder.brake.reason
    unsure = (
        unsettled_result(item, journal, were_asked=True) if isinstance(stopped, UnfinishedError) else None
    )
    return unsure or outcome


def _of_item(plan: RunPlan, basis: BatchBasis, item: BatchItem) -> RunPlan:
    """`plan` with the common parts of the batch, and with the files of the item."""
    attached, files = attached_of(item, basis.store)
    refusal, answering = basis.refused.get(item.key), basis.answering
    if refusal is not None:
        answering = refusal.before(answering)
    models = plan.options.models
    return plan.saying(
        item=RunItem(batch=basis.store.id, key=item.key, title=item.titled, **basis.evaluation),
        models=replace(models, source="fleet") if basis.is_fleet else models,
        untrusted_input=True,
        attachments=attached,
        attachment_resolver=KeptFiles(basis.store, files, basis.files),
        approver=answering.approver,
        mode=answering.mode,
        tightening=answering.tightening,
        consent=basis.plan.options.consent,
        debug=basis.plan.options.debug,
    )
