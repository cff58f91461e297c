"""The code of installed extensions while it runs: none of its output and none of its ends is taken for llmdo's own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, excerpt

if TYPE_CHECKING:
    from types import TracebackType
    from typing import TextIO


class ExtensionCode:
    """A context for code of an extension: its output goes to standard error, and its failure is an `LlmdoError`.

    So is `sys.exit`, which would otherwise end the command as if all were well. An interruption stays one.
    """

    __slots__ = ("_failed", "_output", "_what")

    def __init__(self, what: str, failed: str = "failed") -> None:
        """`what` and `failed` are the first words of the error."""
        self._what = what
        self._failed = failed

    def __enter__(self) -> None:
        self._output: TextIO = sys.stdout
        sys.stdout = sys.stderr

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        sys.stdout = self._output
        if isinstance(error, (Exception, SystemExit)):
            raise LlmdoError(f"{self._what} {self._failed}: {reason_of(error)}") from error


def reason_of(error: BaseException) -> str:
    """An exception of an extension, as a clause of a message."""
    try:
        if isinstance(error, SystemExit):
            return f"it called sys.exit({excerpt(str(error.code))})"
        return excerpt(f"{type(error).__name__}: {error}", 200)
    except (Exception, SystemExit):  # its `__str__` is code of the extension as well
        return type(error).__name__
