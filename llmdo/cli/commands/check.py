"""`llmdo check`, for words that need the command-line library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.base.values import replace
from llmdo.cli import check as checking
from llmdo.cli import requests
from llmdo.services.root import ORIGIN, Workspaces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import typer


def check(
    where: Workspaces,
    chosen: checking.CheckOptions,
    watch: Annotated[bool, option("Print the findings again whenever a file changes, until Ctrl-C.")] = False,
    origin: Annotated[tuple[str, str] | None, ORIGIN] = None,
) -> int:
    """Prove from files alone that the workspace is sound. Runs nothing of it, but for --fix and a stale lock."""
    from llmdo.cli import foreign, rechecking, workspaces

    if origin:
        own = {"--project": where.projects, "--all": where.everything, "--locked": chosen.locked}
        _require_none({**own, "--fix": chosen.fix, "--select": chosen.select, "--watch": watch})
        options = foreign.ForeignOptions(origin=origin, format=chosen.format, strict=chosen.strict)
        return foreign.check(options)
    if roots := where.roots:
        return _unwatched(workspaces.check, chosen, roots, watch=watch)
    chosen = replace(chosen, project=where.first)
    return rechecking.watch(chosen) if watch else checking.run(chosen)


def _unwatched(
    check_all: Callable[[checking.CheckOptions, Sequence[Path]], int],
    chosen: checking.CheckOptions,
    roots: Sequence[Path],
    *,
    watch: bool,
) -> int:
    if watch:
        raise LlmdoError("`--watch` is for one workspace", hint="start it once for each")
    return check_all(chosen, roots)


def _require_none(values: dict[str, object]) -> None:
    for name, value in values.items():
        if value:
            raise LlmdoError(f"`{name}` applies to llmdo workspaces and cannot be combined with `--from`")


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    requests.add(app, check)
