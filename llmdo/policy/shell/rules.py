"""Shell rules: the arguments of a program that they vouch for, and the capabilities of a command under them."""

from __future__ import annotations

import re

from llmdo.base.values import dataclass, field
from llmdo.policy.authority import Capability
from llmdo.policy.protection import PROTECTED_READ, declared_by_change, protected
from llmdo.policy.shell.programs import (
    ENDS_OPTIONS,
    NEEDS_ISOLATION,
    NUMBER_OPTIONS,
    TEST_RUNNERS,
    is_launcher,
    leaves_program_open,
    runs_programs,
)

TYPE_CHECKING = False  # `typing` alone would cost a fifth of what a call of `llmdo hook` may
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal, TypeAlias

    Positional: TypeAlias = Literal["none", "paths", "any"]
    Executes: TypeAlias = Literal["proc.exec", "proc.exec.read"]
    IsolationMode: TypeAlias = Literal["auto", "require", "off"]

EXEC = Capability("proc.exec")
EXEC_READ = Capability("proc.exec.read")
UNVOUCHED = Capability("proc.exec.unvouched")
UNLISTED = Capability("proc.exec.unlisted")

EVERYWHERE = "**"

_NOT_A_PATH = frozenset("-+@/~:")
"""Beginnings of a word that is not plainly a path below the current folder."""

_SEPARATORS = re.compile("[=:,]")
"""After each of these a word may name another path: `if=a`, `HEAD:a`, `a,b`."""
_COUNT = re.compile("-[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellRule:
    """A program with its first words, and the arguments that may follow; it vouches for nothing else."""

    run: tuple[str, ...]
    """The leading words of the command, the program first."""
    flags: tuple[str, ...] = ()
    """The options that may follow, exactly as written; one with `=` at the end takes any value."""
    positional: Positional = "none"
    """The kind of the other words."""
    capability: Executes = "proc.exec"
    reads: Literal["named", "workspace"] = "named"
    """Whether the command reads only the paths that it is given, or anything in the workspace."""

    @classmethod
    def parse(cls, text: str) -> ShellRule:
        """The rule that was written as this text."""
        left, _, capability = text.rpartition(" -> ")
        left, _, reads = left.rpartition(" ")
        left, _, positional = left.rpartition(" ")
        run, _, flags = left.rstrip("]").rpartition(" [")
        words = {"run": run.split(" "), "flags": flags.split()}
        return parse_rule({**words, "positional": positional, "reads": reads, "capability": capability})

    def __str__(self) -> str:
        return f"{' '.join(self.run)} [{' '.join(self.flags)}] {self.positional} {self.reads} -> {self.capability}"

    @property
    def program(self) -> str:
        """Its program."""
        return self.run[0]

    @property
    def is_open_launcher(self) -> bool:
        """Whether it would leave the choice of a launched program to the model: it then vouches for nothing."""
        if self.positional == "none" and not any(flag.endswith("=") for flag in self.flags):
            return False
        if runs_programs(self.run, self.flags):
            return True
        return leaves_program_open(self.run, are_paths=self.positional != "any")

    @property
    def only_reads(self) -> bool:
        """Whether it vouches for its commands as only reading; a launcher never only reads."""
        return self.capability == "proc.exec.read" and not is_launcher(self.program)

    def executes(self, *, isolated: bool) -> Capability:
        """The capability of running a command under this rule."""
        return EXEC_READ if self.only_reads and (isolated or self.program not in NEEDS_ISOLATION) else EXEC

    def positionals(self, command: Sequence[str]) -> tuple[str, ...] | None:
        """The words of `command` that are neither this rule's own nor options; None if it does not vouch.

        None begins with a dash, not even after `--`, unless the program is known to take it as a path there. A word
        with `=` may set a variable for a launcher, so it is never vouched for.
        """
        arguments = self._arguments(command)
        if arguments is None or self.is_open_launcher:
            return None
        positionals = tuple(self._others(arguments))
        if any(word.startswith("-") for word in positionals):
            return None
        if is_launcher(self.program) and any("=" in word for word in positionals):
            return None
        return None if positionals and self.positional == "none" else positionals

    def _arguments(self, command: Sequence[str]) -> Sequence[str] | None:
        """The words of `command` after this rule's own; None if it does not begin with those.

        A test runner, which has no commands of its own, takes options before the tests.
        """
        if tuple(command[: len(self.run)]) == self.run:
            return command[len(self.run) :]
        if self.program not in TEST_RUNNERS or command[0] != self.program:
            return None
        at, own = 1, self.run[1:]
        while at < len(command) and command[at].startswith("-") and command[at] != "--":
            at += 2 if command[at] not in self.flags and self._takes_next(command[at]) else 1
        after = at + len(own)
        return (*command[1:at], *command[after:]) if tuple(command[at:after]) == own else None

    def raised(
        self, command: Sequence[str], scope_of: Callable[[str], str | None], *, isolated: bool
    ) -> frozenset[Capability] | None:
        """The capabilities that `command` raises under this rule; None if it does not vouch.

        `scope_of` gives the scope of a word as a path; None if that is not inside the workspace.
        """
        words = self.positionals(command)
        if words is None:
            return None
        scopes: set[str] = set()
        if self.positional == "paths":
            for word in words:
                for path in (word, *_values(word)):
                    scope = scope_of(path)
                    if scope is None:
                        return None
                    scopes.add(scope)
        raised = {self.executes(isolated=isolated)}
        for scope in scopes:
            raised.update(Capability(name, scope) for name in self._on_paths())
            raised |= protected(_SEPARATORS.sub("/", scope.removesuffix("/**")), scope)
        if self.reads == "workspace" or (self.only_reads and self.positional == "paths" and not scopes):
            raised.add(Capability("fs.read", EVERYWHERE))
        return frozenset(raised)

    def declared(self, isolation: IsolationMode) -> Iterator[Capability]:
        """The capabilities that commands under this rule may raise, if only `isolation` is known of the machine."""
        if self.is_open_launcher:
            return
        certain = {"require": (True,), "off": (False,), "auto": (True, False)}
        for isolated in certain[isolation]:
            yield self.executes(isolated=isolated)
        if self.positional == "paths":
            yield from (Capability(name, EVERYWHERE) for name in (*self._on_paths(), PROTECTED_READ))
            if not self.only_reads:
                yield from declared_by_change(EVERYWHERE)
        if self.reads == "workspace":
            yield Capability("fs.read", EVERYWHERE)
            yield Capability(PROTECTED_READ, EVERYWHERE)

    def _on_paths(self) -> tuple[str, ...]:
        return ("fs.read",) if self.only_reads else ("fs.read", "fs.write")

    def _others(self, arguments: Sequence[str]) -> Iterator[str]:
        """The arguments that are not options of this rule; the first that begins with a dash breaks it."""
        rest = iter(arguments)
        for word in rest:
            if word == "--":
                yield from map(self._as_path, rest)
            elif not word.startswith("-"):
                yield word
            elif (word in self.flags and not word.endswith("=")) or self._is_count(word):
                continue
            elif self._takes_next(word):
                if next(rest, None) is None:
                    yield word
            elif not self._has_value(word):
                yield word

    def _is_count(self, word: str) -> bool:
        """Whether `word` is a number as an option, as in `head -5`."""
        return bool(_COUNT.fullmatch(word)) and NUMBER_OPTIONS.get(self.program) in self.flags

    def _as_path(self, word: str) -> str:
        """A word after `--`, as the program takes it."""
        is_dashed = self.program in ENDS_OPTIONS and word.startswith("-") and word != "-"
        return f"./{word}" if is_dashed else word

    def _takes_next(self, word: str) -> bool:
        """Whether `word` is an option whose value is the next word: `-n 5`, `-name x`, never `--name x`."""
        return not word.startswith("--") and f"{word}=" in self.flags

    def _has_value(self, word: str) -> bool:
        """Whether `word` is an option with its value: `--name=x`, or `-n5`."""
        for flag in self.flags:
            if flag.startswith("--") and flag.endswith("=") and word.startswith(flag):
                return True
            if len(flag) == len("-n=") and flag.endswith("=") and word.startswith(flag[:2]) and word[2:]:
                return flag[1] != "-"
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellLimits:
    """The limits of one command."""

    seconds: float = 120.0
    output_bytes: int = 100_000
    """Of each of its two outputs; the rest is read and dropped."""
    memory_mb: int = 4096
    """Address space of each process."""
    file_mb: int = 100
    """The largest file that it may write."""
    files: int = 1024
    """Open at once, in each process."""
    processes: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellSettings:
    """The settings of `[toolsets.shell]`, its presets expanded."""

    rules: tuple[ShellRule, ...] = ()
    """Sorted; their order means nothing."""
    isolation: IsolationMode = "auto"
    env: tuple[str, ...] = ()
    """Names of environment variables that commands get, sorted."""
    limits: ShellLimits = field(default_factory=ShellLimits)


def parse_rules(table: Mapping[str, Any]) -> tuple[ShellRule, ...]:
    """The rules of a table with `rules` and `presets`, sorted."""
    tables = list(table.get("rules", ()))
    if presets := table.get("presets"):
        from llmdo.policy.shell.presets import PRESETS  # data that few workspaces need

        tables.extend(rule for name in presets for rule in PRESETS[name])
    return tuple(sorted({parse_rule(rule) for rule in tables}, key=str))


def parse_rule(table: Mapping[str, Any]) -> ShellRule:
    """The rule of one table; its examples are not part of it."""
    return ShellRule(
        run=tuple(table["run"]),
        flags=tuple(sorted(set(table.get("flags", ())))),
        positional=table.get("positional", "none"),
        capability=table.get("capability", "proc.exec"),
        reads=table.get("reads", "named"),
    )


@dataclass(frozen=True, slots=True)
class Vouching:
    """The shell rules of one use: the manifest's, and any of the worker's own.

    Each layer has to vouch for a command, so that a worker's can only narrow.
    """

    layers: tuple[tuple[ShellRule, ...], ...]

    @classmethod
    def of(cls, settings: ShellSettings, config: Mapping[str, object]) -> Vouching:
        """The rules of a use with this configuration."""
        return cls((settings.rules, parse_rules(config)) if config else (settings.rules,))

    def raised(
        self, command: Sequence[str], scope_of: Callable[[str], str | None], *, isolated: bool
    ) -> frozenset[Capability]:
        """The capabilities of `command`: those of every rule that vouches for it, so the strictest holds."""
        capabilities: set[Capability] = set()
        for layer in self.layers:
            known = [rule for rule in layer if rule.program == command[0]]
            if not known:
                return frozenset({UNLISTED})
            vouched = [rule.raised(command, scope_of, isolated=isolated) for rule in known]
            sets = [raised for raised in vouched if raised is not None]
            if not sets:
                capabilities.add(UNVOUCHED)
            capabilities.update(*sets)
        return frozenset({UNVOUCHED}) if UNVOUCHED in capabilities else frozenset(capabilities)

    def declared(self, isolation: IsolationMode) -> frozenset[Capability]:
        """The capabilities that commands may raise: an over-approximation of `raised` on any machine."""
        own, *narrower = self.layers
        capabilities: set[Capability] = {UNLISTED}
        for rule in own:
            met = [other for layer in narrower for other in layer if _meet(rule.run, other.run)]
            if not narrower or met:
                for matching in (rule, *met):
                    capabilities.update(matching.declared(isolation))
            if not narrower or any(other.program == rule.program for layer in narrower for other in layer):
                capabilities.add(UNVOUCHED)
        return frozenset(capabilities)


def _meet(run: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether a command can begin with both."""
    length = min(len(run), len(other))
    return run[:length] == other[:length]


def _values(word: str) -> Iterator[str]:
    """The parts of `word` that a program may take as a path of its own."""
    for separator in _SEPARATORS.finditer(word):
        if value := word[separator.end() :]:
            yield value


def scope_in_text(word: str) -> str | None:
    """The scope of `word` as a path, by its text alone: a file, or a folder with all in it.

    None if it is not plainly inside the workspace: absolute, `..`, a home folder, a URL, an option, or a word that some
    programs take as a file of arguments or as a pattern of their own.
    """
    portable = word.replace("\\", "/")
    if not word.isprintable() or portable[:1] in _NOT_A_PATH or not word or "://" in word:
        return None
    if portable[1:3] == ":/" or ".." in portable.split("/"):  # a drive of Windows, or the way up
        return None
    parts = [part for part in word.split("/") if part not in ("", ".")]
    return f"{'/'.join(parts)}/**" if parts else EVERYWHERE


def is_program(word: str) -> bool:
    """Whether `word` is the bare name of a program."""
    plain = word.replace(".", "").replace("_", "").replace("+", "").replace("-", "")
    return word.isascii() and word[:1].isalnum() and plain.isalnum()


def breaks_example(rule: ShellRule, command: Iterable[str]) -> bool:
    """Whether `rule` does not vouch for `command`, judged by its text."""
    return rule.raised(tuple(command), scope_in_text, isolated=True) is None
