"""All projects of a list, each scanned by a process of its own; and their folder of pages."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.jsonable import document
from llmdo.base.values import dataclass
from llmdo.features.survey import index
from llmdo.features.survey.process import surveyed
from llmdo.version import __version__

if TYPE_CHECKING:
    from llmdo.features.survey.listed import ListedProject
    from llmdo.features.survey.surveyed import SurveyedProject
    from llmdo.services.root import Tell

PAGES = "projects"
"""The folder of the pages about projects."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The projects of a list, in the order of their names, with the results of their scans."""

    projects: tuple[SurveyedProject, ...]

    @property
    def is_whole(self) -> bool:
        """Whether each project was scanned."""
        return not any(each.problem for each in self.projects)

    @property
    def fails(self) -> bool:
        """Whether a finding is one that `--fail-on` names."""
        return any(each.fails for each in self.projects)


def survey(listed: tuple[ListedProject, ...], fail_on: tuple[str, ...], tell: Tell) -> Survey:
    """The projects, scanned as many at a time as the machine has processors; `tell` hears of each that is done."""
    results = []
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as threads:
        for number, result in enumerate(threads.map(partial(surveyed, fail_on=fail_on), listed), 1):
            tell(f"{number} of {len(listed)}: {result.listed.repository}")
            results.append(result)
    return Survey(tuple(results))


def as_json(survey: Survey) -> str:
    """The survey in the form `llmdo.survey/1`: of each project the scan as `llmdo scan --format json` has it."""
    projects = [
        {
            "repository": each.listed.repository,
            "commit": each.listed.commit,
            "problem": each.problem,
            "hint": each.hint,
            "unasked": each.unasked,
            "scan": json.loads(each.scan) if each.scan else None,
        }
        for each in survey.projects
    ]
    return document("llmdo.survey/1", {"llmdo": __version__, "projects": projects})


def require_empty(to: str) -> None:
    """Check that the folder is new or empty, so that no page of an earlier report stays in it.

    Raises:
        LlmdoError: It holds something.
    """
    folder = Path(to)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise LlmdoError(
            f"`{to}` is not empty", hint="name a new folder, so that all pages are of one report"
        )


def write(survey: Survey, to: str) -> int:
    """Writes the pages into a folder, and returns their number.

    Raises:
        LlmdoError: A file cannot be written.
    """
    folder = Path(to)
    files = {"index.html": index.document(survey.projects), "list.txt": _list(survey)}
    files |= {f"{PAGES}/{each.listed.page}": each.page for each in survey.projects if each.page}
    try:
        (folder / PAGES).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise LlmdoError(f"cannot write into `{to}`: {(error.strerror or 'error').lower()}") from error
    return len(files) - 1


def _list(survey: Survey) -> str:
    """The list by which anybody repeats the report, with clones in folders called after the repositories."""
    return "".join(f"{each.listed.repository}@{each.listed.commit}\n" for each in survey.projects)
