"""A scripted server that takes other routes than an example expects: not a model.

Each route answers a request from what stands in it: which tools were offered, and how often was answered before. It
speaks OpenAI's chat completions, whole and in pieces.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.support.provider import Answer, Fail, ProviderRequest, Raw, Say, Server

Request = Mapping[str, Any]
"""The body of a request, and as `times` how often the same messages have come."""

Route = Callable[[Request], Answer]

MODEL = "openai-chat:gpt-5-mini"
TEXTS = ("../outside.txt", "/etc/passwd", "reports/a.md", "README.md", "x; touch ../outside.txt", "")
FOREIGN = ("format_disk", "shell", "write_file", "../../bin/sh", "final_result", "__import__", "é" * 100)
"""Tools that nobody offered, some of which there are elsewhere."""

SCHEMA = {"type": "object"}
DONE = Say("Done, as far as it went.", size=4)


class Wayward(Server):
    """A server all of whose answers take one route."""

    def __init__(self, route: Route) -> None:
        super().__init__({})
        self._route = route
        self._times: Counter[str] = Counter()

    def next(self, path: str, body: dict[str, Any]) -> Answer:
        """What the route answers."""
        with self._lock:
            self.requests.append(ProviderRequest(path, body.get("model", ""), "", body, time.monotonic()))
            messages = json.dumps(body["messages"])
            self._times[messages] += 1
            times = self._times[messages]
        return self._route({**body, "times": times})


def turn(body: Request) -> int:
    """How often the worker was answered before."""
    return sum(message["role"] == "assistant" for message in body["messages"])


def offered(body: Request) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tools that the worker may call, with their schemas."""
    for tool in body.get("tools", ()):
        yield tool["function"]["name"], tool["function"].get("parameters", SCHEMA)


def filled(schema: Mapping[str, Any], text: str, whole: Mapping[str, Any], depth: int = 0) -> Any:
    """Something that fits `schema`, with `text` for every text in it; an empty one for what has to be there alone."""
    if "$ref" in schema:
        named = schema["$ref"].rpartition("/")[2]
        return filled(whole if named == "#" else whole["$defs"][named], text, whole, depth + 1)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return filled(schema[choice][0], text, whole, depth)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type", "object"):
        case "string":
            return text
        case "integer" | "number":
            return 3
        case "boolean":
            return True
        case "array":
            return (
                [] if depth > 3 else [filled(schema.get("items", {"type": "string"}), text, whole, depth + 1)]
            )
        case "null":
            return None
    return {
        name: filled(inner, text, whole, depth + 1)
        for name, inner in schema.get("properties", {}).items()
        if (depth < 3 and text) or name in schema.get("required", ())
    }


def parallel(body: Request) -> Answer:
    """Everything at once, with arguments that fit and mean no good."""
    calls = [(name, filled(schema, text, schema)) for text in TEXTS for name, schema in offered(body)]
    return Say("All of it.", calls, size=16) if calls and turn(body) == 0 else DONE


def endless(body: Request) -> Answer:
    """The same calls, again and again."""
    calls = [(name, filled(schema, TEXTS[2], schema)) for name, schema in offered(body)]
    return Say("Again.", calls) if calls else DONE


def wrong_arguments(body: Request) -> Answer:
    """Arguments that fit no schema, at every turn."""
    wrong: list[Any] = [{}, {"nonsense": [1]}, {"path": 5, "input": {"a": None}}, '["a"]', "null", "5"]
    calls = [(name, wrong[(turn(body) + at) % len(wrong)]) for at, (name, _) in enumerate(offered(body))]
    return Say("", calls) if calls else DONE


def unknown_tools(body: Request) -> Answer:
    """Tools that were not offered."""
    known = {name for name, _ in offered(body)}
    calls = [(name, {"path": "../outside.txt", "content": "x"}) for name in FOREIGN if name not in known]
    return Say("", calls, size=9) if turn(body) < 2 else DONE


def malformed_arguments(body: Request) -> Answer:
    """Arguments that are no JSON."""
    broken = ('{"path": "a', "{]", "\x00", "{" * 500, '{"path": "\\ud800"}')
    calls = [(name, broken[(turn(body) + at) % len(broken)]) for at, (name, _) in enumerate(offered(body))]
    return Say("", calls) if calls and turn(body) < 3 else DONE


def malformed_body(_: Request) -> Answer:
    """A body that is no JSON."""
    return Raw('{"id": "chat-1", "choices": [{"index": 0, "mess')


def nothing_in_body(_: Request) -> Answer:
    """JSON that is no answer."""
    return Raw("null")


def page(_: Request) -> Answer:
    """The page of a proxy."""
    return Raw("<!doctype html><title>Sign in</title>", media_type="text/html")


def empty(_: Request) -> Answer:
    """No text and no calls."""
    return Say("")


def refusal(_: Request) -> Answer:
    """The model does not want to."""
    return Say(refusal="I will not do that.")


def busy_at_first(body: Request) -> Answer:
    """429 and a wait, and the next time what is asked for."""
    return Fail(429, {"retry-after": "0.01"}) if body["times"] == 1 else parallel(body)


def busy_for_an_hour(_: Request) -> Answer:
    """429 and a wait that nobody waits for."""
    return Fail(429, {"retry-after": "3600"})


def torn(body: Request) -> Answer:
    """The connection breaks in the middle, whatever is asked."""
    calls = [(name, filled(schema, TEXTS[2], schema)) for name, schema in offered(body)]
    return Say("I would write this down, and then that.", calls, cut=True, pieces=6, size=5)


def quietly_cut(body: Request) -> Answer:
    """A stream that ends as if it were complete; where nothing is streamed, half a body."""
    calls = [(name, filled(schema, TEXTS[2], schema)) for name, schema in offered(body)]
    return Say("I would write this down, and then that.", calls, cut=True, quiet=True, pieces=9, size=5)


def too_long(_: Request) -> Answer:
    """A text that reached the limit of tokens."""
    return Say("Once upon a time there was", finish="length")


def too_long_a_call(body: Request) -> Answer:
    """A call that reached the limit of tokens in its arguments."""
    calls = [(name, '{"path": "reports/a.md", "content": "and so') for name, _ in offered(body)][:1]
    return Say("", calls, finish="length") if calls else Say("so", finish="length")


ROUTES: tuple[Route, ...] = (
    parallel, endless, wrong_arguments, unknown_tools, malformed_arguments, malformed_body, nothing_in_body, page, empty,
    refusal, busy_at_first, busy_for_an_hour, torn, quietly_cut, too_long, too_long_a_call,
)  # fmt: skip
