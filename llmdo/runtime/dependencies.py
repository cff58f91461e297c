"""The deps of adopted agents: made by functions of the workspace when a run begins, and closed with it."""

from __future__ import annotations

import inspect
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from typing_extensions import is_protocol

from llmdo.base.diagnostic import LlmdoError
from llmdo.toolsets.adoption import maker
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from llmdo.graph.worker import Worker
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.toolsets.python import Modules


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
