"""2xx: the models that workers are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.checking import reports
from llmdo.base.diagnostic import finding
from llmdo.graph import models, toolkit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.graph.keys import Reference
    from llmdo.graph.resolved import Graph
    from llmdo.graph.worker import Worker
    from llmdo.workspace.project import Project


@reports("LDO210", "warning")
def incompatible_model(project: Project) -> Iterator[Diagnostic]:
    """A worker would be run with a model that its `compatible_models` do not name.

    `llmdo run` refuses to start such a worker. Of a fallback chain every model has to fit. Only what the files say
    is judged: `--model` and `LLMDO_MODEL` may name another one. Name a model that fits in the header, or
    widen its patterns.

    Fails, where `[workspace]` says `model = "openai:gpt-5"`:

        name: drafter
        compatible_models: ["anthropic:*"]
    """
    graph = project.graph
    particular = [worker for worker in graph.workers.values() if worker.compatible_models is not None]
    # Where a worker names no model, others decide about it.
    models_of_entries = _given(graph) if any(worker.model is None for worker in particular) else {}
    for worker in particular:
        accepted_models = worker.compatible_models or ()
        for reference in _models_of(graph, worker, models_of_entries):
            chain = graph.models.get(reference.name, (reference.name,))
            if (unfit := models.first_unfit(chain, accepted_models)) is not None:
                accepted = ", ".join(f"`{pattern}`" for pattern in accepted_models) or "no model"
                yield finding(
                    "LDO210",
                    reference.at.location,
                    f"worker `{worker.name}` does not work with `{unfit}`, only with {accepted}",
                    hint=f"name a model that fits in the header of `{worker.name}`, or widen its patterns",
                )


@reports("LDO215", "warning")
def unscripted_worker(project: Project) -> Iterator[Diagnostic]:
    """A script is the model of a worker, and has no steps of it.

    A run fails where that worker is asked. Only workers that an entry reaches are judged. Write the worker's steps
    in the script, or an empty list, `reader: []`, where no run is to get there.

    Fails, where `main` delegates to `reader`:

        main:
          - call: { reader: { input: "Read a.txt" } }
          - answer: "{result}"

    Fixed:

        main:
          - call: { reader: { input: "Read a.txt" } }
          - answer: "{result}"
        reader:
          - answer: "a.txt is empty"
    """
    graph = project.graph
    # The steps of a script with a fault may be incomplete.
    scripts = {script.path: script for script in project.workspace.scripts if not script.problems}
    models_of_entries = _given(graph) if scripts else {}
    for name in sorted(models_of_entries.keys() & graph.workers.keys()):
        for reference in _models_of(graph, graph.workers[name], models_of_entries):
            for model in graph.models.get(reference.name, (reference.name,)):
                script = scripts.get(models.script_file(model) or "")
                if script and name not in script.steps:
                    yield finding(
                        "LDO215",
                        reference.at.location,
                        f"the script `{script.path}` has no steps of `{name}`",
                        hint=f"write `{name}:` in {script.path}, below it `- answer: done`",
                    )


def _given(graph: Graph) -> Mapping[str, Sequence[Reference | None]]:
    """Worker to the models that the entries which reach it give it, each at the last place that does."""
    models_of_entries: dict[str, list[Reference | None]] = {}
    seen: dict[str | None, set[str]] = {}
    for entry in reversed(tuple(graph.entries.values())):
        model = entry.model or graph.settings.model
        # Below a worker that an entry with the same model reached, that model is known already.
        before = seen.setdefault(model.name if model else None, set())
        for name in toolkit.reachable(graph, entry, beyond=before):
            models_of_entries.setdefault(name, []).append(model)
            before.add(name)
    return models_of_entries


def _models_of(
    graph: Graph, worker: Worker, models_of_entries: Mapping[str, Sequence[Reference | None]]
) -> Iterator[Reference]:
    """The models that the files give to a worker, each once, at one of the places that name it."""
    if worker.model:
        yield worker.model
    else:
        yield from filter(None, models_of_entries.get(worker.name, (graph.settings.model,)))
