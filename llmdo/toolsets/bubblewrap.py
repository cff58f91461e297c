"""Isolating a child process from the rest of the machine, with the system's bubblewrap."""

from __future__ import annotations

import errno
import os
import platform
import struct
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.policy.shell.rules import IsolationMode
    from llmdo.toolsets.exposure import Mount
    from llmdo.toolsets.programs import Programs

HOME = "/tmp/home"  # noqa: S108  # of a memory file system that is the command's own
PROBE_SECONDS = 10.0
TRUE = "/usr/bin/true"

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_RESOLVERS = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
"""Possible targets of `/etc/resolv.conf`."""

_PER_PROCESS = "memory, which is limited for each process alone"
_CONTAINED = (
    "the network, unless `net.connect` is allowed",
    "writing to the workspace, unless `fs.write` is allowed",
    "the home folder",
    "whatever a command leaves behind",
)
_UNCONTAINED = (
    "files outside the workspace",
    "the network",
    *(
        ()
        if sys.platform == "linux"
        else ("what a command starts in a session of its own, which outlives it",)
    ),
    _PER_PROCESS,
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation of commands from the rest of the machine, and its limits."""

    name: str
    """`bubblewrap`, or `none`."""
    reason: str = ""
    """Why there is no isolation."""
    covers: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"isolation of commands: {self.name}" + (f" ({self.reason})" if self.reason else "")]
        if self.covers:
            lines.append(f"covers: {', '.join(self.covers)}")
        if self.lacks:
            lines.append(f"does not cover: {', '.join(self.lacks)}")
        return "; ".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap:
    """A working bubblewrap, and the view of the machine that every command under it has."""

    program: Path
    root: Path
    home: Path
    folders: tuple[Path, ...]
    """Program folders outside the system's own."""
    nested: bool = False
    """Whether a command can make its own namespaces: an older bubblewrap cannot forbid it."""

    def command(
        self,
        words: Sequence[str],
        *,
        mounts: Iterable[Mount] = (),
        network: bool,
        also: Iterable[Path] = (),
        cwd: Path | None = None,
        scratch: Path | None = None,
    ) -> list[str]:
        """The words that run `words` isolated, in the workspace, of which only `mounts` can be written.

        `also` are readable files outside the workspace, `scratch` a writable folder there, `cwd` the folder it starts
        in. The environment is the caller's.
        """
        root = str(self.root)
        return [
            str(self.program),
            *("--die-with-parent", "--new-session", "--unshare-user", "--unshare-ipc", "--unshare-pid"),
            *("--unshare-uts", "--unshare-cgroup-try"),
            *(() if self.nested else ("--disable-userns",)),
            *(() if network else ("--unshare-net",)),
            *("--cap-drop", "ALL"),
            *_system(),
            *(_read_only(Path(path) for path in _RESOLVERS if network)),
            *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108
            *self._hidden_home(),
            *("--dir", HOME),
            *_read_only([*self.folders, *also]),
            *("--ro-bind", root, root),
            *(word for mount in mounts for word in mount.words(self.root)),
            *(("--bind", str(scratch), str(scratch)) if scratch else ()),
            *("--remount-ro", "/", "--chdir", str(cwd or root), "--", *words),
        ]

    def _hidden_home(self) -> tuple[str, ...]:
        # The root as home, as for some services, cannot be covered; what is in it is not a person's.
        is_hidden = self.home.is_absolute() and self.home != Path("/")
        return ("--tmpfs", str(self.home)) if is_hidden else ()


def _system() -> Iterator[str]:
    yield from _read_only([Path("/usr"), Path("/etc")])
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        else:
            yield from _read_only([path])


def _read_only(paths: Iterable[Path]) -> Iterator[str]:
    for path in dict.fromkeys(paths):
        if path.exists():
            yield from ("--ro-bind", str(path), str(path))


def isolate(
    mode: IsolationMode, root: Path, programs: Programs, limited: Sequence[str], environ: Mapping[str, str]
) -> tuple[Isolation, Bubblewrap | None]:
    """The isolation of a run's commands here, tried out on a command that does nothing.

    `limited` are the words before a command that limit it, which have to work isolated as well.

    Raises:
        LlmdoError: The manifest requires isolation, and there is none here.
    """
    if mode == "off":
        return Isolation("none", lacks=('the manifest says `isolation = "off"`', *_UNCONTAINED)), None
    program = _bubblewrap(programs)
    if program is None:
        reason, hint = "there is no `bwrap` here", "install bubblewrap, such as with `apt install bubblewrap`"
    else:
        outside = tuple(folder for folder in programs.folders if not folder.resolve().is_relative_to("/usr"))
        home = Path(environ.get("HOME") or "/")
        strict = Bubblewrap(
            program=program,
            root=root.resolve(),
            home=home,
            folders=tuple(folder for folder in outside if str(folder) not in _SYSTEM),
        )
        complaint = ""
        for candidate in (strict, replace(strict, nested=True)):
            complaint = _failure(candidate.command([*limited, TRUE], network=False)) or ""
            if not complaint:
                return _described(candidate), candidate
        reason, hint = f"`{program}` does not work here: {complaint}", _advice(complaint)
    if mode == "require":
        raise LlmdoError(f"commands cannot be isolated, which the manifest requires: {reason}", hint=hint)
    return Isolation("none", reason=reason, lacks=_UNCONTAINED), None


def _bubblewrap(programs: Programs) -> Path | None:
    usual = Path("/usr/bin/bwrap")
    candidates = (usual, *(folder / "bwrap" for folder in programs.folders))
    return next((candidate for candidate in candidates if os.access(candidate, os.X_OK)), None)


@contextmanager
def filtering(words: Sequence[str], denied: bytes) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """The words of a bubblewrap that denies the system calls in `denied`, and the descriptors that it inherits."""
    if not denied:
        yield [*words], ()
        return
    with TemporaryFile() as file:
        file.write(denied)
        file.seek(0)
        yield [words[0], "--seccomp", str(file.fileno()), *words[1:]], (file.fileno(),)


def _failure(words: Sequence[str], denied: bytes = b"") -> str | None:
    """The error of running `words`; None if they succeeded."""
    try:
        with filtering(words, denied) as (whole, inherited):
            done = subprocess.run(
                whole,
                env={"PATH": "/usr/bin:/bin"},
                capture_output=True,
                text=True,
                timeout=PROBE_SECONDS,
                check=False,
                pass_fds=inherited,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else (done.stderr.strip() or f"exit code {done.returncode}")


def _advice(complaint: str) -> str:
    if "uid map" in complaint or "RTM_NEWADDR" in complaint or "ermission denied" in complaint:
        return (
            "this system denies user namespaces; on Ubuntu install the AppArmor profile `bwrap-userns-restrict` "
            "for `/usr/bin/bwrap`, in a container allow user namespaces"
        )
    return "see whether `bwrap --ro-bind / / true` works"


def _described(bubblewrap: Bubblewrap) -> Isolation:
    lacks = [_PER_PROCESS]
    if bubblewrap.nested:
        lacks.append("namespaces that a command makes itself")
    if os.geteuid() == 0:
        lacks.append("the number of processes, which nothing limits for the superuser")
    return Isolation("bubblewrap", covers=_CONTAINED, lacks=tuple(lacks))


@dataclass(frozen=True, slots=True)
class Sealed:
    """The start of a program that must reach neither a socket nor the home folder, and write nothing."""

    words: tuple[str, ...]
    filter: bytes = b""
    """The filter of system calls for bubblewrap; empty if the program is not isolated."""
    reason: str = ""
    """Why the program is not isolated."""


def seal(
    words: Sequence[str],
    *,
    root: Path,
    scratch: Path,
    readable: Iterable[Path],
    programs: Programs,
    home: Path,
) -> Sealed:
    """The words that run `words` at `root`: it reads that and `readable`, and writes `scratch` alone."""
    program = _bubblewrap(programs)
    if program is None:
        return Sealed((*words,), reason="there is no `bwrap` here")
    strict = Bubblewrap(program=program, root=root.resolve(), home=home, folders=())
    denied = without_sockets()
    complaint = ""
    for candidate in (strict, replace(strict, nested=True)):
        outer = candidate.command([], also=readable, network=False, scratch=scratch)
        complaint = _failure([*outer, TRUE], denied) or ""
        if not complaint:
            return Sealed((*outer, *words), denied)
    return Sealed((*words,), reason=f"`{program}` does not work here: {complaint}")


_DENY = 0x0005_0000 | errno.EPERM
_ALLOW = 0x7FFF_0000
_IO_URING_SETUP = 425  # makes sockets by itself
_SOCKET_CALLS = {"x86_64": (0xC000_003E, 41), "aarch64": (0xC000_00B7, 198)}
"""Machine to the number of its architecture and of its call `socket`."""


def without_sockets() -> bytes:
    """A filter of system calls that allows no socket but pairs; empty on other architectures.

    A read-only mount does not prevent the use of another process's socket in the workspace.
    """
    if (call := _SOCKET_CALLS.get(platform.machine())) is None:
        return b""
    architecture, socket = call
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    program = (
        (load, 0, 0, 4),
        (equal, 0, 5, architecture),  # any other one has other numbers
        (load, 0, 0, 0),
        (at_least, 3, 0, 0x4000_0000),  # and so has x32
        (equal, 2, 0, socket),
        (equal, 1, 0, _IO_URING_SETUP),
        (give, 0, 0, _ALLOW),
        (give, 0, 0, _DENY),
    )
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)
