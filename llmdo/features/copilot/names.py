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
    from llmdo.foreign.files import Files
    from llmdo.foreign.team import AgentCall
    from llmdo.syntax.document import Document

_MOST = 3  # names in a message
_MOST_EDITS = 10  # in a hint

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


def note_inexact(files: Files, calls: Iterable[AgentCall], names: Mapping[str, str]) -> None:
    """Notes the names in a list of agents by which VS Code finds none: it compares them with whole names.

    The other clients know an agent by its file as well, in letters of either case.
    """
    own = set(names.values())
    listed = {str(call.at.data): (call.name, call.at) for call in reversed([*calls]) if call.name in own}
    listed = dict(reversed(listed.items()))
    inexact = {item: (name, place) for item, (name, place) in listed.items() if name not in listed}
    if not inexact:
        return
    shown = [f"`{excerpt(item)}`" for item in inexact]
    left = len(shown) - _MOST
    parts = [*shown[:_MOST], f"{left} more"] if left > 0 else shown
    *first, last = parts
    which = f"{', '.join(first)} and {last} name" if first else f"{last} names"
    edits = [f"`{excerpt(name)}` for `{excerpt(item)}`" for item, (name, _) in inexact.items()]
    more = f", and likewise for {len(edits) - _MOST_EDITS} more" if len(edits) > _MOST_EDITS else ""
    message = f"VS Code compares agents' names letter by letter, so {which} none there"
    _, place = next(iter(inexact.values()))
    files.note("LDO250", place, message, f"write {', '.join(edits[:_MOST_EDITS])}{more}")
