"""The title of a run: a line made of its input."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.journal.title import LONGEST, title_of
from tests.support.laws import tried

MAIL = json.dumps({"subject": "Where is my order?", "from": {"name": "Kim"}, "count": 2, "long": "a\n b"})


@pytest.mark.parametrize(
    ("template", "text", "title"),
    [
        (None, "Where is my order?\n\nIt was due on Monday.", "Where is my order?"),
        (None, "\n \t\n  at last \n", "at last"),
        (None, "", ""),
        (None, " \n ", ""),
        ("{subject}", MAIL, "Where is my order?"),
        ("{count} of {subject}", MAIL, "2 of Where is my order?"),
        ("{from}", MAIL, '{"name": "Kim"}'),
        ("{long}", MAIL, "a b"),
        ("{{{count}}}", MAIL, "{2}"),
        ("a fixed title", MAIL, "a fixed title"),
        ("{nothing}", "first\nsecond", "first"),
        ("{subject}", "no JSON\nat all", "no JSON"),
        ("{subject}", '["subject"]', '["subject"]'),
        ("{subject}", "[" * 100_000, "[" * (LONGEST - 1) + "…"),
        (None, "x" * 500, "x" * (LONGEST - 1) + "…"),
    ],
)
def test_the_title(template: str | None, text: str, title: str) -> None:
    assert title_of(template, text) == title


@tried(200)
@given(st.none() | st.from_regex(r"\A(\{subject\}|x|\{\{)*\Z"), st.text() | st.just(MAIL))
def test_a_title_is_one_short_line(template: str | None, text: str) -> None:
    title = title_of(template, text)
    assert len(title) <= LONGEST
    assert len(title.splitlines()) <= 1
    assert title == title.strip()
