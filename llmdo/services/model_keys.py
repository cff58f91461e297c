"""The models of a run, checked before a person, a model or a provider is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.models import KEYS, key_variables
from llmdo.graph.toolkit import reachable

_WITH_KEYS = frozenset({*KEYS, "openai-chat", "openai-responses"})

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.graph.resolved import Graph
    from llmdo.runtime import ModelChoice


def require_models(graph: Graph, entry: str, choice: ModelChoice, environ: Mapping[str, str] | None) -> None:
    """Check that each worker of an entry has a model that it works with, and a key for it in `environ`.

    None means that the run is another machine's, as in a fleet: its keys and libraries are not known here.

    Raises:
        LlmdoError: Workers lack a model or a key; all keys are named.
    """
    if lacking := dict.fromkeys(_lacking(graph, entry, choice, environ)):
        raise LlmdoError("; ".join(lacking), hint="set it, or name another model with `--model`")


def _lacking(
    graph: Graph, entry: str, choice: ModelChoice, environ: Mapping[str, str] | None
) -> Iterator[str]:
    from llmdo.runtime.models.choice import fitting  # which takes a second

    started = graph.entries[entry]
    for name in reachable(graph, started):
        reference = fitting(graph, started, graph.workers[name], choice)
        if reference in choice.instances or environ is None:
            continue
        for model in graph.models.get(reference, (reference,)):
            # Those of a cloud or of a login have other credentials, though their names begin alike.
            provider = model.partition(":")[0]
            variables = key_variables(model) if provider in _WITH_KEYS else ()
            # A server of one's own, which an address of the environment leads to, may want no key.
            addresses = (variable.removesuffix("_API_KEY") + "_BASE_URL" for variable in variables)
            if variables and not any(environ.get(each) for each in (*variables, *addresses)):
                words = " or ".join(f"`{variable}`" for variable in variables)
                yield f"`{model}` needs the environment variable {words}, which is not set"
