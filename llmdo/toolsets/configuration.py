"""Classes of toolsets, and how one is made with the configuration of a worker's header."""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import TYPE_CHECKING

from pydantic_ai.toolsets import AbstractToolset

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CONFIGURE = "configure"
"""The optional class method by which a class takes its configuration whole."""


def require_fit(made_of: type[AbstractToolset[object]], config: Mapping[str, object]) -> None:
    """Checks that a class accepts this configuration, as far as that shows without making it.

    Raises:
        TypeError: It does not accept it, or its `configure` is no class method.
    """
    if configure := _configure_of(made_of):
        inspect.signature(configure).bind(config)
    else:
        inspect.signature(made_of).bind(**config)


def made_with(
    made_of: type[AbstractToolset[object]], config: Mapping[str, object]
) -> AbstractToolset[object]:
    """A new toolset of a class, with a copy of the configuration: whole, or as keyword arguments.

    Raises:
        Exception: Whatever its code raises; LlmdoError if that returns no toolset.
    """
    arguments = {key: deepcopy(value) for key, value in config.items()}
    configure = _configure_of(made_of)
    if configure is None:
        return made_of(**arguments)
    toolset = configure(arguments)
    if not isinstance(toolset, AbstractToolset):
        raise LlmdoError(
            f"`configure` of `{made_of.__name__}` returned no toolset, but {type(toolset).__name__}"
        )
    return toolset


def _configure_of(made_of: type[AbstractToolset[object]]) -> Callable[[Mapping[str, object]], object] | None:
    """The class method `configure` of a class, if any.

    Raises:
        TypeError: It is something else.
    """
    stated = inspect.getattr_static(made_of, CONFIGURE, None)
    if stated is None:
        return None
    if not isinstance(stated, classmethod | staticmethod):
        raise TypeError("`configure` is not a class method: write `@classmethod` above it")
    configure: Callable[[Mapping[str, object]], object] = getattr(made_of, CONFIGURE)
    return configure
