"""What the agent loop says and gets, as the bytes of a journal, and back: without secrets, binary content once."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic_ai.messages import BinaryContent, ModelResponse, ToolReturn, ToolReturnPart, UserContent
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from llmdo.digest import canonical
from llmdo.journal.store import digest_of
from llmdo.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmdo.runtime.telemetry.redaction import Redaction

_RESPONSE = TypeAdapter(ModelResponse)
_RETURN = TypeAdapter(ToolReturnPart)
_RICH: TypeAdapter[ToolReturn[Any]] = TypeAdapter(ToolReturn)
_HANDED: TypeAdapter[list[UserContent]] = TypeAdapter(list[UserContent])

_BINARY = b'"kind":"binary"'
"""What JSON holds where pydantic-ai has written binary content into it."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]+)*={0,2}")
_URL_SAFE = str.maketrans("+/", "-_", "\r\n=")
_REDACTED = "[redacted]"

KEPT = "llmdo:content"
"""The key of an object that stands for binary content kept beside the entry."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A value as JSON, with the binary contents that it names by their digests."""

    body: bytes
    contents: dict[str, bytes] = field(default_factory=dict)
    redacted: bool = False
    """Whether a secret was taken out, so that it is not the value any more."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """Packs values for one journal."""

    redaction: Redaction

    def response(self, response: ModelResponse) -> Packed:
        """What a model answered."""
        # What failed before it, with the bodies of those answers: the journal has an entry of its own for each.
        return self._packed(_RESPONSE.dump_json(response, exclude_none=True, exclude={"failed_attempts"}))

    def result(self, value: object) -> Packed:
        """What a tool returned. An object of the tool's own comes back as the plain data that a model sees.

        Raises:
            PydanticSerializationError: It cannot be written as JSON.
        """
        if isinstance(value, ToolReturn):
            return self._packed(_RICH.dump_json(value))
        part = ToolReturnPart(tool_name="", content=value, tool_call_id="")
        try:
            return self._packed(_RETURN.dump_json(part, include={"content"}))
        except PydanticSerializationError:  # bytes that are no text, which a model is shown as base64
            return self._packed(b'{"content":' + to_json(value, bytes_mode="base64", by_alias=True) + b"}")

    def handed(self, content: Sequence[UserContent]) -> Packed:
        """The files that a worker is handed."""
        return self._packed(_HANDED.dump_json(list(content), exclude_none=True))

    def plain(self, value: object) -> Packed:
        """Anything that is JSON-like."""
        return self._packed(_json(value))

    def digest(self, value: object) -> str:
        """The digest of a value: the same before and after it was in a journal."""
        text = _json(_named(value))
        if _BINARY in text:
            text = _compact(_without_binary(json.loads(text), {}))
        if self.redaction.suspects(text.decode()):
            text = canonical(self.redaction.plain(json.loads(text))).encode("utf-8", "surrogatepass")
        return digest_of(text)

    def without_secrets(self, content: bytes) -> bytes:
        """Content, JSON or not, without the secrets that can be read in it, also as UTF-16 and as base64."""
        text = content.decode("utf-8", "replace")
        if "\0" in text and self._holds_secret(content.replace(b"\0", b"")):
            return _REDACTED.encode()
        if not self.redaction.suspects(text) and not _BASE64.search(text):
            return content
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            clean = self.redaction.text(_BASE64.sub(self._unhidden, text))
            return content if clean == text else clean.encode()
        clean_value = self.redaction.plain(self._all_unhidden(value))
        return content if clean_value == value else _compact(clean_value)

    def _all_unhidden(self, value: Any) -> Any:
        """Data without the secrets that its texts hold as base64."""
        match value:
            case str():
                return _BASE64.sub(self._unhidden, value)
            case list():
                return [self._all_unhidden(item) for item in value]
            case dict():
                return {self._all_unhidden(key): self._all_unhidden(item) for key, item in value.items()}
        return value

    def _unhidden(self, match: re.Match[str]) -> str:
        return _REDACTED if self._hides_secret(match) else match[0]

    def _hides_secret(self, match: re.Match[str]) -> bool:
        """Whether base64 stands for content with a secret, wherever in the match it begins."""
        coded = match[0].translate(_URL_SAFE)
        return any(
            self._holds_secret(base64.urlsafe_b64decode(coded[start : start + (len(coded) - start) // 4 * 4]))
            for start in range(4)
        )

    def _holds_secret(self, content: bytes) -> bool:
        text = content.replace(b"\0", b"").decode("utf-8", "replace")
        return self.redaction.suspects(text) and self.redaction.text(text) != text

    def _packed(self, text: bytes) -> Packed:
        contents: dict[str, bytes] = {}
        if _BINARY in text:  # first: base64 is long, and no text
            text = _compact(_without_binary(json.loads(text), contents))
        if not self.redaction.suspects(text.decode("utf-8", "surrogatepass")):
            return Packed(text, contents)
        value = json.loads(text)
        clean = self.redaction.plain(value)
        return Packed(_compact(clean), contents, clean != value)


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _json(value: object) -> bytes:
    """`value` as JSON; a name that is not UTF-8, which Python writes with surrogates, has them as escapes."""
    try:
        return to_json(value, bytes_mode="base64", by_alias=True, fallback=repr)
    except PydanticSerializationError:
        plain = to_jsonable_python(value, bytes_mode="base64", by_alias=True, fallback=repr)
        return json.dumps(plain, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Decoding:
    """Unpacks what an `Encoding` packed and JSON gave back; `content` finds binary content by its digest."""

    content: Callable[[str], bytes]

    def response(self, value: object) -> ModelResponse:
        """What a model answered."""
        return _RESPONSE.validate_python(_with_binary(value, self.content))

    def result(self, value: dict[str, Any]) -> Any:
        """What a tool returned."""
        whole = _with_binary(value, self.content)
        if "return_value" in whole:
            return _RICH.validate_python(whole)
        return _RETURN.validate_python({"tool_name": "", "tool_call_id": "", **whole}).content

    def handed(self, value: object) -> list[UserContent]:
        """The files that a worker is handed."""
        return _HANDED.validate_python(_with_binary(value, self.content))


def _named(value: Any) -> Any:
    """`value`, with the digest of its bytes in place of binary content in lists, where a prompt has it."""
    if isinstance(value, BinaryContent):
        named = {"kind": "binary", "media_type": value.media_type, "identifier": value.identifier}
        return {**named, "data": {KEPT: digest_of(value.data)}}
    return [_named(one) for one in value] if isinstance(value, list | tuple) else value


def _without_binary(value: Any, contents: dict[str, bytes]) -> Any:
    if isinstance(value, list):
        return [_without_binary(one, contents) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "binary" and isinstance(value.get("data"), str):
        data = base64.urlsafe_b64decode(value["data"])
        digest = digest_of(data)
        contents[digest] = data
        return {**value, "data": {KEPT: digest}}
    return {key: _without_binary(one, contents) for key, one in value.items()}


def _with_binary(value: Any, content: Callable[[str], bytes]) -> Any:
    if isinstance(value, list):
        return [_with_binary(one, content) for one in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {KEPT}:
        return content(value[KEPT])
    return {key: _with_binary(one, content) for key, one in value.items()}
