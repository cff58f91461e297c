"""Former names of commands, which work as before."""

from __future__ import annotations

from llmdo.cli.tables import FORMER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def current(words: Sequence[str]) -> list[str]:
    """The words of a command line, with the command by its present name."""
    return [*FORMER.get(words[0], words[:1]), *words[1:]] if words else []
