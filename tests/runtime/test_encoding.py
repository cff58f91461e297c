"""What a journal keeps of values that JSON has no plain words for."""

from __future__ import annotations

import base64
import json
from collections.abc import Container

import pytest
from pydantic_ai import BinaryContent

from llmdo.journal.secrets import Secrets
from llmdo.journal.sqlite.store import digest_of
from llmdo.runtime.recording.encoding import Decoding, Encoding
from llmdo.runtime.telemetry.redaction import Redaction

ENCODING = Encoding(Redaction.of({"API_KEY": "k3y-that-is-secret"}))


def test_a_name_that_is_not_utf8_is_kept_and_told_from_others() -> None:
    odd = {"attachments": ["decks/latin\udce9.md"], "data": b"\xff"}
    assert json.loads(ENCODING.plain(odd).body)["attachments"] == odd["attachments"]
    assert ENCODING.digest(odd) == ENCODING.digest(dict(odd))
    assert ENCODING.digest(odd) != ENCODING.digest({**odd, "attachments": ["decks/latin\udcea.md"]})


def test_a_secret_beside_such_a_name_is_cut_out() -> None:
    packed = ENCODING.plain({"path": "latin\udce9", "key": "k3y-that-is-secret"})
    rest, spans = ENCODING.secrets.cut(packed.body)
    assert b"k3y-that-is-secret" not in rest
    assert json.loads(rest.decode("utf-8", "surrogatepass"))["path"] == "latin\udce9"
    assert ENCODING.secrets.whole(rest, spans) == packed.body


def test_binary_content_is_kept_and_named_without_being_searched_as_text() -> None:
    class Watching(Secrets):
        """Notes how much text it is shown."""

        def compared(
            self, text: bytes, only: Container[str] | None, *, is_json: bool = True
        ) -> tuple[bytes, list[tuple[int, str, str]]]:
            shown.extend([len(text)] * is_json)
            return super().compared(text, only, is_json=is_json)

    shown: list[int] = []
    redaction = Redaction.of({"API_KEY": "k3y-that-is-secret"})
    encoding = Encoding(redaction, Watching(redaction.known))
    image = BinaryContent(bytes(range(256)) * 4_000, media_type="image/png")
    packed = encoding.handed(["see", image])
    assert packed.contents == {digest_of(image.data): image.data}
    text, back = Decoding(packed.contents.__getitem__).handed(json.loads(packed.body))
    assert isinstance(back, BinaryContent)
    assert (text, back.data) == ("see", image.data)
    assert encoding.digest([["see", back], None]) == encoding.digest([["see", image], None])
    same = encoding.digest([["see", image], None])
    assert same == encoding.digest([["see", BinaryContent(image.data, media_type="image/png")], None])
    other = BinaryContent(image.data[1:], media_type="image/png")
    assert same != encoding.digest([["see", other], None])
    assert encoding.result({"image": image}).contents == packed.contents
    assert encoding.digest({"image": image}) != encoding.digest({"image": other})
    shown += [len(packed.body)]
    assert max(shown) < 1_000


def test_a_secret_in_content_that_leaves_is_found_in_its_decoded_form() -> None:
    assert ENCODING.without_secrets(b"\xff\x00key k3y-that-is-secret") != b"\xff\x00key k3y-that-is-secret"
    assert ENCODING.without_secrets(b'{"key":"k3y-that-is-secret"}') == b'{"key":"[redacted API_KEY]"}'
    coded = base64.b64encode(b"x" * 99).decode()
    digest = "sha256:" + "0123456789abcdef" * 4
    texts = [json.dumps(text).encode() for text in (coded, f"\n{coded}", digest, "main/read_file/other#1")]
    for harmless in (bytes(range(256)), b'{"a":1}', b"sk-", b"", "größer".encode("utf-16"), *texts):
        assert ENCODING.without_secrets(harmless) == harmless


@pytest.mark.parametrize("secret", ["k3y-that-is-secret", "ghp_0123456789abcdefghij0123"])
@pytest.mark.parametrize("code", ["utf-8", "utf-16", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("before", [0, 1, 2, 50])
def test_no_encoding_lets_a_secret_leave(secret: str, code: str, before: int) -> None:
    content = ("x" * before + f" {secret} y").encode(code)
    assert ENCODING.without_secrets(content) != content
    for coded in (
        base64.b64encode(content),
        b"xyz"[: before % 4] + base64.b64encode(content),
        base64.urlsafe_b64encode(content).rstrip(b"="),
        base64.encodebytes(content),
    ):
        body = json.dumps({"content": [f"see\n{coded.decode()}", {"n": 1}]}).encode()
        clean = json.loads(ENCODING.without_secrets(body))
        assert "[redacted" in clean["content"][0]
        assert coded.decode().strip()[8:24] not in clean["content"][0]
        assert clean["content"][1] == {"n": 1}
        assert ENCODING.without_secrets(b"\xff" + coded) != b"\xff" + coded
