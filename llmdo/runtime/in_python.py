"""Workers in Python: prompts made by code, adopted agents, and their deps."""

from __future__ import annotations

import inspect
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from typing_extensions import is_protocol

from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.adopted import AdoptedAgent, overrides_of
from llmdo.toolsets.adoption import adopted, maker, workers_of
from llmdo.toolsets.problems import Problems
from llmdo.toolsets.python import sentence_of
from llmdo.toolsets.workers import PythonWorker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from llmdo.graph.worker import Worker
    from llmdo.runtime.config import RuntimeConfig
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


@asynccontextmanager
async def dependencies(config: RuntimeConfig, modules: Modules) -> AsyncIterator[dict[str, object]]:
    """By worker, the deps made for the agents that the run can reach; none if they are overridden.

    Their maker may be a generator: the code after its `yield` runs however the run ended.

    Raises:
        LlmdoError: Making or closing some of it fails, or the made object has another type.
    """
    by_worker: dict[str, object] = {}
    stack = AsyncExitStack()
    try:
        for name, adopted in config.agents.adopted.items():
            worker = config.graph.workers[name]
            if worker.deps is not None and "deps" not in adopted.overridden:
                by_worker[name] = await _made(config, worker, worker.deps.name, modules, stack)
        yield by_worker
    finally:
        try:
            await stack.aclose()  # which throws nothing into a generator, so that none can swallow it
        except Exception as error:  # from the workspace's own code: anything at all
            sentence = f"closing the deps of the run raised {sentence_of(error)}"
            raise config.backtrace.crash(sentence, error) from error


async def _made(
    config: RuntimeConfig, worker: Worker, name: str, modules: Modules, stack: AsyncExitStack
) -> object:
    make = maker(name, modules.load(name))
    try:
        deps = await _called(make, stack)
    except Exception as error:  # from the workspace's own code: anything at all
        sentence = f"`{name}`, which makes the deps of `{worker.name}`, raised {sentence_of(error)}"
        raise config.backtrace.crash(sentence, error) from error
    kind: Any = getattr(modules.load(worker.agent or ""), "deps_type", object)
    is_checked = isinstance(kind, type) and kind not in (object, type(None)) and not is_protocol(kind)
    if is_checked and not isinstance(deps, kind):
        raise LlmdoError(f"`{name}` made a `{type(deps).__name__}`, and the agent takes a `{kind.__name__}`")
    return deps


async def _called(make: Callable[[], Any], stack: AsyncExitStack) -> object:
    if inspect.isasyncgenfunction(make):
        return await stack.enter_async_context(asynccontextmanager(make)())
    if inspect.isgeneratorfunction(make):
        return stack.enter_context(contextmanager(make)())
    deps = make()
    return await deps if inspect.isawaitable(deps) else deps
