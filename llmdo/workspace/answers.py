"""The possible content of typed workers' answers, read from the text of their types; nothing is imported."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.policy.closed import closure_of
from llmdo.syntax.models import schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json
    from llmdo.graph.keys import Reference
    from llmdo.graph.worker import Worker
    from llmdo.policy.closed import Closure
    from llmdo.workspace.modules import Module


def answer_of(worker: Worker, modules: Mapping[str, Module]) -> Closure | None:
    """The content that the type of a worker's answer leaves open; None without a type, or if its file was not read."""
    gives = _schema(worker.schema_out, modules)
    return None if gives is None else closure_of(gives, _schema(worker.schema_in, modules))


def with_bits(worker: Worker, modules: Mapping[str, Module]) -> Worker:
    """The worker with the most bits that its answer carries, if that is closed: its type is in another file."""
    closure = answer_of(worker, modules)
    return replace(worker, closed=ceil(closure.bits)) if closure and closure.is_closed else worker


def _schema(reference: Reference | None, modules: Mapping[str, Module]) -> Mapping[str, Json] | None:
    path, _, name = reference.name.rpartition(":") if reference else ("", "", "")
    module = modules.get(path)
    return schema_of(module.source.text, name) if module else None
