"""The workspaces that an editor shows, read with its unsaved texts, and the findings sent to it."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from llmdo import checks
from llmdo.base.nearest import manifest_in, nearest_workspace
from llmdo.base.values import dataclass, field
from llmdo.features.editor import sending
from llmdo.features.editor.sending import EditorText
from llmdo.syntax import discovery
from llmdo.version import __version__
from llmdo.workspace import project as projects
from llmdo.workspace.root import MAX_LOCK
from llmdo.workspace.source_files import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.editor.sending import Encoding
    from llmdo.workspace.project import Project


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a workspace, and its findings."""

    project: Project
    findings: tuple[Diagnostic, ...]

    @property
    def by_path(self) -> Mapping[str, tuple[Diagnostic, ...]]:
        """The findings about each file."""
        paths: dict[str, list[Diagnostic]] = {}
        for finding in self.findings:
            paths.setdefault(finding.at.path, []).append(finding)
        return {path: tuple(about) for path, about in paths.items()}


@dataclass(slots=True)
class Session:
    """A workspace that is open in an editor."""

    root: Path
    encoding: Encoding = "utf-16"
    _memory: Memory = field(default_factory=Memory)
    _reading: Reading | None = None
    _sound: Reading | None = None
    """The last one that knows all names: during typing, a file often cannot be read."""

    def edit(self, path: str, text: str) -> None:
        """Takes the editor's text of a file, which replaces that on disk from now on."""
        self._memory.buffers[path] = text
        self._reading = None

    def close(self, path: str) -> None:
        """Takes a file from the disk again."""
        self._memory.buffers.pop(path, None)
        self._reading = None

    def forget(self) -> None:
        """Lets the workspace be read again, as the disk may have changed."""
        self._reading = None

    @property
    def is_read(self) -> bool:
        """Whether nothing changed since the workspace was read."""
        return self._reading is not None

    def reading(self) -> Reading:
        """The workspace with its findings; unchanged files are not read again."""
        if self._reading is None:
            project = projects.read(self.root, memory=self._memory)
            self._reading = Reading(project, checks.reported(project, checks.check(project)))
            if project.workspace.manifest is not None and not project.gaps.names:
                self._sound = self._reading
        return self._reading

    def sound(self) -> Reading:
        """The last reading that knows all names of the workspace, or else the last one."""
        now = self.reading()
        return self._sound or now

    def text(self, path: str) -> EditorText:
        """A file as the editor shows it; empty if it cannot be read."""
        return EditorText(self._shown(path), self.encoding)

    def texts(self) -> Callable[[str], EditorText]:
        """Files as the editor shows them, each read once."""
        return cache(self.text)

    def with_line_ends(self, path: str, text: str) -> str:
        """`text`, whose lines end in LF, with the line ends of the file."""
        return text.replace("\n", "\r\n") if "\r\n" in self._shown(path) else text

    def _shown(self, path: str) -> str:
        shown = self._memory.buffers.get(path)
        if shown is None:
            content = discovery.read(self.root, path, limit=MAX_LOCK)
            shown = "" if isinstance(content, discovery.RefusedPath) else content.decode("utf-8", "replace")
        return shown


LAST = 2**31 - 1
"""The greatest line and column of the protocol; editors send more for the end."""


class EditorProtocol(LanguageServerProtocol):
    """The protocol, which answers every request: the library drops unreadable ones."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """An object of a message, and at last the message; lines and columns are cut to the protocol's range.

        Raises:
            JsonRpcException: It is none; if it asks for an answer, the editor has that.
        """
        if data.keys() == {"line", "character"}:
            return {name: _within(number) for name, number in data.items()}
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], None, error.to_response_error())
            raise


def _within(number: object) -> object:
    return max(0, int(min(number, LAST))) if isinstance(number, int | float) else number


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
            if manifest_in(str(root)) is None:
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
        root = nearest_workspace(str(folder)) if folder.is_absolute() else None
        if root is None:
            return None
        encoding = ENCODINGS.get(types.PositionEncodingKind(self.workspace.position_encoding), "utf-16")
        return self._sessions.setdefault(Path(root), Session(Path(root), encoding))
