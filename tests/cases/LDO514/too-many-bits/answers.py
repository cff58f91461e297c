from typing import Annotated, Literal

from pydantic import BaseModel, Field


class Answer(BaseModel):
    kinds: Annotated[list[Literal["a", "b"]], Field(max_length=400)]
