from typing import Literal

from pydantic import BaseModel


class Answer(BaseModel):
    kind: Literal["a", "b", "c", "d", "e"]
