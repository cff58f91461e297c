from typing import Literal

from pydantic import BaseModel


class Answer(BaseModel):
    kind: Literal["invoice", "other"]
