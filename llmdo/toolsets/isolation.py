"""Inspecting the toolsets of a workspace in a separate process: limited in time, and with nothing to steal."""

from __future__ import annotations

import json
import os
import signal
import site
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Location, Span
from llmdo.toolsets.bubblewrap import filtering, seal
from llmdo.toolsets.problems import Problems
from llmdo.toolsets.programs import Programs
from llmdo.toolsets.report import (
    EVENT,
    REQUEST,
    Begun,
    Event,
    Failed,
    InspectedToolset,
    InspectionEnded,
    Request,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from io import BufferedReader

    from llmdo.graph.toolset import Facts, ToolsetFacts

MAX_SHOWN = 2_000  # bytes of what the child printed: its end, where the reason usually is
MAX_REPORT = 64 * 1024 * 1024  # bytes: ten thousand tools take a few


@dataclass(frozen=True, slots=True)
class Inspected:
    """The result of an inspection."""

    facts: Facts
    unsealed: str = ""
    """Why the workspace's code was not isolated from this machine; empty if it was, or none ran."""


def inspect_toolsets(
    root: Path,
    modules: Sequence[str],
    references: Mapping[str, str],
    *,
    code: Mapping[str, str],
    deps: Mapping[str, str] | None = None,
    families: Iterable[str] = (),
    timeout_s: float = 60.0,
) -> Inspected:
    """The facts about the toolsets in the files `modules` and those named by `references`, sorted.

    `code` maps each importable file to the digest of its text, `deps` an agent to the maker of its deps; `families`
    are the capabilities of extensions. The workspace's code runs in a child process with an environment built from
    nothing. With a working bubblewrap, it has no sockets, reads the workspace and this interpreter's packages,
    and writes nothing; otherwise it is no sandbox.

    Raises:
        LlmdoError: A module or a toolset is wrong, all reported at once; or the child did not end.
    """
    if not modules and not references:
        return Inspected({})
    with TemporaryDirectory(prefix="llmdo-", ignore_cleanup_errors=True) as folder_name:
        folder = Path(folder_name)
        request, report, home = folder / "request", folder / "report", folder / "home"
        home.mkdir()
        (folder / "tmp").mkdir()
        content = Request(
            root=str(root.absolute()),
            modules=tuple(modules),
            references=references,
            code=code,
            deps=deps or {},
            families=tuple(families),
        )
        request.write_bytes(REQUEST.dump_json(content))
        variables = environment(home, folder / "tmp")
        sealed = seal(
            command(request, report),
            root=root,
            scratch=folder,
            readable=_installed(),
            programs=Programs.of(variables["PATH"], root),
            home=Path(os.environ.get("HOME") or "/"),
        )
        with filtering(sealed.words, sealed.filter) as (words, inherited):
            end = _run(words, variables, cwd=root, timeout_s=timeout_s, inherited=inherited)
        events = tuple(_events(report))
    return Inspected(_facts(events, end), sealed.reason)


def _facts(events: Sequence[Event], end: _End) -> Facts:
    """The facts that the child found.

    Raises:
        LlmdoError: Something is wrong, or it did not end.
    """
    problems = [_error(event) for event in events if isinstance(event, Failed)]
    if not any(isinstance(event, InspectionEnded) for event in events):
        problems.append(_unfinished(end, events))
    if problems:
        raise Problems(problems)
    facts: dict[str, ToolsetFacts] = {
        event.reference: event.facts for event in events if isinstance(event, InspectedToolset)
    }
    return dict(sorted(facts.items()))


def command(request: Path, report: Path) -> list[str]:
    """The words that start the child: neither the current folder nor the user's own packages come first."""
    module = "llmdo.toolsets.inspection"
    return [sys.executable, "-P", "-B", "-s", "-m", module, str(request), str(report)]


def environment(home: Path, temporary: Path) -> dict[str, str]:
    """The child's whole environment: no variable of the caller's but `PATH`."""
    built = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",  # the order of a set in a description must not change its digest
    }
    package = Path(__file__).resolve().parents[2]
    if str(package) not in site.getsitepackages():
        built["PYTHONPATH"] = str(package)
    if root := os.environ.get("SYSTEMROOT"):  # Windows: no socket and no random number without it
        built |= {"SYSTEMROOT": root, "USERPROFILE": str(home), "TEMP": str(temporary)}
    return built


def _installed() -> Iterator[Path]:
    """The folders of the interpreter and its packages, which may all lie in the home folder."""
    program = Path(sys.executable)
    while (
        program.is_symlink()
    ):  # an environment's Python is a link, perhaps over several steps, to another one
        target = program.parent / program.readlink()
        program = Path(os.path.normpath(target))
        yield program.parent.parent
    yield from (Path(prefix) for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix))
    for entry in dict.fromkeys(sys.path):
        if entry:
            yield Path(entry).absolute()
        for origin in Path(entry or ".").glob("*.dist-info/direct_url.json") if entry else ():
            yield from _edited(origin)
    yield Path(__file__).resolve().parents[2]


def _edited(origin: Path) -> Iterator[Path]:
    """The folder of a package installed in place, such as by `pip install -e`."""
    try:
        origin_data = json.loads(origin.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    url = urlsplit(str(origin_data.get("url", "")))
    if origin_data.get("dir_info", {}).get("editable") and url.scheme == "file":
        yield Path(unquote(url.path))


@dataclass(frozen=True, slots=True)
class _End:
    """How the child ended."""

    message: str
    """To follow "the process that inspects toolsets"."""
    printed: str
    """The end of what it printed."""


def _run(
    words: list[str], variables: dict[str, str], *, cwd: Path, timeout_s: float, inherited: tuple[int, ...]
) -> _End:
    child = subprocess.Popen(
        words,
        env=variables,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=inherited,
    )
    output = _Tail(cast("BufferedReader", child.stdout))
    output.start()
    try:
        report = _ending(child.wait(timeout_s))
    except subprocess.TimeoutExpired:
        report = f"did not end within {timeout_s:g} s"
    finally:  # Ctrl-C as well; and what the child has started itself must not stay
        _kill(child)
        child.wait()
        output.join(1)
    return _End(report, output.text)


class _Tail(Thread):
    """Reads a stream to its end and keeps only the last part: a flood neither blocks nor fills the memory."""

    def __init__(self, stream: BufferedReader) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._kept = b""

    def run(self) -> None:
        """Reads until the stream ends."""
        with self._stream:
            while chunk := self._stream.read1(65536):
                self._kept = (self._kept + chunk)[-MAX_SHOWN:]

    @property
    def text(self) -> str:
        """The kept text, with control characters made visible."""
        text = self._kept.decode("utf-8", "replace").strip()
        return "".join(
            character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
            for character in text
        )


def _kill(child: subprocess.Popen[bytes]) -> None:
    try:
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    except ProcessLookupError:
        pass


def _ending(status: int) -> str:
    number = (
        -status if status < 0 else status - 128
    )  # what started the child for us tells a signal by its number
    if number <= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(number).name}"
    except ValueError:
        return f"was killed by signal {number}"


def _events(report: Path) -> Iterator[Event]:
    """The child's events, up to the first invalid line."""
    try:
        with report.open("rb") as file:
            lines = file.read(MAX_REPORT).splitlines()
    except OSError:
        return
    for line in lines:
        try:
            yield EVENT.validate_json(line)
        except ValidationError:
            return


def _error(event: Failed) -> LlmdoError:
    at = None
    if event.path is not None:
        span = None if event.line is None else Span(event.line, 1, event.line + 1, 1)
        at = Location(event.path, span)
    return LlmdoError(event.message, hint=event.hint, at=at)


def _unfinished(end: _End, events: Sequence[Event]) -> LlmdoError:
    begun = [event.work for event in events if isinstance(event, Begun)]
    work = begun[-1] if begun else "starting"
    return LlmdoError(
        f"the process that inspects toolsets {end.message} while {work}",
        hint=f"it printed:\n{end.printed}" if end.printed else None,
    )
