"""The programs of MCP servers in a workspace: the files that starting one executes, as far as files tell.

For a Python file these are its imports; for a task runner its working folder; for any other program its own folder,
since the files it loads are unknown here. Nothing is run.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import LlmdoError, finding
from llmdo.base.values import dataclass, replace
from llmdo.graph import launchers, servers
from llmdo.workspace.program_files import ProgramFiles, is_environment, joined
from llmdo.workspace.references import package_files
from llmdo.workspace.source_files import SourceFiles
from llmdo.workspace.workspace import ServerPrograms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Document

_SEARCHED = frozenset({"PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB"})
"""Variables that name folders to search for code."""
_LOADED = frozenset({"BASH_ENV", "ENV", "PYTHONSTARTUP", "NODE_OPTIONS", "RUBYOPT", "PERL5OPT"})
"""Variables that name executed files."""
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_DEFAULT = re.compile(r"\$\{[A-Za-z_]\w*:-([^}]*)\}")
_NAMING_CODE = re.compile(r"-[bBdEhiIOPqRsStuvVx?]*([cm])(.*)", re.DOTALL)
"""An option of Python that names a module or is code, perhaps after others that take nothing: `-Im server`."""
_TAKING = frozenset({"-W", "-X", "--check-hash-based-pycs"})
"""Options of Python that take the next word."""


def programs_of(server: Server, files: SourceFiles, tools: str = "") -> ServerPrograms:
    """The programs of `server`; `tools` is the folder of the workspace that tools work on, empty for itself."""
    if server.command is None:
        return ServerPrograms()
    program_files = ProgramFiles(files, tools)
    cwd = (server.cwd or "").strip("/")
    if cwd and program_files.target(cwd) is None:
        return ServerPrograms(problems=(f"`{cwd}` leads out of the workspace",))
    _Words(program_files, cwd).started(server)
    return ServerPrograms(
        dict(sorted(program_files.digests.items())),
        frozenset(program_files.governing),
        tuple(program_files.problems),
    )


def programs_in(
    document: Document, manifest: Mapping[str, Json], files: SourceFiles
) -> tuple[dict[str, ServerPrograms], list[Diagnostic]]:
    """The programs of each MCP server that a manifest starts, by the names of toolsets, and those that are unknown."""
    stated = posixpath.normpath(parts.text(parts.table(manifest, "workspace").get("root")) or ".")
    tools = "" if stated == "." else stated
    known = {
        name: programs_of(servers.server_of(parts.table(table, "mcp"), table), files, tools)
        for name, table in parts.tables(manifest, "toolsets").items()
        if "command" in parts.table(table, "mcp")
    }
    problems = [
        finding(
            "LDO105",
            document.key("toolsets", name, "mcp"),
            f"what the MCP server `{name}` executes cannot be known: {reason}",
            hint="put its program into a folder of its own",
        )
        for name, programs in known.items()
        for reason in programs.problems
    ]
    return known, problems


def require_same(server: Server, known: Mapping[str, str], root: Path, name: str, tools: str = "") -> None:
    """Check that the programs of a server are those `known`.

    Raises:
        LlmdoError: One differs, so that unreviewed code would be executed.
    """
    now = programs_of(server, SourceFiles(root), tools).digests
    changed = sorted(path for path in {*known, *now} if known.get(path) != now.get(path))
    if changed:
        raise LlmdoError(
            f"`{changed[0]}`, which the MCP server `{name}` executes, is not what it was when it was locked",
            hint="review it, then `llmdo lock`",
        )


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a server, read as its programs read them."""

    program_files: ProgramFiles
    cwd: str
    """The working folder of the program."""
    is_project: bool = False
    """Whether it runs in an environment into which the workspace itself may be installed."""

    def started(self, server: Server) -> None:
        """Adds the files executed by starting `server`."""
        program_files, command = self.program_files, server.command or ""
        if "/" in command:
            for path in program_files.paths(command, self.cwd):
                if is_environment(posixpath.dirname(posixpath.dirname(path))):
                    replace(self, is_project=True).executed(command, server.args)
                    break
                program_files.program(path, [self.cwd], always=True)
            else:
                self.executed(command, server.args)
        else:
            self.executed(command, server.args)
        for variable in server.env:
            name, _, text = variable.partition("=")
            words = _split(text) if name in _LOADED else text.split(os.pathsep)
            for path in (each for word in words for each in program_files.paths(word, self.cwd)):
                if name in _SEARCHED and program_files.kind(path) == "folder":
                    program_files.folder(path)
                else:
                    program_files.program(path, [self.cwd], always=name in _LOADED)

    def executed(self, command: str, args: Sequence[str]) -> None:
        """Adds the files executed by a program started with these words."""
        program_files, name = self.program_files, launchers.plain_name(_expanded(command))
        if (opens := launchers.WRAPPERS.get(name)) and opens in args:
            self._wrapped(args, opens)
        elif launchers.fetches(name, args):
            self._fetched(args)
        elif name in launchers.PYTHON:
            self._python(args)
        elif name in launchers.RUNNERS or (name in launchers.CONTAINERS and {"compose", "build"} & {*args}):
            program_files.folder(self.cwd)
            for path in self._in_options(args):
                if not program_files.program(path, [self.cwd], always=True):
                    program_files.folder(path)
            self._inner(args)
            self._any_program(args)
        elif name in launchers.INTERPRETERS or name in launchers.HOSTS:
            is_known = self._script(args)
            is_known |= self._any_program(args) | self._inner(args)
            is_known &= not (
                name in launchers.SHELLS and "-c" in args
            )  # a command may say more than we read of it
            if name in launchers.HOSTS:
                is_known |= self._hosted(args)
            if not is_known:
                program_files.folder(next(program_files.named_folders(args, self.cwd), self.cwd))
        elif not self._inner(args) and not self._any_program(args) and self.is_project:
            program_files.folder(self.cwd)  # a script that the project itself installs

    def _any_program(self, words: Iterable[str]) -> bool:
        """Whether one of these words names an executed file; all of them are checked."""
        named = [
            self.program_files.program(path, [self.cwd]) for word in words for path in self._meanings(word)
        ]
        return any(named)

    def _script(self, args: Sequence[str]) -> bool:
        """Whether the first word that is no option is a file, which an interpreter executes whatever its kind."""
        for word in args:
            for path in self.program_files.paths(_expanded(word), self.cwd):
                if self.program_files.kind(path) == "file":
                    return self.program_files.program(path, [self.cwd], always=True)
        return False

    def _hosted(self, args: Sequence[str]) -> bool:
        """Whether a folder named by an option holds files named by other words."""
        folders = [path for path in self._in_options(args) if self.program_files.kind(path) == "folder"]
        return any([replace(self, cwd=path)._any_program(args) for path in folders])  # noqa: C419, SLF001  # all of them

    def _inner(self, args: Sequence[str]) -> bool:
        """Whether words are a command of their own, as after `--`, in a word of a shell, or of a program around it."""
        for number, word in enumerate(args):
            if " " in word and (words := _split(word)):
                self.executed(words[0], words[1:])
                return True
            if launchers.is_language(_expanded(word)) and not word.startswith("-"):
                self.executed(word, args[number + 1 :])
                return True
            if word == "-m" and number + 1 < len(args):
                self._module(args[number + 1], args[number + 2 :])
                return True
        return False

    def _wrapped(self, args: Sequence[str], opens: str) -> None:
        at = args.index(opens)
        rest, options = list(args[at + 1 :]), list(args[:at])
        while rest and rest[0].startswith("-") and rest[0] not in ("-m", "--module"):
            takes_next = rest[0] in launchers.TAKING or rest[0] in launchers.IN_FOLDERS
            options += rest[: 2 if takes_next else 1]
            del rest[: 2 if takes_next else 1]
        folders = [path for path in self._in_options(options) if self.program_files.kind(path) == "folder"]
        for folder in (self.cwd, *folders):
            self.program_files.settings(folder, launchers.OF_PROJECTS)
        for folder in folders or [self.cwd]:
            within = replace(self, cwd=folder, is_project=True)
            if not rest:
                self.program_files.folder(folder)
            elif rest[0].endswith(".py") or rest[0] in ("-m", "--module"):
                within.executed("python", ["-m", *rest[1:]] if rest[0] == "--module" else rest)
            else:
                within.executed(rest[0], rest[1:])

    def _fetched(self, args: Sequence[str]) -> None:
        """Adds the files for a package, which is fetched unless one here has its name, and may interpret files here."""
        self.program_files.governing.update(joined(self.cwd, name) for name in launchers.OF_FETCHERS)
        packages = [value for option, value in _options(args) if option in launchers.OF_PACKAGES]
        packages += [word for word in args if not word.startswith("-")][:1]
        for path in (path for package in packages for path in self.program_files.paths(package, self.cwd)):
            is_local = any(package.startswith((".", "/", "file:", "$")) for package in packages)
            if is_local and self.program_files.kind(path) == "folder":
                self.program_files.folder(path)
        if not self._inner([word.partition("@")[0] if not word.startswith("@") else word for word in args]):
            self._any_program(args)

    def _python(self, args: Sequence[str]) -> None:
        """Adds the files that an interpreter of Python with these arguments executes."""
        waiting = iter(args)
        for word in waiting:
            option = _NAMING_CODE.fullmatch(word)
            if option and option[1] == "m":
                name = option[2] or next(waiting, "")
                self._module(name, list(waiting))
                return
            if (
                option
                or word == "-"
                or "${" in _expanded(word).replace("${PWD}", "").replace("${LLMDO_ROOT}", "")
            ):
                self.program_files.folder(self.cwd)
                break
            if word in _TAKING:
                next(waiting, None)
            elif not word.startswith("-"):
                for path in self.program_files.paths(word, self.cwd):
                    if self.program_files.kind(path) == "folder":
                        self.program_files.folder(path)
                    else:
                        self.program_files.program(path, [], always=True)
                break
        self._any_program(waiting)  # a script may execute what else it is given

    def _module(self, name: str, args: Sequence[str]) -> None:
        """Adds the files that `python -m` executes: it searches the current folder before all others."""
        program_files = self.program_files
        program_files.shadows(self.cwd)
        if not _DOTTED.fullmatch(name):
            return
        stem = joined(self.cwd, name.replace(".", "/"))
        candidates = [f"{stem}.py", f"{stem}/__init__.py", f"{stem}/__main__.py"]
        program_files.governing.update(candidates)
        present = [path for path in candidates if program_files.kind(path) == "file"]
        program_files.closure(present, [self.cwd])
        if not present:
            self.executed(name, args)
        else:
            self._any_program(args)

    def _meanings(self, word: str) -> Iterator[str]:
        """The paths that a word may hold: all of it, after `=`, before `:`, or as the dotted name of a module."""
        word = _expanded(word)
        for text in dict.fromkeys((word, word.rpartition("=")[2])):
            for part in dict.fromkeys((text, text.partition(":")[0])):
                yield from self.program_files.paths(part, self.cwd)
            dotted = text.partition(":")[0]
            if ":" in text and _DOTTED.fullmatch(dotted):
                for path in package_files(f"{dotted}:"):
                    yield joined(self.cwd, path)

    def _in_options(self, args: Sequence[str]) -> Iterator[str]:
        """The existing files and folders named by options for a program's working place."""
        for option, value in _options(args):
            if option in launchers.IN_FOLDERS:
                yield from (
                    path
                    for path in self.program_files.paths(value, self.cwd)
                    if self.program_files.kind(path)
                )


def _options(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each option with its possible value: after `=`, the next word, or joined to one letter."""
    for number, word in enumerate(args):
        if not word.startswith("-"):
            continue
        option, equals, value = word.partition("=")
        yield option, value if equals else args[number + 1] if number + 1 < len(args) else ""
        if word[:1] == "-" and word[1:2] != "-" and len(word) > len("-f"):
            yield word[:2], word[2:]


def _expanded(word: str) -> str:
    """A word with the defaults of its variables."""
    return _DEFAULT.sub(r"\1", word)


def _split(word: str) -> list[str]:
    """The words that a shell would make of one; none if that is not plain."""
    try:
        return shlex.split(word)
    except ValueError:
        return []
