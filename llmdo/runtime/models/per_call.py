"""The common base of the models that agents' runs ask."""

from __future__ import annotations

from pydantic_ai.models.wrapper import WrapperModel


class ModelPerCall(WrapperModel):
    """A worker's model in one call of it; never the own model of an agent."""
