"""Ids of runs: their order, and that none comes twice."""

from __future__ import annotations

from itertools import islice

from llmdo.journal.naming import new_runs, require_id


def test_ids_given_out_together_sort_as_they_were_given() -> None:
    ids = [*islice(new_runs(), 5_000)]
    assert ids == sorted(set(ids))
    assert all(map(require_id, ids))
