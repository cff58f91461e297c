"""The shared means of the commands of one run: finding programs, isolating and running them."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, to_thread

from llmdo.base.diagnostic import LlmdoError
from llmdo.policy.authority import Capability, decide
from llmdo.policy.protection import CODE_WRITE
from llmdo.policy.shell.words import CommandRefused
from llmdo.toolsets import bubblewrap, call_key, processes, programs
from llmdo.toolsets.children import Alone, Guarded
from llmdo.toolsets.exposure import Exposure, WriteGuard, expose, hide, set_aside_intruders
from llmdo.toolsets.orphans import forget

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from llmdo.policy.authority import Authority
    from llmdo.policy.shell import ShellSettings
    from llmdo.toolsets.bubblewrap import Bubblewrap, Isolation
    from llmdo.toolsets.children import Child
    from llmdo.toolsets.confinement import Root
    from llmdo.toolsets.processes import Finished
    from llmdo.toolsets.programs import Programs
    from llmdo.workspace.root import Folders

AT_ONCE = 8  # commands of one run; more wait

NETWORK = Capability("net.connect")
WRITE = "fs.write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """The permissions of one worker's commands under isolation, for which no question would be asked."""

    network: bool = False
    write: tuple[str, ...] = ()
    """Scopes."""
    code: tuple[str, ...] = ()
    """Scopes in which it may also write executable files."""
    search: tuple[str, ...] = ()
    """Scopes that it may read, except secrets."""
    secrets: tuple[str, ...] = ()
    """Scopes in which it may also read secrets."""

    @classmethod
    def of(cls, authority: Authority) -> Grants:
        """The grants of a worker under `authority`."""
        write, code = (
            tuple(scope for scope in _scopes(authority) if _is_allowed(Capability(name, scope), authority))
            for name in (WRITE, CODE_WRITE)
        )
        return cls(network=_is_allowed(NETWORK, authority), write=write, code=code)


def _is_allowed(capability: Capability, authority: Authority) -> bool:
    return decide([capability], [capability], authority).decision == "allowed"


def _scopes(authority: Authority) -> list[str]:
    """The scopes that rules and ceilings name for writes, and `**`, sorted."""
    named = {rule.capability for rule in (*authority.base, *authority.layers)}
    named.update(capability for ceiling in authority.ceilings for capability in ceiling.capabilities)
    of_writes = (
        each for each in named if each.covers_name(WRITE) or Capability(WRITE).covers_name(each.name)
    )
    return sorted({"**", *(each.scope for each in of_writes if each.scope)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One run's means to run commands."""

    root: Path
    """The folder that commands work on."""
    files: Root
    settings: ShellSettings
    governing: frozenset[str]
    """The paths and globs of the files that govern the run, as seen from `root`."""
    programs: Programs
    isolation: Isolation
    sandbox: Bubblewrap | None
    environ: Mapping[str, str]
    commands: Path | None = None
    """The file that tells, after this process was killed, whether a command of the run still runs."""
    _slots: CapacityLimiter = field(default_factory=partial(CapacityLimiter, AT_ONCE))

    @classmethod
    def prepare(
        cls,
        folders: Folders,
        files: Root,
        settings: ShellSettings,
        governing: Iterable[str] = (),
        environ: Mapping[str, str] | None = None,
        commands: Path | None = None,
    ) -> Machine:
        """The machine of a run, with its isolation tried out; the file `commands` records its running commands.

        `files` is the opened root of `folders`; the `governing` paths are relative to it.

        Raises:
            LlmdoError: This system has no such commands, or cannot isolate them as required.
        """
        if os.name != "posix":
            raise LlmdoError(
                "the toolset `shell` does not work on this system", hint="use WSL or a container"
            )
        environ = os.environ if environ is None else environ
        available = programs.Programs.of(environ.get("PATH", os.defpath), *folders.all)
        limits, prlimit = settings.limits, _prlimit(available)
        prefix = [] if prlimit is None else processes.limited([], limits, prlimit, limits.processes)
        root = folders.root.resolve()
        isolation, sandbox = bubblewrap.isolate(settings.isolation, root, available, prefix, environ)
        if commands is not None:
            forget(commands)
        return cls(
            root=root,
            files=files,
            settings=settings,
            governing=frozenset(governing),
            programs=available,
            isolation=isolation,
            sandbox=sandbox,
            environ=environ,
            commands=commands,
        )

    @property
    def isolated(self) -> bool:
        """Whether commands are isolated from the rest of this machine."""
        return self.sandbox is not None

    async def run(
        self, command: tuple[str, ...], grants: Grants, seconds: float
    ) -> tuple[Finished, tuple[str, ...]]:
        """The end of `command`, and the protected paths that it made and lost again.

        Cancelling it ends the command first.

        Raises:
            CommandRefused: There is no such program, or it cannot be started.
        """
        stop, wake = os.pipe()
        try:
            work = partial(self._execute, command, grants, seconds, stop)
            running = asyncio.ensure_future(to_thread.run_sync(work, limiter=self._slots))
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                os.write(wake, b"x")
                while (
                    not running.done()
                ):  # a second cancellation as well has to wait for the end of the command
                    with suppress(BaseException):
                        await asyncio.shield(running)
                raise
        finally:
            os.close(stop)
            os.close(wake)

    def _execute(
        self, command: tuple[str, ...], grants: Grants, seconds: float, stop: int
    ) -> tuple[Finished, tuple[str, ...]]:
        exposure = self._exposure(grants)
        with TemporaryDirectory(prefix="llmdo-", ignore_cleanup_errors=True) as folder:
            home = folder if self.sandbox is None else bubblewrap.HOME
            words = self._words(command, exposure, network=grants.network)
            env = programs.environment(self.programs, home, self.settings.env, self.environ)
            if key := call_key.current():
                env[call_key.VARIABLE] = key
            if command[0] == "git":
                env |= programs.git_environment(self.root)
            if self.sandbox is None:
                env["TMPDIR"] = folder
            keep = self.settings.limits.output_bytes
            try:
                finished = processes.execute(
                    partial(self._start, words, env), seconds=seconds, keep=keep, stop=stop
                )
            except OSError as error:
                raise CommandRefused(
                    f"`{command[0]}` cannot be started: {error.strerror or error}"
                ) from error
        return finished, set_aside_intruders(self.root, exposure) if exposure.writable else ()

    def _start(self, words: list[str], env: Mapping[str, str]) -> Child:
        if self.sandbox is not None:
            return Alone(words, self.root, env)
        return Guarded(words, self.root, env, self.commands)

    def _exposure(self, grants: Grants) -> Exposure:
        if self.sandbox is not None and grants.search:
            return hide(self.root, grants.search, grants.secrets)
        if self.sandbox is None or not grants.write:
            return Exposure()
        return expose(self.files, self.root, grants.write, WriteGuard(self.governing, grants.code))

    def _words(self, command: tuple[str, ...], exposure: Exposure, *, network: bool) -> list[str]:
        program = self.programs.find(command[0])
        arguments = programs.git_words(command)[1:] if command[0] == "git" else command[1:]
        plain = [str(program), *arguments]
        limits, prlimit = self.settings.limits, _prlimit(self.programs)
        if self.sandbox is None:
            # Without a namespace of its own the limit counts all that the user runs already.
            already = processes.processes_of_user() + 1  # the guardian
            return processes.limited(plain, limits, prlimit, already + limits.processes)
        also = [] if program.resolve().is_relative_to("/usr") else [program.resolve()]
        if prlimit is None:
            shut = self.sandbox.command(plain, mounts=exposure.mounts, network=network, also=also)
            return processes.limited(shut, limits, None, limits.processes)
        words = processes.limited(plain, limits, prlimit, limits.processes)
        return self.sandbox.command(words, mounts=exposure.mounts, network=network, also=also)


def _prlimit(available: Programs) -> Path | None:
    try:
        return available.find("prlimit")
    except CommandRefused:
        return None
