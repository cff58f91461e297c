"""What answers of typed workers may carry, as far as the text of their types says; nothing is imported."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.policy.closed import closure_of
from llmdo.syntax.models import schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.graph.worker import Worker
    from llmdo.policy.closed import Closure
    from llmdo.workspace.modules import Module


def closure_at(modules: Mapping[str, Module], reference: str) -> Closure | None:
    """What the type FILE.py:NAME leaves open; None where the file was not read."""
    path, _, name = reference.rpartition(":")
    module = modules.get(path)
    return closure_of(schema_of(module.source.text, name)) if module else None


def with_bits(worker: Worker, modules: Mapping[str, Module]) -> Worker:
    """The worker with the most bits that its answer carries, where that is closed: its type is in another file."""
    closure = closure_at(modules, worker.schema_out.name) if worker.schema_out else None
    return replace(worker, closed=ceil(closure.bits)) if closure and closure.is_closed else worker
