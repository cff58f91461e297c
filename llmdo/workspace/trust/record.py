"""The answers of a person about code, in their own state folder, and the texts that they answer for.

Files of a workspace are never read here. An answer counts only as a regular file of this person that nobody else may
write, outside of the workspace, with content that matches its name; any other is treated as missing. Two processes
write different files, or the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.graph.inventory import shell_rules, started_as
from llmdo.syntax import discovery
from llmdo.workspace.program_files import MAX_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.graph.inventory import InventoryItem
    from llmdo.graph.resolved import Graph

AnswerKind = Literal["content", "folder"]

SCHEMA = 1
MAX_ANSWER = 64 * 1024  # bytes
MAX_TEXTS = 8 * 1024 * 1024  # bytes of what was shown when somebody said yes

_NAME = re.compile(r"(content|folder)-[0-9a-f]{64}\.json")
_READING = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTrust:
    """A yes that holds."""

    kind: AnswerKind
    folder: str
    """The workspace of the answer."""
    digest: str | None
    """The digest of the content answered for; None if some of it cannot be known by its content."""
    when: str
    """When, in UTC."""


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """The answers in one folder."""

    folder: Path

    def lies_in(self, folders: Iterable[Path]) -> bool:
        """Whether code that works in one of these folders could write answers."""
        path = os.path.realpath(self.folder)
        tops = [os.path.realpath(folder) for folder in folders]
        return any(path == top or path.startswith(f"{top.rstrip(os.sep)}{os.sep}") for top in tops)

    def has_folder(self, root: Path) -> bool:
        """Whether the workspace at `root` is trusted whatever becomes of it."""
        place = os.path.realpath(root)
        return self._read("folder", place, {"folder": place}) is not None

    def has_content(self, digest: str) -> bool:
        """Whether this very content is trusted, in any folder."""
        return self._read("content", digest, {"digest": digest}) is not None

    def last(self, root: Path) -> tuple[str, dict[str, str]] | None:
        """The time of the last yes at `root`, and the texts shown then by their keys; None if that is not known."""
        place = os.path.realpath(root)
        table = self._read("shown", place, {"folder": place}, MAX_TEXTS)
        texts = table.get("texts") if table else None
        if table is None or not isinstance(texts, dict):
            return None
        if not all(isinstance(text, str) for pair in texts.items() for text in pair):
            return None
        return str(table.get("given")), texts

    def keep(self, kind: AnswerKind, root: Path, digest: str | None, texts: Mapping[str, str]) -> None:
        """Records a yes, and its subject.

        Raises:
            LlmdoError: It cannot be written.
        """
        place = os.path.realpath(root)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        answer = {"schema": SCHEMA, "kind": kind, "folder": place, "digest": digest, "given": now}
        shown = {"schema": SCHEMA, "kind": "shown", "folder": place, "digest": digest, "given": now}
        whole = json.dumps({**shown, "texts": dict(texts)})
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(kind, digest if kind == "content" and digest else place, json.dumps(answer))
            self._write("shown", place, whole if len(whole) < MAX_TEXTS else json.dumps(shown))
        except OSError as error:
            raise LlmdoError(
                f"the answer cannot be kept in `{self.folder}`: {error.strerror or error}",
                hint="it holds for this command",
            ) from error

    def answers(self) -> Iterator[GivenTrust]:
        """Every yes that holds, the earliest first."""
        tables = [self._table(path, MAX_ANSWER) for path in self._files()]
        valid = [
            GivenTrust(
                kind=table["kind"], folder=table["folder"], digest=table["digest"], when=str(table["given"])
            )
            for table in tables
            if table
        ]
        yield from sorted(valid, key=lambda answer: (answer.when, answer.folder))

    def forget(self, root: Path, digest: str | None = None) -> int:
        """Removes every yes given at `root`, and any to the content of that digest; returns their number.

        Raises:
            LlmdoError: One cannot be removed.
        """
        place = os.path.realpath(root)
        gone = 0
        try:
            for path in self._files():
                table = self._table(path, MAX_ANSWER)
                if table and (table["folder"] == place or (digest and table["digest"] == digest)):
                    path.unlink(missing_ok=True)
                    gone += 1
            self._path("shown", place).unlink(missing_ok=True)
        except OSError as error:
            raise LlmdoError(f"an answer cannot be removed from `{self.folder}`: {error.strerror}") from error
        return gone

    def _files(self) -> list[Path]:
        try:
            return sorted(path for path in self.folder.iterdir() if _NAME.fullmatch(path.name))
        except OSError:
            return []

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / f"{kind}-{hashlib.sha256(os.fsencode(key)).hexdigest()}.json"

    def _read(
        self, kind: str, key: str, says: Mapping[str, str], most: int = MAX_ANSWER
    ) -> dict[str, Any] | None:
        table = self._table(self._path(kind, key), most)
        return table if table and all(table.get(name) == value for name, value in says.items()) else None

    def _table(self, path: Path, most: int) -> dict[str, Any] | None:
        """The content of a file; None if `keep` does not write such content under that name."""
        try:
            descriptor = os.open(path, _READING)
            with os.fdopen(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                if not _is_own(status) or status.st_size > most:
                    return None
                table = json.loads(file.read(most + 1))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(table, dict) or table.get("schema") != SCHEMA:
            return None
        kind, folder, digest = (table.get(name) for name in ("kind", "folder", "digest"))
        if not isinstance(folder, str) or not (digest is None or isinstance(digest, str)):
            return None
        key = digest if kind == "content" else folder
        return table if isinstance(key, str) and self._path(str(kind), key).name == path.name else None

    def _write(self, kind: str, key: str, text: str) -> None:
        path = self._path(kind, key)
        beside = self.folder / f".{secrets.token_hex(8)}"
        descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "surrogatepass"))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def _is_own(status: os.stat_result) -> bool:
    """Whether a file is a regular one that only this person can have written."""
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        return False
    return os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def record_of(environ: Mapping[str, str]) -> TrustRecord:
    """The answers of the person of that environment."""
    home = Path(environ["HOME"]) if environ.get("HOME", "").startswith("/") else Path("~").expanduser()
    if sys.platform == "win32":
        above = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif environ.get("XDG_STATE_HOME", "").startswith("/"):
        above = Path(environ["XDG_STATE_HOME"])
    else:
        above = home / ("Library/Application Support" if sys.platform == "darwin" else ".local/state")
    return TrustRecord(above / "llmdo" / "trust")


_KINDS = {
    "python": ("Python file", "Python files"),
    "judge": ("Python file that judges", "Python files that judge"),
    "package": ("installed module", "installed modules"),
    "server": ("MCP server", "MCP servers"),
    "program": ("program of an MCP server", "programs of MCP servers"),
}


def digest_of(items: Iterable[InventoryItem]) -> str | None:
    """The digest of all of them together; None if one cannot be known by its content."""
    listed = [[item.kind, item.name, item.digest] for item in items]
    return None if any(content is None for *_, content in listed) else digest.of_data(sorted(listed))


def texts_of(
    graph: Graph, root: Path, items: Iterable[InventoryItem], code: Path | None = None
) -> dict[str, str]:
    """The text of each item, by its key; `code` is the folder of the Python files, if not `root`.

    Raises:
        LlmdoError: A file changed since the workspace was read.
    """
    return {item.key: _text(graph, root, item, code or root) for item in items}


def counted(items: Iterable[InventoryItem]) -> str:
    """The number of items of each kind, in words."""
    kinds: list[str] = [item.kind for item in items]
    words = [
        f"{number} {plural if number > 1 else singular}"
        for kind, (singular, plural) in _KINDS.items()
        if (number := kinds.count(kind))
    ]
    words += ["shell rules"] if "shell" in kinds else []
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else "nothing"


def _text(graph: Graph, root: Path, item: InventoryItem, code: Path) -> str:
    if item.kind == "server":
        return started_as(graph.toolsets[item.name])
    if item.kind == "shell":
        return shell_rules(graph)
    if item.kind == "package":
        return item.name
    if item.name.endswith("/"):
        return f"(all code in this folder, {item.digest})"
    content = _content((code if item.kind in ("python", "judge") else root) / item.name)
    if content is None:
        raise _changed(item.name)
    source, problems = discovery.decode(item.name, content)
    now = digest.of_bytes(content) if item.kind == "program" else digest.of_text(source.text)
    if now != item.digest:
        raise _changed(item.name)
    return f"({len(content):,} bytes that are not text, {now})" if problems else source.text


def _content(path: Path) -> bytes | None:
    """The content of the regular file at `path`; None if there is none that can be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MAX_PROGRAM + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    return None if content is None or len(content) > MAX_PROGRAM else content


def _changed(path: str) -> LlmdoError:
    return LlmdoError(f"`{path}` changed while it was read", hint="start again")
