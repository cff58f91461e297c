"""`llmdo check`, without the command-line library: it runs on every keystroke."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

from llmdo import checks, discovery, project
from llmdo.cli.console import CANNOT_GO_ON, FINDINGS, FINE, has_colour, is_locked, root_folder
from llmdo.diagnostic import LlmdoError
from llmdo.render import findings as render

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from llmdo.diagnostic import Diagnostic

Format = Literal["text", "concise", "json"]


@dataclass(frozen=True, slots=True)
class Options:
    """What `llmdo check` was asked for."""

    project: str | None = None
    locked: bool = False
    format: Format = "text"
    strict: bool = False


def parse(words: Sequence[str]) -> Options | None:
    """The options in `words`; None for anything unusual, which the command-line library then answers."""
    values: dict[str, str | bool] = {}
    waiting = iter(words)
    for word in waiting:
        name, equals, value = word.partition("=")
        if word in ("--locked", "--strict"):
            values[word[2:]] = True
        elif name in ("--project", "--format"):
            given = value if equals else next(waiting, None)
            if given is None or (name == "--format" and given not in get_args(Format)):
                return None
            values[name[2:]] = given
        else:
            return None
    return Options(**values)  # type: ignore[arg-type]  # the names are those just matched


def run(options: Options) -> int:
    """Checks the workspace, prints the findings and returns the exit code."""
    try:
        root = root_folder(options.project)
        found = checks.check(project.read(root), locked=is_locked(flag=options.locked, environ=os.environ))
    except LlmdoError as error:
        if options.format != "json":
            raise
        sys.stdout.write(render.to_json((), "error", error=error))
        return CANNOT_GO_ON
    sys.stdout.write(rendered(found, root, options.format))
    return exit_code(found, strict=options.strict)


def rendered(found: Sequence[Diagnostic], root: Path, form: Format) -> str:
    """The findings in the format that was asked for."""
    if form == "json":
        return render.to_json(found, "findings" if found else "clean")
    if form == "concise":
        return render.concise(found)
    return render.text(found, source_lines(root), colour=has_colour(sys.stdout))


def source_lines(root: Path) -> Callable[[str], Sequence[str]]:
    """The lines of the workspace's files, each read once."""

    @cache
    def lines(path: str) -> Sequence[str]:
        return discovery.read_source(root, path, limit=16 * discovery.MAX_FILE)[0].text.split("\n")

    return lines


def exit_code(found: Sequence[Diagnostic], *, strict: bool = False) -> int:
    """1 where there is an error (with `strict`, or a warning), else 0."""
    failing = ("error", "warning") if strict else ("error",)
    return FINDINGS if any(finding.severity in failing for finding in found) else FINE
