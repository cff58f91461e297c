"""The endpoints that answer requests of the page, from a server or for a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping

    from llmdo.base.values import Json
    from llmdo.features.page.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """The content of a request."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """The parameters of its address."""
    body: Json = None
    """The body of a POST."""

    def text(self, name: str) -> str:
        """The parameter of that name.

        Raises:
            RequestError: It is missing.
        """
        if name not in self.parameters:
            raise RequestError(400, f"the parameter `{name}` is missing")
        return self.parameters[name]

    def only(self, known: Collection[str]) -> None:
        """Requires that all parameters are known.

        Raises:
            RequestError: One is not.
        """
        for name in self.parameters:
            if name not in known:
                raise RequestError(400, f"there is no parameter `{name}`", hint=did_you_mean(name, known))


class RequestError(LlmdoError):
    """A request that is answered with a status of its own: 404 for something missing, 409 for something changed."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address below `/api/`, and the function that answers it in its own thread."""

    path: str
    """Such as `/api/reach`; everything else is in parameters."""
    answer: Callable[[Subject, Inquiry], object]
    """Gives a value, whose JSON follows from its fields."""
    parameters: tuple[str, ...] = ()
    """The known ones; any other is refused."""
    method: Literal["GET", "POST"] = "GET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """An address below `/api/` that answers with one event after another, each a line of JSON."""

    path: str
    events: Callable[[Subject, Inquiry], AsyncIterator[object]]
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """The answer of an endpoint as a file holds it."""

    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    data: object = None
