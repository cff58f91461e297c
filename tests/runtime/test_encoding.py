"""What a journal keeps of values that JSON has no plain words for."""

from __future__ import annotations

import json

from llmdo.runtime.recording.encoding import Encoding
from llmdo.runtime.telemetry.redaction import Redaction

ENCODING = Encoding(Redaction.of({"API_KEY": "k3y-that-is-secret"}))


def test_a_name_that_is_not_utf8_is_kept_and_told_from_others() -> None:
    odd = {"attachments": ["decks/latin\udce9.md"], "data": b"\xff"}
    assert json.loads(ENCODING.plain(odd).body)["attachments"] == odd["attachments"]
    assert ENCODING.digest(odd) == ENCODING.digest(dict(odd))
    assert ENCODING.digest(odd) != ENCODING.digest({**odd, "attachments": ["decks/latin\udcea.md"]})


def test_a_secret_beside_such_a_name_is_taken_out() -> None:
    packed = ENCODING.plain({"path": "latin\udce9", "key": "k3y-that-is-secret"})
    assert packed.redacted
    assert b"k3y-that-is-secret" not in packed.body
    assert json.loads(packed.body.decode("utf-8", "surrogatepass"))["path"] == "latin\udce9"
