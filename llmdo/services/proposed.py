"""The effect of a waiting call on a file: the difference between its present and its future text."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.policy.authority import Capability
from llmdo.policy.secret_files import is_secret
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.media import text_of
from llmdo.toolsets.refusal import PathRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.workspace.tools_root import Folders

FILESYSTEM = "filesystem"
MAX_BYTES = 1_000_000  # of a file or its new text: a difference between longer ones takes its time
MAX_LINES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedChange:
    """The proposed change of one file, against its present state."""

    path: str
    """As seen from the folder that tools work on."""
    lines: tuple[str, ...] = ()
    """A unified difference, each line without its end."""
    note: str = ""
    """Why there are none, or another remark."""


def proposed_change(record: Mapping[str, Any], folders: Folders | None) -> ProposedChange | None:
    """The effect on a file of a question's call, by its record; None if it has none."""
    written = [
        raised.scope
        for raised in map(Capability.parse, record["capabilities"])
        if raised.name == "fs.write" and raised.scope and not raised.scope.endswith("**")
    ]
    arguments = record["arguments"]
    if (
        record["toolset"] != FILESYSTEM
        or len(written) != 1
        or folders is None
        or not isinstance(arguments, dict)
    ):
        return None
    path = written[0]
    if is_secret(path):
        return ProposedChange(path=path, note="what is in it now mostly holds secrets, and is not shown")
    try:
        with Root.of(folders) as root:
            before = _now(root, path)
    except (LlmdoError, OSError, PathRefused) as error:
        return ProposedChange(path=path, note=f"what is in it now cannot be read: {error}")
    if before is None:
        return ProposedChange(path=path, note="what is in it now is not text")
    match record["tool"], arguments:
        case "write_file", {"content": str() as after}:
            return _difference(path, before, after)
        case "edit_file", {"old": str() as old, "new": str() as new}:
            if (number := before.count(old) if old else 0) != 1:
                return ProposedChange(
                    path=path,
                    note=f"the text to replace is in the file {number:,} times now, so it would not change",
                )
            return _difference(path, before, before.replace(old, new))
    return None


def _now(root: Root, path: str) -> str | None:
    """The text of a file, empty if there is none; None if it holds no text."""
    return "" if root.kind(path) == "missing" else text_of(root.read(path, MAX_BYTES))


def _difference(path: str, before: str, after: str) -> ProposedChange:
    old, new = before.split("\n"), after.split("\n")
    if before == after:
        return ProposedChange(path=path, note="nothing in it would change")
    if len(after) > MAX_BYTES or len(old) + len(new) > MAX_LINES:
        return ProposedChange(path=path, note="too long for a difference: the new text is above")
    note = "" if before else "the file is new, or empty"
    lines = unified_diff(old, new, "now", "then", n=3, lineterm="")
    return ProposedChange(path=path, lines=tuple(lines), note=note)
