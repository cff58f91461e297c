"""The terminal that an evaluation was started from: the output of its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, put, say, screen
from llmdo.features.evaluation import rendering as render
from llmdo.render.amounts import counted

if TYPE_CHECKING:
    from llmdo.features.evaluation.outcome import Evaluated


def show(evaluated: Evaluated, form: str) -> None:
    """Prints an evaluation."""
    if form == "text":
        put(render.as_text(evaluated, screen()), end="", is_drawn=True)
        return
    writers = {
        "json": render.as_json,
        "jsonl": render.as_jsonl,
        "csv": render.as_csv,
        "junit": render.as_junit,
        "markdown": render.as_markdown,
        "html": render.as_html,
    }
    put(writers[form](evaluated), end="", as_json=form in ("json", "jsonl"))


def report(evaluated: Evaluated, form: str) -> int:
    """Prints an evaluation and the reasons why it is incomplete, and returns the exit code."""
    show(evaluated, form)
    if evaluated.reason:
        say(
            f"{counted(evaluated.unfinished, 'run')} left: {evaluated.reason}; "
            f"`llmdo eval resume {evaluated.id}` goes on"
        )
    if evaluated.interrupted:
        return INTERRUPTED
    is_missed = evaluated.held is not None and evaluated.held.is_missed
    return FINDINGS if evaluated.unfinished or is_missed else FINE
