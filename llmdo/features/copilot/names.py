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


def stem_of(path: str) -> str:
    """The name of a file without the endings of agents and prompts."""
    name = PurePosixPath(path).name
    return next((name.removesuffix(end) for end in (AGENT, MODE, PROMPT, ".md") if name.endswith(end)), name)


def name_of(path: str, document: Document) -> str:
    """The name of an agent: by its header, else by its file; a prompt as people type it."""
    name = document.data.get("name")
    own = name.strip() if isinstance(name, str) and name.strip() else stem_of(path)
    return excerpt(f"/{own}" if path.endswith(PROMPT) else own, MAX_NAME)


def agents_in(texts: Iterable[tuple[str, reading.Text]]) -> Mapping[str, reading.Text]:
    """The files of agents, by name; of several with one name the first."""
    agents: dict[str, reading.Text] = {}
    for path, text in texts:
        if not path.endswith(PROMPT):
            agents.setdefault(name_of(path, text.document), text)
    return agents


def names_in(texts: Iterable[tuple[str, reading.Text]]) -> Mapping[str, str]:
    """The names of agents, by the names others may use."""
    names: dict[str, str] = {}
    for path, text in texts:
        name = name_of(path, text.document)
        for other in (stem_of(path), name) if not path.endswith(PROMPT) else ():
            names.setdefault(other.casefold(), name)
    return names
