"""The needs of a run that are known before anything of its workspace is imported: a model, a key, an input, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.missing import missing_file
from llmdo.graph.models import KEYS, key_variables
from llmdo.graph.toolkit import reachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.runtime import ModelChoice
    from llmdo.runtime.attached import Attached

_WITH_KEYS = frozenset({*KEYS, "openai-chat", "openai-responses"})


def require_input(entry: Entry, given: str | None) -> None:
    """Check that an entry's worker is not started with a blank input: the `given` one, else the entry's own.

    Raises:
        LlmdoError: It would be.
    """
    text = entry.input if given is None else given
    if entry.worker is None or text is None or text.strip():
        return
    command = f'`llmdo run {entry.name} "..."`'
    is_own = given is None
    raise LlmdoError(
        f"the {'own ' * is_own}input of entry `{entry.name}` is empty",
        hint=f"say what it is to do: {command}"
        + (", or leave the input out: the entry has its own" if entry.input and not is_own else ""),
    )


def require_attachable(
    graph: Graph, entry: Entry, attached: Sequence[Attached], paths: Mapping[str, str], folder: Path
) -> None:
    """Check that the files of `folder` that are passed to an entry exist, and that its worker takes what is passed.

    `paths` are the path maps of the run beside those of the graph.

    Raises:
        LlmdoError: A file is missing, or the worker does not take it.
    """
    if not attached:
        return
    for name in (file.name for file in attached if file.outside is None):
        if not name.startswith((*paths, *graph.paths)) and not (folder / name).exists():
            raise missing_file(name, of="--attach", folder=folder)
    if worker := graph.workers.get(entry.worker.name) if entry.worker else None:
        from llmdo.runtime.attachments import require_accepted  # which takes a second

        require_accepted(worker, attached, {**graph.paths, **paths})


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
