"""The statements of a request's fields for whoever fills them in.

Options, their help and completion follow from it (`cli.requests`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


class RequestField(NamedTuple):
    """A value that is asked for."""

    help: str
    """One sentence for people."""
    names: tuple[str, ...] = ()
    """Its options, such as `-v`; where there are none, the name of the field makes one."""
    metavar: str | None = None
    """The word for the value."""
    is_argument: bool = False
    """Whether it is known by its position, not by a name."""
    is_last: bool = False
    """Whether it is listed behind those of the command itself, as the folder is."""
    least: float | None = None
    """The smallest number."""
    most: float | None = None
    """The largest number."""
    is_counted: bool = False
    """Whether its value is how often it is given."""
    is_hidden: bool = False
    """Whether help leaves it out, as one that llmdo alone gives to itself."""
    by: Callable[[Any], object] | None = None
    """Makes the value of what is asked for, which is then text that may be left out."""


def option(
    help: str,  # noqa: A002
    *names: str,
    metavar: str | None = None,
    last: bool = False,
    least: float | None = None,
    most: float | None = None,
    counted: bool = False,
    hidden: bool = False,
    by: Callable[[Any], object] | None = None,
) -> Mapping[str, RequestField]:
    """The metadata of a field that is an option."""
    return {
        "option": RequestField(
            help,
            names,
            metavar,
            is_last=last,
            least=least,
            most=most,
            is_counted=counted,
            is_hidden=hidden,
            by=by,
        )
    }


def argument(metavar: str, help: str) -> Mapping[str, RequestField]:  # noqa: A002
    """The metadata of a field that is known by its position."""
    return {"option": RequestField(help, metavar=metavar, is_argument=True)}
