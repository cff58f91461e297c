"""Values that are valid while their sources are the same."""

from __future__ import annotations

from typing import Generic, TypeVar

Made = TypeVar("Made")


class Remembered(Generic[Made]):
    """Values by name, each valid while its source is the same."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, tuple[object, Made]] = {}

    def of(self, name: str, source: object) -> Made | None:
        """The value of that name, if it was made of `source`."""
        before, value = self._values.get(name, (None, None))
        return value if source is not None and (before is source or before == source) else None

    def keep(self, name: str, source: object, value: Made) -> Made:
        """Replaces the value of that name, and returns the new one."""
        if source is not None:
            self._values[name] = (source, value)
        return value
