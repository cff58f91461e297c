"""The content of each request to the models of a run, put together from its journal.

The journal has the digest of each message, and its text at its origin: the input of a call, the result of a tool. Other
messages are known by their digest alone, and marked so.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.values import dataclass, field, in_json
from llmdo.journal.content import digest_of
from llmdo.journal.conversation import goes_on_from
from llmdo.journal.entries import JournalError
from llmdo.journal.spans import without_tokens
from llmdo.journal.tree import first_numbers, full_tree, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import JournalStore
    from llmdo.journal.tree import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePart:
    """One message part to a model or from it."""

    kind: str
    tool: str = ""
    call: str = ""
    """The call path of the tool's call."""
    value: object = None
    """Its content; None if the journal has only its digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRequest:
    """One request of a worker: the parts new to its model, and the answer."""

    path: str
    number: int = field(metadata=in_json("request"))
    worker: str
    model: str
    after: str
    """The messages from outside this run before those of a first request."""
    instructions: str | None
    """None if the journal has only their digest, as when toolsets add to a prompt."""
    tools: tuple[Mapping[str, object], ...] | None
    """The tools shown to the model; None if an export took them out."""
    parts: tuple[MessagePart, ...] = field(metadata=in_json("given"))
    answered: tuple[MessagePart, ...]


def shown_requests(journal: JournalStore, path: str | None) -> tuple[ShownRequest, ...]:
    """The requests of the worker called at `path`, or of all, in order of their answers.

    Raises:
        LlmdoError: No worker there asked its model anything.
    """
    entries = list(journal.entries("request"))
    if path is not None and not any(entry.path == path for entry in entries):
        paths = sorted({entry.path for entry in entries})
        hint = did_you_mean(path, paths) or f"those that asked: {', '.join(paths) or 'none'}"
        raise LlmdoError(f"no model was asked at `{path}`", hint=hint)
    reader = _Reader(journal)
    return tuple(reader.read(entry) for entry in entries if path in (None, entry.path))


class _Reader:
    """Puts the requests of one run together, in order for each call of a worker."""

    def __init__(self, journal: JournalStore) -> None:
        self._journal = journal
        self._calls = {node.path: node for node in walk(full_tree(journal))}
        self._first = first_numbers(journal, self._calls)
        self._made: Counter[str] = Counter()
        self._pending: dict[str, list[tuple[str, str]]] = {}
        """By worker path, the tools called by its last response, each with its call path."""
        self._files = {entry.path: entry.data.get("files") for entry in journal.entries("files")}
        self._prompts = next(journal.entries("run")).data["prompts"]
        self._before = _before(journal)

    def read(self, entry: JournalEntry) -> ShownRequest:
        data = entry.data
        sent, worker = data["asked"], self._calls[entry.path].worker or ""
        parts = tuple(self._part(entry, kind, tool) for kind, tool, _ in sent["parts"])
        self._pending[entry.path] = []
        return ShownRequest(
            path=entry.path,
            number=entry.step,
            worker=worker,
            model=sent["model"],
            after=self._before if entry.step == 1 and "/" not in entry.path else "",
            instructions=self._instructions(worker, sent["instructions"]),
            tools=self._tools(sent["tools"]),
            parts=parts,
            answered=tuple(self._answered(entry.path, part) for part in data["response"]["parts"]),
        )

    def _instructions(self, worker: str, digest: str) -> str | None:
        prompt = str(self._prompts.get(worker, "")).strip()  # as pydantic-ai tells it
        written = json.dumps(prompt, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return prompt if digest_of(written) == digest else None

    def _tools(self, digest: str) -> tuple[Mapping[str, object], ...] | None:
        try:
            shown = without_tokens(json.loads(self._journal.content(digest)))
        except (JournalError, ValueError):
            return None
        return tuple(tool for tool in shown if isinstance(tool, dict)) if isinstance(shown, list) else None

    def _part(self, entry: JournalEntry, kind: str, tool: str) -> MessagePart:
        if kind == "user-prompt" and entry.step == 1:
            files = self._files.get(entry.path)
            text = self._calls[entry.path].input
            return MessagePart(kind=kind, value=[text, *map(_file, files)] if files else text)
        pending = self._pending.get(entry.path, [])
        place = next((place for place, (name, _) in enumerate(pending) if tool and name == tool), None)
        if place is None:
            return MessagePart(kind=kind, tool=tool)
        path = pending.pop(place)[1]
        call = self._calls.get(path)
        return MessagePart(kind=kind, tool=tool, call=path, value=_gave(call) if call else None)

    def _answered(self, path: str, part: Mapping[str, Any]) -> MessagePart:
        kind = part["part_kind"]
        if kind != "tool-call":
            return MessagePart(kind=kind, tool=part.get("tool_name", ""), value=part.get("content"))
        calls = f"{path}/{part['tool_name']}#"
        call = f"{calls}{self._first.get(calls, 1) + self._made[calls]}"
        self._made[calls] += 1
        self._pending[path].append((part["tool_name"], call))
        return MessagePart(kind=kind, tool=part["tool_name"], call=call, value=part.get("args"))


def _gave(call: Node) -> object:
    """The result of a call as its model got it."""
    return call.result if call.result is not None else call.answer or None


def _file(content: object) -> object:
    """A worker's attachment, without the content of a file."""
    if isinstance(content, dict) and content.get("kind") == "binary":
        return {"file": content.get("identifier"), "media_type": content.get("media_type")}
    return content


def _before(journal: JournalStore) -> str:
    if earlier := goes_on_from(journal):
        return f"the messages of run {earlier.run}"
    return "the messages that the run was started with" if any(journal.entries("history")) else ""
