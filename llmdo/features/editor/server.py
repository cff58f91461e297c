"""The workspaces that an editor shows, and the findings sent to it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from llmdo.base.nearest import MANIFEST, nearest
from llmdo.features.editor import sending
from llmdo.features.editor.receiving import EditorProtocol
from llmdo.features.editor.session import Session
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.features.editor.text import Encoding

PAUSE = 0.02
"""Seconds from a key to its check: of several keys at once only the last is checked."""

ENCODINGS: dict[types.PositionEncodingKind, Encoding] = {
    types.PositionEncodingKind.Utf8: "utf-8",
    types.PositionEncodingKind.Utf16: "utf-16",
    types.PositionEncodingKind.Utf32: "utf-32",
}


class EditorServer(LanguageServer):
    """The workspaces that an editor shows, each with its findings."""

    def __init__(self) -> None:
        super().__init__("llmdo", __version__, types.TextDocumentSyncKind.Full, protocol_cls=EditorProtocol)
        self._sessions: dict[Path, Session] = {}
        self._uris: dict[Path, str] = {}
        """The editor's URIs of its open files."""
        self._shown: dict[Path, dict[str, list[types.Diagnostic]]] = {}
        """The diagnostics sent last for the files of each workspace."""
        self._waiting: asyncio.TimerHandle | None = None

    def begin(self, folders: Iterator[Path]) -> None:
        """Opens the workspaces that contain the editor's folders."""
        for folder in folders:
            self._session_at(folder)
        self.check_soon()

    def opened(self, uri: str, text: str) -> None:
        """Takes the text of a file from the editor."""
        if placed := self.session_of(uri):
            session, path = placed
            self._uris[session.root / path] = uri
            session.edit(path, text)
            self.check_soon()

    def closed(self, uri: str) -> None:
        """Takes a file from the disk again."""
        if placed := self.session_of(uri):
            session, path = placed
            self._uris.pop(session.root / path, None)
            session.close(path)
            self.check_soon()

    def look_again(self) -> None:
        """Lets every workspace be read again."""
        for session in self._sessions.values():
            session.forget()
        self.check_soon()

    def check_soon(self) -> None:
        """Schedules a check whose findings the editor receives."""
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().call_later(PAUSE, self._check)

    def uri_of(self, session: Session, path: str) -> str:
        """The editor's URI of a file of a workspace."""
        file = session.root / path
        return self._uris.get(file) or uris.from_fs_path(str(file)) or ""

    def _check(self) -> None:
        self._waiting = None
        for root, session in list(self._sessions.items()):
            if not (root / MANIFEST).is_file():
                self._show(session, {})
                del self._sessions[root], self._shown[root]
            elif not session.is_read or root not in self._shown:
                self._show(session, self._diagnostics(session))

    def _diagnostics(self, session: Session) -> dict[str, list[types.Diagnostic]]:
        text_of = session.texts()
        return {
            self.uri_of(session, path): [
                sending.diagnostic(finding, text_of, lambda other: self.uri_of(session, other))
                for finding in findings
            ]
            for path, findings in session.reading().by_path.items()
        }

    def _show(self, session: Session, diagnostics: dict[str, list[types.Diagnostic]]) -> None:
        """Sends the changes: an empty list for a file that has no findings any more."""
        before = self._shown.get(session.root, {})
        for uri in sorted({*before, *diagnostics}):
            now = diagnostics.get(uri, [])
            if now != before.get(uri):
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, now))
        self._shown[session.root] = diagnostics

    def session_of(self, uri: str) -> tuple[Session, str] | None:
        """The workspace of a file, and its path there; None if it is in none."""
        if not (name := uris.to_fs_path(uri)):
            return None
        file = Path(name)
        session = self._session_at(file.parent)
        return (session, file.relative_to(session.root).as_posix()) if session else None

    def _session_at(self, folder: Path) -> Session | None:
        root = nearest(str(folder), MANIFEST) if folder.is_absolute() else None
        if root is None:
            return None
        encoding = ENCODINGS.get(types.PositionEncodingKind(self.workspace.position_encoding), "utf-16")
        return self._sessions.setdefault(Path(root), Session(Path(root), encoding))
