"""What a person may write of runs to choose them, and what of it is a mistake."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.conditions import KEYS, conditions
from tests.support.laws import tried


def parsed(*texts: str) -> list[tuple[str, str, str]]:
    return [(each.key, each.operator, each.value) for each in conditions(texts)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cost > 0.1", [("cost", ">", "0.1")]),
        ("cost>=$0.1", [("cost", ">=", "$0.1")]),
        ("title ~ refund", [("title", "~", "refund")]),
        ("title !~ now and then", [("title", "!~", "now"), ("", "~", "then")]),
        ('title = "now and then"', [("title", "=", "now and then")]),
        (
            "label=data.untrusted AND state=failed",
            [("label", "=", "data.untrusted"), ("status", "=", "failed")],
        ),
        ("Where is my money?", [("", "~", "Where is my money?")]),
        ("item = in/a b.md", [("item", "=", "in/a b.md")]),
        ("a/b=c", [("", "~", "a/b=c")]),
        ("title = a = b", [("title", "=", "a = b")]),
        ("", []),
        ("  ", []),
    ],
)
def test_conditions(text: str, wanted: list[tuple[str, str, str]]) -> None:
    assert parsed(text) == wanted
    assert parsed(text, "run = x") == [*wanted, ("run", "=", "x")]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("tilte ~ x", "no `tilte`", "did you mean `title`? there are run, entry, title"),
        ("zzz = x", "no `zzz`", f"there are {', '.join(KEYS)}"),
        ("status = faild", "no run is `faild`", "did you mean `failed`?"),
        ("label = data.untrused", "`data.untrused` is not a capability", "did you mean `data.untrusted`?"),
        ("label != data.zzzzzzzz:mail/a.txt", "`data.zzzzzzzz` is not a capability", ""),
        ("cost ~ 1", "`cost` is a number", "= != < <= > >="),
        ("title > 1", "`title` is text", "= != ~ !~"),
        ("cost > cheap", "`cheap` is no number", ""),
        ("cost > nan", "`nan` is no number", ""),
        ("title =", "lacks its value", "title ~ refund"),
        ("cost > 1 and title = ", "lacks its value", "title ~ refund"),
    ],
)
def test_mistakes(text: str, message: str, hint: str) -> None:
    with pytest.raises(LlmdoError, match=message) as error:
        parsed(text)
    assert hint in (error.value.hint or "")


@tried(200)
@given(st.text() | st.from_regex(r"(cost|title| and |>|~|=|\"| |1)*", fullmatch=True))
def test_any_text_is_conditions_or_a_mistake(text: str) -> None:
    with suppress(LlmdoError):
        parsed(text)
