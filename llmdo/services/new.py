"""`llmdo new`: a team of three made of the answers to five questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import argument, option
from llmdo.base.values import dataclass, field
from llmdo.scaffold import init
from llmdo.scaffold.team import (
    NOTHING,
    SCRIPT,
    TeamAnswers,
    folder_of,
    model_of,
    purpose_of,
    strangers_of,
)

Ask = Callable[[str, str], str]
"""Asks a person a question, and suggests an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRequest:
    """A new team; what is None is asked."""

    directory: Path = field(default=Path(), metadata=argument("[DIR]", "The folder; created if needed."))
    purpose: str | None = field(default=None, metadata=option("What the team is for.", metavar="TEXT"))
    reads: str | None = field(default=None, metadata=option("The folder that it reads.", metavar="FOLDER"))
    writes: str | None = field(
        default=None, metadata=option("The folder in which it may change files.", metavar="FOLDER")
    )
    strangers: str | None = field(
        default=None,
        metadata=option(f"The folder in which strangers write, or `{NOTHING}`.", metavar="FOLDER"),
    )
    model: str | None = field(
        default=None,
        metadata=option(f"The model: PROVIDER:MODEL, or {SCRIPT} without a key.", metavar="MODEL"),
    )
    yes: bool = field(default=False, metadata=option("Take the suggested answer to each other question."))
    force: bool = field(default=False, metadata=option("Replace existing files."))


_QUESTIONS: Mapping[str, str] = {
    "purpose": "What is the team for?",
    "reads": "Which folder does it read?",
    "writes": "In which folder may it change files?",
    "strangers": f"In which folder do strangers write (or `{NOTHING}`)?",
    "model": f"Which model ({SCRIPT} needs no key)?",
}


def new(request: NewRequest, ask: Ask | None, tell: Callable[[str], None]) -> tuple[str, ...]:
    """Writes the team; returns the paths of its files. `ask` is None where nobody can be asked.

    Raises:
        LlmdoError: An answer is missing or cannot be used, or files are in the way.
    """
    given: dict[str, str] = {
        name: value for name in _QUESTIONS if (value := getattr(request, name)) is not None
    }
    missing = [name for name in _QUESTIONS if name not in given]
    if missing and ask is None and not request.yes:
        raise LlmdoError(
            "nobody can be asked here, and not every question has an answer",
            hint=f"add {', '.join(f'`--{name}`' for name in missing)}, or `--yes` for what `llmdo new` suggests",
        )
    answers: dict[str, str] = {}
    for name, question in _QUESTIONS.items():
        suggestion = answers["reads"] if name == "strangers" else getattr(TeamAnswers(), name)
        if name in given or request.yes or ask is None:
            answers[name] = _checked(name, given.get(name, suggestion), answers)
            continue
        while name not in answers:
            try:
                answers[name] = _checked(name, ask(question, suggestion), answers)
            except LlmdoError as error:
                tell(f"{error.message} ({error.hint})")
    return init(request.directory, "team", force=request.force, values=TeamAnswers(**answers).values())


def _checked(name: str, answer: str, earlier: Mapping[str, str]) -> str:
    match name:
        case "purpose":
            return purpose_of(answer)
        case "strangers":
            return strangers_of(answer, earlier["reads"])
        case "model":
            return model_of(answer)
        case _:
            return folder_of(answer)
