"""The files of an item: as they were when the item was put in, whatever they are by now."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.attached import Attached, in_workspace
from llmdo.toolsets.refusal import PathRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.batches import BatchStore
    from llmdo.journal.items import BatchItem, InputFile
    from llmdo.runtime.attached import AttachmentResolver


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files of a workspace, those of an item with the content that was put in."""

    store: BatchStore
    files: Mapping[str, InputFile]
    """By their paths in the workspace."""
    fallback: AttachmentResolver

    async def read(self, path: str, most: int) -> bytes:
        """The content of the file at `path`.

        Raises:
            PathRefused: It cannot be read, or has more than `most` bytes.
        """
        if (file := self.files.get(path)) is None:
            return await self.fallback.read(path, most)
        try:
            content = self.store.path_of(file).read_bytes()
        except OSError as error:
            raise PathRefused(path, f"is no longer kept: {error.strerror}") from error
        if sha256(content).hexdigest() != file.digest:
            raise PathRefused(path, "has changed since it was put in")
        if len(content) > most:
            raise PathRefused(path, f"is larger than {most:,} bytes")
        return content


def name_of(path: str, root: Path) -> str:
    """The name of a file in its batch: its path in the workspace, or its absolute path if it is outside."""
    absolute = str(Path(path).absolute())
    try:
        return in_workspace(absolute, root)
    except LlmdoError:
        return absolute


def attached_of(item: BatchItem, store: BatchStore) -> tuple[tuple[Attached, ...], dict[str, InputFile]]:
    """The attachments of an item, and those among them that are paths of the workspace."""
    outside = [file for file in item.files if Path(file.name).is_absolute()]
    inside = {file.name: file for file in item.files if file not in outside}
    attached = (
        *(Attached(name=name) for name in inside),
        *(
            Attached(name=file.name, kind="outside", outside=Path(file.name), stored=store.path_of(file))
            for file in outside
        ),
    )
    return attached, inside
