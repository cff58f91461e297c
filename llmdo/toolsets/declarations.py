"""The self-description of a live tool: the digest of its definition, and the capabilities it declares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.formats import fields
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import UNDECLARED, VOCABULARY, members_of
from llmdo.syntax.tool_metadata import DECLARING, means_capabilities

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set

    from pydantic_ai.tools import ToolDefinition

_OWN = re.compile(r"x(?:\.[A-Za-z0-9_-]+){2,}")
_DECLARATION = TypeAdapter(tuple[fields.ScopedCapability, ...])


def tool_digest(tool: ToolDefinition) -> str:
    """The digest of a tool as a model sees it: its name, its description and the schema of its parameters.

    The schema is not normalised: the oldest and the newest pydantic-ai that we allow write the same one.
    """
    return digest.of_data(
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
    )


def declared(metadata: Mapping[str, object] | None, families: Iterable[str] = ()) -> tuple[str, ...] | None:
    """The capabilities that a tool's metadata declares, sorted; None if it declares none.

    `families` are the capabilities that extensions bring.

    Raises:
        LlmdoError: An entry is no capability, or they are not in a list.
    """
    if metadata is None:
        return None
    if misspelt := next(filter(means_capabilities, metadata), None):
        raise LlmdoError(f"unknown key `{misspelt}` in its metadata", hint=f"did you mean `{DECLARING}`?")
    if DECLARING not in metadata:
        return None
    written = metadata[DECLARING]
    if not isinstance(written, list | tuple | set | frozenset):
        raise LlmdoError(
            f"`capabilities` is of type `{type(written).__name__}`, not a list",
            hint='write it as in metadata={"capabilities": ["x.calc.cpu"]}',
        )
    for name in written:
        _require_known(name, {*VOCABULARY, *families})
    return tuple(sorted(set(written)))


def _require_known(text: object, vocabulary: Set[str]) -> None:
    try:
        _DECLARATION.validate_python((text,), strict=True)
    except ValidationError as error:
        raise LlmdoError(f"`{text}` is not a capability, perhaps with `:path` or `:folder/**`") from error
    name = Capability.parse(str(text)).name
    if name == UNDECLARED:
        raise LlmdoError(f"`{UNDECLARED}` is what the runtime raises and cannot be declared")
    if members := members_of(name, vocabulary):
        raise LlmdoError(
            f"`{name}` is a family, and no rule about a part of it would cover the tool",
            hint=f"name what the tool does: {', '.join(members)}",
        )
    if name not in vocabulary and not _OWN.fullmatch(name):
        raise LlmdoError(
            f"`{name}` is not a capability",
            hint=did_you_mean(name, vocabulary) or "one of your own is written `x.TOOLSET.NAME`",
        )
