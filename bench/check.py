"""Times `llmdo check` beside tools that people know: CPU time (user + system) and peak memory, in one run.

python -m bench.check [--workers 1000] [--large 10000] [--rounds 9]

The commands take turns, so whatever else the machine does hits all of them alike. `make bench` installs the tools.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.generate import Shape, generate, json_files, python_files, uv_members
from llmdo.base import resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BIN = Path(sys.executable).parent
AGE = 0.2  # seconds: what has changed since is not remembered by a check
EDITS: dict[str, Callable[[str], str]] = {
    "a comment": lambda text: text.replace("---\n", "---\n# a note\n", 1),
    "a prompt": lambda text: f"{text}And be brief.\n",
    "a description": lambda text: text.replace("description: ", "description: Edited, ", 1),
    "a toolset": lambda text: text.replace("toolsets:\n", "toolsets:\n  filesystem: {}\n", 1),
}
"""What is edited in one worker file, in the first edit after a check."""


def nothing() -> None:
    """No preparation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One command and what has to be done before it runs."""

    name: str
    words: list[str]
    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    before: Callable[[], None] = nothing


class Used(NamedTuple):
    """What one run took."""

    cpu: float
    memory: float


class Meter:
    """Runs commands in a small process that measures them."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ = environ
        words = [sys.executable, "-I", "-S", str(Path(__file__).with_name("measure.py"))]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, case: Case) -> Used:
        """One run of a case; stops everything where the command fails."""
        case.before()
        task = {
            "words": case.words,
            "folder": str(case.folder),
            "environ": {**self._environ, **case.environ},
        }
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if answer["code"]:
            raise SystemExit(f"{case.name}: {' '.join(case.words[:6])} ended with {answer['code']}")
        return Used(answer["cpu"], answer["memory"])

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def llmdo_cases(root: Path, count: int, meter: Meter, cache: Path) -> Iterator[Case]:
    """A check of the workspace at `root`: without memory, after one edit, and with nothing changed."""
    words = [str(BIN / "llmdo"), "check"]  # a stale lock is a warning then, and the command succeeds
    edited = root / "workers" / "worker_00007.worker"
    text = edited.read_text(encoding="utf-8")

    def forget() -> None:
        shutil.rmtree(cache, ignore_errors=True)

    def settle() -> None:
        edited.write_text(text, encoding="utf-8")
        time.sleep(AGE)
        meter.run(Case(name="settle", words=words, folder=root))

    def edit(kind: str) -> Callable[[], None]:
        def after_a_check() -> None:
            settle()
            edited.write_text(EDITS[kind](text), encoding="utf-8")

        return after_a_check

    yield Case(name=f"llmdo check, {count:,} workers, cold", words=words, folder=root, before=forget)
    name = f"llmdo check, {count:,} workers"
    for kind in EDITS:
        yield Case(name=f"{name}, {kind} edited", words=words, folder=root, before=edit(kind))
    yield Case(name=f"{name}, nothing changed", words=words, folder=root, before=settle)


def peer_cases(folder: Path, count: int) -> Iterator[Case]:
    """The other tools, as far as they are installed, on as many files."""
    if (BIN / "uv").exists():
        uv_members(folder / "uv", count)
        subprocess.run([BIN / "uv", "lock", "--offline", "--quiet"], cwd=folder / "uv", check=True)
        words = [str(BIN / "uv"), "lock", "--check", "--offline"]
        yield Case(name=f"uv lock --check --offline, {count:,} members", words=words, folder=folder / "uv")
        # Told which Python to use, uv does not start one to ask it.
        known = {"UV_PYTHON": sys.executable}
        yield Case(name="the same with UV_PYTHON set", words=words, folder=folder / "uv", environ=known)
    if (BIN / "ruff").exists():
        python_files(folder / "ruff", count)
        words = [str(BIN / "ruff"), "check", "--no-cache", "--isolated"]
        yield Case(name=f"ruff check --no-cache, {count:,} files", words=words, folder=folder / "ruff")
    if (BIN / "check-jsonschema").exists():
        json_files(folder / "json", Shape(workers=count))
        schema = str(resources.folder("schemas").resolve() / "worker.json")
        names = sorted(path.name for path in (folder / "json").iterdir())
        words = [str(BIN / "check-jsonschema"), "--schemafile", schema, *names]
        yield Case(name=f"check-jsonschema, {count:,} files", words=words, folder=folder / "json")


def measured(cases: list[Case], meter: Meter, rounds: int) -> dict[str, list[Used]]:
    """Name to what each round took, the cases taking turns; a first round does not count."""
    used_by_case: dict[str, list[Used]] = {case.name: [] for case in cases}
    for number in range(rounds + 1):
        for case in cases:
            used = meter.run(case)
            if number:
                used_by_case[case.name].append(used)
    return used_by_case


def version(tool: str) -> str:
    """What an installed tool says about itself."""
    path = BIN / tool
    if not path.exists():
        return f"{tool}: not installed"
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def report(used_by_case: dict[str, list[Used]], count: int, large: int) -> Iterator[str]:
    """The medians, and the ratios that have a target."""
    middle = {
        name: Used(statistics.median(each.cpu for each in used), max(each.memory for each in used))
        for name, used in used_by_case.items()
    }
    yield f"{'command':58} {'CPU ms':>8} {'MB':>6}"
    for name, used in middle.items():
        yield f"{name:58} {used.cpu:8.1f} {used.memory:6.1f}"
    yield ""

    def ratio(command: str, other: str, most: str) -> str:
        if command not in middle or other not in middle:
            return f"{command} / {other}: not measured"
        return f"{command} / {other}: {middle[command].cpu / middle[other].cpu:.2f} (target {most})"

    cold, warm = (f"llmdo check, {count:,} workers, {state}" for state in ("cold", "nothing changed"))
    yield ratio(cold, f"uv lock --check --offline, {count:,} members", "1.0")
    yield ratio(cold, "the same with UV_PYTHON set", "1.5")
    yield ratio(warm, "python -c pass", "1.5")
    for kind in EDITS:
        yield ratio(f"llmdo check, {count:,} workers, {kind} edited", cold, "0.5")
    yield ratio(f"llmdo check, {large:,} workers, cold", cold, "8")
    if largest := middle.get(f"llmdo check, {large:,} workers, cold"):
        yield f"peak memory at {large:,} workers: {largest.memory:.0f} MB (target 60)"


def main() -> None:
    """Generates the inputs, measures, and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument(
        "--large", type=int, default=10_000, help="the size of the large workspace, 0 for none"
    )
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environ = {key: value for key, value in os.environ.items() if not key.startswith(("LLMDO_", "UV_"))}
        # An installed tool has its bytecode; a checkout writes it in the first round.
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        environ["XDG_CACHE_HOME"] = str(folder / "cache")
        meter = Meter(environ)
        cases = [Case(name="python -c pass", words=[sys.executable, "-c", "pass"], folder=folder)]
        for count in filter(None, (chosen.workers, chosen.large)):
            root = folder / f"workspace-{count}"
            root.mkdir()
            generate(root, Shape(workers=count))
            cases += llmdo_cases(root, count, meter, folder / "cache" / "llmdo")
        cases += peer_cases(folder, chosen.workers)
        print(
            f"{sys.version.split()[0]} on {os.cpu_count()} cores; CPU time, median of {chosen.rounds} rounds"
        )
        print("; ".join(version(tool) for tool in ("llmdo", "uv", "ruff", "check-jsonschema")), "\n")
        used_by_case = measured(cases, meter, chosen.rounds)
        meter.close()
    print("\n".join(report(used_by_case, chosen.workers, chosen.large)))


if __name__ == "__main__":
    main()
