"""The names of agents of Copilot, by their headers or their files."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.features.copilot import AGENT, MODE, PROMPT
from llmdo.foreign.team import MAX_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.foreign import reading
    from llmdo.syntax.document import Document

FOLDER = ".github/agents/"
"""The folder in which every Markdown file is an agent, whatever its name."""


def is_below(path: str) -> bool:
    """Whether an agent lies in a folder below the one for agents, in which VS Code does not look."""
    return "/" in path.removeprefix(FOLDER) and path.startswith(FOLDER)


def stem_of(path: str) -> str:
    """The name of a file without the endings of agents and prompts."""
    name = PurePosixPath(path).name
    return next((name.removesuffix(end) for end in (AGENT, MODE, PROMPT, ".md") if name.endswith(end)), name)


def name_of(path: str, document: Document) -> str:
    """The name of an agent: by its header, else by its file; a prompt as people type it."""
    name = document.data.get("name")
    own = name.strip() if isinstance(name, str) and name.strip() else stem_of(path)
    return excerpt(f"/{own}" if path.endswith(PROMPT) else own, MAX_NAME)


def names_in(texts: Iterable[tuple[str, reading.Text]]) -> Mapping[str, str]:
    """The names of agents, by the names others may use."""
    names: dict[str, str] = {}
    for path, text in texts:
        name = name_of(path, text.document)
        for other in (stem_of(path), name) if not path.endswith(PROMPT) else ():
            names.setdefault(other.casefold(), name)
    return names
