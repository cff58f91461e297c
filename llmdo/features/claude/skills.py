"""The files of skills that Claude Code loads: those one folder below `skills`, and no deeper (watched in 2.1.328).

Other names it looks for nowhere, also not `skill.md` (its issue 16983, for systems where capitals count).
"""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.parts import text
from llmdo.base.source import Location
from llmdo.features.claude import ALL_SKILLS
from llmdo.syntax import globs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Place

SKILL = "SKILL.md"
_FOLDER = "/.claude/skills/"
_OWN = ".claude/skills/"
_TEXTS = f"{_OWN}**/*.md"
_PAGES = frozenset(
    {"agents", "changelog", "claude", "contributing", "index", "license", "overview", "readme"}
)
"""Names of files that nobody means as skills."""
_FILE = re.compile(r"[^\s/`'\"()\[\]<>|]+\.md")
_FOLDER_OF_SKILLS = re.compile(r"skills/(?P<path>[^\s`'\"()\[\]<>|]+)")
_REPORTS = "-workspace/"
"""The ending of the folder beside a skill in which `skill-creator` of Anthropic keeps what its trials wrote."""
_DEEPEST = 16  # folders: deeper ones are named by nobody
_MEMORY = "CLAUDE.md"
"""The file that is in every conversation, and may name others to read."""


def skills_in(files: Files, folder: str) -> tuple[str, ...]:
    """The skills in a folder of a plugin: the folder itself if it is one, else the folders in it."""
    start = f"{globs.escape(folder)}/" if folder else ""
    return files.named([f"{start}{SKILL}"]) or files.named([f"{start}*/{SKILL}"])


def from_here(at: Place) -> str:
    """A path with the `./` that it lacks, of a skill that of its folder."""
    path = text(at.data)
    is_skill = at.route[0] == "skills" and posixpath.basename(path) == SKILL
    return f"./{posixpath.dirname(path) if is_skill else path}"


def note_unloaded(files: Files, loaded: Iterable[str]) -> None:
    """Notes the skills of projects that lie elsewhere, as one finding for each of their folders.

    What lies in the folder of a skill is a part of it, as samples are, and what lies in that of its trials a copy.
    """
    skills = _with_reports(path.removesuffix(SKILL) for path in loaded)
    alike: dict[str, list[str]] = {}
    for path in files.named([ALL_SKILLS]):
        if not path.startswith(skills):
            folder, _, _ = f"/{path}".rpartition(_FOLDER)
            alike.setdefault(f"{folder}{_FOLDER}".removeprefix("/"), []).append(path)
    for folder, paths in alike.items():
        where = "above" if paths[0] == f"{folder}{SKILL}" else "deeper than"
        more = f" ({len(paths)} such files)" if len(paths) > 1 else ""
        message = f"`{paths[0]}` lies {where} `{folder}NAME/`, so Claude Code loads no skill from it{more}"
        if source := files.source(paths[0]):
            hint = f"a skill lies in a folder of `{folder.rstrip('/')}` itself"
            files.problems.append(finding("LDO152", source.location(), message, hint=hint))


def note_no_skills(files: Files, naming: Iterable[str]) -> None:
    """Notes texts among the skills of a project that are none by their names, unless a file of `naming` names them.

    What lies in the folder of a skill is a part of it, and what lies in that of its trials a report.
    """
    if files.tree.only is not None:
        return
    paths, _ = files.tree.find([_TEXTS])
    small = [path for path in paths if _is_small(path)]
    named = {path.rpartition("/")[0] + "/" for path in (*files.named([ALL_SKILLS]), *small)}
    folders = _with_reports(named - {_OWN})
    texts = [
        path
        for path in paths
        if not path.startswith(folders)
        and path != f"{_OWN}{SKILL}"
        and PurePosixPath(path).stem.lower() not in _PAGES
    ]
    if texts:
        known = {each for text in _read(files, (*naming, _MEMORY)) for each in _named_in(text)}
        texts = [path for path in texts if known.isdisjoint(_names(path))]
    message = f"is no `{_OWN}NAME/{SKILL}`, so Claude Code loads no skill from it"
    _note(files, texts, message, f"a skill is the file `{SKILL}` of a folder of `{_OWN.rstrip('/')}` itself")
    message = (
        f"is not called `{SKILL}`, so Claude Code loads no skill from it where capitals count, as on Linux"
    )
    _note(
        files,
        [path for path in small if f"{path[: -len(SKILL)]}{SKILL}" not in paths],
        message,
        f"call it `{SKILL}`",
    )


def _with_reports(folders: Iterable[str]) -> tuple[str, ...]:
    """The folders of skills, and beside each that of its trials."""
    return tuple(each for folder in folders for each in (folder, f"{folder.removesuffix('/')}{_REPORTS}"))


def _is_small(path: str) -> bool:
    """Whether a file would be a skill if capitals made no difference."""
    folder, _, name = path.removeprefix(_OWN).partition("/")
    return bool(folder) and name != SKILL and name.lower() == SKILL.lower()


def _read(files: Files, paths: Iterable[str]) -> Iterator[str]:
    """The texts of those files that are there and can be read."""
    for path in paths:
        if (read := files.tree.read(path)) and not read[1]:
            yield read[0].text


def _named_in(text: str) -> Iterator[str]:
    """The files that a text names, and the folders of skills, each with those around it."""
    yield from _FILE.findall(text)
    for match in _FOLDER_OF_SKILLS.finditer(text):
        parts = match["path"].rstrip(".,:;").split("/")
        yield from (f"{'/'.join(parts[:length])}/" for length in range(1, min(len(parts), _DEEPEST) + 1))


def _names(path: str) -> tuple[str, ...]:
    """The names by which a text may mean a file: its own, and that of its folder."""
    folder, _, name = path.removeprefix(_OWN).rpartition("/")
    return (name, f"{folder}/") if folder else (name,)


def _note(files: Files, paths: Sequence[str], message: str, hint: str) -> None:
    """Notes the same about several files, as one finding."""
    if paths:
        more = f" ({len(paths):,} such files)" if len(paths) > 1 else ""
        files.problems.append(
            finding("LDO152", Location(paths[0]), f"`{paths[0]}` {message}{more}", hint=hint)
        )
