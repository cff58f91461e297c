"""Workers in Python: prompts made by code, and adopted agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai import Agent

from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.adopted import AdoptedAgent, overrides_of
from llmdo.toolsets.adoption import adopted, workers_of
from llmdo.toolsets.problems import Problems
from llmdo.toolsets.workers import PythonWorker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.graph.worker import Worker
    from llmdo.toolsets.python import Modules


def prompts_of(workers: Iterable[Worker], known: Mapping[str, str], modules: Modules) -> dict[str, str]:
    """The prompt of each worker: the known one, or the one made by its Python code; empty for an agent.

    Raises:
        LlmdoError: Some code cannot be loaded or is no longer such a worker.
    """
    prompts = dict(known)
    for worker in workers:
        if worker.python and worker.name not in known:
            worker_in_python = modules.load(worker.python)
            if not isinstance(worker_in_python, PythonWorker) or worker_in_python.name != worker.name:
                raise LlmdoError(
                    f"`{worker.python}` is not the worker `{worker.name}`", at=worker.at.location
                )
            if not isinstance(worker_in_python.instructions, str):
                raise LlmdoError(
                    f"the `instructions` of `{worker.python}` are not text", at=worker.at.location
                )
            prompts[worker.name] = worker_in_python.instructions
        elif worker.agent:
            prompts[worker.name] = ""  # the agent brings its own
    return prompts


def agents_of(workers: Iterable[Worker], modules: Modules) -> dict[str, AdoptedAgent]:
    """The agents of the adopted ones among `workers`.

    Overrides by the program that runs it, having imported the file itself, hold for the run.

    Raises:
        LlmdoError: Some cannot be adopted; reports all at once.
    """
    agents: dict[str, AdoptedAgent] = {}
    problems: list[LlmdoError] = []
    for worker in workers:
        if worker.agent:
            try:
                agents[worker.name] = _adopted(worker, worker.agent, modules)
            except LlmdoError as error:
                problems.append(error)
    if problems:
        raise Problems(problems)
    return agents


def _adopted(worker: Worker, reference: str, modules: Modules) -> AdoptedAgent:
    agent = adopted(reference, modules.load(reference), has_deps=worker.deps is not None)
    if unnamed := sorted(workers_of(agent) - {use.name for use in worker.uses}):
        raise LlmdoError(
            f"the agent `{reference}` has the worker `{unnamed[0]}` as a toolset, and its table does not say so",
            hint=f"name `{unnamed[0]}` in `toolsets` of [workers.{worker.name}]",
            at=worker.at.location,
        )
    imported = modules.imported_outside(reference)
    return AdoptedAgent(agent=agent, overridden=overrides_of(imported) if isinstance(imported, Agent) else {})
