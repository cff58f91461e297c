"""`runs` and `audit`: past runs listed, looked into, audited, added up and removed."""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, excerpt
from llmdo.base.missing import missing_file
from llmdo.base.request_fields import argument, option
from llmdo.base.values import dataclass, field, in_json, replace
from llmdo.base.visible import visible
from llmdo.journal import SUFFIX, JournalError
from llmdo.journal import audit as audits
from llmdo.journal.conditions import condition_on, conditions
from llmdo.journal.eligibility import cancel as call_off
from llmdo.journal.entries import CANCELLED
from llmdo.journal.kept_sources import sweep
from llmdo.journal.naming import Named, match
from llmdo.journal.opening import batches_of, claimed, read_run, runs_of
from llmdo.journal.questions import user
from llmdo.journal.requests import shown_requests
from llmdo.journal.summary import COMPLETE, summaries, summary
from llmdo.journal.totals import daily, totals
from llmdo.journal.tree import full_tree, tree, walk
from llmdo.services.retention import DAY, retention
from llmdo.services.root import PROJECT, ROOT, root_folder
from llmdo.services.sessions import kept_sessions, session_audit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from llmdo.journal.items import Batches
    from llmdo.journal.requests import ShownRequest
    from llmdo.journal.stored import JournalStore, RunIndex
    from llmdo.journal.summary import Summary
    from llmdo.journal.totals import By, Total
    from llmdo.journal.tree import Node
    from llmdo.services.root import Tell
    from llmdo.services.sessions import KeptSession

OVER = COMPLETE | {"failed", CANCELLED}
"""The statuses of runs that may be removed: the others could go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsRequest:
    """Which runs are listed."""

    root: Path = field(metadata=ROOT)
    entry: str | None = field(default=None, metadata=option("Runs of this entry.", metavar="NAME"))
    status: str | None = field(
        default=None,
        metadata=option("completed, truncated, failed, cancelled, interrupted, waiting, running or stopped."),
    )
    where: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Runs that meet all of it: 'cost > 0.1 and title ~ refund', 'item = a.md', a text; may be repeated.",
            metavar="CONDITION",
        ),
    )
    """As `conditions` takes them."""
    limit: int = field(
        default=20, metadata=option("How many of the latest runs to list; 0 for all.", least=0)
    )
    turns: bool = field(
        default=False, metadata=option("Every run of a conversation, and not only its last one.")
    )
    """If not, only the latest state of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """How much of a run is shown."""

    path: str | None = field(
        default=None, metadata=argument("[PATH]", "With --messages: those of the worker at this call path.")
    )
    """None for all."""
    messages: bool = field(
        default=False, metadata=option("What models were shown at each request, and what they answered.")
    )
    calls: bool = field(
        default=False, metadata=option("Each call: its arguments, what was decided and why, its result.")
    )
    """If not, each is a line in the tree."""
    whole: bool = field(default=False, metadata=option("Shorten nothing. JSON never does."))


TREE = Detail()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """One run, as a tree of its calls."""

    summary: Summary
    tree: Mapping[str, Node]
    requests: tuple[ShownRequest, ...] = ()
    """Those whose messages are wanted."""
    skipped: tuple[str, ...] = ()
    """The later runs whose journals hold none, if it is shown as the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRequest:
    """The journals to remove: of some runs, or of all that are over but the last ones."""

    root: Path = field(metadata=ROOT)
    runs: tuple[str, ...] = field(
        default=(), metadata=argument("[RUN]...", "Only these runs, even if they could be resumed.")
    )
    keep: int | None = field(
        default=None,
        metadata=option(
            "How many of the latest runs to keep; without a number, 20 or as `keep-runs-days` says.",
            metavar="N",
            least=0,
        ),
    )
    older_than: int | None = field(
        default=None, metadata=option("Only runs that began before then.", metavar="DAYS", least=0)
    )
    """Days since they began; if both are None, the manifest says for how many days they are kept."""
    dry_run: bool = field(default=False, metadata=option("Only list them."))
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def list_runs(request: RunsRequest, tell: Tell) -> list[Summary]:
    """The runs with a journal, the last one first; tells of unreadable ones.

    Raises:
        LlmdoError: A condition is none.
    """
    named = {"entry": request.entry, "status": request.status}
    wanted = (
        *(condition_on(key, "=", value) for key, value in named.items() if value is not None),
        *conditions(request.where),
    )
    chosen = summaries(
        runs_of(request.root),
        _telling(tell),
        lambda run, journal: all(condition.holds(run, journal) for condition in wanted),
    )
    listed = chosen if request.turns else _as_one(chosen)
    return list(islice(listed, min(request.limit, sys.maxsize) or None))


def _as_one(runs: Iterator[Summary]) -> Iterator[Summary]:
    """`runs`, the last one first, with one for each conversation: its last, and those that could go on."""
    known = set()
    for run in runs:
        conversation = run.conversation or run.run
        if conversation not in known or run.status not in OVER:
            yield run
        known.add(conversation)


def show(root: Path, run: str, detail: Detail = TREE) -> ShownRun:
    """One run, by its id, the start or the end of that, or as the last one.

    Raises:
        LlmdoError: There is no such run, it never began, or no model was asked at a named path.
    """
    if detail.path is not None and not detail.messages:
        raise LlmdoError(f"`{detail.path}` says whose messages to show", hint="add `--messages`")
    runs = runs_of(root)
    name = runs.find(run)
    with runs.read(name, whole=True) as journal:
        summed = summary(journal, is_running=runs.is_claimed(name))
        if summed is None:
            raise JournalError(f"run `{name}` never began")
        requests = shown_requests(journal, detail.path) if detail.messages else ()
        calls = full_tree(journal) if detail.calls else tree(journal)
        names = runs.names() if run == "last" else [name]
        skipped = tuple(names[names.index(name) + 1 :]) if name in names else ()
        return ShownRun(summary=summed, tree=calls, requests=requests, skipped=skipped)


def stats(root: Path, by: By, since: str | None, tell: Tell) -> list[Total]:
    """The usage of runs together, by name; tells of journals that cannot be read.

    `since` is a day, as in 2026-11-23, or how long ago, as in 12h or 30d; None for all.

    Raises:
        LlmdoError: `since` is neither.
    """
    return totals(runs_of(root), by, float("-inf") if since is None else moment(since), _telling(tell))


def stats_by_day(root: Path, since: str, tell: Tell) -> list[tuple[str, list[Total]]]:
    """The usage of each day in UTC that had some, by entry; `since` and `tell` as in `stats`.

    Raises:
        LlmdoError: `since` is no time.
    """
    return daily(runs_of(root), moment(since), _telling(tell))


def moment(text: str) -> float:
    """The moment of `text`, a day or how long ago, in seconds since 1970.

    Raises:
        LlmdoError: It is neither.
    """
    if match := re.fullmatch(r"([0-9]{1,6})([hd])", text):
        return time.time() - int(match[1]) * (DAY if match[2] == "d" else DAY / 24)
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise LlmdoError(
            f"`--since {excerpt(text)}` is neither a day nor a time",
            hint="a day in UTC, as in `2026-11-23`, or how long ago, as in `12h` or `30d`",
        ) from None


def prune(request: PruneRequest, tell: Tell) -> list[str]:
    """The ids of the runs whose journals were removed, or would be.

    Raises:
        LlmdoError: A named run does not exist, or is running; or the manifest has errors.
    """
    runs = runs_of(request.root, request.environ)
    if request.runs:
        pruned = [*dict.fromkeys(map(runs.find, request.runs))]
    else:
        pruned = _without_open(_over(runs, request, tell), batches_of(request.root, request.environ), tell)
    if request.dry_run:
        return pruned
    runs.remove_all(pruned)
    try:
        sweep(runs)
    except JournalError as error:
        tell(f"warning: what runs began with is all kept: {error.message}")
    return pruned


def _without_open(pruned: list[str], batches: Batches, tell: Tell) -> list[str]:
    """`pruned` without the runs that open items of batches rest on, as going on with those needs their journals.

    The items are looked at last: a run that ended before was over then, or its item was not.
    """
    kept = batches.open_runs().intersection(pruned) if pruned else frozenset()
    if kept:
        are = "run is" if len(kept) == 1 else "runs are"
        tell(f"{len(kept)} {are} kept, on which open items of batches rest")
    return [run for run in pruned if run not in kept]


def cancel(root: Path, run: str) -> tuple[str, bool]:
    """The id of a cancelled run, and whether it was not over before.

    Raises:
        LlmdoError: A process works on it, or there is no such run.
    """
    with claimed(root, run) as journal:
        return journal.run, call_off(journal, user())


def _over(runs: RunIndex, request: PruneRequest, tell: Tell) -> list[str]:
    """The runs that never began or are over, without those that are kept and their conversations.

    A run goes on from others of its conversation, and shares its limits with all of them.
    """
    over, kept = {}, set()
    retained = retention(request.root, "runs", request.keep, request.older_than)
    for number, run in enumerate(summaries(runs, _telling(tell))):  # the last one first
        conversation = run.conversation or run.run
        if retained.keeps(number, run.began) or run.status not in OVER:
            kept.add(conversation)
        else:
            over[run.run] = conversation
    return [*runs.unbegun(), *(run for run, conversation in over.items() if conversation not in kept)]


def _telling(tell: Tell) -> Callable[[JournalError], None]:
    return lambda error: tell(f"warning: {error.message}")


_RAISED = re.compile(r"^`[^`]*`: ")
_SCOPE = re.compile(r"`([a-z][a-z0-9]*(?:\.[a-z0-9]+)+):[^`]*`")

MOST = 20
"""Calls of each kind that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionCount:
    """How often calls were decided on for one reason."""

    reason: str = field(metadata=in_json(by=partial(visible, prose=True)))
    """The gate's reason: the rule with its place, or why another than the rules had the last word."""
    decision: str
    """The decision of the rules."""
    allowed: int
    denied: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotableCall:
    """A call that took long or cost much."""

    run: str
    path: str
    worker: str | None = field(metadata=in_json(part=None))
    """None for a tool."""
    seconds: float
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Notable calls and numbers of the runs of some time."""

    runs: int
    decisions: tuple[DecisionCount, ...]
    """The most frequent reason first."""
    slowest: tuple[NotableCall, ...]
    """Calls of tools alone: a worker takes as long as the calls below it."""
    dearest: tuple[NotableCall, ...]
    """Calls of workers, each with its own requests."""


def metrics(root: Path, since: float, tell: Tell) -> Metrics:
    """The notable calls and numbers of the runs that began at or after `since`; tells of unreadable journals."""
    number, decided = 0, defaultdict[tuple[str, str], Counter[bool]](Counter)
    slowest, dearest = list[NotableCall](), list[NotableCall]()
    for name in (runs := runs_of(root)).names():
        try:
            with runs.read(name) as journal:
                first = next(journal.entries("run"), None)
                if first is None or first.at < since:
                    continue
                number += 1
                for reason, word, is_allowed in _decisions(journal):
                    decided[reason, word][is_allowed] += 1
                calls = [*_calls(journal)]
        except JournalError as error:
            tell(f"warning: {error.message}")
            continue
        tools = [call for call in calls if call.worker is None]
        slowest = nlargest(MOST, [*slowest, *tools], key=lambda call: call.seconds)
        priced = [call for call in calls if call.cost_usd]
        dearest = nlargest(MOST, [*dearest, *priced], key=lambda call: call.cost_usd or Decimal())
    counts = [
        DecisionCount(reason=reason, decision=word, allowed=count[True], denied=count[False])
        for (reason, word), count in decided.items()
    ]
    counts.sort(key=lambda count: (-count.allowed - count.denied, count.reason))
    return Metrics(runs=number, decisions=(*counts,), slowest=(*slowest,), dearest=(*dearest,))


def _decisions(journal: JournalStore) -> Iterator[tuple[str, str, bool]]:
    """Each decision: its first reason, the decision of the rules, and whether the call ran.

    The reason is the same for all calls alike: without the path or the worker of one of them.
    """
    for entry in journal.entries("decision"):
        reason = next(iter(entry.data["reasons"]), "no capability was raised")
        yield of_like_calls(reason), entry.data["decision"], bool(entry.data["allowed"])


def of_like_calls(reason: str) -> str:
    """The reason of a decision in the words that all like calls share: without the path of one of them."""
    return _SCOPE.sub(r"`\1`", _RAISED.sub("", reason))


def _calls(journal: JournalStore) -> Iterator[NotableCall]:
    for node in walk(tree(journal)):
        if not node.only_decided:
            seconds, cost = node.seconds, node.cost_usd
            yield NotableCall(
                run=journal.run, path=node.path, worker=node.worker, seconds=seconds, cost_usd=cost
            )


LINES = ".jsonl"
"""The suffix of a file with the lines of an audit, from `--format jsonl`."""

_RUNS_AND_SESSIONS = Named(
    "run or session",
    "runs and sessions",
    "`llmdo runs` and `llmdo hook sessions` list them",
    "`llmdo run` starts one",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """The audit to read, and what to verify it against."""

    run: str = field(
        metadata=argument(
            "RUN|SESSION|FILE", "The id of a run or a session, the start or end of one, or `last`; or a copy."
        )
    )
    """A session is one of another client, of which `llmdo hook` decided; a copy an exported run, or the lines of an
    audit. Of runs and sessions the last is what began last."""
    verify: bool = field(default=False, metadata=option("Verify the chain of records."))
    head: str | None = field(
        default=None, metadata=option("Verify that the chain ends with what the run printed.", metavar="HASH")
    )
    """Setting it verifies the chain as well."""
    project: str | None = field(default=None, metadata=PROJECT)

    @property
    def verifies(self) -> bool:
        """Whether the chain and its journal are compared."""
        return self.verify or self.head is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOutcome:
    """An audit that was read."""

    run: str
    lines: tuple[str, ...] = field(metadata=in_json(part=None))
    """Without their ends."""
    audit: audits.Audit = field(metadata=in_json(flat=True))


def audit(request: AuditRequest) -> AuditOutcome:
    """The decisions of a run or a session, compared with its journal if that was asked for.

    Raises:
        LlmdoError: There is no such run, or it cannot be read.
    """
    path = Path(request.run)
    if path.suffix == LINES:
        return _audit_in(path, request.head)
    root = Path() if path.suffix == SUFFIX else root_folder(request.project)
    if path.suffix != SUFFIX and (session := _session(root, request.run)):
        kept, its = session_audit(session, request.head)
        return AuditOutcome(run=session.name, lines=kept, audit=its)
    with read_run(root, request.run) as journal:
        run = journal.run
        lines, faults = list[str](), list[str]()
        try:
            lines.extend(journal.lines())
        except JournalError as error:
            if not request.verifies:
                raise
            faults.append(error.message)
        read = audits.read(lines, request.head)
        if request.verifies:
            faults.extend(journal.faults())
            read = replace(
                read,
                faults=(*read.faults, *(audits.Fault(0, message) for message in dict.fromkeys(faults))),
                entries=journal.entry_link,
                redacted=journal.redacted(),
            )
    return AuditOutcome(run=run, lines=tuple(lines), audit=read)


def _audit_in(path: Path, head: str | None) -> AuditOutcome:
    """The audit whose lines a file holds."""
    try:
        text = path.read_text("ascii", "replace")
    except FileNotFoundError as error:
        raise missing_file(str(path)) from error
    except OSError as error:
        raise LlmdoError(f"cannot read `{path}`: {error.strerror}") from error
    lines = tuple(text.splitlines())
    read = audits.read(lines, head, is_open=not text.endswith("\n"))
    return AuditOutcome(run=path.name.removesuffix(LINES), lines=lines, audit=read)


def _session(root: Path, reference: str) -> KeptSession | None:
    """The session that a reference means among the runs and sessions of the workspace; None if it means a run."""
    sessions = kept_sessions(root, os.environ)
    if not sessions:
        return None
    runs = runs_of(root)
    names = runs.names()
    if reference != "last":
        return sessions.get(match(reference, [*names, *sessions], _RUNS_AND_SESSIONS))
    last = [*sessions.values()][-1]
    return last if not names or _began(runs, runs.find(reference)) <= last.began else None


def _began(runs: RunIndex, run: str) -> float:
    """When a run began; of one whose journal does not say, as if it were now."""
    with suppress(JournalError), runs.read(run) as journal:
        return next((entry.at for entry in journal.entries("run")), math.inf)
    return math.inf
