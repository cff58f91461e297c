"""What the models have in common by which the runs of agents ask theirs."""

from __future__ import annotations

from pydantic_ai.models.wrapper import WrapperModel


class ModelPerCall(WrapperModel):
    """A worker's model in one call of it: no agent has it for its own."""
