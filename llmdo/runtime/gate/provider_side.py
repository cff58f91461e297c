"""Tools that a model's provider runs. The gate cannot come before their calls, so it decides on offering them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.capabilities import NativeTool
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.native_tools import NATIVE_TOOL_TYPES

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.builtin import PROVIDER_SIDE
from llmdo.graph.toolkit import tools_of
from llmdo.policy.authority import never_runs
from llmdo.runtime.gate.call import Call, Refused
from llmdo.runtime.gate.decisions import judge
from llmdo.runtime.gate.labelling import declared, everything, labels_for, opened
from llmdo.toolsets.adoption import tools_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic_ai.models import Model

    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Tool
    from llmdo.graph.worker import Worker
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.labels import Labels


async def offered(config: RuntimeConfig, frame: CallFrame) -> list[NativeTool[object]]:
    """The provider-side tools that the model may use in this call of its worker.

    One that needs approval is asked about before its model hears of it; a blocked one is left out silently, like every
    tool whose calls are all blocked.
    """
    tools: list[NativeTool[object]] = []
    labels = labels_for(config, frame.context)
    for tool in _tools(config.graph, frame.worker):
        raised = tool.capabilities
        if never_runs(raised, frame.authority):
            continue
        call = Call(
            path=f"{frame.path}/{tool.name}",
            toolset=PROVIDER_SIDE,
            tool=tool.name,
            arguments={},
            raised=raised,
            declared=raised,
            labels={**_to_come(config, frame), **labels},
        )
        try:
            await judge(config, frame, call)
        except Refused:
            continue
        if context := opened(
            config, frame, replace(call, labels=labels)
        ):  # of what it brings, nobody else sees any
            frame.context.carry(context.end)
        tools.append(NativeTool(NATIVE_TOOL_TYPES[tool.name](**_options(frame.worker, tool.name))))
    return tools


def _to_come(config: RuntimeConfig, frame: CallFrame) -> Labels:
    """The labels of later requests, whose provider-side calls nobody decides on then.

    For a worker with other tools these are all labels: a file may hold anything that anybody has read.
    """
    labelling, uses = config.base.labelling, frame.worker.uses if frame.worker else ()
    if any(use.name != PROVIDER_SIDE for use in uses):
        return everything(labelling, f"{frame.path}, at the latest")
    capabilities = {each for tool in _tools(config.graph, frame.worker) for each in tool.capabilities}
    return declared(labelling, capabilities, frame.path)


def require_support(graph: Graph, models: Mapping[str, Model], chains: Mapping[str, Sequence[str]]) -> None:
    """Requires that every worker's model offers the provider-side tools that the worker names, and brings none.

    `chains` gives the references of each worker's model.

    Raises:
        LlmdoError: Some does not; reports all at once.
    """
    problems = [
        f"worker `{name}` names the provider-side tool `{tool.name}`, which `{reference}` does not offer"
        for name, model in models.items()
        for tool in _tools(graph, graph.workers[name])
        for reference, choice in _each(model, chains[name])
        if NATIVE_TOOL_TYPES.get(tool.name) not in choice.profile.get("supported_native_tools", ())
    ]
    problems += [
        f"the settings of `{reference}` hold tools in `{key}`, where no gate would stand before them"
        for name, model in models.items()
        for reference, choice in _each(model, chains[name])
        for key in tools_in(choice.settings)
    ]
    if problems:
        hint = "name in `native_tools` what the model offers, and there alone"
        raise LlmdoError("; ".join(dict.fromkeys(problems)), hint=hint)


def _tools(graph: Graph, worker: Worker | None) -> Iterator[Tool]:
    for use in worker.uses if worker else ():
        if use.name == PROVIDER_SIDE:
            yield from tools_of(graph, worker, use).values()


def _options(worker: Worker | None, tool: str) -> Mapping[str, Any]:
    """The options of one such tool in the worker's header."""
    lines = (
        use.config.get("options", {}) for use in (worker.uses if worker else ()) if use.name == PROVIDER_SIDE
    )
    return next((cast("Mapping[str, Any]", options).get(tool, {}) for options in lines), {})


def _each(model: Model, chain: Sequence[str]) -> Iterator[tuple[str, Model]]:
    """The models of a fallback chain, each with its reference."""
    models = model.models if isinstance(model, FallbackModel) else [model]
    for number, choice in enumerate(models):
        yield chain[number] if len(chain) == len(models) else chain[0], choice
