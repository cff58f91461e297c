"""Every attempt of `tests/support/bypasses.py` ends as its table says, and does no harm."""

from __future__ import annotations

import shutil

import pytest

from tests.support import bypasses

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

EXPECTED = dict(bypasses.ATTEMPTS.keys())


def wrong(
    mode: bypasses.IsolationMode, of_a_hostile_repository: bypasses.Outcome, *, is_apart: bool = False
) -> list[bypasses.Result]:
    expected = {
        **EXPECTED,
        "a hostile repository": of_a_hostile_repository,
        "secrets in folders": of_a_hostile_repository,
    }
    results = bypasses.results(mode, is_apart=is_apart)
    assert len(results) > 200
    return [result for result in results if result.harm or result.outcome != expected[result.kind]]


def test_no_attempt_gets_past_the_rules_without_isolation() -> None:
    assert wrong("off", "asks") == []


@pytest.mark.long
@pytest.mark.needs_bwrap
def test_no_attempt_gets_past_the_rules_or_out_of_bubblewrap() -> None:
    assert wrong("require", "ran") == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "outcome"), [("off", "asks"), pytest.param("require", "ran", marks=pytest.mark.needs_bwrap)]
)
def test_no_attempt_gets_further_in_a_root_apart_from_the_workspace(
    mode: bypasses.IsolationMode, outcome: bypasses.Outcome
) -> None:
    assert wrong(mode, outcome, is_apart=True) == []


@pytest.mark.long
@pytest.mark.needs_bwrap
def test_the_docs_say_what_happened() -> None:
    assert bypasses.PAGE.read_text(encoding="utf-8") == bypasses.page(), (
        "run python -m tests.support.bypasses"
    )
