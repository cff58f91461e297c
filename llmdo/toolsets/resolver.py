"""The toolsets of one run: from a line of a worker's header to something with tools."""

from __future__ import annotations

from copy import deepcopy
from inspect import signature
from typing import TYPE_CHECKING, Any

from pydantic_ai.toolsets import AbstractToolset

from llmdo.diagnostic import LlmdoError
from llmdo.toolsets.filesystem import FilesystemToolset
from llmdo.toolsets.problems import Problems
from llmdo.toolsets.python import is_toolset_class, sentence_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.graph import Graph, Use
    from llmdo.toolsets.confinement import Root
    from llmdo.toolsets.pathmap import PathMap
    from llmdo.toolsets.python import Modules


class ToolsetResolver:
    """Makes the toolsets of one run. It wraps none: the gate does, around whatever is made here."""

    def __init__(
        self, graph: Graph, files: Root, modules: Modules, paths: PathMap, protected: Iterable[str] = ()
    ) -> None:
        """`modules` are those of the run; `protected` are the files that govern it."""
        self._graph = graph
        self._files = files
        self._paths = paths
        self._protected = frozenset(protected)
        self._modules = modules

    def preload(self, uses: Iterable[Use]) -> None:
        """Loads the workspace's code for all of `uses`, so that a run does not begin what it cannot end.

        Raises:
            LlmdoError: Some of it cannot be loaded or configured so; all of it is told at once.
        """
        problems: dict[str, LlmdoError] = {}
        for use in uses:
            if use.name in self._graph.toolsets:
                try:
                    self._python(use)
                except LlmdoError as error:
                    problems.setdefault(f"{error.at} {error.message}", error)
        if problems:
            raise Problems(problems.values())

    def make(self, use: Use) -> AbstractToolset[Any]:
        """The toolset that `use` names: an instance of the workspace is shared, all others are made anew.

        Raises:
            LlmdoError: It cannot be loaded, or does not take this configuration.
        """
        if use.name == "filesystem":
            return FilesystemToolset(self._files, use.config, self._paths, self._protected)
        found = self._python(use)
        if isinstance(found, AbstractToolset):
            return found
        try:
            return found(**{key: deepcopy(value) for key, value in use.config.items()})
        except Exception as error:
            raise LlmdoError(
                f"making the toolset `{use.name}` raised {sentence_of(error)}", at=use.at.location
            ) from error

    def _python(self, use: Use) -> AbstractToolset[Any] | type[AbstractToolset[Any]]:
        """The instance or the class, which takes the configuration of `use`."""
        toolset = self._graph.toolsets.get(use.name)
        if toolset is None:
            raise LlmdoError(f"there is no toolset `{use.name}`", at=use.at.location)
        if toolset.python is None:
            raise LlmdoError(f"`{use.name}` is an MCP server, not a Python toolset", at=use.at.location)
        found = self._modules.load(toolset.python)
        if isinstance(found, AbstractToolset):
            if use.config:
                raise LlmdoError(
                    f"`{use.name}` is one instance that all workers share, so it takes no configuration",
                    hint="leave the configuration out, or let the module offer a class",
                    at=use.at.location,
                )
            return found
        if not is_toolset_class(found):
            raise LlmdoError(f"`{toolset.python}` is not a toolset", at=toolset.at.location)
        try:
            signature(found).bind(**use.config)
        except TypeError as error:
            raise LlmdoError(
                f"the configuration of `{use.name}` does not fit its class: {error}", at=use.at.location
            ) from error
        return found
