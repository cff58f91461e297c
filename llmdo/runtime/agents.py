"""The agents of workers, each built once in a run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.models import Model
from pydantic_ai.toolsets import FunctionToolset

from llmdo.base.diagnostic import joined
from llmdo.policy.closed import is_one_of
from llmdo.runtime.adopted import AdoptedAgent, overrides_of
from llmdo.runtime.signatures import Output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import RunContext
    from pydantic_ai.toolsets import AbstractToolset

    from llmdo.graph.resolved import Graph
    from llmdo.runtime.signatures import Signature

RETRIES = 3  # corrections of one tool's arguments, of its name, or of an output, before the worker fails


class _ToollessAgent(Agent[object, object]):
    """An agent with only the tools of the call."""

    def _build_toolset_list(self, *arguments: Any, **options: Any) -> list[AbstractToolset[object]]:
        # pydantic-ai prepares several toolsets in tasks, at every request: its own empty one would make two of one.
        # A pydantic-ai that calls this otherwise takes longer, and does the same.
        toolsets = super()._build_toolset_list(*arguments, **options)
        return [each for each in toolsets if not isinstance(each, FunctionToolset) or each.tools]


@dataclass(slots=True, kw_only=True)
class Agents:
    """The agents of one run by worker, built on first use, without toolsets: each call has its own."""

    graph: Graph
    prompts: Mapping[str, str]
    models: Mapping[str, Model]
    references: Mapping[str, str]
    """Worker to the reference of its model, as the files or the flags name it."""
    signatures: Mapping[str, Signature]
    instruments: tuple[AbstractCapability[object], ...] = ()
    """Watches every agent, such as a trace."""
    adopted: Mapping[str, AdoptedAgent] = field(default_factory=dict)
    """By worker."""
    deps: dict[str, object] = field(default_factory=dict)
    """The object made for each worker's agent, once the run has begun."""
    _built: dict[str, Agent[object, object] | AdoptedAgent] = field(default_factory=dict)

    def of(self, name: str) -> Agent[object, object] | AdoptedAgent:
        """The agent of a worker."""
        if name not in self._built:
            self._built[name] = self._build(name)
        return self._built[name]

    def model_of(self, name: str) -> Model:
        """The model of a worker, which code of the workspace may override for an adopted agent."""
        adopted = self.adopted.get(name)
        other = overrides_of(adopted.agent).get("model") if adopted else None
        return other if isinstance(other, Model) else self.models[name]

    def _build(self, name: str) -> Agent[object, object] | AdoptedAgent:
        if adopted := self.adopted.get(name):
            return replace(adopted, watching=self.instruments, deps=self.deps.get(name))
        worker, signature = self.graph.workers[name], self.signatures[name]
        kind = _ToollessAgent if worker.uses else Agent
        agent = kind(
            self.models[name],
            instructions=self.prompts[name],
            name=name,
            description=worker.description,
            defer_model_check=True,
            output_type=signature.gives or str,
            retries={"tools": RETRIES, "output": RETRIES},
            model_settings=cast("ModelSettings", worker.model_settings) or None,
            capabilities=self.instruments,
        )
        if signature.closure.lists:
            agent.output_validator(partial(_chosen, signature))
        return agent


def _chosen(signature: Signature, ctx: RunContext[Any], value: object) -> object:
    """The answer of a worker, if it chooses from the lists that it was given."""
    given = signature.given(ctx.deps.frame.input)
    answer = json.loads(Output.of(value).text)
    if signature.closed and not ctx.partial_output and not is_one_of(answer, signature.closed, given):
        lists = joined([f"`{name}`" for name, _ in sorted(signature.closure.lists)])
        raise ModelRetry(f"some value is none of the items of {lists}")
    return value
