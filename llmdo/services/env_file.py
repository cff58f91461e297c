"""A file of variables for one command: all its values are secret, whatever their names."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from llmdo.base.credentials import LISTED
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.missing import missing_file

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping
    from pathlib import Path

LARGEST = 1_000_000  # bytes: more is not a file of variables

PERSONAL = frozenset({"LLMDO_TRUST", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"})
"""Variables that say whom the person trusts and what they forbid, or locate the files that do."""

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<value>.*)(?P=quote)\s*(?:#.*)?""")
_COMMENT = re.compile(r"(?:^|\s+)#.*")


def load(file: Path, environ: MutableMapping[str, str]) -> tuple[str, ...]:
    """Adds the variables of `file` to `environ`, unless they hold something there; returns the added names.

    All that are added are noted as secrets, so that no value of theirs is written down.

    Raises:
        LlmdoError: The file cannot be read or has an invalid line; no value is shown.
    """
    if not os.path.lexists(file):
        raise missing_file(str(file), of="--env-file")
    try:
        content = file.read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise LlmdoError(f"`--env-file {file}` cannot be read: {why}") from error
    if len(content) > LARGEST:
        raise LlmdoError(
            f"`--env-file {file}` is not a file of variables: it is larger than {LARGEST:,} bytes"
        )
    new = {name: value for name, value in _variables(file, text) if not environ.get(name)}
    environ.update(new)
    listed = dict.fromkeys(filter(None, (*environ.get(LISTED, "").split(","), *new)))
    environ[LISTED] = ",".join(listed)
    return tuple(new)


def _variables(file: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None or "\0" in stripped:
            raise LlmdoError(f"line {number} of `--env-file {file}` is not of the form NAME=VALUE")
        if match["name"] in PERSONAL:
            raise LlmdoError(
                f"line {number} of `--env-file {file}`: `{match['name']}` may only be set by the person",
                hint="a file of variables may come with a workspace, which may not answer for the person",
            )
        quoted = _QUOTED.fullmatch(match["value"])
        yield match["name"], quoted["value"] if quoted else _COMMENT.sub("", match["value"]).strip()
