"""Arguments that a person changes before a call runs: as JSON, in an editor or typed at the prompt."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pydantic_core import to_jsonable_python

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

POLL_SECONDS = 0.1  # how long an editor may still be open after its question was cancelled


class NotEdited(Exception):  # noqa: N818  # it says what happened
    """Why there are no other arguments, in words for the person."""


def editor_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The words that start the person's editor; empty if the environment names none."""
    named = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        return tuple(shlex.split(named))
    except ValueError:
        return ()


def as_text(arguments: Mapping[str, object], *, in_ascii: bool) -> str:
    """The arguments for a person to edit; on a terminal in ASCII, in which nothing can hide.

    Raises:
        NotEdited: JSON cannot express them.
    """
    try:
        plain = to_jsonable_python(dict(arguments), by_alias=True, bytes_mode="base64")
    except ValueError as error:
        raise NotEdited("these arguments cannot be written as JSON") from error
    return json.dumps(plain, indent=2, ensure_ascii=in_ascii) + "\n"


def parse(text: str) -> dict[str, object]:
    """The arguments in `text`.

    Raises:
        NotEdited: It is not a JSON object, or gives a key twice.
    """
    try:
        arguments = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise NotEdited(f"this is not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise NotEdited("the arguments are a JSON object: {...}")
    return arguments


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given twice")
    return members


def edit_in(editor: tuple[str, ...], text: str, cancelled: threading.Event) -> str:
    """The text after the editor is closed.

    Raises:
        NotEdited: The editor could not be started or failed.
    """
    with TemporaryDirectory(prefix="llmdo-") as folder:  # for its owner only
        file = Path(folder) / "arguments.json"
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        try:
            child = subprocess.Popen([*editor, str(file)])
        except OSError as error:
            raise NotEdited(f"cannot start `{editor[0]}`: {error.strerror}") from error
        while (status := _status(child)) is None:
            if cancelled.is_set():
                child.terminate()
                child.wait()
                raise NotEdited("the question was cancelled")
        if status:
            raise NotEdited(f"`{editor[0]}` ended with status {status}")
        try:
            return file.read_text(encoding="utf-8", errors="surrogatepass")
        except (OSError, ValueError) as error:
            raise NotEdited("the edited file cannot be read") from error


def _status(child: subprocess.Popen[bytes]) -> int | None:
    try:
        return child.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return None
