"""Requests at positions that a file does not have: an answer comes, and the server goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from tests.editor.client import editor, run
from tests.editor.test_serving import MAIN, root

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
