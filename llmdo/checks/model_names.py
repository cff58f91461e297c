"""LDO204: every model has a name of a known form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.checking import reports
from llmdo.base.diagnostic import finding, nearest, only_match
from llmdo.graph import models
from llmdo.graph.keys import Reference
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.workspace.project import Project


@reports("LDO204", "error")
def unknown_model(project: Project) -> Iterator[Diagnostic]:
    """A model that is no alias of `[models]`, and of none of the forms in which a model is named.

    They are `provider:model`, `python:FILE.py:NAME`, `script:FILE.yaml`, and `replay:FILE.sqlite` or `.json`.
    The provider has to be one that llmdo knows. Whether it has such a model cannot be known from files, so that
    is not judged.

    Fails:

        model: gpt-5

    Fixed:

        model: openai:gpt-5
    """
    known = {*project.graph.models, *models.PROVIDERS, *models.WITHOUT_PROVIDER}
    for reference in models_named(project):
        if project.gaps.aliases and ":" not in reference.name:
            continue
        if problem := models.problem_of(reference.name, project.graph.models):
            match = nearest(reference.name.partition(":")[0], known)
            hint = models.near_provider(reference.name)
            if match and not hint:
                hint = f"did you mean `{match}{':' * (match in models.PROVIDERS)}`?"
            fix = None
            if match in project.graph.models and ":" not in reference.name:
                meant = only_match(reference.name, known)
                # It is safe: no rule and no ceiling asks which model it is.
                fix = reference.at.respelt(reference.name, meant, safe=True) if meant else None
            yield finding(
                "LDO204", reference.at.location, problem, hint=hint or models.such_as(reference.name), fix=fix
            )


def models_named(project: Project) -> Iterator[Reference]:
    """Every place that names a model."""
    graph = project.graph
    named = [graph.settings.model, *(entry.model for entry in graph.entries.values())]
    yield from (
        reference for reference in [*named, *(worker.model for worker in graph.workers.values())] if reference
    )
    document = project.workspace.document
    for alias, chain in project.workspace.table("models").items():
        if isinstance(chain, str):
            yield Reference(chain, Place(document, ("models", alias)))
        else:
            for number, name in enumerate(parts.texts(chain)):
                yield Reference(name, Place(document, ("models", alias, number)))
