"""The places in a journal from which secrets were cut, and the rest as it may be shown."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from llmdo.base import credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NUMBER = re.compile(rb"[0-9.eE+-]*")
_NUMBER_BEFORE = re.compile(rb"[0-9.eE+-]*\Z")


class SecretSpan(NamedTuple):
    """The place of a cut secret."""

    at: int
    """In bytes."""
    length: int
    """In bytes, of the replacement."""
    secret: int
    """Its number in the journal."""
    variable: str
    form: str
    """The steps from the secret to the text that was cut; empty for the secret itself, which in JSON is a number then.
    """


def joined(text: bytes, spans: Sequence[SecretSpan], put: Callable[[SecretSpan], bytes]) -> bytes:
    """`text` with the results of `put` at the spans.

    Raises:
        ValueError: The spans are not those of the text.
    """
    pieces: list[bytes] = []
    end = 0
    for span in spans:
        if not (end <= span.at <= span.at + span.length <= len(text)):
            raise ValueError("what was cut out has no place in it")
        pieces += (text[end : span.at], put(span))
        end = span.at + span.length
    return b"".join((*pieces, text[end:]))


def marked(body: bytes, spans: Sequence[SecretSpan]) -> bytes:
    """`body`, which is JSON, with its variable's name for each secret and for each number that held one.

    Raises:
        ValueError: The spans are not those of the body.
    """
    if not spans:
        return body
    whole: list[SecretSpan] = []
    for span in spans:
        if span.form:
            whole.append(span)
        elif not whole or span.at >= whole[-1].at + whole[-1].length:  # the number has no other one yet
            start = _NUMBER_BEFORE.search(body, max(0, span.at - 400), span.at)
            end = _NUMBER.match(body, span.at + span.length)
            if start is None or end is None:
                raise ValueError("what was cut out has no place in it")
            whole.append(span._replace(at=start.start(), length=end.end() - start.start()))
    return joined(body, whole, _mark)


def _mark(span: SecretSpan) -> bytes:
    mark = f"[redacted {span.variable}]"
    for step in span.form:
        mark = json.dumps(mark)[1:-1] if step in "aj" else mark
    return (mark if span.form else json.dumps(mark)).encode()


def shown(body: bytes, spans: Sequence[SecretSpan]) -> Any:
    """The data in `body` as it may be shown: with the names of secrets, and without likely tokens.

    Raises:
        ValueError: It is no JSON, or the spans are not those of the body; a RecursionError is as much.
    """
    text = marked(body, spans).decode("utf-8", "surrogatepass")
    data = json.loads(text)
    return without_tokens(data) if credentials.may_hold_token(text) else data


def without_tokens(data: object, instead: str = "[redacted]") -> object:
    """Data of JSON with `instead` in place of likely tokens."""
    match data:
        case str():
            return credentials.without_tokens(data, instead)
        case list():
            return [without_tokens(item, instead) for item in data]
        case dict():
            return {
                credentials.without_tokens(key, instead): without_tokens(item, instead)
                for key, item in data.items()
            }
    return data
