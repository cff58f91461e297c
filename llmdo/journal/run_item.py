"""The item of a batch, or the case of an evaluation, that a run is for."""

from __future__ import annotations

from functools import partial
from typing import Any

from llmdo.base.values import also_in_json, dataclass, field, fields, in_json
from llmdo.base.visible import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class RunItem:
    """An item by its batch and key; if an evaluation put it in, also by that and its case."""

    batch: str
    key: str
    eval: str | None = None
    """The name of the eval."""
    evaluation: str | None = None
    """The id of the evaluation."""
    judge: str | None = None
    """The worker that judges another run of the evaluation; None for a run of a case."""
    title: str | None = field(default=None, metadata=in_json(part=None))
    """The text of the run's title, if the item has fields for the `title` of its entry."""

    @property
    @also_in_json(after="evaluation")
    def case(self) -> str | None:
        """The name of the case, which its key ends with `#` and the number of the trial."""
        return self.key.rpartition("#")[0] if self.eval and not self.judge else None

    @property
    @also_in_json(after="case")
    def trial(self) -> int | None:
        """The number of the run among those of its case, from 1."""
        number = self.key.rpartition("#")[2]
        return int(number) if self.case is not None and number.isdecimal() else None

    @property
    @also_in_json(by=partial(visible, prose=True))
    def name(self) -> str:
        """The item's name in a list of runs, such as `refund-7`, or `EVAL/CASE#TRIAL`."""
        return f"{self.eval}/{self.judge or self.key}" if self.eval else self.key

    @property
    def data(self) -> dict[str, Any]:
        """The item as an entry of a journal holds it."""
        values = {each.name: getattr(self, each.name) for each in fields(RunItem)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def of(cls, data: object) -> RunItem | None:
        """The item in an entry of a journal; None if its run is for none, or the entry does not say."""
        names = [each.name for each in fields(RunItem)]
        texts = {name: data[name] for name in names if name in data} if isinstance(data, dict) else {}
        is_whole = {"batch", "key"} <= texts.keys() and all(isinstance(text, str) for text in texts.values())
        return cls(**texts) if is_whole else None
