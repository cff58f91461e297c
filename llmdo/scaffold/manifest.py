"""`llmdo.toml` as text to edit: refused if it is unreadable, judged again before it is written."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.nearest import manifest_in
from llmdo.base.source import Source
from llmdo.formats.schema import judge
from llmdo.scaffold import files
from llmdo.syntax import toml
from llmdo.workspace.root import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from llmdo.base.source import Location
    from llmdo.base.values import Json
    from llmdo.formats.schema import Format
    from llmdo.syntax.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The text of a manifest that TOML accepts."""

    root: Path
    mark: bytes
    """The byte-order mark, if there is one."""
    text: str
    """The text with the line ends of the file."""

    @classmethod
    def read(cls, root: Path) -> Manifest:
        """The manifest of the workspace at `root`.

        Raises:
            LlmdoError: it is missing, a link, not UTF-8, or not TOML.
        """
        if reason := files.obstacle(root, MANIFEST):
            raise refusal(f"`{MANIFEST}` {reason}")
        content = files.read(root, MANIFEST)
        if content is None and (team := manifest_in(str(root))):
            hint = f"edit it by hand, or make a workspace of it: `llmdo init --from {team}`"
            raise refusal(f"`{team}` is the manifest here, and llmdo does not edit it", hint=hint)
        if content is None:
            raise refusal(f"`{MANIFEST}` does not exist", hint="`llmdo init` starts a workspace")
        mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
        try:
            text = content.removeprefix(mark).decode()
        except UnicodeDecodeError as error:
            raise refusal(f"`{MANIFEST}` is not UTF-8 text") from error
        manifest = cls(root=root, mark=mark, text=text)
        for problem in manifest.document.problems:
            raise refusal(problem.message, hint=problem.hint, at=problem.at)
        return manifest

    @property
    def document(self) -> Document:
        """The parsed text."""
        return toml.parse(Source(MANIFEST, self.text.replace("\r\n", "\n")))

    def table(self, *route: str) -> Mapping[str, Json]:
        """The table at `route`; empty if there is none."""
        table = self.document.data
        for name in route:
            below = table.get(name, {})
            if not isinstance(below, dict):
                raise refusal(f"`{'.'.join(route)}` is not a table", at=self.document.value(*route))
            table = below
        return table

    def edited(self, change: Callable[[str], str]) -> Manifest:
        """This manifest after `change`.

        Raises:
            LlmdoError: the change would make it an invalid manifest.
        """
        changed = replace(self, text=change(self.text))
        known = {problem.message for problem in judge(self.document, "manifest").problems}
        refuse_invalid(changed.document, "manifest", known=known)
        return changed

    def write(self) -> None:
        """Replaces the file."""
        files.write(self.root, MANIFEST, self.mark + self.text.encode())


def refuse_invalid(
    document: Document, form: Format, *, known: frozenset[str] | set[str] = frozenset()
) -> None:
    """Refuses a document that its format does not allow, except for problems already `known`.

    Raises:
        LlmdoError: with the first finding; it has no place, for the text is not in the file.
    """
    for problem in (*document.problems, *judge(document, form).problems):
        if problem.message not in known:
            raise refusal(problem.message, hint=problem.hint)


def refusal(message: str, *, hint: str | None = None, at: Location | None = None) -> LlmdoError:
    """The error of an edit that was not made."""
    return LlmdoError(message, hint=hint, at=at, exit_code=1)
