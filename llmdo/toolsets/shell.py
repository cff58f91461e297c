"""The built-in toolset `shell`: one program with its words, never a shell."""

from __future__ import annotations

import signal
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import AbstractToolset

from llmdo.base.diagnostic import LlmdoError
from llmdo.policy.authority import Capability
from llmdo.policy.protection import CODE_WRITE, PROTECTED_READ, is_protected, raised_by_change
from llmdo.policy.shell.programs import NEEDS_ISOLATION, SHOWS_NAMES
from llmdo.policy.shell.rules import EVERYWHERE, EXEC_READ, UNLISTED, Vouching, scope_in_text
from llmdo.policy.shell.words import CommandRefused, program_of, words
from llmdo.policy.vocabulary import UNDECLARED
from llmdo.toolsets.definitions import definitions_of
from llmdo.toolsets.exposure import secrets_in
from llmdo.toolsets.machine import Grants
from llmdo.toolsets.paths import PathRefused, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import ToolsetTool

    from llmdo.policy.authority import Authority
    from llmdo.toolsets.machine import Machine
    from llmdo.toolsets.processes import Captured, Finished

SHELL_OFFSET = 128  # how a parent that is itself a program tells which signal ended its child

Raised = frozenset[Capability]


class ShellToolset(AbstractToolset[object]):
    """The tool of one use of `shell`.

    The capabilities of a call and the executed program follow from one reading of its words. A call without a
    decision, or whose decision would differ by now, is not run.
    """

    def __init__(self, machine: Machine, config: Mapping[str, object], authority: Authority) -> None:
        """`authority` decides about the calls of the worker that uses it, at its place in the tree."""
        self._machine = machine
        self._vouching = Vouching.of(machine.settings, config)
        self._authority = authority
        self._decided: dict[str | None, Raised] = {}

    @property
    def id(self) -> str:
        """The name by which workers use it."""
        return "shell"

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """The one tool."""
        return definitions_of(ShellToolset, ("shell",)).bound(self, ctx)

    async def call_tool(
        self,
        name: str,  # noqa: ARG002  # there is only one
        tool_args: dict[str, Any],
        ctx: RunContext[object],
        tool: ToolsetTool[object],  # noqa: ARG002
    ) -> str:
        """The command's exit code and output."""
        decided = self._decided.pop(ctx.tool_call_id, None)
        try:
            command, raised = self._judged(tool_args)
            if decided is None or raised != decided:
                raise ToolFailed("the command was not run: it was decided on as something else")
        except CommandRefused as refused:
            raise ToolFailed(str(refused)) from refused
        return await self._run(command, decided, tool_args.get("timeout_s"))

    def get_capabilities(
        self,
        name: str,
        tool_args: Mapping[str, object],
        ctx: RunContext[object],
        config: Mapping[str, object],  # noqa: ARG002  # the hook of every toolset is called alike
    ) -> Raised:
        """The capabilities of this command; none if it is refused, since it is not run then."""
        if name != "shell":
            return frozenset({Capability(UNDECLARED)})
        try:
            _, raised = self._judged(tool_args)
        except CommandRefused:
            return frozenset()
        self._decided[ctx.tool_call_id] = raised
        return raised

    async def shell(self, command: list[str] | str, timeout_s: Annotated[float, Field(gt=0)] = 30.0) -> str:
        """Run one program in the workspace and return its exit code and output. There is no shell.

        Args:
            command: The program and its arguments, a list of words such as ["git", "log", "-n", "5"]. A string
                is split into words at blanks, and refused where it has pipes, redirections, variables,
                wildcards or any other shell syntax outside quotes.
            timeout_s: After how many seconds the program is ended.
        """
        raise NotImplementedError  # only its signature counts: `call_tool` runs what was decided on

    def _judged(self, arguments: Mapping[str, Any]) -> tuple[tuple[str, ...], Raised]:
        """The command, and its capabilities."""
        text = arguments["command"]
        command = words(text) if isinstance(text, str) else tuple(text)
        program = program_of(command)
        raised = self._vouching.raised(command, self._scope_of, isolated=self._machine.isolated)
        if UNLISTED not in raised:
            self._machine.programs.find(program)
        if not self._machine.isolated:
            raised = raised.union(self._unhidden(program, raised))
        machine = self._machine
        written = (capability.scope or EVERYWHERE for capability in raised if capability.name == "fs.write")
        more = (
            raised_by_change(scope, machine.governing, is_executed=self._is_executable(scope))
            for scope in written
        )
        return command, raised.union(*more)

    def _is_executable(self, scope: str) -> bool:
        return not scope.endswith(EVERYWHERE) and self._machine.files.is_executable(scope)

    def _scope_of(self, word: str) -> str | None:
        """The scope of a word read as a path of the workspace; None if it is none or leads elsewhere."""
        scope = scope_in_text(word)
        if scope is None or scope == EVERYWHERE:
            return scope
        try:
            path = normalise(word)
            kind = self._machine.files.kind(path)
        except PathRefused:
            return None
        return None if kind == "other" else path if kind == "file" else scope

    def _unhidden(self, program: str, raised: Raised) -> Iterator[Capability]:
        """The folders with secrets that an unisolated command reads entirely, as no file can be hidden from it."""
        for scope in _searched(program, raised) if EXEC_READ in raised else ():
            try:
                if next(secrets_in(self._machine.root, [scope]), None) is None:
                    continue
            except LlmdoError:  # too much to know
                pass
            yield Capability(PROTECTED_READ, scope)

    @cached_property
    def _grants(self) -> Grants:
        return Grants.of(self._authority)

    async def _run(self, command: tuple[str, ...], decided: Raised, timeout_s: float | None) -> str:
        most = self._machine.settings.limits.seconds
        seconds = min(30.0 if timeout_s is None else timeout_s, most)
        try:
            finished, removed = await self._machine.run(command, self._granted(command[0], decided), seconds)
        except CommandRefused as refused:
            raise ToolFailed(str(refused)) from refused
        except LlmdoError as error:
            raise ToolFailed(f"the command was not run: {error.message}") from error
        text = "\n".join(self._lines(finished, removed, seconds))
        if finished.timed_out:
            raise ToolFailed(text)
        return text

    def _granted(self, program: str, decided: Raised) -> Grants:
        """The grants of this command when isolated: none for one that only reads, else also those of its decision."""
        if EXEC_READ in decided:
            secrets = tuple(
                capability.scope or EVERYWHERE for capability in decided if capability.name == PROTECTED_READ
            )
            return Grants(search=_searched(program, decided), secrets=secrets)
        written, code = (
            tuple(capability.scope or EVERYWHERE for capability in decided if capability.name == name)
            for name in ("fs.write", CODE_WRITE)
        )
        grants = self._grants
        return replace(grants, write=(*grants.write, *written), code=(*grants.code, *code))

    def _lines(self, finished: Finished, removed: Iterable[str], seconds: float) -> Iterator[str]:
        if finished.timed_out:
            yield f"the command was ended after {seconds:g} s"
        else:
            yield f"exit code {finished.status}{self._because(finished.status)}"
        for name, captured in (("stdout", finished.stdout), ("stderr", finished.stderr)):
            yield from _output(name, captured)
        if finished.left_behind:
            yield "(something that it started held on to its output and was ended as well)"
        for path in removed:
            why = "governs runs" if is_protected(path, self._machine.governing) else "is code"
            yield f"(`{path}` {why}, which this command may not write: it was set aside in `.llmdo/removed`)"

    def _because(self, status: int) -> str:
        number = -status if status < 0 else status - SHELL_OFFSET
        try:
            name = signal.Signals(number).name
        except ValueError:
            return ""
        limits = self._machine.settings.limits
        why = f": it wrote a file larger than {limits.file_mb:,} MiB" if name == "SIGXFSZ" else ""
        return f" ({name}{why})"


def _searched(program: str, raised: Raised) -> tuple[str, ...]:
    """The folders whose files a command reads; git reads only its own records of them."""
    if program in SHOWS_NAMES or program in NEEDS_ISOLATION:
        return ()
    read = (capability.scope or EVERYWHERE for capability in raised if capability.name == "fs.read")
    return tuple(sorted(scope for scope in read if scope.endswith("**")))


def _output(name: str, captured: Captured) -> Iterator[str]:
    if captured.content:
        yield f"{name}:"
        yield captured.content.decode(errors="replace").removesuffix("\n")
    if captured.dropped:
        yield f"({name} had {captured.dropped:,} bytes more, which were dropped)"
