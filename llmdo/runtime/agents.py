"""Agents: each worker's, built once in a run, and the one hook that sees every model request of the tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability

from llmdo.runtime.events import ModelRequested, ModelResponded
from llmdo.runtime.retries import Retries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import WrapModelRequestHandler
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestContext
    from pydantic_ai.settings import ModelSettings

    from llmdo.graph import Graph
    from llmdo.runtime.config import CallFrame

RETRIES = 3  # corrections of one tool's arguments, or of its name, before the worker fails


@dataclass
class Meter(AbstractCapability[Any]):
    """Tells of each model request and counts it for its worker. It wraps the request, so nothing need be streamed."""

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: no file can ask for it."""
        return None

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        """The model's response."""
        config, frame = ctx.deps.config, ctx.deps.frame
        config.on_event(
            ModelRequested(path=frame.path, worker=frame.name, model=request_context.model.model_id)
        )
        response = await handler(request_context)
        used = config.ledger.of_worker(frame.name)
        used.requests += 1
        used.incr(response.usage)
        config.on_event(_responded(frame, request_context.model, response))
        return response


def _responded(frame: CallFrame, asked: Model, response: ModelResponse) -> ModelResponded:
    answered = f"{response.provider_name}:{response.model_name}" if response.provider_name else asked.model_id
    return ModelResponded(
        path=frame.path,
        worker=frame.name,
        model=answered,
        text=response.text or "",
        calls=tuple(call.tool_name for call in response.tool_calls),
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        cost_usd=response.usage.cost,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """The agents of one run by worker, built on first use. Toolsets are no part of them: each call has its own."""

    graph: Graph
    prompts: Mapping[str, str]
    models: Mapping[str, Model]
    references: Mapping[str, str]
    """Worker to the reference of its model, as the files or the flags name it."""
    instruments: tuple[AbstractCapability[Any], ...] = ()
    """What watches every agent, such as a trace."""
    _built: dict[str, Agent[Any, str]] = field(default_factory=dict)

    def of(self, name: str) -> Agent[Any, str]:
        """The agent of the worker of that name."""
        if name not in self._built:
            self._built[name] = Agent(
                self.models[name],
                instructions=self.prompts[name],
                name=name,
                description=self.graph.workers[name].description,
                defer_model_check=True,
                retries={"tools": RETRIES},
                model_settings=cast("ModelSettings", self.graph.workers[name].model_settings) or None,
                capabilities=[*self.instruments, Meter(), Retries()],
            )
        return self._built[name]
