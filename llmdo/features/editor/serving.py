"""`llmdo lsp`: the server of the Language Server Protocol, over stdin and stdout."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls import uris

from llmdo.features.editor import requests
from llmdo.features.editor.server import EditorServer

if TYPE_CHECKING:
    from collections.abc import Iterator

WATCHED = (
    "**/llmdo.toml",
    "**/team.yaml",
    "**/team.md",
    "**/llmdo.lock",
    "**/*.worker",
    "**/*.worker.md",
    "**/*.py",
    "**/.gitignore",
)


def make() -> EditorServer:
    """A server with all requests."""
    server = EditorServer()

    @server.feature(types.INITIALIZED)
    def initialized(server: EditorServer, _: types.InitializedParams) -> None:
        server.begin(_folders(server))
        watching = server.client_capabilities.workspace and (
            server.client_capabilities.workspace.did_change_watched_files
        )
        if watching and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("llmdo", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(types.RegistrationParams([registration]))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(server: EditorServer, sent: types.DidOpenTextDocumentParams) -> None:
        server.opened(sent.text_document.uri, sent.text_document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(server: EditorServer, sent: types.DidChangeTextDocumentParams) -> None:
        uri = sent.text_document.uri
        server.opened(uri, server.workspace.get_text_document(uri).source)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(server: EditorServer, sent: types.DidCloseTextDocumentParams) -> None:
        server.closed(sent.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(server: EditorServer, _: types.DidSaveTextDocumentParams) -> None:
        server.look_again()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(server: EditorServer, _: types.DidChangeWatchedFilesParams) -> None:
        server.look_again()

    requests.add_to(server)
    return server


def _folders(server: EditorServer) -> Iterator[Path]:
    for folder in server.workspace.folders.values():
        if path := uris.to_fs_path(folder.uri):
            yield Path(path)
    if not server.workspace.folders and server.workspace.root_path:
        yield Path(server.workspace.root_path)


def serve() -> None:
    """Serves until the editor ends it. Prints go to stderr: stdout is the editor's."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    make().start_io(stdin=sys.stdin.buffer, stdout=answers)
