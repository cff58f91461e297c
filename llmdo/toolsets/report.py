"""The request and the events of an inspection, one line each, between its child process and the parent."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # as below
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Discriminator, TypeAdapter

from llmdo.graph.toolset import ToolsetFacts  # noqa: TC001  # pydantic reads the annotation


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The child's task."""

    root: str
    modules: tuple[str, ...]
    """Files of which every toolset is wanted."""
    references: Mapping[str, str]
    """The names of single toolsets and their references."""
    code: Mapping[str, str]
    """Each file that may be imported, to the digest of its text."""
    deps: Mapping[str, str] = field(default_factory=dict)
    """The reference of an agent to that of the maker of its deps, if any."""
    families: tuple[str, ...] = ()
    """The capabilities that extensions bring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The child's next step, so that a hang or an exit has a name."""

    work: str
    """To follow "while"."""
    kind: Literal["begun"] = "begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedToolset:
    """A toolset and its facts."""

    reference: str
    facts: ToolsetFacts
    kind: Literal["found"] = "found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A mistake in the workspace's code; the child continues with the rest."""

    message: str
    hint: str | None
    path: str | None
    line: int | None
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectionEnded:
    """The inspection is complete."""

    kind: Literal["ended"] = "ended"


Event = Begun | InspectedToolset | Failed | InspectionEnded

REQUEST = TypeAdapter(Request)
EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Discriminator("kind")])
