"""A secret that is cut in two by the pieces of an answer is in neither of them."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmdo.runtime.telemetry.events import ModelResponded, StreamBroken, TextDelta, ToolCallDelta
from llmdo.runtime.telemetry.log import open_log
from llmdo.runtime.telemetry.redaction import RedactedText, Redaction

QUOTED = "correct%20horse%2c%20battery%20staple%21"
PHRASE, WORD, PASSWORD = "correct horse, battery staple!", "s3cr3t-w0rd-1234", "p@ss-word-1"
REDACTION = Redaction.of({"A_PASSWORD": PHRASE, "B_TOKEN": WORD, "C_URL": "db://me:p%40ss-word-1@host/x"})
TOKENS = (
    "sk-" + "a1" * 12,
    "AKIA" + "B" * 16,
    "ghp_" + "c3" * 18,
    "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2Q",
)
ADDRESS = "https://me:hunter-22-two@example.org/a"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIB abc def\nx==\n-----END RSA PRIVATE KEY-----"
SECRETS = (PHRASE, QUOTED, WORD, PASSWORD, *TOKENS, "hunter-22-two", "MIIB abc def")
WORDS = ("Well, ", "it is ", "so.\n", "中文", '{"a": ', "://", "c", "co", "-----", "sk-", "", "ü", "'")
PARTS = st.sampled_from((PHRASE, QUOTED, WORD, PASSWORD, *TOKENS, ADDRESS, KEY, *WORDS, *WORDS))


def passed_on(pieces: list[str]) -> list[str]:
    text = RedactedText(REDACTION)
    return [*map(text.add, pieces), text.end()]


def cut(text: str, places: list[int]) -> list[str]:
    at = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(at)]


@given(st.lists(PARTS, max_size=6).map(" ".join), st.lists(st.integers(0, 400), max_size=8))
@example(f"it is {PHRASE} and {KEY} and {ADDRESS} so", list(range(400)))
def test_what_is_passed_on_is_what_is_left_of_the_whole(text: str, places: list[int]) -> None:
    assert "".join(passed_on(cut(text, places))) == REDACTION.text(text)


@given(st.lists(PARTS, max_size=6).map("".join), st.lists(st.integers(0, 400), max_size=8))
def test_no_secret_is_passed_on_wherever_it_stands(text: str, places: list[int]) -> None:
    passed = "".join(passed_on(cut(text, places)))
    assert not [secret for secret in SECRETS if secret in passed and secret not in REDACTION.text(text)]


@pytest.mark.parametrize("text", [f"so it is {secret} then" for secret in (*SECRETS[:-2], ADDRESS, KEY)])
def test_a_secret_that_comes_letter_by_letter_is_not_passed_on(text: str) -> None:
    passed = "".join(passed_on(list(text)))
    assert "[redacted" in passed
    assert passed.startswith("so it is ")
    assert passed.endswith(" then")


def test_ordinary_text_is_held_back_by_a_word_at_most() -> None:
    text = RedactedText(REDACTION)
    assert [text.add(piece) for piece in ("One wo", "rd, an", "d 中文", "。", "See https://x.org/a b")] == [
        "One ", "word, ", "and 中文", "。", "See https://x.org/a ",
    ]  # fmt: skip
    assert text.end() == "b"


def test_a_key_that_has_no_end_is_not_kept() -> None:
    text = RedactedText(REDACTION)
    assert text.add("a -----BEGIN PRIVATE KEY-----") == "a [redacted]"
    assert {text.add("MIIB" * 100) for _ in range(100)} == {""}
    assert len(text._held) < 1_000
    assert text.end() == ""


def test_the_log_has_the_pieces_without_what_two_of_them_share(tmp_path: Path) -> None:
    def piece(text: str) -> TextDelta:
        return TextDelta(path="main", worker="main", text=text)

    def call(arguments: str) -> ToolCallDelta:
        return ToolCallDelta(path="main", worker="main", index=0, tool="send", arguments=arguments)

    whole = ModelResponded(
        path="main",
        worker="main",
        model="m",
        text="",
        calls=(),
        input_tokens=1,
        output_tokens=1,
        cost_usd=None,
    )
    broken = StreamBroken(path="main", worker="main", model="m", error="it broke off")
    half = len(PHRASE) // 2
    with open_log(tmp_path / "log", REDACTION) as log:
        for event in (
            piece(f"It is {PHRASE[:half]}"), broken,
            piece(f"It is {PHRASE[:half]}"), call('{"a": "'), piece(f"{PHRASE[half:]} and {WORD[:4]}"),
            call(WORD[:6]), piece(WORD[4:]), call(WORD[6:] + '"}'), whole,
        ):  # fmt: skip
            log(event)
    text = (tmp_path / "log").read_text()
    assert PHRASE[:half] not in text
    assert WORD[:4] not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["event"] for line in lines][-1] == "model_responded"
    at = [line["event"] for line in lines].index("stream_broken")
    assert "".join(line.get("text", "") for line in lines[:at]) == "It is "
    assert "".join(line.get("text", "") for line in lines[at:]) == (
        "It is [redacted A_PASSWORD] and [redacted B_TOKEN]"
    )
    assert "".join(line.get("arguments", "") for line in lines) == '{"a": "[redacted B_TOKEN]"}'
