"""What cannot go on, since the journal keeps no secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.diagnostic import LlmdoError

if TYPE_CHECKING:
    from llmdo.journal import Journal
    from llmdo.runtime.recording.encoding import Encoding
    from llmdo.runtime.recording.terms import Execution


def require_whole(execution: Execution, journal: Journal, encoding: Encoding) -> None:
    """Nothing, where the arguments of a call are all that its model said.

    Raises:
        LlmdoError: The journal holds less of them than the model said, so that another call would run.
    """
    if "[redacted" in encoding.plain(execution.arguments).body.decode():
        above = execution.path.rpartition("/")[0]
        if any(entry.outcome == "redacted" for entry in journal.entries("request") if entry.path == above):
            raise LlmdoError(
                f"{execution.path}: its arguments held a secret, which the journal does not keep"
            )
