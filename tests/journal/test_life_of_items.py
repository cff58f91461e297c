"""The life of the items of a batch: after whatever is done with them, each store says what a list in memory does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import count
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.values import replace
from llmdo.journal.items import (
    OPEN,
    STATES,
    Batch,
    Batches,
    BatchItem,
    BatchStore,
    BatchUsage,
    NewItem,
    Result,
    Retry,
    State,
)
from llmdo.journal.opening import batches_of
from tests.support import postgres
from tests.support.laws import tried

BATCH = Batch("", "main", "sha256:1", 1.5, {"models": {}})
NAMES = count(1)


class Used(NamedTuple):
    """What the runs of an item used."""

    requests: int = 0
    tokens: int | None = None
    cost: Decimal | None = None
    is_unpriced: bool = False

    def __add__(self, other: Used) -> Used:  # type: ignore[override]
        tokens = [used.tokens for used in (self, other) if used.tokens is not None]
        return Used(
            self.requests + other.requests,
            sum(tokens) if tokens else None,
            (self.cost or Decimal(0)) + (other.cost or Decimal(0)),
            self.is_unpriced or other.is_unpriced,
        )


class Remembered:
    """A batch in memory, one value for each item, with what its run used and what those before it did."""

    def __init__(self, batch: Batch, keys: Iterable[str]) -> None:
        self.batch = batch
        self._items = [
            BatchItem(
                number=number, key=key, input=f"input {key}", files=(), first=f"{batch.id}-{number}",
                state="queued", tries=0, retry="", result=Result(state="queued"),
            )
            for number, key in enumerate(keys, 1)
        ]  # fmt: skip
        self._used = [Used() for _ in self._items]
        self._earlier = [Used() for _ in self._items]

    def items(self, *states: State) -> Iterator[BatchItem]:
        return iter([item for item in self._items if item.state in (states or STATES)])

    def counts(self) -> dict[State, int]:
        return dict(Counter(item.state for item in self._items))

    def spent(self) -> BatchUsage:
        each = [used + earlier for used, earlier in zip(self._used, self._earlier, strict=True)]
        whole = sum(each, Used())
        cost, unpriced = float(whole.cost or 0), sum(used.is_unpriced for used in each)
        return BatchUsage(whole.requests, whole.tokens, cost, unpriced)

    def take(self, run: str | None = None) -> BatchItem | None:
        for item in self.items("queued"):
            if run is None or item.first == run.partition(".")[0]:
                return self._changed(item, state="running", tries=item.tries + 1)
        return None

    def end(self, item: BatchItem, result: Result) -> BatchItem | None:
        if (now := self._held(item)) is None:
            return None
        place, before = now.number - 1, self._used[now.number - 1]
        tokens = [each for each in (result.input_tokens, result.output_tokens) if each is not None]
        used = Used(
            max(before.requests, result.requests),
            sum(tokens) if tokens else before.tokens,
            before.cost if result.cost_usd is None else result.cost_usd,
        )
        self._used[place] = used._replace(is_unpriced=used.cost is None and used.requests > 0)
        return self._changed(
            now,
            state=result.state,
            retry=item.retry if result.state == "queued" else "",
            result=replace(result, requests=used.requests, cost_usd=used.cost),
        )

    def queue(self, items: Iterable[BatchItem], retry: Retry = "") -> int:
        queued = 0
        for seen in items:
            now = self._items[seen.number - 1]
            if (now.state, now.tries) == (seen.state, seen.tries):
                self._changed(now, state="queued", retry=retry)
                queued += 1
        return queued

    def note_begun(self, item: BatchItem, *, has_begun: bool = True) -> bool:
        now = self._held(item)
        return now is not None and bool(self._changed(now, has_begun=has_begun))

    def begin_anew(self, item: BatchItem) -> BatchItem | None:
        if (now := self._held(item)) is None:
            return None
        place = now.number - 1
        self._earlier[place], self._used[place] = self._earlier[place] + self._used[place], Used()
        return self._changed(now, attempt=now.attempt + 1, has_begun=False, result=Result(state="running"))

    def cancel(self) -> int:
        return len([self._changed(item, state="cancelled") for item in self.items("queued", "waiting")])

    def rebind(self, lock: str) -> None:
        self.batch = self.batch._replace(lock=lock)

    def keep(self, settings: Mapping[str, Any]) -> None:
        self.batch = self.batch._replace(settings=dict(settings))

    def _held(self, item: BatchItem) -> BatchItem | None:
        now = self._items[item.number - 1]
        return now if now.state == "running" and now.tries == item.tries else None

    def _changed(self, item: BatchItem, **changes: Any) -> BatchItem:
        now = replace(item, **changes)
        now = self._items[item.number - 1] = replace(now, result=replace(now.result, state=now.state))
        return now


class Step(NamedTuple):
    """One thing that a process does: with the item that it saw as such a one, and what else it says."""

    name: str
    item: int
    argument: Any


amounts = st.none() | st.integers(0, 9)
results = st.builds(
    Result,
    state=st.sampled_from([state for state in STATES if state != "running"]),
    output=st.none() | st.just({"x": ["\0", "ü"]}),
    error=st.none() | st.just("a\0"),
    requests=st.integers(0, 3),
    input_tokens=amounts,
    output_tokens=amounts,
    cost_usd=st.none() | st.integers(0, 9).map(lambda quarters: Decimal(quarters) / 4),
    out_of_quota=st.booleans(),
)
places = st.integers(0, 30)
arguments = {
    "end": results,
    "queue": st.sampled_from(["", "resume", "again", "give-up"]),
    "note_begun": st.booleans(),
}
names = ("take", "take that", "end", "queue", "note_begun", "begin_anew", "cancel", "rebind", "keep")
step = st.one_of([st.builds(Step, st.just(name), places, arguments.get(name, st.none())) for name in names])


def played(store: BatchStore | Remembered, steps: Iterable[Step]) -> Iterator[tuple[object, ...]]:
    """What the store says of each step, and of all its items after it.

    Whoever does one saw the item at any time before: the last that it saw comes first.
    """
    seen = [*store.items()]
    for number, step in enumerate(steps):
        item = seen[-1 - step.item % len(seen)]
        outcome: object
        match step.name:
            case "take":
                outcome = store.take()
            case "take that":
                outcome = store.take(item.run)
            case "end":
                outcome = store.end(item, step.argument)
            case "queue":
                outcome = store.queue([item, seen[0]], step.argument)
            case "note_begun":
                outcome = store.note_begun(item, has_begun=step.argument)
            case "begin_anew":
                outcome = store.begin_anew(item)
            case "cancel":
                outcome = store.cancel()
            case "rebind":
                outcome = store.rebind(f"sha256:{number}")
            case _:
                outcome = store.keep({"number": number})
        now = [*store.items()]
        seen += [outcome] if isinstance(outcome, BatchItem) else [each for each in now if each not in seen]
        yield step, outcome, now, store.counts(), store.spent(), store.batch


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.fleet)])
def batches(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Batches:
    environ = {}
    if request.param == "postgres":
        from llmdo.journal.opening import migrate

        cluster: postgres.Cluster = request.getfixturevalue("cluster")
        environ["LLMDO_STORE"] = cluster.new_database()
        migrate(environ["LLMDO_STORE"])
    return batches_of(tmp_path_factory.mktemp("batches"), environ)


@tried(400)
@given(st.lists(step, max_size=25))
def test_each_store_says_of_a_batch_what_one_in_memory_does(batches: Batches, steps: list[Step]) -> None:
    batch, keys = BATCH._replace(id=f"b{next(NAMES)}"), ("a", "b", "c")
    model, numbers = Remembered(batch, keys), count(1)
    new = [NewItem(key=key, place="here", input=f"input {key}") for key in keys]
    with batches.create(batch, new, lambda: f"{batch.id}-{next(numbers)}") as store:
        for outcome, expected in zip(played(store, steps), played(model, steps), strict=True):
            assert outcome == expected
        for state in STATES:
            assert [*store.items(state)] == [*model.items(state)]
    rests = {item.run for item in model.items(*OPEN)}
    assert {run for run in batches.open_runs() if run.startswith(f"{batch.id}-")} == rests
    assert (batch.id in batches.unfinished()) == any(model.items("queued", "running"))
    assert {batches.of_run(item.run) for item in model.items()} == {batch.id}
    if rests:
        assert not batches.remove(batch.id)
        with batches.open(batch.id) as store:
            store.queue(store.items(*OPEN))
            store.cancel()
    assert batches.remove(batch.id)
    assert batch.id not in batches.names()
