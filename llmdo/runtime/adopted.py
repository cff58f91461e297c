"""An adopted pydantic-ai agent as a worker: runs in its own way, with its tools behind the gate."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.models.per_call import ModelPerCall
from llmdo.toolsets.adoption import problems_of_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_ai import Agent
    from pydantic_ai.agent import AgentRunResult
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import UserContent
    from pydantic_ai.models import Model
    from pydantic_ai.toolsets import AbstractToolset

_PREFIX = "_override_"
_RETRIES = {"output_retries": "output", "tool_retries": "tools"}
_HONOURED = frozenset({"deps", "instructions", "metadata", "model", "model_settings", "name", *_RETRIES})
"""The settings that `agent.override` may replace. Others would go around locked ones."""


class GatedTools(list[Any]):
    """Tools by which a run of ours overrides an agent; its own type, as an agent may call itself meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedAgent:
    """Runs the agent as it is, but all of its tools come from outside, gated."""

    agent: Agent[object, object]
    watching: Sequence[AbstractCapability[object]] = ()
    """Watches every agent of the run."""
    overridden: Mapping[str, Any] = field(default_factory=dict)
    """Overrides by the program that started the run, of the agent as it imported it; without the model."""
    deps: object = None
    """The object made for it; None: it gets the runtime of its call, like other workers."""

    async def run(
        self,
        prompt: str | Sequence[UserContent],
        *,
        model: Model,
        toolsets: Sequence[AbstractToolset[object]] | None,
        capabilities: Sequence[AbstractCapability[object]] | None,
        deps: object,
        **more: Any,
    ) -> AgentRunResult[object]:
        """Its answer."""
        replaced = {**self.overridden, **overrides_of(self.agent)}
        replaced.pop("model", None)  # which `model` is already
        retries = {each: replaced.pop(name) for name, each in _RETRIES.items() if name in replaced}
        if retries:
            replaced["retries"] = retries
        # In the context of this task alone: another call of the same agent, at the same time, has its own.
        with self.agent.override(
            tools=GatedTools(),
            toolsets=GatedTools(toolsets or ()),
            native_tools=GatedTools(),
            model=model,
            **replaced,
        ):
            return await self.agent.run(
                prompt,
                capabilities=[*self.watching, *(capabilities or ())],
                deps=deps if self.deps is None else self.deps,
                **more,
            )


def overrides_of(agent: Agent[object, object]) -> dict[str, Any]:
    """The replacements of `agent.override` in force now, except those of a run of ours.

    Raises:
        LlmdoError: It replaces a locked setting.
    """
    replaced = {
        name.removeprefix(_PREFIX): some.value
        for name, variable in vars(agent).items()
        if name.startswith(_PREFIX)
        and isinstance(variable, ContextVar)
        and (some := variable.get())
        and not isinstance(some.value, GatedTools | ModelPerCall)
    }
    problems = [f"replaces its `{name}`, which are locked" for name in sorted(replaced.keys() - _HONOURED)]
    problems += [
        f"gives it settings that {problem}"
        for problem in problems_of_settings(replaced.get("model_settings"))
    ]
    if problems:
        raise LlmdoError(
            f"`override` of the agent `{agent.name}` cannot be followed: it {'; it '.join(problems)}",
            hint="it may replace the model, deps, instructions, settings, metadata, retries and the name",
        )
    return replaced
