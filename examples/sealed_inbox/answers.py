"""What the sorter may say of a mail: each value is one of a list, so no stranger's word is in it."""

from typing import Literal

from pydantic import BaseModel


class Sorted(BaseModel):
    """What a mail is about."""

    about: Literal["invoice", "advertisement", "other"]
