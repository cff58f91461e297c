"""Messages, results and endings as the bytes of a journal, and back; binary content is kept once."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, unquote

from pydantic import TypeAdapter, ValidationError
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry, ToolFailed
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessagesTypeAdapter,
    ModelResponse,
    ToolReturn,
    ToolReturnPart,
    UserContent,
)
from pydantic_core import PydanticCustomError, PydanticSerializationError, to_json, to_jsonable_python

from llmdo.base import credentials
from llmdo.base.backtrace import CrashError, Frame, frames_of
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.digest import canonical
from llmdo.base.values import dataclass, field
from llmdo.journal.content import Content, digest_of
from llmdo.journal.secrets import Secrets
from llmdo.journal.spans import without_tokens
from llmdo.runtime.gate.call import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pydantic_ai.messages import ModelMessage
    from pydantic_core import InitErrorDetails

    from llmdo.runtime.telemetry.events import Outcome
    from llmdo.runtime.telemetry.redaction import Redaction

_MESSAGES = ModelMessagesTypeAdapter

_BINARY = b'"kind":"binary"'
"""The mark in JSON of binary content written by pydantic-ai."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]+)*={0,2}")
_URL_SAFE = str.maketrans("+/", "-_", "\r\n=")
_REDACTED = "[redacted]"
_LISTS = (list, tuple)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_LEFT_OUT = "\0"
"""The substitute in digests for apparent tokens, which nobody can then guess by trial."""

KEPT = "llmdo:content"
"""The key of an object in place of binary content, which is kept apart."""


# Each is made where it is first needed: that takes some 20 ms, and most runs need one of them.
@cache
def _response() -> TypeAdapter[ModelResponse]:
    return TypeAdapter(ModelResponse)


@cache
def _return() -> TypeAdapter[ToolReturnPart]:
    return TypeAdapter(ToolReturnPart)


@cache
def _rich() -> TypeAdapter[ToolReturn[object]]:
    return TypeAdapter(ToolReturn)


@cache
def _handed() -> TypeAdapter[list[UserContent]]:
    return TypeAdapter(list[UserContent])


@dataclass(frozen=True, slots=True)
class Packed:
    """A value as JSON, with its binary contents by their digests."""

    body: bytes
    contents: Mapping[str, bytes] = field(default_factory=dict)


class Encoding:
    """Packs values for one journal, which cuts secrets out of them."""

    def __init__(self, redaction: Redaction, secrets: Secrets | None = None) -> None:
        """`secrets` are those of the journal."""
        self.redaction = redaction
        self.secrets = Secrets(redaction.known) if secrets is None else secrets
        self._repeated: dict[bytes, str] = {}

    def response(self, response: ModelResponse) -> Packed:
        """The answer of a model."""
        # What failed before it, with the bodies of those answers: the journal has an entry of its own for each.
        return self._packed(_response().dump_json(response, exclude_none=True, exclude={"failed_attempts"}))

    def messages(self, messages: Sequence[ModelMessage]) -> Packed:
        """The messages of a worker, without its prompt, which every request repeats."""
        left_out = {"__all__": {"failed_attempts", "instructions", "conversation_id"}}
        text = _MESSAGES.dump_json(list(messages), exclude_none=True, exclude=left_out)
        return self._packed(b'{"messages":' + text + b"}")

    def result(self, value: object) -> Packed:
        """The result of a tool. An object of the tool's own becomes the plain data that a model sees.

        Raises:
            PydanticSerializationError: It cannot be written as JSON.
        """
        if isinstance(value, ToolReturn):
            return self._packed(_rich().dump_json(value))
        part = ToolReturnPart(tool_name="", content=value, tool_call_id="")
        try:
            return self._packed(_return().dump_json(part, include={"content"}))
        except PydanticSerializationError:  # bytes that are not text, which a model is shown as base64
            return self._packed(b'{"content":' + to_json(value, bytes_mode="base64", by_alias=True) + b"}")

    def handed(self, content: Sequence[UserContent]) -> Packed:
        """The files attached to a worker's call."""
        return self._packed(_handed().dump_json(list(content), exclude_none=True))

    def plain(self, value: object) -> Packed:
        """Any JSON-like value."""
        return self._packed(_json(value))

    def digest(self, value: object, like: str | None = None) -> str:
        """The digest of a value, independent of the journal and of the values of its secrets.

        It names the variables left out, so that no secret can be guessed from it. For a comparison with the recorded
        digest `like`, the same variables are left out: others may be secret now.
        """
        only = None if like is None else _variables(like)
        named: set[str] = set()

        def name(content: bytes) -> str:
            rest, places = self.secrets.compared(content, only, is_json=False)
            named.update(variable for _, variable, _ in places)
            return digest_of(canonical([digest_of(rest), places]).encode() if places else content)

        text = _json(_named(value, name))
        if _BINARY in text:
            text = _compact(_without_binary(json.loads(text), {}, name))
        return self._digest(text, only, named)

    def digest_of_repeated(self, value: object, like: str | None = None) -> str:
        """The digest of a value repeated in every request of a worker, computed once."""
        if like is not None or self.secrets.stand_ins:
            return self.digest(value, like)
        text = _json(value)
        if (known := self._repeated.get(text)) is None:
            known = self._repeated[text] = self.digest(value)
        return known

    def digest_in(self, packed: Packed) -> str:
        """The digest of a packed value without binary content."""
        return self._digest(packed.body, None, set())

    def digest_of_text(self, text: str, like: str | None = None) -> str:
        """The digest of a text as it is."""
        return self._digest(_compact(text), None if like is None else _variables(like), set())

    def is_same(self, digest: str, value: object) -> bool:
        """Whether a recorded digest is that of `value`."""
        return self.digest(value, like=digest) == digest

    def _digest(self, text: bytes, only: Collection[str] | None, named: set[str]) -> str:
        """The digest of JSON, with the variables of its secrets and those already `named`."""
        rest, places = self.secrets.compared(text, only)
        if places or credentials.may_hold_token(rest.decode("utf-8", "surrogatepass")):
            plain = without_tokens(json.loads(rest), _LEFT_OUT)
            rest = canonical([plain, places]).encode("utf-8", "surrogatepass")
        if not (places or named):
            return digest_of(rest)
        variables = sorted(named.union(variable for _, variable, _ in places))
        return "+".join((digest_of(rest), *(quote(variable, safe="") for variable in variables)))

    def without_secrets(self, content: bytes) -> bytes:
        """Content, JSON or not, without readable secrets, also in UTF-16 and base64."""
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

    def _all_unhidden(self, value: object) -> object:
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
        """Whether base64 hides a secret, decoded from any of its first four characters on."""
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
        if _BINARY in text:
            text = _compact(_without_binary(json.loads(text), contents, self._name))
        return Packed(text, contents)

    def _name(self, content: bytes) -> str:
        """The digest under which the journal keeps content."""
        return Content(*self.secrets.cut(content, is_json=False)).name


def _compact(value: object) -> bytes:
    return _COMPACT.encode(value).encode("utf-8", "surrogatepass")


def _json(value: object) -> bytes:
    """`value` as JSON; names that are not UTF-8 have their surrogates escaped."""
    try:
        return to_json(value, bytes_mode="base64", by_alias=True, fallback=repr)
    except PydanticSerializationError:
        plain = to_jsonable_python(value, bytes_mode="base64", by_alias=True, fallback=repr)
        return json.dumps(plain, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Decoding:
    """Unpacks the values of an `Encoding`, read from JSON; `content` finds binary content by its digest."""

    content: Callable[[str], bytes]

    def response(self, value: object) -> ModelResponse:
        """The answer of a model."""
        return _response().validate_python(_with_binary(value, self.content))

    def messages(self, value: Mapping[str, object]) -> tuple[ModelMessage, ...]:
        """The messages of a worker."""
        return tuple(_MESSAGES.validate_python(_with_binary(value["messages"], self.content)))

    def result(self, value: dict[str, object]) -> object:
        """The result of a tool."""
        whole = _with_binary(value, self.content)
        if "return_value" in whole:
            return _rich().validate_python(whole)
        return _return().validate_python({"tool_name": "", "tool_call_id": "", **whole}).content

    def handed(self, value: object) -> list[UserContent]:
        """The files attached to a worker's call."""
        return _handed().validate_python(_with_binary(value, self.content))


def _named(value: object, name: Callable[[bytes], str]) -> object:
    """`value` with digests in place of binary content in lists, as in prompts."""
    if isinstance(value, BinaryContent):
        head = {"kind": "binary", "media_type": value.media_type, "identifier": value.identifier}
        return {**head, "data": {KEPT: name(value.data)}}
    return [_named(item, name) for item in value] if isinstance(value, _LISTS) else value


def _variables(digest: str) -> frozenset[str]:
    """The variables whose values a digest leaves out."""
    return frozenset(map(unquote, digest.split("+")[1:]))


def _without_binary(value: object, contents: dict[str, bytes], name: Callable[[bytes], str]) -> object:
    if isinstance(value, list):
        return [_without_binary(item, contents, name) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "binary" and isinstance(value.get("data"), str):
        data = base64.urlsafe_b64decode(value["data"])
        digest = name(data)
        contents[digest] = data
        return {**value, "data": {KEPT: digest}}
    return {key: _without_binary(item, contents, name) for key, item in value.items()}


def _with_binary(value: object, content: Callable[[str], bytes]) -> Any:
    if isinstance(value, list):
        return [_with_binary(item, content) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {KEPT}:
        return content(value[KEPT])
    return {key: _with_binary(item, content) for key, item in value.items()}


def shown_outcome(error: Exception) -> tuple[Outcome, str | None]:
    """The outcome for its model of a call that ended with `error`, and the text in place of a result."""
    match error:
        case Refused():
            return "denied", error.message
        case ToolFailed():
            return "failed", error.message
        case ModelRetry() | ValidationError():
            return "retried", str(error)
    return "error", None


def ending_of(error: Exception) -> tuple[str, dict[str, object]]:
    """The outcome in a word, and its data."""
    match error:
        case ApprovalRequired():
            return "asks", {}
        case Refused():
            return "denied", {"message": error.message}
        case ToolFailed():
            return "failed", {"message": error.message}
        case ModelRetry():
            return "retried", {"message": error.message}
        case ValidationError():
            details = error.errors(include_url=False, include_context=False)
            return "invalid", {"title": error.title, "errors": details}
        case LlmdoError():
            return "error", {"message": error.message, "hint": error.hint, "frames": frames_of(error)}
    return "error", {"message": str(error)}


def end_again(outcome: str, data: Mapping[str, Any]) -> NoReturn:
    """Ends like a recorded execution that did not succeed.

    Raises:
        Exception: Always; equivalent to the one given to `ending_of`.
    """
    match outcome:
        case "asks":
            raise ApprovalRequired
        case "denied":
            raise Refused(data["message"])
        case "failed":
            raise ToolFailed(data["message"])
        case "retried":
            raise ModelRetry(data["message"])
        case "invalid":
            raise ValidationError.from_exception_data(data["title"], list(map(_detail, data["errors"])))
    if frames := data.get("frames"):
        raise CrashError(data["message"], hint=data.get("hint"), frames=[Frame(**frame) for frame in frames])
    raise LlmdoError(data["message"], hint=data.get("hint"))


def _detail(error: Mapping[str, Any]) -> InitErrorDetails:
    return {
        "type": PydanticCustomError(error["type"], error["msg"]),
        "loc": tuple(error["loc"]),
        "input": error["input"],
    }
