"""Mutants of the code that decides: a seeded choice of single changes, each of which a test has to fail for.

Each mutant is made in a copy of the repository, never here. Of the tests that are not `long`, those that run its lines
are run, the quickest first, until one fails. `mutants.toml` names survivors that change nothing, with the reason. Other
survivors are printed; try each against `make test-all`, then write a test for it, or a line there.

`--kept FOLDER` keeps the copies and which mutants were killed, and goes on from there.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).parent.parent
KNOWN = Path(__file__).with_name("mutants.toml")
TARGETS = (
    "llmdo/policy",
    "llmdo/reach",
    "llmdo/runtime/gate",
    "llmdo/runtime/labels.py",
    "llmdo/runtime/seals.py",
)
PATIENCE = 3.0  # times as long as without a change; a mutant that never ends is killed
FIRST = 2.0  # seconds that the quickest tests take, which are run first
RESULTS, CHOSEN, KILLED = "results.xml", "chosen.txt", "killed.txt"
SHOWN = 20  # mutants from one line of progress to the next

SWAPPED = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
Ending = Literal["killed", "survived", "known", "untested"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one expression of a module."""

    module: str
    """The path of its file."""
    line: int
    last: int
    """The line in which the expression ends."""
    start: int
    """The change replaces the bytes from here to `end`."""
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: `{self.before}` -> `{self.after}`"

    def applied(self, source: bytes) -> bytes:
        """The text of the module with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def mutants_of(module: str, source: bytes) -> list[Mutant]:
    """Every mutant of a module, in the order of its text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    mutants = []
    for node, after in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source[start:end].decode()
        mutants.append(Mutant(module, node.lineno, node.end_lineno or node.lineno, start, end, before, after))
    return sorted(mutants, key=lambda mutant: (mutant.start, mutant.end, mutant.after))


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Each expression that can be changed, with what replaces it."""
    skipped = {inner for node in ast.walk(tree) for left in _left_out(node) for inner in ast.walk(left)}
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node.test, f"(not ({ast.unparse(node.test)}))"
        elif (
            isinstance(node, ast.Return)
            and node.value is not None
            and not isinstance(node.value, ast.Constant)
        ):
            yield node.value, "None"
        elif isinstance(node, ast.expr):
            yield from ((node, f"({after})") for after in _replaced(node))


def _left_out(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that decide nothing: annotations, imports for them alone, words, and what mypy sees to."""
    if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        yield node.returns
    if isinstance(node, ast.JoinedStr):
        yield node
    if isinstance(node, ast.keyword) and node.arg in ("frozen", "slots"):
        yield node.value
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        yield node


def _replaced(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Compare(ops=[operator]):
            swapped = SWAPPED[type(operator)]
            yield f"{ast.unparse(node.left)} {swapped} {ast.unparse(node.comparators[0])}"
        case ast.BoolOp():
            word = " or " if isinstance(node.op, ast.And) else " and "
            yield word.join(f"({ast.unparse(value)})" for value in node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield ast.unparse(node.operand)
        case ast.Constant(value=bool() as truth):
            yield str(not truth)
        case ast.Constant(value=int() as number):
            yield str(number + 1)


def known() -> dict[tuple[str, str, str, str], str]:
    """The survivors that change nothing, with the reason, by module, text of the line, text before and text after."""
    table = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    return {
        (each["module"], each["line"], each["before"], each["after"]): each["reason"]
        for each in table["equivalent"]
    }


def key_of(mutant: Mutant) -> tuple[str, str, str, str]:
    """The key under which `known` would have a mutant."""
    line = (ROOT / mutant.module).read_text(encoding="utf-8").splitlines()[mutant.line - 1].strip()
    return mutant.module, line, mutant.before, mutant.after


class Coverage:
    """The tests that run each line of the targets, with the seconds that each takes."""

    def __init__(self, folder: Path, contexts: Mapping[str, Mapping[int, frozenset[str]]]) -> None:
        self._contexts = contexts
        self._seconds = {
            f"{each.get('classname')}::{each.get('name')}": float(each.get("time", 0))
            for each in ElementTree.parse(folder / RESULTS).iter("testcase")
            if len(each) == 0 or all(child.tag in ("system-out", "system-err") for child in each)
        }

    @classmethod
    def read(cls, folder: Path) -> Coverage:
        """The coverage that a run of the tests left in the copy."""
        from coverage import CoverageData  # which `make mutants` brings

        data = CoverageData(str(folder / ".coverage"))
        data.read()
        contexts = {
            Path(file).relative_to(folder).as_posix(): {
                line: frozenset(context.partition("|")[0] for context in names if context)
                for line, names in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        return cls(folder, contexts)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that run its lines, the quickest first; of lines run by imports alone, those of its folder."""
        lines = self._contexts.get(mutant.module, {})
        at = range(mutant.line, mutant.last + 1)
        tests = {test for line in at for test in lines.get(line, ())}
        if not tests:
            folder = Path(mutant.module).parent
            near = [each for module, each in self._contexts.items() if Path(module).parent == folder]
            tests = {test for each in near for names in each.values() for test in names}
        timed = [
            (seconds, test) for test in tests if (seconds := self._seconds.get(_in_results(test))) is not None
        ]
        return [test for _, test in sorted(timed)]

    def seconds(self, tests: Iterable[str]) -> float:
        """The seconds that these tests take without a change."""
        return sum(self._seconds[_in_results(test)] for test in tests)


def _in_results(test: str) -> str:
    """The name in the results of a test that pytest calls `test`."""
    file, _, name = test.partition("::")
    return f"{file.removesuffix('.py').replace('/', '.')}::{name}"


def measured(folder: Path) -> Coverage:
    """The coverage of the copy of the repository in `folder`, which is made unless it is there."""
    if not (folder / RESULTS).exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
        for path in filter(None, listed.decode().split("\0")):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, target)
        covered = [f"--cov={target.removesuffix('.py').replace('/', '.')}" for target in TARGETS]
        reported = ["--cov-context=test", "--cov-report=", f"--junitxml={RESULTS}"]
        _pytest(folder, "-n", "2", "-m", "not long", *covered, *reported, keeps_compiled=True)
    # By its text, not by its time: a mutant is compiled again, and nothing else is.
    by_text = ["compileall", "-q", "-f", "--invalidation-mode", "checked-hash", "llmdo"]
    subprocess.run([sys.executable, "-m", *by_text], cwd=folder, check=True)
    return Coverage.read(folder)


class Trial:
    """A copy of the repository in which mutants are tried, one after the other."""

    def __init__(self, folder: Path, coverage: Coverage) -> None:
        self._folder = folder
        self._coverage = coverage

    def ending(self, mutant: Mutant) -> Ending:
        """What came of a mutant."""
        tests = self._coverage.tests_of(mutant)
        if not tests:
            return "untested"
        file = self._folder / mutant.module
        source = file.read_bytes()
        file.write_bytes(mutant.applied(source))
        try:
            return "killed" if any(not self._pass(each) for each in self._batches(tests)) else "survived"
        finally:
            file.write_bytes(source)

    def _batches(self, tests: list[str]) -> Iterator[list[str]]:
        """The tests in runs, each of about four times as many seconds as the one before."""
        most, batch = FIRST, list[str]()
        for test in tests:
            if batch and self._coverage.seconds([*batch, test]) > most:
                yield batch
                most, batch = 4 * most, []
            batch.append(test)
        yield batch

    def _pass(self, tests: list[str]) -> bool:
        (self._folder / CHOSEN).write_text("\n".join(tests), encoding="utf-8")
        most = PATIENCE * self._coverage.seconds(tests) + 60
        try:
            return _pytest(self._folder, "-x", f"@{CHOSEN}", most=most) == 0
        except subprocess.TimeoutExpired:
            return False


def _pytest(folder: Path, *arguments: str, most: float | None = None, keeps_compiled: bool = False) -> int:
    """The exit code of a run of tests in a copy."""
    compiled = "" if keeps_compiled else "1"
    environ = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": compiled}
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, timeout=most, check=False)
    return done.returncode


def every_mutant() -> list[Mutant]:
    """Every mutant of every target."""
    files = [file for target in TARGETS for file in sorted((ROOT / target).rglob("*.py"))]
    files += [ROOT / target for target in TARGETS if target.endswith(".py")]
    return [
        mutant
        for file in files
        for mutant in mutants_of(file.relative_to(ROOT).as_posix(), file.read_bytes())
    ]


def endings_of(mutants: list[Mutant], folder: Path, jobs: int) -> Iterator[tuple[Mutant, Ending]]:
    """What came of each mutant; `folder` has the copies, one for each job."""
    coverage = measured(folder / "0")
    free = Queue[Trial]()
    free.put(Trial(folder / "0", coverage))
    for job in range(1, jobs):
        copy = folder / str(job)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder / "0", copy, symlinks=True)
        free.put(Trial(copy, coverage))

    def tried(mutant: Mutant) -> tuple[Mutant, Ending]:
        trial = free.get()
        try:
            return mutant, trial.ending(mutant)
        finally:
            free.put(trial)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(tried, mutants)


def main() -> None:
    """Tries the mutants that are chosen, and exits with 1 if one survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="how many of all mutants are tried")
    parser.add_argument("--seed", type=int, default=1, help="chooses them")
    parser.add_argument("--jobs", type=int, default=2, help="how many are tried at a time")
    parser.add_argument("--kept", type=Path, help="a folder that keeps the copies, and which were killed")
    options = parser.parse_args()
    mutants, reasons = every_mutant(), known()
    chosen = random.Random(options.seed).sample(mutants, min(options.count, len(mutants)))
    print(f"{len(chosen)} of {len(mutants)} mutants", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        folder: Path = options.kept or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        killed = folder / KILLED
        before = set(killed.read_text(encoding="utf-8").splitlines()) if killed.exists() else set()
        left = []
        endings: Counter[Ending] = Counter()
        for mutant in chosen:
            if key_of(mutant) in reasons:
                endings["known"] += 1
            elif repr(mutant) in before:
                endings["killed"] += 1
            else:
                left.append(mutant)
        for mutant, ending in endings_of(left, folder, options.jobs) if left else ():
            endings[ending] += 1
            if ending == "killed":
                with killed.open("a", encoding="utf-8") as file:
                    file.write(f"{mutant!r}\n")
            else:
                print(f"{ending}: {mutant}", flush=True)
            if endings.total() % SHOWN == 0:
                print(f"{endings.total()} of {len(chosen)}", file=sys.stderr)
    print(", ".join(f"{number} {ending}" for ending, number in sorted(endings.items())))
    sys.exit(bool(endings["survived"] or endings["untested"]))


if __name__ == "__main__":
    main()
