"""What the clerk can do beside reading and writing. Each tool declares it; the rules in llmdo.toml decide about it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import FunctionToolset

from llmdo import Capability

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parent
NAME = re.compile(r"[A-Za-z][\w-]{0,40}")


class Office(FunctionToolset):
    """Says for each call of `shred` which file that call deletes; `send_letter` does the same in every call."""

    def get_capabilities(
        self, name: str, tool_args: Mapping[str, Any], ctx: object, config: object
    ) -> set[Capability]:
        """What one call raises."""
        if name == "shred":
            return {Capability("fs.delete", tool_args["path"])}
        return {Capability("x.office.send"), Capability("fs.write", "sent/**")}


office = Office()
web = FunctionToolset()


@office.tool_plain(metadata={"capabilities": ["x.office.send", "fs.write:sent/**"]})
def send_letter(to: str, text: str) -> str:
    """Send a letter to somebody. In this example it is put into the folder `sent`."""
    if not NAME.fullmatch(to):
        raise ToolFailed("a name has letters, digits and dashes")
    sent = ROOT / "sent"
    sent.mkdir(exist_ok=True)
    number = len(list(sent.iterdir())) + 1
    with (sent / f"{number}-{to}.txt").open("x", encoding="utf-8") as file:
        file.write(f"{text}\n")
    return f"sent to {to}"


@office.tool_plain(metadata={"capabilities": ["fs.delete:letters/**", "fs.delete:drafts/**"]})
def shred(path: str) -> str:
    """Delete one file in `letters` or `drafts`."""
    folder, _, name = path.partition("/")
    if folder not in ("letters", "drafts") or not name or "/" in name:
        raise ToolFailed("only files in letters/ and drafts/ can be shredded")
    try:
        place = os.open(ROOT / folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise ToolFailed(f"there is no folder {folder}") from error
    try:
        os.unlink(name, dir_fd=place)
    except OSError as error:
        raise ToolFailed(f"{path} cannot be deleted: {(error.strerror or '').lower()}") from error
    finally:
        os.close(place)
    return f"{path} is gone"


@web.tool_plain(metadata={"capabilities": ["net.connect"]})
def publish(text: str) -> str:
    """Put a text on the web."""
    raise ToolFailed("this example has no network")
