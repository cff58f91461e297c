"""What is written down holds no secret that can be known, and no bytes."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic_ai.messages import BinaryContent

from llmdo.base import credentials
from llmdo.policy.authority import Capability
from llmdo.runtime.telemetry.redaction import Redaction

SECRET = 's3cr3t/with+odd "chars"'


@pytest.mark.parametrize(
    "name",
    [
        *(
            "ACME_API_KEY",
            "my_token",
            "DB_PASSWORD",
            "CLIENT_SECRET",
            "AWS_CREDENTIALS",
            "PGPASSWORD",
            "MYSQL_PWD",
        ),
        *(
            "GPG_PASSPHRASE",
            "SMTP_PASS",
            "SENTRY_DSN",
            "REDISCLI_AUTH",
            "AZURE_DEVOPS_EXT_PAT",
            "SLACK_WEBHOOK_URL",
        ),
    ],
)
@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode(),
        quote(SECRET, safe="").replace("%2F", "%2f"),
        SECRET.encode().hex().replace("2f", "2F"),
    ],
)
def test_the_value_of_a_secret_variable_becomes_its_name(name: str, written: str) -> None:
    text = Redaction.of({name: SECRET}).text(f"before {written} after")
    assert text.startswith(f"before [redacted {name}]")
    assert text.endswith(" after")


def test_short_values_and_other_variables_stay() -> None:
    others = ("HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "PATTERN", "PASSAGE", "AUTHOR", "XAUTHORITY")
    redaction = Redaction.of({"API_KEY": "short", **dict.fromkeys(others, "/home/somebody")})
    assert redaction.text("short /home/somebody") == "short /home/somebody"


@pytest.mark.parametrize("written", ["p%40ss-word", "p@ss-word", quote("p@ss-word", safe="")])
def test_the_password_of_an_address_in_any_variable_becomes_its_name(written: str) -> None:
    redaction = Redaction.of({"DATABASE_URL": "postgres://me:p%40ss-word@db.example.org/x"})
    assert redaction.text(f"it is {written}.") == "it is [redacted DATABASE_URL]."
    assert redaction.text("db.example.org/x and me") == "db.example.org/x and me"


def test_the_longer_of_two_secrets_goes_first() -> None:
    redaction = Redaction.of({"A_KEY": "12345678", "B_KEY": "12345678-and-more"})
    assert redaction.text("12345678-and-more") == "[redacted B_KEY]"


TOKENS = [
    "sk-" + "a1" * 12,
    "sk-ant-api03-" + "b2" * 12,
    "AKIA" + "A" * 16,
    "ghp_" + "c3" * 18,
    "github_pat_" + "d4" * 15,
    "glpat-" + "e5" * 10,
    "xoxb-" + "1234567890-abc",
    "sk_live_" + "f6" * 10,
    "AIza" + "g7" * 17,
    "hf_" + "h8" * 15,
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIE that was cut",
]


@pytest.mark.parametrize("token", TOKENS)
def test_what_looks_like_a_token_goes_without_being_known(token: str) -> None:
    assert Redaction.of({}).text(f"it is {token}") == "it is [redacted]"


@given(st.from_regex(re.compile(credentials._FORMS, re.VERBOSE | re.DOTALL)))
def test_the_quick_look_for_tokens_misses_none_of_them(text: str) -> None:
    assert credentials.may_hold_token(text)


@pytest.mark.parametrize("secret", [TOKENS[0], "12345678", 12345678])
def test_secrets_go_wherever_they_are_in_plain_data(secret: Any) -> None:
    redaction, clean = Redaction.of({"A_KEY": "12345678"}), {"a": [1, 0.5, None, True, "b"], "c": {}}
    assert redaction.plain(clean) == clean
    for holding in ([secret], {"a": {"b": [secret]}}, {"a": [clean, {str(secret): 1}]}):
        written = json.dumps(redaction.plain(holding))
        assert "[redacted" in written
        assert str(secret) not in written


def test_the_user_and_password_of_an_address_go_without_being_known() -> None:
    text = Redaction.of({}).text("see https://me:hunter2hunter2@example.org/a and ssh://git@example.org/b")
    assert text == "see https://[redacted]@example.org/a and ssh://git@example.org/b"
    for address in ("https://${USER}:${PASSWORD}@example.org", "http://localhost:8000/@x", "a://b:c@d"):
        assert Redaction.of({}).text(address) == address


@pytest.mark.parametrize("text", ["task-force", "sk-learn is a library", "risk-averse", "a.b.c", "AIza"])
def test_ordinary_words_stay(text: str) -> None:
    assert Redaction.of({}).text(text) == text


def test_bytes_become_digest_and_size() -> None:
    content = b"\x00\x01"
    digest = {"bytes": 2, "sha256": sha256(content).hexdigest()}
    redaction = Redaction.of({})
    assert redaction.plain(content) == digest
    picture = redaction.plain([BinaryContent(content, media_type="image/png")])
    assert isinstance(picture, list)
    assert picture[0]["data"] == digest
    assert picture[0]["media_type"] == "image/png"


class Model(BaseModel):
    key: str


@dataclass
class Plain:
    key: str


class Rude:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Model(key="12345678"), {"key": "[redacted A_KEY]"}),
        (Plain("12345678"), {"key": "[redacted A_KEY]"}),
        ({"12345678": 1}, {"[redacted A_KEY]": 1}),
        (12345678, "[redacted A_KEY]"),
        (Capability("fs.read", "a.txt"), "fs.read:a.txt"),
        (Decimal("0.10"), "0.10"),
        (float("nan"), "nan"),
        (Rude(), "[Rude: RuntimeError]"),
        (True, True),
    ],
)
def test_values_become_plain_data(value: object, plain: object) -> None:
    assert Redaction.of({"A_KEY": "12345678"}).plain(value) == plain


def test_a_cycle_ends() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert "[too deep]" in json.dumps(Redaction.of({}).plain(circle))


@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.text() | st.binary(), st.lists, max_leaves=8)
)
def test_all_of_it_can_be_json(value: object) -> None:
    assert (
        json.loads(json.dumps(Redaction.of({"A_KEY": "12345678"}).plain(value), allow_nan=False)) is not ...
    )
