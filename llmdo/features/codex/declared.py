"""Codex: declared agents that it ignores, as their file is not there, and all but the first of one name."""

from __future__ import annotations

import json
import posixpath
import re
from operator import itemgetter
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, excerpt, excerpt_of_end, finding
from llmdo.base.parts import text
from llmdo.base.values import dataclass
from llmdo.features.codex import FOLDER
from llmdo.foreign.files import COUNTS, MOST_PLACES, renaming
from llmdo.foreign.namesakes import hint_about
from llmdo.foreign.reading import misspelt
from llmdo.syntax.discovery import leaves

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from llmdo.features.codex.settings import ConfigLayer
    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Agent
    from llmdo.syntax.document import Place

_OF_A_COMPUTER = re.compile(r"[A-Za-z]:[\\/]|[\\/~]")
_FILE = "config_file"
_KEYS = frozenset({_FILE, "description", "nickname_candidates"})
"""The keys of a declaration."""
_OF_FILES = frozenset({"agent_file", "config", "config_path", "file", "file_path", "path"})
"""Other keys that are meant as that of its file."""
_WORDS = {
    "here": "leads to no file, so Codex ignores",
    "outside": "leads out of the project: without a file there, Codex ignores",
    "windows": "leads to a file on Windows alone: elsewhere Codex ignores",
}


def file_of(written: str) -> str:
    """The path in the project of a file that a declaration names."""
    return posixpath.normpath(posixpath.join(FOLDER, written))


@dataclass(frozen=True, slots=True)
class LostFile:
    """A declaration whose file is not there (watched with 0.171.0)."""

    at: Place
    written: str
    meant: str | None
    """The file of an agent in whose path it ends, from the folder of the settings."""

    @property
    def where(self) -> str:
        """The reason why it is not there, as a key of its words."""
        if self.meant == self.written.replace("\\", "/") != self.written:
            return "windows"
        is_outside = _OF_A_COMPUTER.match(self.written) or leaves(file_of(self.written))
        return "outside" if is_outside else "here"

    @property
    def hint(self) -> str | None:
        """How the path is written."""
        return f"from `{FOLDER}` it is `{self.meant}`" if self.meant else None


def lost_file(at: Place, written: str, paths: Iterable[str]) -> LostFile:
    """A declaration that names a file in vain; `paths` are those of all files of agents."""
    whole = "/" + posixpath.normpath(written.replace("\\", "/"))
    below = (path.removeprefix(FOLDER) for path in paths)
    return LostFile(
        at, written, max((each for each in below if whole.endswith(f"/{each}")), key=len, default=None)
    )


def note_keys(
    files: Files, layer: ConfigLayer, role: Mapping[str, object], paths: Collection[str]
) -> str | None:
    """The file that a declaration names by another key than `config_file`, which is noted; None without one.

    `paths` are those of all files of agents. Misspelt keys are noted as well.
    """
    key = None if _FILE in role else next((each for each in role if _is_of_file(each, role[each])), None)
    for other in role:
        if other != key and misspelt(other, _KEYS):
            files.unknown_key(layer.place(other, of_key=True), other, _KEYS)
    if key is None:
        return None
    place, written = layer.place(key, of_key=True), str(role[key])
    hint = renaming(place, key, _FILE, counts=COUNTS)
    meant = None if file_of(written) in paths else lost_file(place, written, paths).meant
    if meant:
        hint = f"write `{_FILE} = {json.dumps(meant)}` in place of this line"
    rest = (
        "so it does nothing"
        if text(role.get("description")).strip()
        else "so it ignores this declaration of an agent"
    )
    files.note("LDO151", place, f"Codex does not know `{excerpt(key)}`, {rest}", hint)
    return f"{FOLDER}{meant}" if meant else file_of(written)


def _is_of_file(key: str, value: object) -> bool:
    """Whether a key of a declaration is meant as that of its file."""
    return (key in _OF_FILES or misspelt(key, (_FILE,)) is not None) and text(value).endswith(".toml")


def note_lost(files: Files, lost: Collection[LostFile]) -> None:
    """Notes declarations that Codex ignores: those alike as one finding, at the first of them."""
    for where, is_meant in dict.fromkeys((each.where, each.meant is not None) for each in lost):
        first, *others = (each for each in lost if (each.where, each.meant is not None) == (where, is_meant))
        message = f"`{excerpt_of_end(first.written)}` {_WORDS[where]} this declaration of an agent"
        if others:
            message += f"; the same with {len(others)} more"
        hint = f"{first.hint}, and the others likewise" if first.hint and others else first.hint
        related = [Related(each.at.location, each.hint or "and here") for each in others[:MOST_PLACES]]
        files.problems.append(finding("LDO250", first.at.location, message, hint=hint, related=related))


def first_of_each(
    files: Files,
    agents: Collection[tuple[tuple[str, ...], Agent]],
    taken: dict[str, Place],
    noted: Collection[str] = (),
) -> Iterator[Agent]:
    """The agents whose name is not taken yet, of one layer; the others are noted, but for those in `noted` files.

    Of several Codex loads the first alone, in the order of what stands before each here (watched with 0.171.0).
    """
    for _, agent in sorted(agents, key=itemgetter(0)):
        taken.setdefault(agent.name, agent.at)
    for _, agent in agents:
        if (other := taken[agent.name]) is agent.at:
            yield agent
            continue
        if agent.path in noted:
            continue
        message = f"`{agent.name}` is the name of another agent as well, so Codex does not load this one"
        related = [Related(other.location, "the other one")]
        hint = hint_about(agent.at, other)
        files.problems.append(finding("LDO251", agent.at.location, message, hint=hint, related=related))
