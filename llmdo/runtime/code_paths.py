"""The call paths of the calls that code makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.runtime.recording.replay_mode import DivergenceError

if TYPE_CHECKING:
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.place import CallPlace


def path_at(config: RuntimeConfig, place: CallPlace, name: str, arguments: object) -> str:
    """The path of a call made by code at `place`; `arguments` are its input.

    Raises:
        DivergenceError: Nobody can know which of several recorded calls it is.
    """
    unnumbered = f"{place.above}/{name}"
    if place.number is not None:
        return f"{unnumbered}#{place.number}"
    digest = config.log.unordered(unnumbered, arguments)
    try:
        return config.ledger.unordered.path(unnumbered, digest, config.log.has_called)
    except DivergenceError as error:
        config.log.brake.stop(error)
        raise
