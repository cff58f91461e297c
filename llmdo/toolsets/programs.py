"""The programs of commands: finding them, and their environment."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.policy.shell.programs import steers_programs
from llmdo.policy.shell.words import CommandRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_GIT_CONFIG = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "diff.ignoreSubmodules": "all",  # git would start itself in a submodule without these settings
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "uploadpack.packObjectsHook": "",
}
"""Settings that replace those of an untrusted repository."""

_GIT_PLAIN = frozenset({"diff", "log", "show"})
"""The subcommands that run programs of a repository to show a difference, unless told not to."""


@dataclass(slots=True)
class Programs:
    """The folders in which a run finds programs, and its findings: each name is looked up once."""

    folders: tuple[Path, ...]
    kept_out: tuple[Path, ...]
    """Folders whose files are no programs of a run: whoever can write there must not become one."""
    _paths: dict[str, Path | None] = field(default_factory=dict)

    @classmethod
    def of(cls, path: str, *kept_out: Path) -> Programs:
        """The folders of a `PATH`, without those open to programs of others: relative, `kept_out`, writable by all."""
        folders = dict.fromkeys(Path(folder) for folder in path.split(os.pathsep) if folder)
        real = tuple(folder.resolve() for folder in kept_out)
        return cls(
            tuple(folder for folder in folders if folder.is_absolute() and _is_safe(folder, real)), real
        )

    def find(self, name: str) -> Path:
        """The absolute path of the program of that name.

        Raises:
            CommandRefused: There is none in these folders.
        """
        if name not in self._paths:
            self._paths[name] = next(
                filter(self._is_program, (folder / name for folder in self.folders)), None
            )
        program = self._paths[name]
        if program is None:
            raise CommandRefused(
                f"there is no program `{name}` here", hint="use another one, or another tool"
            )
        return program

    def _is_program(self, path: Path) -> bool:
        try:
            real = path.resolve(strict=True)
            mode = real.stat().st_mode
        except OSError:
            return False
        if not stat.S_ISREG(mode) or mode & stat.S_IWOTH or any(map(real.is_relative_to, self.kept_out)):
            return False
        return os.access(real, os.X_OK)


def _is_safe(folder: Path, kept_out: Iterable[Path]) -> bool:
    try:
        real = folder.resolve(strict=True)
        mode = real.stat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and not mode & stat.S_IWOTH and not any(map(real.is_relative_to, kept_out))


def environment(
    programs: Programs, home: str, declared: Iterable[str], environ: Mapping[str, str]
) -> dict[str, str]:
    """A command's whole environment: of ours only the time zone and the declared variables."""
    built = {
        "PATH": os.pathsep.join(map(str, programs.folders)),
        "HOME": home,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }
    names = ("TZ", *(name for name in declared if not steers_programs(name)))
    return built | {name: environ[name] for name in names if name in environ}


def git_environment(root: Path) -> dict[str, str]:
    """Variables that keep git from running programs configured by a repository or the user, or looking above `root`."""
    built = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CEILING_DIRECTORIES": str(root.resolve().parent),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
        "GIT_CONFIG_COUNT": str(len(_GIT_CONFIG)),
    }
    for number, (key, value) in enumerate(_GIT_CONFIG.items()):
        built |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return built


def git_words(command: tuple[str, ...]) -> tuple[str, ...]:
    """The command with the options that make git itself show differences."""
    if len(command) < 2 or command[1] not in _GIT_PLAIN:
        return command
    return (*command[:2], "--no-ext-diff", "--no-textconv", *command[2:])
