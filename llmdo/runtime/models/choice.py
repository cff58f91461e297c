"""The choice of a worker's model, and models made from references: on first use, one per name in a run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from pydantic_ai import Agent
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.fallback import FallbackModel

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.base.team_words import worded_for
from llmdo.graph.models import first_unfit, problem_of, python_reference, recording_file, script_file
from llmdo.runtime.models.played import PlayedModel
from llmdo.runtime.models.scripted import ScriptedModel
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.graph.worker import Worker

EXTRAS = frozenset({"openai", "anthropic", "google", "groq", "mistral"})
"""The providers' libraries that our extras install."""

_EXTRA = re.compile(r"pydantic-ai-slim\[([a-z-]+)\]")
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")


ChoiceSource = Literal["person", "journal", "fleet"]
"""The origin of a choice of models: a person who starts the run now, or a record, which gives no authority.

Code that only a journal names always needs an answer about trust; a fleet takes only models named by its lock.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A run's own choice of models, in addition to that of the files."""

    by_worker: Mapping[str, str] = field(default_factory=dict)
    """`--model WORKER=MODEL`."""
    default: str | None = None
    """`--model MODEL`."""
    environment: str | None = None
    """The value of `LLMDO_MODEL`."""
    instances: Mapping[str, Model] = field(default_factory=dict)
    """A program's own models by the references that it uses for them."""
    source: ChoiceSource = "person"

    def with_instances(self, models: Mapping[str, Model]) -> ModelChoice:
        """The choice with a program's own `models` for these workers."""
        instances, names = {**self.instances}, {**self.by_worker}
        for worker, model in models.items():
            names[worker] = named(model, instances)
        return replace(self, by_worker=names, instances=instances)


def named(model: Model, instances: dict[str, Model]) -> str:
    """A unique reference to a program's own model, which is added to `instances`."""
    name, number = f"{model.model_id} (given)", 1
    while instances.setdefault(name, model) is not model:
        number += 1
        name = f"{model.model_id} (given, {number})"
    return name


def choose(graph: Graph, entry: Entry, worker: Worker, choice: ModelChoice) -> str | None:
    """The reference of the model of `worker`: the first that is given, from the nearest to the widest."""
    in_files = (reference and reference.name for reference in (entry.model, graph.settings.model))
    candidates = (
        choice.by_worker.get(worker.name),
        worker.model and worker.model.name,
        worker.agent and f"python:{worker.agent}",
        choice.default,
        choice.environment,
        *in_files,
    )
    return next((candidate for candidate in candidates if candidate), None)


@dataclass(slots=True, kw_only=True)
class ModelSource:
    """Makes models for one run: workers with the same reference share the model."""

    aliases: Mapping[str, tuple[str, ...]]
    load: Callable[[str], object]
    """Loads the object named FILE.py:NAME in the workspace."""
    root: Path
    """The folder of recordings and scripts."""
    _made: dict[str, Model] = field(default_factory=dict)

    def chain(self, reference: str) -> tuple[str, ...]:
        """The models that `reference` means, in the order in which they are tried."""
        return self.aliases.get(reference, (reference,))

    def make(self, reference: str) -> Model:
        """The model that `reference` means.

        Raises:
            LlmdoError: It cannot be made; says which environment variable or which extra is missing.
        """
        if reference not in self._made:
            models = [self._make_one(name) for name in self.chain(reference)]
            self._made[reference] = models[0] if len(models) == 1 else FallbackModel(*models)
        return self._made[reference]

    def _make_one(self, reference: str) -> Model:
        if problem := problem_of(reference):
            raise LlmdoError(problem)
        attribute = python_reference(reference)
        if attribute is not None:
            return self._from_python(reference, attribute)
        if file := recording_file(reference):
            return PlayedModel(file, self.root)
        if file := script_file(reference):
            return ScriptedModel(file, self.root)
        try:
            return infer_model(reference)
        except Exception as error:  # every provider's library has its own
            raise _cannot_be_made(reference, error) from error

    def _from_python(self, reference: str, attribute: str) -> Model:
        loaded = self.load(attribute)
        if isinstance(loaded, Agent):
            if loaded.model is None:
                raise LlmdoError(
                    f"the agent `{attribute}` has no model", hint="name one as `model` in its [workers] table"
                )
            if isinstance(loaded.model, str):
                return self._make_one(loaded.model)
            loaded = loaded.model
        if callable(loaded) and not isinstance(loaded, Model):
            try:
                loaded = loaded()
            except Exception as error:  # from the workspace's own code: anything at all
                raise _cannot_be_made(reference, error) from error
        if not isinstance(loaded, Model):
            raise LlmdoError(
                f"`{reference}` is not a model",
                hint="it must name a pydantic-ai model, or a function without arguments that returns one",
            )
        return loaded


def _cannot_be_made(reference: str, error: Exception) -> LlmdoError:
    """The provider's error in one sentence, with the remedy."""
    text = str(error)
    if isinstance(error, ImportError):
        match = _EXTRA.search(text)
        extra = match[1] if match else error.name
        if match is None and extra not in EXTRAS:
            return LlmdoError(f"`{reference}` needs a library that is not installed: {text}")
        hint = installing(extra) if extra in EXTRAS else f"`pip install 'pydantic-ai-slim[{extra}]'`"
        return LlmdoError(f"`{reference}` needs a library that is not installed", hint=hint)
    if "environment" in text and (variable := _VARIABLE.search(text)):
        return LlmdoError(f"`{reference}` needs the environment variable `{variable[0]}`, which is not set")
    return LlmdoError(f"`{reference}` cannot be made: {sentence_of(error)}")


def models_of(
    graph: Graph, entry: Entry, workers: Iterable[str], choice: ModelChoice, source: ModelSource
) -> dict[str, Model]:
    """The model of each of `workers`, made before any is asked.

    Raises:
        LlmdoError: Some cannot be made, do not fit, or none is named; reports all at once.
    """
    by_worker: dict[str, Model] = {}
    problems: dict[str, LlmdoError] = {}
    for name in workers:
        try:
            by_worker[name] = _model_of(graph, entry, graph.workers[name], choice, source)
        except LlmdoError as error:
            problems.setdefault(error.message, error)
    if problems:
        hints = dict.fromkeys(error.hint for error in problems.values() if error.hint)
        raise LlmdoError("; ".join(problems), hint="; ".join(hints) or None)
    return by_worker


def _model_of(graph: Graph, entry: Entry, worker: Worker, choice: ModelChoice, source: ModelSource) -> Model:
    return source.make(fitting(graph, entry, worker, choice))


def fitting(graph: Graph, entry: Entry, worker: Worker, choice: ModelChoice) -> str:
    """The reference of the model that `worker` uses.

    Raises:
        LlmdoError: None is named, or it does not fit.
    """
    reference = choose(graph, entry, worker, choice)
    if reference is None:
        raise LlmdoError(
            f"worker `{worker.name}` has no model",
            hint=worded_for(graph.manifest, "name one with --model, or as `[workspace] model` in llmdo.toml"),
        )
    require_fit(worker, graph.models.get(reference, (reference,)))
    return reference


def require_fit(worker: Worker, chain: Iterable[str]) -> None:
    """Requires that `worker` works with all models of a chain.

    Raises:
        LlmdoError: It does not.
    """
    patterns = worker.compatible_models
    if patterns is not None and (unfit := first_unfit(chain, patterns)) is not None:
        accepted = ", ".join(f"`{pattern}`" for pattern in patterns) or "no model"
        raise LlmdoError(f"worker `{worker.name}` does not work with `{unfit}`, only with {accepted}")
