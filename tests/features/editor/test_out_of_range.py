"""Requests at positions that a file does not have: an answer comes, and the server goes on."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import pytest
from lsprotocol import types

from tests.features.editor.client import LONGEST, editor, run
from tests.features.editor.test_serving import MAIN, root
from tests.support import forking

__all__ = ["root"]

BEYOND = [(0, 10**6), (10**6, 0), (2**31 - 1, 2**31 - 1), (4, 10**6)]


@pytest.mark.long
@pytest.mark.parametrize("text", ["", "\n", MAIN, "---\n", "😀" * 10, "\ufeff---\r\nname: main\r\n---\r\n"])
def test_every_request_at_a_position_that_is_not_there_is_answered(root: Path, text: str) -> None:
    async def work() -> None:
        async with editor(root) as shown:
            client = shown.client
            for name in ("main.worker", "llmdo.toml"):
                shown.open(name, text)
                for line, column in BEYOND:
                    at = shown.at(name, line, column)
                    await client.text_document_hover_async(types.HoverParams(**at))
                    await client.text_document_definition_async(types.DefinitionParams(**at))
                    await client.text_document_completion_async(types.CompletionParams(**at))
                    await client.text_document_references_async(
                        types.ReferenceParams(context=types.ReferenceContext(True), **at)
                    )
                    await client.text_document_prepare_rename_async(types.PrepareRenameParams(**at))
                    place = types.Position(line, column)
                    await client.text_document_code_action_async(
                        types.CodeActionParams(
                            types.TextDocumentIdentifier(shown.uri(name)),
                            types.Range(place, place),
                            types.CodeActionContext([]),
                        )
                    )
                await client.text_document_code_lens_async(
                    types.CodeLensParams(types.TextDocumentIdentifier(shown.uri(name)))
                )

    run(work())


NUMBERS = [-1, 2**31, 2**32 - 1, 2**53, 1e300, -1e300, float("inf"), 0.5]
"""Lines and columns that the protocol does not know, and editors send all the same."""
ASKED = ["hover", "definition", "references", "completion", "prepareRename", "rename", "codeAction"]


@pytest.mark.parametrize("method", ASKED)
def test_a_number_that_the_protocol_does_not_know_is_the_nearest_one(root: Path, method: str) -> None:
    places = [{"line": line, "character": 3} for line in NUMBERS]
    places += [{"line": 1, "character": column} for column in NUMBERS]
    near = [{name: int(min(max(at, 0), 2**31 - 1)) for name, at in place.items()} for place in places]
    answers = answered(root, [asked(root, method, place) for place in (*places, *near)])
    assert len(answers) == 2 * len(places)
    for place, there, nearest in zip(places, answers, answers[len(places) :], strict=False):
        assert there == nearest, place
        assert "error" not in there


def test_a_request_that_cannot_be_read_is_answered_with_an_error(root: Path) -> None:
    places = [{"line": "a", "character": 0}, {"line": None, "character": 0}, {"line": 0}, 3]
    last = asked(root, "hover", {"line": 1, "character": 0})
    *errors, answer = answered(root, [*(asked(root, "hover", place) for place in places), last])
    assert [each["error"]["code"] for each in errors] == [-32602] * len(places)
    assert "result" in answer, "it goes on"


def asked(root: Path, method: str, at: object) -> dict[str, Any]:
    """A request about a place, which nothing has judged."""
    about: dict[str, Any] = {"textDocument": {"uri": (root / "main.worker").as_uri()}}
    if method == "codeAction":
        about |= {"range": {"start": at, "end": at}, "context": {"diagnostics": []}}
    else:
        about["position"] = at
    if method == "references":
        about["context"] = {"includeDeclaration": True}
    if method == "rename":
        about["newName"] = "another"
    return {"method": f"textDocument/{method}", "params": about}


def answered(root: Path, requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a server answers to these, without their numbers; it ends once it has seen them all."""
    folder = {"uri": root.as_uri(), "name": "w"}
    begun = {"processId": None, "rootUri": root.as_uri(), "capabilities": {}, "workspaceFolders": [folder]}
    numbered = [{"id": number, **request} for number, request in enumerate(requests, 1)]
    messages = [
        {"id": 0, "method": "initialize", "params": begun},
        {"method": "initialized", "params": {}},
        *numbered,
        {"id": "end", "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    sent = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    command = [sys.executable, "-m", "llmdo", "lsp"]
    with forking.Popen(command, cwd=root, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as process:
        output = process.communicate(sent, timeout=LONGEST)[0]
    received, answers = output, {}
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        (length,) = re.findall(rb"Content-Length: (\d+)", head)
        message = json.loads(received[: int(length)])
        received = received[int(length) :]
        if message.get("id") in range(1, len(requests) + 1) and "method" not in message:
            answers[message["id"]] = {key: message[key] for key in ("result", "error") if key in message}
    return [answers[number] for number in sorted(answers)]
