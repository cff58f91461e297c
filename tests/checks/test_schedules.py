"""When entries are started by themselves: what `check` says of it, and that the fleet's own library understands it."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.checks.schedules import problem_of
from tests.support.commands import llmdo
from tests.support.laws import tried


@pytest.mark.parametrize(
    "cron",
    [
        "* * * * *",
        "*/15 0-6,22 1,15 * MON-FRI",
        "0 6 * jan-Mar sun",
        "59 23 31 12 7",
        "0 0 29 2 *",
        "0 0 30 2 MON",
        "  5   4 * * 1-5/2 ",
    ],
)
def test_times_of_five_fields_are_taken(cron: str) -> None:
    assert problem_of(cron) is None


@pytest.mark.parametrize(
    ("cron", "problem"),
    [
        ("", "`cron` has 0 fields, and needs 5"),
        ("* * * *", "`cron` has 4 fields, and needs 5"),
        ("0 0 * * * *", "`cron` has 6 fields, and needs 5"),
        ("@daily", "`cron` has 1 field, and needs 5"),
        ("60 * * * *", "`60` is not a valid minute (0 to 59) in `cron`"),
        ("* 24 * * *", "`24` is not a valid hour (0 to 23) in `cron`"),
        ("* * 0 * *", "`0` is not a valid day of the month (1 to 31) in `cron`"),
        ("* * * 13 *", "`13` is not a valid month (1 to 12) in `cron`"),
        ("* * * * 8", "`8` is not a valid day of the week (0 to 7) in `cron`"),
        ("* * * MON *", "`MON` is not a valid month (1 to 12) in `cron`"),
        ("5-3 * * * *", "`5-3` is not a valid minute (0 to 59) in `cron`"),
        ("*/0 * * * *", "`*/0` is not a valid minute (0 to 59) in `cron`"),
        ("*/99 * * * *", "`*/99` is not a valid minute (0 to 59) in `cron`"),
        ("5/2 * * * *", "`5/2` is not a valid minute (0 to 59) in `cron`"),
        ("*-5 * * * *", "`*-5` is not a valid minute (0 to 59) in `cron`"),
        ("1,,2 * * * *", "`` is not a valid minute (0 to 59) in `cron`"),
        ("\u0661 * * * *", "`\u0661` is not a valid minute (0 to 59) in `cron`"),
        ("-1 * * * *", "`-1` is not a valid minute (0 to 59) in `cron`"),
        ("0 0 30 2 *", "no month that `cron` names has such a day"),
        ("0 0 31 4,6,9,11 *", "no month that `cron` names has such a day"),
        ("* " * 200, "`cron` has more than 200 characters"),
    ],
)
def test_what_is_no_time_is_reported(cron: str, problem: str) -> None:
    assert problem_of(cron) == problem


PARTS = st.one_of(
    st.just("*"),
    st.integers(0, 60).map(str),
    st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda pair: f"{pair[0]}-{pair[1]}"),
    st.integers(0, 61).map(lambda step: f"*/{step}"),
    st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 9)).map(
        lambda each: f"{each[0]}-{each[1]}/{each[2]}"
    ),
    st.sampled_from(["MON", "sun", "FRI-SAT", "JAN", "feb-dec", "?", "L", "1L", "MON#2"]),
)
FIELD = st.lists(PARTS, min_size=1, max_size=3).map(",".join)


@tried(200)
@given(st.lists(FIELD, min_size=5, max_size=5).map(" ".join))
def test_what_is_taken_the_library_of_the_fleet_understands(cron: str) -> None:
    library = pytest.importorskip("croniter")
    if problem_of(cron) is None:
        assert library.croniter.is_valid(cron, second_at_beginning=True)
        at = library.croniter(cron, datetime(2026, 1, 1, tzinfo=UTC), max_years_between_matches=30)
        assert at.get_next(datetime).tzinfo is UTC


def test_an_entry_that_a_schedule_starts_is_not_removed(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent.parent / "cases/LDO213/passes", tmp_path, dirs_exist_ok=True)
    refused = llmdo(tmp_path, "remove", "entry", "report")
    assert (refused.returncode, "still named at llmdo.toml:17:9" in refused.stderr) == (1, True), refused
