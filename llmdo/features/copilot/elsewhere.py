"""Files that look like Copilot's in places that it ignores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.source import Location
from llmdo.features.copilot import PROMPT, TEXTS
from llmdo.features.copilot.keys import PROMPT_KEYS, names_tools
from llmdo.features.copilot.prompt_folders import PROMPTS, too_deep
from llmdo.foreign import reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.tree import Tree


def note_elsewhere(files: Files, paths: Sequence[str]) -> None:
    """Notes them, once for all; `paths` are those that are read."""
    elsewhere = sorted(set(files.tree.find(TEXTS)[0]) - set(paths))
    if deep := too_deep(elsewhere):
        files.problems.append(deep)
    elsewhere = [path for path in elsewhere if not path.startswith(f"{PROMPTS}/")]
    others = [path for path in elsewhere if not path.endswith(PROMPT) or _is_prompt(files.tree, path)]
    if others:
        more = f" and {len(others) - 1} more like it lie" if len(others) > 1 else " lies"
        message = f"`{others[0]}`{more} where Copilot looks for no agents, so they were not read"
        hint = "to read them, give their folder, or one of them"
        files.problems.append(finding("LDO154", Location(others[0]), message, hint=hint))


def _is_prompt(tree: Tree, path: str) -> bool:
    """Whether a file is a prompt with tools of its own; other programs have texts of this name, too."""
    read = tree.read(path)
    text = reading.text(read[0], PROMPT_KEYS) if read else None
    return text is not None and names_tools(text.document.data.get("tools"))
