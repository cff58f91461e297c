"""What every store of batches keeps to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.items import Batch, Batches, BatchStore, BatchUsage, NewItem, Result, State
from llmdo.journal.opening import batches_of, declare_restored
from tests.support import postgres
from tests.support.losing import LosingReplies

BATCH = Batch("b1", "main", "sha256:1", 1.5, {"out": None, "models": {"main": "m"}})


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.fleet)])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Batches]:
    """Opens the batches as a process of their own would."""
    environ = {}
    if request.param == "postgres":
        environ["LLMDO_STORE"] = str(request.getfixturevalue("store"))
    return lambda: batches_of(tmp_path, environ)


@pytest.fixture
def batches(opened: Callable[[], Batches]) -> Batches:
    return opened()


def new(*keys: str, **more: Any) -> list[NewItem]:
    return [NewItem(key=key, place="here", input=f"input {key}", **more) for key in keys]


def put_in(batches: Batches, *keys: str, name: str = "b1") -> BatchStore:
    numbers = count(1)
    return batches.create(BATCH._replace(id=name), new(*keys), lambda: f"{name}-{next(numbers)}")


def taken(store: BatchStore) -> Iterator[str]:
    while (item := store.take()) is not None:
        yield item.key


def test_items_are_there_as_they_were_put_in(batches: Batches) -> None:
    inputs = [
        NewItem(key="none", place="x"),
        NewItem(key="ü\u202e", place="x", input="a\0b\r\nü", title="\0ü"),
    ]
    runs = iter(["r1", "r2"])
    with batches.create(BATCH, inputs, lambda: next(runs)) as store:
        assert store.batch == BATCH
        first, second = store.items()
        assert (first.number, first.key, first.input, first.run) == (1, "none", None, "r1")
        assert (second.number, second.key, second.input, second.run) == (2, "ü\u202e", "a\0b\r\nü", "r2")
        assert (first.titled, first.title, second.titled, second.title) == (None, "", "\0ü", "\0ü")
        assert (first.state, first.tries, first.retry, first.result) == (
            "queued",
            0,
            "",
            Result(state="queued"),
        )
        assert store.counts() == {"queued": 2}
        assert store.spent() == BatchUsage(0, None, 0.0, 0)
    assert (batches.of_run("r2"), batches.of_run("r3")) == ("b1", None)


def test_a_batch_is_there_when_all_of_it_is(batches: Batches) -> None:
    def broken() -> Iterator[NewItem]:
        yield from new("a", "b", files=(("f.txt", b"content"),))
        raise LlmdoError("this input is none")

    with pytest.raises(LlmdoError, match="is none"):
        batches.create(BATCH, broken(), map(str, count()).__next__)
    assert batches.names() == []
    with pytest.raises(LlmdoError):
        batches.create(BATCH, new("a", "a"), map(str, count()).__next__)
    assert batches.names() == []
    assert put_in(batches, "a").counts() == {"queued": 1}
    with pytest.raises(LlmdoError):
        put_in(batches, "z")
    assert [item.key for item in batches.open("b1").items()] == ["a"]


def test_no_two_items_have_the_same_run(batches: Batches) -> None:
    runs = iter(["r1", "r1", "r2"])
    with batches.create(BATCH, new("a", "b"), lambda: next(runs)) as store:
        assert [item.run for item in store.items()] == ["r1", "r2"]


def test_batches_are_found_by_a_part_of_their_id(batches: Batches) -> None:
    with pytest.raises(LlmdoError, match="there is no batch here yet") as none:
        batches.find("last")
    assert none.value.hint == "`llmdo batch ENTRY --inputs FILES` starts one"
    for name in ("b1x", "b2y"):
        put_in(batches, "a", name=name).close()
    assert batches.names() == ["b1x", "b2y"]
    assert [batches.find(name) for name in ("last", "b1", "y", "b1x")] == ["b2y", "b1x", "b2y", "b1x"]
    for name, message in (("b", "may be 2 batches"), ("", "there is no batch"), ("c", "there is no batch")):
        with pytest.raises(LlmdoError, match=message):
            batches.find(name)
    with pytest.raises(LlmdoError):
        batches.open("b")


def test_each_item_is_taken_once_in_its_order(batches: Batches) -> None:
    with put_in(batches, "a", "b", "c") as store:
        first = store.take()
        assert first is not None
        assert (first.key, first.state, first.tries) == ("a", "running", 1)
        assert store.take("b1-1") is None
        third = store.take("b1-3")
        assert third is not None
        assert third.key == "c"
        assert [*taken(store)] == ["b"]
        assert store.counts() == {"running": 3}


def test_many_that_take_items_at_once_have_different_ones(opened: Callable[[], Batches]) -> None:
    put_in(opened(), *map(str, range(40))).close()
    with ThreadPoolExecutor(6) as pool:
        keys = [key for each in pool.map(lambda _: [*taken(opened().open("b1"))], range(6)) for key in each]
    assert sorted(keys, key=int) == [*map(str, range(40))]


def test_what_became_of_an_item_is_kept_once(opened: Callable[[], Batches]) -> None:
    with put_in(opened(), "a", "b") as store:
        item, other = store.take(), store.take()
        assert item is not None
        assert other is not None
        done = Result(
            state="completed", output={"x": ["\0", "ü"]}, hint="h", requests=2, input_tokens=3, output_tokens=4,
            cost_usd=Decimal("0.1000000001"),
        )  # fmt: skip
        assert store.end(item, done)
        assert not store.end(item, Result(state="failed", error="later"))
        assert store.end(other, Result(state="failed", error="a\0", requests=1))
    with opened().open("b1") as store:
        assert [item.result for item in store.items("completed")] == [done]
        assert [item.result.error for item in store.items("failed")] == ["a\0"]
        assert store.spent() == BatchUsage(3, 7, 0.1000000001, 1)


def test_who_lost_an_item_to_another_does_not_end_it(batches: Batches) -> None:
    with put_in(batches, "a") as store:
        late = store.take()
        assert late is not None
        assert store.queue(store.items("running")) == 1
        now = store.take()
        assert now is not None
        assert now.tries == 2
        assert not store.end(late, Result(state="failed"))
        assert store.end(now, Result(state="completed"))


def test_what_is_queued_again_keeps_what_a_person_decided(batches: Batches) -> None:
    with put_in(batches, "a") as store:
        item = store.take()
        assert item is not None
        store.end(item, Result(state="unsure"))
        (unsure,) = store.items("unsure")
        assert store.queue([unsure], "give-up") == 1
        assert store.queue([unsure], "again") == 0  # it is not unsure any more
        for state in ("queued", "failed"):
            item = store.take()
            assert item is not None
            assert item.retry == "give-up"
            assert store.end(item, Result(state=state))  # type: ignore[arg-type]
        assert next(store.items()).retry == ""


def test_what_is_queued_can_be_cancelled_and_bound_anew(batches: Batches) -> None:
    with put_in(batches, "a", "b", "c") as store:
        store.take()
        assert store.cancel() == 2
        assert store.counts() == {"running": 1, "cancelled": 2}
        store.rebind("sha256:2")
        assert store.batch.lock == "sha256:2"


def test_files_are_kept_by_what_they_hold(batches: Batches) -> None:
    inputs = [
        NewItem(key=key, place="x", files=((name, content),))
        for key, name, content in (
            ("1", "in/a.yaml", b"\0\xff"),
            ("2", "/else/a.yaml", b"b"),
            ("3", "c", b"b"),
        )
    ]
    with batches.create(BATCH, inputs, map(str, count()).__next__) as store:
        files = [file for item in store.items() for file in item.files]
        assert [file.name for file in files] == ["in/a.yaml", "/else/a.yaml", "c"]
        for file, content in zip(files, (b"\0\xff", b"b", b"b"), strict=True):
            for _ in range(2):
                path = store.path_of(file)
                assert (path.name, path.read_bytes()) == (Path(file.name).name, content)
                assert path.stat().st_mode & 0o077 == 0


def test_a_file_of_an_earlier_llmdo_becomes_one_of_this(tmp_path: Path) -> None:
    batches = batches_of(tmp_path, {})
    put_in(batches, "a", "b").close()
    path = next(tmp_path.rglob("b1.sqlite"))
    with sqlite3.connect(path) as connection:
        for name in (
            "attempt",
            "tokens",
            "earlier_requests",
            "earlier_tokens",
            "earlier_cost",
            "earlier_unpriced",
            "begun",
            "title",
        ):
            connection.execute(f"ALTER TABLE item DROP COLUMN {name}")
        connection.execute("ALTER TABLE item RENAME COLUMN retry TO word")
        connection.execute(
            "UPDATE item SET word = CASE number WHEN 1 THEN 'go-on' ELSE 'again' END, requests = 1, tries = number - 1"
        )
        connection.execute(
            "UPDATE item SET cost = '0.5', result = '{\"input_tokens\": 3, \"output_tokens\": 4}'"
        )
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    with batches.open("b1") as store:
        assert [item.retry for item in store.items()] == ["resume", "again"]
        assert [item.has_begun for item in store.items()] == [False, True]
        assert store.spent() == BatchUsage(2, 14, 1.0, 0)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(LlmdoError, match="has version 99") as later:
        batches.open("b1")
    assert later.value.hint == "use a newer llmdo"


def test_that_a_run_began_is_kept_by_who_has_the_item(batches: Batches) -> None:
    with put_in(batches, "a", "b") as store:
        late = store.take("b1-1")
        assert late is not None
        assert not late.has_begun
        assert store.note_begun(late)
        assert store.queue(store.items("running")) == 1
        now = store.take("b1-1")
        assert now is not None
        assert now.has_begun
        assert not store.note_begun(late, has_begun=False)
        assert [item.has_begun for item in store.items()] == [True, False]
        anew = store.begin_anew(now)
        assert anew is not None
        assert not anew.has_begun


def test_open_items_rest_on_their_runs(batches: Batches) -> None:
    put_in(batches, "a", name="b0").close()
    with put_in(batches, *"abcdef") as store:
        for state in ("completed", "waiting", "unsure", "failed"):
            item = store.take()
            assert item is not None
            store.end(item, Result(state=state))  # type: ignore[arg-type]
        item = store.take()
        assert item is not None
        store.begin_anew(item)
    assert batches.open_runs() == {"b0-1", "b1-2", "b1-3", "b1-5.1", "b1-6"}


def test_a_run_in_the_place_of_another_keeps_what_that_one_used(batches: Batches) -> None:
    with put_in(batches, "a", "b") as store:
        for cost in (Decimal("0.5"), None):
            item = store.take("b1-1")
            assert item is not None
            used = Result(state="failed", requests=2, input_tokens=1, output_tokens=1, cost_usd=cost)
            assert store.end(item, used)
            store.queue(store.items("failed"), "resume")
            item = store.take("b1-1")
            assert item is not None
            assert (ended := store.end(item, Result(state="refused")))
            assert (ended.state, ended.result.requests) == ("refused", 2)
            assert store.spent().requests == (2 if cost else 4)
            store.queue(store.items("refused"), "again")
            late = item = store.take("b1-1")
            assert item is not None
            assert late is not None
            anew = store.begin_anew(item)
            assert anew is not None
            assert (anew.run, anew.retry) == (f"b1-1.{1 if cost else 2}", "again")
            assert anew.result == Result(state="running")
            assert store.queue(store.items("running")) == 1
            assert store.begin_anew(late) is None
        assert store.spent() == BatchUsage(4, 4, 0.5, 1)
    assert (batches.of_run("b1-1.7"), batches.of_run("b1-1")) == ("b1", "b1")


@pytest.mark.fleet
def test_what_was_kept_although_the_reply_was_lost_counts_as_kept(
    cluster: postgres.Cluster, store: str, tmp_path: Path
) -> None:
    between = LosingReplies(cluster.port)
    batches = batches_of(tmp_path, {"LLMDO_STORE": store.replace(f":{cluster.port}/", f":{between.port}/")})
    with put_in(batches, "a", "b") as opened:
        item, other = opened.take(), opened.take()
        assert item is not None
        assert other is not None
        between.loses.set()
        ended = opened.end(item, Result(state="completed", output="x"))
        assert not between.loses.is_set()
        assert ended is not None
        assert (ended.state, ended.result.output) == ("completed", "x")
        assert opened.queue(opened.items("running")) == 1
        between.loses.set()
        assert opened.end(other, Result(state="completed")) is None, "somebody has queued it since"
    between.close()


@pytest.mark.fleet
@pytest.mark.parametrize("part", ["COMMIT", "INSERT"])
def test_a_batch_is_put_in_once_where_a_reply_is_lost(
    cluster: postgres.Cluster, store: str, tmp_path: Path, part: str
) -> None:
    between = LosingReplies(cluster.port, sign=part.encode())
    batches = batches_of(tmp_path, {"LLMDO_STORE": store.replace(f":{cluster.port}/", f":{between.port}/")})
    between.loses.set()
    if part == "COMMIT":
        with put_in(batches, "a", "b") as opened:
            assert opened.counts() == {"queued": 2}
    else:
        with pytest.raises(LlmdoError, match="failed"):
            put_in(batches, "a", "b")
    assert not between.loses.is_set()
    assert batches.names() == (["b1"] if part == "COMMIT" else [])
    between.close()


@pytest.mark.fleet
def test_an_item_is_behind_until_its_run_is_over_or_another_in_its_place(store: str, tmp_path: Path) -> None:
    batches = batches_of(tmp_path, {"LLMDO_STORE": store})
    with put_in(batches, "a", "b") as opened:
        declare_restored(store)
        assert [(item.state, item.is_behind) for item in opened.items()] == [("unsure", True)] * 2
        opened.queue(opened.items())
        states: list[State] = ["queued", "unsure", "failed"]
        for state in states:
            opened.queue(opened.items("unsure"))
            item = opened.take("b1-1")
            assert item is not None
            ended = opened.end(item, Result(state=state))
            assert ended is not None
            assert ended.is_behind == (state != "failed")
        item = opened.take("b1-2")
        assert item is not None
        assert item.is_behind
        fresh = opened.begin_anew(item)
        assert fresh is not None
        assert not fresh.is_behind
