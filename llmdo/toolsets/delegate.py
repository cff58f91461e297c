"""A worker as a toolset, for the workspace's own code."""

from __future__ import annotations

from pydantic_ai import RunContext  # noqa: TC002  # pydantic-ai reads the annotation
from pydantic_ai.toolsets import FunctionToolset

from llmdo.base.diagnostic import LlmdoError


class DelegateToolset(FunctionToolset[object]):
    """A worker as one tool of its name. Decisions about the call are made at the call of the worker, not here."""

    def __init__(self, worker: str, description: str | None) -> None:
        super().__init__(id=worker)
        self.worker = worker
        self.add_function(
            self._call,
            takes_ctx=True,
            name=worker,
            description=description or f"Calls the worker {worker}.",
            metadata={"capabilities": []},
        )

    async def _call(self, ctx: RunContext[object], input: str) -> object:  # noqa: A002  # what models see
        if not hasattr(ctx.deps, "call_agent"):
            raise LlmdoError(f"the worker `{self.worker}` was called outside of a run of llmdo")
        output: object = await ctx.deps.call_agent(self.worker, input, ctx)
        return output
