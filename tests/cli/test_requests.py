"""Options, their help and completion follow from the fields of a request."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from typer.testing import CliRunner

from llmdo.base import values
from llmdo.base.request_fields import argument, option
from llmdo.cli import options, requests
from llmdo.cli.app import command_line

GIVEN: list[tuple[object, ...]] = []


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A request that another one builds on."""

    root: Path = values.field(metadata=option("The folder.", "--project", metavar="DIR", last=True, by=Path))
    environ: object = None
    """Nobody is asked for it."""


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Wanted(Place):
    """A request with a field of every kind."""

    name: str = values.field(metadata=argument("NAME", "Whom it is about."))
    words: tuple[str, ...] = values.field(default=(), metadata=option("More.", metavar="WORD"))
    kind: Literal["big", "small"] = values.field(default="small", metadata=option("Which."))
    dry_run: bool = values.field(default=False, metadata=option("Only look."))
    most: int | None = values.field(
        default=None, metadata=option("How many.", "--most", "-m", least=0, most=9)
    )
    paths: Sequence[str] = values.field(default=(), metadata=option("Where.", "--path"))
    perhaps: Literal["yes", "no"] | None = values.field(default=None, metadata=option("Or not."))
    loud: int = values.field(default=0, metadata=option("Tell more.", "--loud", "-l", counted=True))
    inner: bool = values.field(default=False, metadata=option("Its own.", hidden=True))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Standard:
    """A request as the standard library makes it."""

    word: str = dataclasses.field(metadata=argument("WORD", "It."))


def look(request: Wanted, format: Annotated[Literal["text", "json"], option("How.")] = "text") -> int:  # noqa: A002
    """Look at it."""
    GIVEN.append((request, format))
    return 0


def peek(request: Wanted) -> int:
    """Peek at it."""
    GIVEN.append((request,))
    return 0


def say(request: Standard) -> int:
    """Say it."""
    GIVEN.append((request,))
    return 0


@pytest.fixture
def app() -> typer.Typer:
    GIVEN.clear()
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    requests.add(made, look, also=(options.WITH_STORE,))
    requests.add(made, peek, without=("kind", "words"))
    requests.add(made, say, "speak")
    return made


def test_a_request_is_made_of_the_words_of_a_command(app: typer.Typer) -> None:
    words = [
        "look",
        "x",
        "--words",
        "a",
        "--words",
        "b",
        "--kind",
        "big",
        "--dry-run",
        "-m",
        "3",
        "--project",
        "p",
    ]
    assert CliRunner().invoke(app, [*words, "--format", "json"]).exit_code == 0
    wanted = Wanted(name="x", words=("a", "b"), kind="big", dry_run=True, most=3, root=Path("p"))
    assert [(wanted, "json")] == GIVEN


def test_what_is_left_out_has_the_default_of_its_field(app: typer.Typer) -> None:
    assert CliRunner().invoke(app, ["look", "x", "--project", "p"]).exit_code == 0
    assert [(Wanted(name="x", root=Path("p")), "text")] == GIVEN
    assert CliRunner().invoke(app, ["speak", "yes"]).exit_code == 0
    assert GIVEN[1:] == [(Standard(word="yes"),)]


@pytest.mark.parametrize(
    "words",
    [
        ["look"],
        ["look", "x", "--kind", "odd"],
        ["look", "x", "-m", "-1"],
        ["look", "x", "-m", "10"],
        ["look", "x", "--perhaps", "so"],
        ["peek", "x", "--kind", "big"],
    ],
)
def test_a_wrong_word_is_refused_before_the_command(app: typer.Typer, words: list[str]) -> None:
    assert CliRunner().invoke(app, words).exit_code == 2
    assert GIVEN == []


def test_help_has_the_words_of_the_fields_and_the_folder_last(app: typer.Typer) -> None:
    text = CliRunner().invoke(app, ["look", "--help"]).output
    places = [
        text.index(words)
        for words in ("Whom it is", "More.", "Only look.", "How.", "The folder.", "LLMDO_STORE")
    ]
    assert places == sorted(places)
    assert "environ" not in text
    assert "Its own." not in text


def test_an_option_is_counted_repeated_left_out_or_hidden(app: typer.Typer) -> None:
    words = ["peek", "x", "-ll", "--path", "a", "--path", "b", "--perhaps", "no", "--inner", "--project", "p"]
    assert CliRunner().invoke(app, words).exit_code == 0
    wanted = Wanted(name="x", loud=2, paths=("a", "b"), perhaps="no", inner=True, root=Path("p"))
    assert [(wanted,)] == GIVEN


BY_HAND = {"runs": "it lists unless another word follows, which the command-line library alone knows"}
"""Commands that `requests.add` does not make, with the reason."""


def made_by_hand(app: typer.Typer, path: str = "") -> Iterator[str]:
    """The names of the commands of `app`, and below it, whose options are not those of requests."""
    named = [(each.name or "", each.callback) for each in app.registered_commands]
    if app.registered_callback:
        yield path.strip()
    yield from (f"{path}{name}" for name, made in named if made and made.__module__ != requests.__name__)
    for group in app.registered_groups:
        if group.typer_instance:
            yield from made_by_hand(group.typer_instance, f"{path}{group.name} ")


def test_every_command_is_made_of_requests_or_says_why_not() -> None:
    assert set(made_by_hand(command_line())) == set(BY_HAND)
