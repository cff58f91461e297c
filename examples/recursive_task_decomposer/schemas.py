"""What the decomposer takes and gives: both are trees."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Task(BaseModel):
    """Something to do, with what is known of it."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=200, description="What is to be done, in a few words.")
    details: str = Field(default="", max_length=4_000, description="What is known of it; leave nothing out.")
    parts: list[Task] = Field(default=[], max_length=20, description="Smaller tasks, where they are known.")


class Plan(BaseModel):
    """A task, and the smaller ones that it is done by."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=200, description="The task's title.")
    steps: list[Plan] = Field(default=[], description="In order; none where the task is a single step.")
    note: str = Field(
        default="", max_length=500, description="Why it was not split further, where it should be."
    )
