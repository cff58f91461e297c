"""Starting local MCP servers: their program, environment and isolation, and the reason why one ended."""

from __future__ import annotations

import json
import os
import posixpath
import re
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, shown
from llmdo.policy.protection import CODE_WRITE
from llmdo.policy.shell.words import CommandRefused
from llmdo.toolsets import bubblewrap, relay
from llmdo.toolsets.exposure import Exposure, WriteGuard, expose, set_aside_intruders
from llmdo.toolsets.programs import Programs, environment
from llmdo.workspace.programs import require_same

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TextIO

    from llmdo.graph.described import Server
    from llmdo.graph.toolset import Toolset
    from llmdo.toolsets.bubblewrap import Bubblewrap
    from llmdo.toolsets.confinement import Root
    from llmdo.workspace.root import Folders

MESSAGE_BYTES = 16 * 1024 * 1024  # one message: a picture of 10 MB, as base64
NOISE_BYTES = 1024 * 1024  # of what a server writes to its output that is no message
WINDOW_MESSAGES = 5_000  # in ten seconds: a server has no reason for more
WINDOW_BYTES = 128 * 1024 * 1024
STDERR_BYTES = 2_000  # of what it printed: its end, where the reason usually is

NETWORK = "net.connect"
ROOT = "LLMDO_ROOT"
"""The variable that tells a server which folder tools work on."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A program ready to be started, which relays messages to and from the server."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    errors: TextIO
    """The file of its error output, which nobody is shown unasked."""

    def reason(self) -> str:
        """Why the connection ended, to follow the server's name; empty if unknown."""
        last = _last_words(self.errors)
        printed = shown(str(last.get("printed", "")).strip().replace("\n", " | "))
        reason = str(last.get("reason", ""))
        return f"{reason}; it printed: {printed}" if reason and printed else reason


def _last_words(errors: TextIO) -> Mapping[str, object]:
    errors.seek(0)
    lines = errors.read().splitlines()
    try:
        answer = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """The shared context of the servers of one run, or of one lock."""

    folders: Folders
    files: Root
    """The opened root of `folders`."""
    governing: frozenset[str]
    """The files that govern the run, as seen from the root; no server may write them."""
    environ: Mapping[str, str]
    start_s: float = 30.0
    """The seconds in which a server has to start and to greet."""

    @property
    def _variables(self) -> Mapping[str, str]:
        """The variables a server may be given: the environment, and the folder that tools work on."""
        return {**self.environ, ROOT: str(self.folders.root.resolve())}

    @contextmanager
    def prepared(self, toolset: Toolset) -> Iterator[Launch]:
        """A context with the launch of the server of `toolset`; everything is removed afterwards.

        Raises:
            LlmdoError: A variable is not set, the program does not exist, cannot be isolated as required, or differs
                from the inventory.
        """
        server = toolset.server
        if server is None or server.command is None:
            raise LlmdoError(f"`{toolset.name}` is not a program on this machine", at=toolset.at.location)
        if os.name != "posix":
            raise LlmdoError("local MCP servers do not work on this system", hint="use WSL or a container")
        stated = self.folders.stated
        tools = "" if stated is None else posixpath.normpath(stated.name)
        require_same(server, toolset.programs, self.folders.workspace, toolset.name, tools)
        with ExitStack() as stack:
            folder = stack.enter_context(TemporaryDirectory(prefix="llmdo-", ignore_cleanup_errors=True))
            errors = stack.enter_context(
                (Path(folder) / "errors").open("w+", encoding="utf-8", errors="replace")
            )
            home = Path(folder) / "home"
            home.mkdir()
            request, exposure = self._request(toolset, server, home)
            if exposure.writable:
                stack.callback(set_aside_intruders, self.folders.root, exposure)
            yield Launch(
                command=sys.executable,
                args=("-I", "-S", "-B", relay.__file__),
                env={relay.VARIABLE: json.dumps(request)},
                errors=errors,
            )

    def _request(self, toolset: Toolset, server: Server, home: Path) -> tuple[dict[str, object], Exposure]:
        programs = Programs.of(self.environ.get("PATH", os.defpath), *self.folders.all)
        program = self._program(toolset, server, programs)
        words = [str(program), *(expand(arg, self._variables, toolset) for arg in server.args)]
        workspace, root = self.folders.workspace.resolve(), self.folders.root.resolve()
        cwd = workspace / (server.cwd or "")
        _, sandbox = bubblewrap.isolate(toolset.isolation, root, programs, [], self.environ)
        exposure = Exposure()
        if sandbox is not None:
            network, scopes, code = grants(toolset)
            guard = WriteGuard(self.governing, code)
            exposure = expose(self.files, root, scopes, guard) if scopes else exposure
            also = [*_installed(program, self.environ.get("HOME", "/"))]
            also += [] if workspace == root else [workspace]
            words = sandbox.command(words, mounts=exposure.mounts, network=network, also=also, cwd=cwd)
        request: dict[str, object] = {
            "words": words,
            "cwd": str(cwd),
            "parent": os.getpid(),
            "env": self._environment(toolset, server, programs, home, sandbox),
            "message_bytes": MESSAGE_BYTES,
            "noise_bytes": NOISE_BYTES,
            "window_messages": WINDOW_MESSAGES,
            "window_bytes": WINDOW_BYTES,
            "stderr_bytes": STDERR_BYTES,
        }
        return request, exposure

    def _program(self, toolset: Toolset, server: Server, programs: Programs) -> Path:
        named = expand(server.command or "", self._variables, toolset)
        if "/" not in named:
            try:
                return programs.find(named)
            except CommandRefused as refused:
                raise LlmdoError(
                    f"the MCP server `{toolset.name}` cannot be started: {refused}", at=toolset.at.location
                ) from refused
        path = self.folders.workspace.resolve() / named
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise LlmdoError(
                f"the MCP server `{toolset.name}` cannot be started: `{named}` is not a program",
                at=toolset.at.location,
            )
        return path

    def _environment(
        self, toolset: Toolset, server: Server, programs: Programs, home: Path, sandbox: Bubblewrap | None
    ) -> dict[str, str]:
        names = [passed for passed in server.env if "=" not in passed]
        built = environment(
            programs, str(home) if sandbox is None else bubblewrap.HOME, names, self._variables
        )
        if sandbox is None:
            built["TMPDIR"] = str(home)
        for variable in server.env:
            name, equals, text = variable.partition("=")
            if equals:
                built[name] = expand(text, self._variables, toolset)
        return built


def expand(text: str, environ: Mapping[str, str], toolset: Toolset) -> str:
    """`text` with every `${NAME}` and `${NAME:-OTHERWISE}` replaced from the environment.

    Raises:
        LlmdoError: A variable is not set, and no default is given.
    """

    def value(reference: re.Match[str]) -> str:
        name, otherwise = reference.groups()
        if name in environ:
            return environ[name]
        if otherwise is None:
            raise LlmdoError(
                f"the MCP server `{toolset.name}` needs the environment variable `{name}`, which is not set",
                hint=f"set it, or write `${{{name}:-...}}` for what holds otherwise",
                at=toolset.at.location,
            )
        return str(otherwise)

    return _VARIABLE.sub(value, text)


def grants(toolset: Toolset) -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
    """An isolated server's network access, writable scopes, and scopes for writing code, as its tools declare."""
    declared = [capability for tool in toolset.tools.values() for capability in tool.capabilities]
    network = any(capability.covers_name(NETWORK) for capability in declared)
    code = {each.scope or "**" for each in declared if each.name == CODE_WRITE}
    scopes = code | {each.scope or "**" for each in declared if each.covers_name("fs.write")}
    return network, tuple(sorted(scopes)), tuple(sorted(code))


def _installed(program: Path, home: str) -> Iterator[Path]:
    """The installation folders of `program` and its interpreter outside the system's own."""
    people = Path(home)
    for path in (program, program.resolve()):
        prefix = path.parent.parent
        interpreter = prefix / "bin" / "python"
        for folder in (prefix, interpreter.resolve().parent.parent if interpreter.is_symlink() else prefix):
            # `~/.local` holds more than programs.
            if not (
                people.is_relative_to(folder) or folder == people / ".local" or folder.is_relative_to("/usr")
            ):
                yield folder
