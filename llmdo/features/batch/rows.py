"""The rows of the output: one JSON line an item, written when it is over, the same however often a batch goes on."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.items import ENDED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from llmdo.base.values import Json
    from llmdo.journal.items import BatchItem, Result


def row(item: BatchItem, result: Result) -> dict[str, Json]:
    """The row of a finished item."""
    return {
        "key": item.key,
        "number": item.number,
        "run": item.run,
        "state": result.state,
        "output": result.output,
        "error": result.error,
        "tries": item.tries,
        "requests": result.requests,
        "input_tokens": result.input_tokens,
        "output_tokens": result.output_tokens,
        "cost_usd": None if result.cost_usd is None else float(result.cost_usd),
    }


class Rows:
    """The file of the rows. For a retried item, the last row counts."""

    def __init__(self, path: Path) -> None:
        """Opens it to append; removes a row that a crash cut short.

        Raises:
            LlmdoError: It cannot be written, or holds something else.
        """
        self._path = path
        try:
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666), "rb+")
            with ExitStack() as opened:
                opened.callback(self._file.close)
                self._states = self._written()
                opened.pop_all()
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it does not hold rows of a batch"
            raise LlmdoError(f"cannot write `{path}`: {why}", hint="name another file") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _written(self) -> dict[str, tuple[str, str, int]]:
        """The run, the state and the number of tries in the last row of each key."""
        whole, states = 0, {}
        for line in self._file:
            if not line.endswith(b"\n"):
                self._file.truncate(whole)
                break
            whole += len(line)
            data = json.loads(line)
            states[data["key"]] = (data["run"], data["state"], data["tries"])
        return states

    def add(self, item: BatchItem, result: Result) -> None:
        """Writes the row of an item that is over, unless it is there."""
        state = (item.run, result.state, item.tries)
        if result.state not in ENDED or self._states.get(item.key) == state:
            return
        self._states[item.key] = state
        try:
            self._file.write(json.dumps(row(item, result), ensure_ascii=False).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise LlmdoError(f"cannot write `{self._path}`: {error.strerror}") from error

    def complete(self, items: Iterable[BatchItem]) -> None:
        """Writes the missing rows of items that were over before."""
        for item in items:
            self.add(item, item.result)
