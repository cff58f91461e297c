"""2xx: the models that workers are written for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo import inventory, models
from llmdo.diagnostic import finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.diagnostic import Diagnostic
    from llmdo.graph import Graph, Reference, Worker
    from llmdo.project import Project


def incompatible_model(project: Project) -> Iterator[Diagnostic]:
    """A worker would be run with a model that its `compatible_models` do not name.

    `llmdo run` refuses to start such a worker. Of a fallback chain every model has to fit. Only what the files say
    is judged: `--model` and `LLMDO_MODEL` may name another one.

    Fails, where `[workspace]` says `model = "openai:gpt-5"`:

        name: drafter
        compatible_models: ["anthropic:*"]
    """
    graph = project.graph
    for worker in graph.workers.values():
        if worker.compatible_models is None:
            continue
        for reference in _models_of(graph, worker):
            chain = graph.models.get(reference.name, (reference.name,))
            if (unfit := models.first_unfit(chain, worker.compatible_models)) is not None:
                accepted = ", ".join(f"`{pattern}`" for pattern in worker.compatible_models) or "no model"
                yield finding(
                    "LDO210",
                    reference.at.location,
                    f"worker `{worker.name}` does not work with `{unfit}`, only with {accepted}",
                    hint=f"name a model that fits in the header of `{worker.name}`, or widen its patterns",
                )


def _models_of(graph: Graph, worker: Worker) -> Iterator[Reference]:
    """The models that the files give to a worker, each once, at one of the places that name it."""
    if worker.model:
        yield worker.model
        return
    entries = [entry for entry in graph.entries.values() if worker.name in inventory.reachable(graph, entry)]
    given = [entry.model or graph.settings.model for entry in entries] or [graph.settings.model]
    yield from {reference.name: reference for reference in given if reference}.values()
