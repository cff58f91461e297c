"""The toolsets of one run: from a line of a worker's header to an object with tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.toolsets import AbstractToolset, PrefixedToolset

from llmdo.base.diagnostic import LlmdoError
from llmdo.toolsets.adoption import adopted, own_tools
from llmdo.toolsets.filesystem import FilesystemToolset
from llmdo.toolsets.machine import Machine
from llmdo.toolsets.probes import probe_of
from llmdo.toolsets.problems import Problems
from llmdo.toolsets.python import is_toolset_class, made_with, require_fit, sentence_of
from llmdo.toolsets.shell import ShellToolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pydantic_ai import RunContext

    from llmdo.graph.resolved import Graph
    from llmdo.graph.worker import Use
    from llmdo.policy.authority import Authority
    from llmdo.toolsets.bubblewrap import Isolation
    from llmdo.toolsets.confinement import Root
    from llmdo.toolsets.paths import PathMap
    from llmdo.toolsets.probes import Probe
    from llmdo.toolsets.python import Modules
    from llmdo.toolsets.servers import Servers
    from llmdo.workspace.root import Folders


def under(prefix: str, toolset: AbstractToolset[object]) -> AbstractToolset[object]:
    """`toolset` with the names of its tools prefixed; its `get_capabilities`, if any, still sees their own names."""
    kind = _Hooked if callable(getattr(toolset, "get_capabilities", None)) else PrefixedToolset
    return kind(toolset, prefix)


@dataclass
class _Hooked(PrefixedToolset[object]):
    """Passes on our hook, which pydantic-ai's wrapper does not know."""

    def get_capabilities(
        self,
        name: str,
        tool_args: Mapping[str, object],
        ctx: RunContext[object],
        config: Mapping[str, object],
    ) -> object:
        """The answer of the wrapped toolset, asked about the tool by its own name."""
        own = name.removeprefix(f"{self.prefix}_")
        hook: Any = self.wrapped.get_capabilities  # type: ignore[attr-defined]
        return hook(own, tool_args, replace(ctx, tool_name=own), config)


class ToolsetResolver:
    """Makes the toolsets of one run. Wrapping them is left to the gate."""

    def __init__(
        self,
        graph: Graph,
        folders: Folders,
        files: Root,
        modules: Modules,
        paths: PathMap,
        governing: Iterable[str] = (),
        servers: Servers | None = None,
        commands: Path | None = None,
    ) -> None:
        """`files` is the opened root of `folders`; `modules` and `servers` are those of the run.

        `governing` are the paths and globs of the files that govern it, as seen from that root. The file `commands`
        records the running commands of the run; None if nobody would ask.
        """
        self._folders = folders
        self.servers = servers
        self._graph = graph
        self._files = files
        self._paths = paths
        self.governing = frozenset(governing)
        self._modules = modules
        self._commands = commands
        self._machine: Machine | None = None

    @property
    def isolation(self) -> Isolation | None:
        """The isolation of this run's commands; None before `preload`, or if no worker has a shell."""
        return self._machine.isolation if self._machine else None

    def preload(self, uses: Iterable[Use]) -> None:
        """Loads the workspace's code for all of `uses`, so that a run does not begin work that it cannot finish.

        If one of them is `shell`, the isolation of its commands is tried out.

        Raises:
            LlmdoError: Some of it cannot be loaded or configured; all is reported at once.
        """
        problems: dict[str, LlmdoError] = {}
        for use in uses:
            try:
                if use.name == "shell":
                    self._prepared()
                elif use.name in self._graph.toolsets and not self._is_server(use):
                    self._python(use)
            except LlmdoError as error:
                problems.setdefault(f"{error.at} {error.message}", error)
        if problems:
            raise Problems(problems.values())

    def make(self, use: Use, authority: Authority) -> AbstractToolset[object]:
        """The toolset that `use` names: an instance of the workspace is shared, all others are newly made.

        `authority` decides about the calls of the worker that uses it, at its place in the tree.

        Raises:
            LlmdoError: It cannot be loaded, or does not take this configuration.
        """
        built = self._made(use, authority)
        toolset = self._graph.toolsets.get(use.name)
        return under(toolset.prefix, built) if toolset and toolset.prefix else built

    def _made(self, use: Use, authority: Authority) -> AbstractToolset[object]:
        if make := MAKERS.get(use.name):
            return make(self, use, authority)
        if self._is_server(use) and self.servers is not None:
            return self.servers.toolset(use.name)
        loaded = self._python(use)
        if isinstance(loaded, AbstractToolset):
            return loaded
        try:
            return made_with(loaded, use.config)
        except Exception as error:
            raise LlmdoError(
                f"making the toolset `{use.name}` raised {sentence_of(error)}", at=use.at.location
            ) from error

    def _is_server(self, use: Use) -> bool:
        toolset = self._graph.toolsets.get(use.name)
        return toolset is not None and toolset.kind == "mcp"

    def _prepared(self) -> Machine:
        if self._machine is None:
            self._machine = Machine.prepare(
                self._folders, self._files, self._graph.shell, self.governing, commands=self._commands
            )
        return self._machine

    def _python(self, use: Use) -> AbstractToolset[object] | type[AbstractToolset[object]]:
        """The instance or the class, which takes the configuration of `use`."""
        toolset = self._graph.toolsets.get(use.name)
        if toolset is None:
            raise LlmdoError(f"there is no toolset `{use.name}`", at=use.at.location)
        if toolset.python is None:
            raise LlmdoError(f"`{use.name}` is an MCP server, not a Python toolset", at=use.at.location)
        loaded = self._modules.load(toolset.python)
        if isinstance(loaded, Agent):
            return own_tools(adopted(toolset.python, loaded, has_deps=True))  # which `in_python` looks at
        if isinstance(loaded, AbstractToolset):
            if use.config:
                raise LlmdoError(
                    f"`{use.name}` is one instance that all workers share, so it takes no configuration",
                    hint="leave the configuration out, or let the module offer a class",
                    at=use.at.location,
                )
            return loaded
        if not is_toolset_class(loaded):
            raise LlmdoError(f"`{toolset.python}` is not a toolset", at=toolset.at.location)
        try:
            require_fit(loaded, use.config)
        except TypeError as error:
            raise LlmdoError(
                f"the configuration of `{use.name}` does not fit its class: {error}", at=use.at.location
            ) from error
        return loaded

    def probe(self, use: Use, toolset: AbstractToolset[object], name: str) -> Probe:
        """The probe `name` of the tools of `use`, which is made as `toolset`.

        Raises:
            LlmdoError: There is none of that name.
        """
        place, _, _ = (self._graph.toolsets[use.name].python or "").rpartition(":")
        return probe_of(name, toolset, self._modules.module(place))

    def filesystem(self, use: Use, _authority: Authority) -> AbstractToolset[object]:
        """The built-in tools for files."""
        return FilesystemToolset(self._files, use.config, self._paths, self.governing)

    def shell(self, use: Use, authority: Authority) -> AbstractToolset[object]:
        """The built-in tool for commands."""
        return ShellToolset(self._prepared(), use.config, authority)


MAKERS: Mapping[str, Callable[[ToolsetResolver, Use, Authority], AbstractToolset[object]]] = {
    "filesystem": ToolsetResolver.filesystem,
    "shell": ToolsetResolver.shell,
}
"""The maker of each of `builtin.BUILT_IN`."""
