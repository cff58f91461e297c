"""A scripted test server: not a model. Every answer is our own writing, in the wire formats of two providers.

It speaks OpenAI's chat completions and responses and Anthropic's messages, whole and as server-sent events. Whose
turn it is, it reads from the prompt that each worker of these tests has: `You are NAME.`
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAME = "scripted test server: not a model"
PATIENCE = 20.0  # seconds, for what a busy machine may take


@dataclass(frozen=True)
class Say:
    """A text, or calls of tools as (name, arguments), or both."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    """Those of chat completions may have arguments that are no JSON."""
    delay: float = 0.0
    """Seconds before the answer, or between the pieces of a stream."""
    cut: bool = False
    """Whether the connection breaks before the end."""
    pieces: int | None = None
    """How many pieces of a stream are sent before it breaks; None is half of them."""
    quiet: bool = False
    """Whether a stream that is cut ends as if it were complete."""
    hold: int | None = None
    """After how many pieces a stream stops, until the test ends."""
    size: int = 0
    """How many characters of the text and of arguments a piece of chat completions has; 0 is half of the text."""
    beside: int = 0
    """How many requests of the same worker have to be there before one is answered."""
    refusal: str = ""
    """What the model says instead of an answer, where it does not want to give one."""
    finish: str = ""
    """Why chat completions end, where it is not for the usual reason."""


@dataclass(frozen=True)
class Fail:
    """A status that is no success."""

    status: int
    headers: Mapping[str, str] = field(default_factory=lambda: {"retry-after-ms": "10"})
    code: str = "scripted"
    message: str = NAME


@dataclass(frozen=True)
class Raw:
    """An answer whose body is not what the format says."""

    body: str
    status: int = 200
    media_type: str = "application/json"


Answer = Say | Fail | Raw


@dataclass(frozen=True)
class ProviderRequest:
    """A request as it came."""

    path: str
    model: str
    worker: str
    body: dict[str, Any]
    at: float


class Server:
    """Answers the workers' requests from their scripts, in the order in which they come."""

    def __init__(self, scripts: Mapping[str, Sequence[Answer]]) -> None:
        self.requests: list[ProviderRequest] = []
        self._scripts = {name: list(script) for name, script in scripts.items()}
        self._lock = threading.Condition()
        self._closed = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    @property
    def environment(self) -> dict[str, str]:
        """What leads the providers' own clients here."""
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": "dummy-openai-key",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "dummy-anthropic-key",
            "NO_PROXY": "127.0.0.1",
        }

    def of(self, worker: str) -> list[ProviderRequest]:
        """The requests of one worker."""
        return [request for request in self.requests if request.worker == worker]

    def next(self, path: str, body: dict[str, Any]) -> Answer:
        """The next answer for the worker that asks; the end of its script is a mistake in the test."""
        match = re.search(r"You are (\w+)\.", json.dumps(body))
        worker = match[1] if match else "nobody"
        with self._lock:
            self.requests.append(ProviderRequest(path, body.get("model", ""), worker, body, time.monotonic()))
            self._lock.notify_all()
            script = self._scripts.get(f"{worker}:{body.get('model')}") or self._scripts.get(worker)
            answer = script.pop(0) if script else Fail(400, {})
            if isinstance(answer, Say) and answer.beside:
                together = self._lock.wait_for(lambda: len(self.of(worker)) >= answer.beside, PATIENCE)
                assert together, "the others were not asked meanwhile"
            return answer

    def waited_for(self, requests: int) -> bool:
        """Whether so many requests come, also those that a client has already given up."""
        with self._lock:
            return self._lock.wait_for(lambda: len(self.requests) >= requests, PATIENCE)

    def pause(self, seconds: float) -> None:
        """Waits, but not beyond the end of the test."""
        self._closed.wait(seconds)

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Serves while the block runs."""
        thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._closed.set()
            self._http.shutdown()
            self._http.server_close()
            thread.join()


def _handler_of(server: Server) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"server_of_answers": server})


class _Handler(BaseHTTPRequestHandler):
    server_version = NAME
    protocol_version = "HTTP/1.1"
    server_of_answers: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = self.server_of_answers.next(self.path, body)
        try:
            self._answer(body, answer)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client did not want to wait

    def _answer(self, body: dict[str, Any], answer: Answer) -> None:
        match answer:
            case Fail(status, headers, code, message):
                error = {"message": message, "type": code, "code": code}
                self._send(status, json.dumps({"type": "error", "error": error}), headers)
            case Raw(text, status, media_type):
                self._send(status, text, {"retry-after-ms": "10"}, media_type=media_type)
            case Say() as say if body.get("stream"):
                self._stream(say, _format_of(self.path).pieces(body, say))
            case Say() as say:
                self.server_of_answers.pause(say.delay)
                self._send(200, json.dumps(_format_of(self.path).whole(body, say)), {}, cut=say.cut)

    def _send(
        self,
        status: int,
        text: str,
        headers: Mapping[str, str],
        *,
        cut: bool = False,
        media_type: str = "application/json",
    ) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        self.close_connection = cut

    def _stream(self, say: Say, pieces: Sequence[str]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        sent = len(pieces) // 2 if say.pieces is None else say.pieces
        for number, piece in enumerate(pieces[:sent] if say.cut else pieces):
            self.server_of_answers.pause(PATIENCE * 10 if number == say.hold else say.delay)
            content = piece.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
            self.wfile.flush()
        if not say.cut or say.quiet:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = say.cut

    def log_message(self, *_: object) -> None:
        """Nothing: the tests look at what was asked."""


def _sse(data: Mapping[str, Any], *, named: bool = False) -> str:
    return (f"event: {data['type']}\n" if named else "") + f"data: {json.dumps(data)}\n\n"


_USED = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


class Chat:
    """OpenAI's chat completions."""

    @staticmethod
    def whole(body: Mapping[str, Any], say: Say) -> dict[str, Any]:
        choice = {"index": 0, "message": Chat._message(say), "finish_reason": Chat._end(say)}
        return {**Chat._base(body, "chat.completion"), "choices": [choice], "usage": _USED}

    @staticmethod
    def pieces(body: Mapping[str, Any], say: Say) -> list[str]:
        message = Chat._message(say)
        for index, call in enumerate(message.get("tool_calls", ())):
            call["index"] = index
        text = message.pop("content") or ""
        size = say.size or -(-len(text) // 2) or 1
        deltas = [{"content": text[at : at + size]} for at in range(0, len(text), size)]
        if say.size:
            calls = message.pop("tool_calls", [])
            deltas += [delta for call in calls for delta in Chat._in_pieces(call, say.size)]
        deltas = [message, *deltas, {}]
        base = Chat._base(body, "chat.completion.chunk")
        chunks = [
            {
                **base,
                "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else Chat._end(say)}],
            }
            for delta in deltas
        ]
        return [*map(_sse, chunks), _sse({**base, "choices": [], "usage": _USED}), "data: [DONE]\n\n"]

    @staticmethod
    def _in_pieces(call: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
        arguments = call["function"]["arguments"]
        yield {"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}}]}
        for at in range(0, len(arguments), size):
            yield {
                "tool_calls": [{"index": call["index"], "function": {"arguments": arguments[at : at + size]}}]
            }

    @staticmethod
    def _base(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
        return {"id": "chat-1", "object": kind, "created": 1, "model": body["model"]}

    @staticmethod
    def _message(say: Say) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": say.text or None}
        if say.refusal:
            message["refusal"] = say.refusal
        if say.calls:
            message["tool_calls"] = [
                {
                    "id": f"c{at}",
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": given if isinstance(given, str) else json.dumps(given),
                    },
                }
                for at, (name, given) in enumerate(say.calls)
            ]
        return message

    @staticmethod
    def _end(say: Say) -> str:
        return say.finish or ("tool_calls" if say.calls else "stop")


class Responses:
    """OpenAI's responses."""

    @staticmethod
    def whole(body: Mapping[str, Any], say: Say) -> dict[str, Any]:
        return {
            "id": "resp-1", "object": "response", "created_at": 1, "model": body["model"], "status": "completed",
            "output": Responses._items(say), "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
            "usage": {
                "input_tokens": 100, "output_tokens": 10, "total_tokens": 110,
                "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
            },
        }  # fmt: skip

    @staticmethod
    def pieces(body: Mapping[str, Any], say: Say) -> list[str]:
        whole = Responses.whole(body, say)
        begun = {**whole, "output": [], "status": "in_progress", "usage": None}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
        for at, item in enumerate(whole["output"]):
            events += Responses._item_events(at, item)
        events.append({"type": "response.completed", "response": whole})
        return [_sse({**event, "sequence_number": number}, named=True) for number, event in enumerate(events)]

    @staticmethod
    def _items(say: Say) -> list[dict[str, Any]]:
        text: list[dict[str, Any]] = [
            {"type": "refusal", "refusal": say.refusal}
            if say.refusal
            else {"type": "output_text", "text": say.text, "annotations": [], "logprobs": []}
        ]
        message = {
            "id": "m-1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": text,
        }
        calls = [
            {
                "id": f"f{at}", "type": "function_call", "call_id": f"c{at}", "name": name, "status": "completed",
                "arguments": json.dumps(given),
            }
            for at, (name, given) in enumerate(say.calls)
        ]  # fmt: skip
        return [*([message] if say.text or say.refusal else []), *calls]

    @staticmethod
    def _item_events(at: int, item: dict[str, Any]) -> list[dict[str, Any]]:
        place = {"output_index": at, "item_id": item["id"]}
        if item["type"] == "message":
            part = item["content"][0]
            place["content_index"] = 0
            begun = {**item, "content": [], "status": "in_progress"}
            inner = (
                [
                    {"type": "response.content_part.added", **place, "part": {**part, "refusal": ""}},
                    {"type": "response.refusal.delta", **place, "delta": part["refusal"]},
                    {"type": "response.refusal.done", **place, "refusal": part["refusal"]},
                    {"type": "response.content_part.done", **place, "part": part},
                ]
                if part["type"] == "refusal"
                else [
                    {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
                    {"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []},
                    {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []},
                    {"type": "response.content_part.done", **place, "part": part},
                ]
            )
        else:
            arguments = item["arguments"]
            begun = {**item, "arguments": "", "status": "in_progress"}
            inner = [
                {"type": "response.function_call_arguments.delta", **place, "delta": arguments},
                {
                    "type": "response.function_call_arguments.done",
                    **place,
                    "arguments": arguments,
                    "name": item["name"],
                },
            ]
        return [
            {"type": "response.output_item.added", "output_index": at, "item": begun},
            *inner,
            {"type": "response.output_item.done", "output_index": at, "item": item},
        ]


class Messages:
    """Anthropic's messages."""

    @staticmethod
    def whole(body: Mapping[str, Any], say: Say) -> dict[str, Any]:
        return {
            "id": "msg-1", "type": "message", "role": "assistant", "model": body["model"],
            "content": Messages._blocks(say), "stop_reason": Messages._end(say), "stop_details": Messages._details(say),
            "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 10},
        }  # fmt: skip

    @staticmethod
    def pieces(body: Mapping[str, Any], say: Say) -> list[str]:
        whole = Messages.whole(body, say)
        begun = {
            **whole,
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 100, "output_tokens": 1},
        }
        events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
        for at, block in enumerate(whole["content"]):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                arguments = json.dumps(block["input"])
                empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
            events += [
                {"type": "content_block_start", "index": at, "content_block": empty},
                {"type": "content_block_delta", "index": at, "delta": delta},
                {"type": "content_block_stop", "index": at},
            ]
        ended = {name: whole[name] for name in ("stop_reason", "stop_details", "stop_sequence")}
        events += [
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}},
            {"type": "message_stop"},
        ]
        return [_sse(event, named=True) for event in events]

    @staticmethod
    def _end(say: Say) -> str:
        return "refusal" if say.refusal else "tool_use" if say.calls else "end_turn"

    @staticmethod
    def _details(say: Say) -> dict[str, Any] | None:
        return {"type": "refusal", "category": None, "explanation": say.refusal} if say.refusal else None

    @staticmethod
    def _blocks(say: Say) -> list[dict[str, Any]]:
        calls = [
            {"type": "tool_use", "id": f"c{at}", "name": name, "input": given}
            for at, (name, given) in enumerate(say.calls)
        ]
        return [*([{"type": "text", "text": say.text}] if say.text else []), *calls]


FORMATS: dict[str, type[Chat | Responses | Messages]] = {
    "/v1/chat/completions": Chat,
    "/v1/responses": Responses,
    "/v1/messages": Messages,
    "/v1/messages?beta=true": Messages,
}


def _format_of(path: str) -> type[Chat | Responses | Messages]:
    """The format of the requests to a path, which may be that of a deployment of Azure's."""
    return Chat if path.startswith("/openai/deployments/") else FORMATS[path]
