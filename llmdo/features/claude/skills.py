"""The files of skills that Claude Code loads: those one folder below `skills`, and no deeper (watched in 2.1.328)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.features.claude import ALL_SKILLS
from llmdo.syntax import globs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.foreign.files import Files

_SKILL = "SKILL.md"
_FOLDER = "/.claude/skills/"


def skills_in(files: Files, folder: str) -> tuple[str, ...]:
    """The skills in a folder of a plugin: the folder itself if it is one, else the folders in it."""
    start = f"{globs.escape(folder)}/" if folder else ""
    return files.named([f"{start}{_SKILL}"]) or files.named([f"{start}*/{_SKILL}"])


def note_unloaded(files: Files, loaded: Iterable[str]) -> None:
    """Notes the skills of projects that lie elsewhere, as one finding for each of their folders.

    What lies in the folder of a skill is a part of it, as samples are.
    """
    skills = tuple(path.removesuffix(_SKILL) for path in loaded)
    alike: dict[str, list[str]] = {}
    for path in files.named([ALL_SKILLS]):
        if not path.startswith(skills):
            folder, _, _ = f"/{path}".rpartition(_FOLDER)
            alike.setdefault(f"{folder}{_FOLDER}".removeprefix("/"), []).append(path)
    for folder, paths in alike.items():
        where = "above" if paths[0] == f"{folder}{_SKILL}" else "deeper than"
        more = f" ({len(paths)} such files)" if len(paths) > 1 else ""
        message = f"`{paths[0]}` lies {where} `{folder}NAME/`, so Claude Code loads no skill from it{more}"
        if source := files.source(paths[0]):
            hint = f"a skill lies in a folder of `{folder.rstrip('/')}` itself"
            files.problems.append(finding("LDO152", source.location(), message, hint=hint))
