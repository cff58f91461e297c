"""An editor, as the client of pytest-lsp is one: it starts `llmdo lsp` and speaks the protocol with it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

Diagnostics = Mapping[str, Sequence[types.Diagnostic]]
LONGEST = 50  # seconds until a test gives up on an answer


class Editor:
    """A workspace that is open in an editor."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client = client
        self.root = root
        self._versions: dict[str, int] = {}

    def uri(self, path: str) -> str:
        uri = uris.from_fs_path(str(self.root / path))
        assert uri
        return uri

    def open(self, path: str, text: str | None = None) -> None:
        shown = (self.root / path).read_bytes().decode() if text is None else text
        item = types.TextDocumentItem(self.uri(path), types.LanguageKind.Yaml, 1, shown)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, path: str, text: str) -> None:
        """Has the file say `text` without saving it."""
        version = self._versions[path] = self._versions.get(path, 1) + 1
        item = types.VersionedTextDocumentIdentifier(version, self.uri(path))
        changes = [types.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(item, changes))

    def save(self, path: str) -> None:
        item = types.TextDocumentIdentifier(self.uri(path))
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(item))

    def close(self, path: str) -> None:
        item = types.TextDocumentIdentifier(self.uri(path))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(item))

    def at(self, path: str, line: int, column: int) -> dict[str, Any]:
        return {
            "text_document": types.TextDocumentIdentifier(self.uri(path)),
            "position": types.Position(line, column),
        }

    def codes(self, path: str) -> list[str]:
        return sorted(str(each.code) for each in self.client.diagnostics.get(self.uri(path), ()))

    async def shows(self, path: str, *codes: str) -> Sequence[types.Diagnostic]:
        """Waits until the editor shows just these codes in the file."""
        await self.until(lambda: self.codes(path) == sorted(codes))
        return self.client.diagnostics.get(self.uri(path), ())

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(LONGEST):
            while not holds():
                await self.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)


@asynccontextmanager
async def editor(root: Path, *, encodings: Sequence[str] = ("utf-16",)) -> AsyncIterator[Editor]:
    """A server for the workspace at `root`, and an editor that it serves."""
    client = make_test_lsp_client()
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda _: None)
    await client.start_io(sys.executable, "-m", "llmdo", "lsp", cwd=root, env=dict(os.environ))
    capabilities = client_capabilities("visual-studio-code")
    assert capabilities.general
    capabilities.general.position_encodings = [types.PositionEncodingKind(name) for name in encodings]
    folder = types.WorkspaceFolder(uris.from_fs_path(str(root)) or "", "w")
    parameters = types.InitializeParams(capabilities=capabilities, workspace_folders=[folder])
    try:
        await client.initialize_session(parameters)
        yield Editor(client, root)
        await client.shutdown_session()
    except BaseException:
        if client._server and client._server.returncode is None:
            client._server.kill()  # it waits for an end that a failed test does not come to
        raise
    finally:
        await client.stop()


def run(work: Coroutine[Any, Any, None]) -> None:
    """Runs a test that waits for answers."""
    asyncio.run(work)
