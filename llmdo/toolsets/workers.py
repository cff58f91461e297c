"""Workers written in Python, and workers as toolsets of code that runs inside a run."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from pydantic_ai.toolsets import AbstractToolset

    from llmdo.formats.worker import AttachmentLimits, ModelSettings
    from llmdo.policy.vocabulary import Decision


@dataclass(frozen=True, kw_only=True)
class PythonWorker:
    """A worker in Python: the content of a worker file, as an attribute of a module that the manifest lists.

    `check` reads it and runs nothing, so all but `instructions` has to be written out in plain values.
    """

    name: str
    instructions: str
    """The prompt."""
    description: str | None = None
    entry: bool | None = None
    model: str | None = None
    compatible_models: Sequence[str] | None = None
    model_settings: ModelSettings | None = None
    toolsets: Sequence[str | PythonWorker] | Mapping[str, Mapping[str, object]] | None = None
    native_tools: Sequence[str] | Mapping[str, Mapping[str, object]] | None = None
    may: Sequence[str] | None = None
    approvals: Mapping[str, Decision] | None = None
    flows: Mapping[str, str] | None = None
    output: Literal["sealed"] | None = None
    schema_in_ref: str | None = None
    schema_out_ref: str | None = None
    recursive: bool | None = None
    attachments: AttachmentLimits | None = None

    def header(self) -> dict[str, object]:
        """The equivalent header of a worker file."""
        arguments: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and field.name != "instructions":
                arguments[field.name] = _plain(value)
        return arguments

    def as_toolset(self) -> AbstractToolset[object]:
        """The worker as one tool of its name, for code that runs inside a run: an adopted agent, an agent in a tool.

        The call belongs to the worker in whose call that code runs, which has to name this one as its delegate.
        """
        from llmdo.toolsets.delegate import DelegateToolset

        return DelegateToolset(self.name, self.description)


def workers_in(module: ModuleType) -> dict[str, PythonWorker]:
    """The workers that a module offers, by attribute."""
    return {
        name: value
        for name, value in sorted(vars(module).items())
        if not name.startswith("_") and isinstance(value, PythonWorker)
    }


def _plain(value: object) -> object:
    if isinstance(value, PythonWorker):
        return value.name
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
