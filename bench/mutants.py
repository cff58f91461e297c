"""Mutants of the code that decides: a seeded choice of single changes, each of which a test has to fail for.

Each mutant is made in a copy of the repository, never here. The tests that import its module are run until one fails,
then the others of its part, without those that are `long`. `mutants.toml` names survivors that change nothing, with the
reason. Other survivors are printed; try each against `make test-all`, then write a test for it, or a line there.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

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
MOST = 1800.0  # seconds for the tests without a change

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
        mutants.append(Mutant(module, node.lineno, start, end, before, after))
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
    """The parts of a node that are no code of a decision: annotations, words, and imports for them alone."""
    if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        yield node.returns
    if isinstance(node, ast.JoinedStr):
        yield node
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


@cache
def imported_by(path: Path) -> frozenset[str]:
    """The modules that a file imports, and the names that it imports from them, as module names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def tests_of(module: str) -> tuple[list[str], list[str]]:
    """The test files that import a module; then the others of the folder of its part."""
    name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    folder = ROOT / "tests" / "/".join(name.split(".")[1:-1])
    while not folder.is_dir():
        folder = folder.parent
    nearest = [file for file in files if name in imported_by(file)]
    others = [file for file in files if file not in nearest and folder in file.parents]
    first, then = ([str(file.relative_to(ROOT)) for file in each] for each in (nearest, others))
    return first, then


def known() -> dict[tuple[str, str, str], str]:
    """The survivors that change nothing, with the reason, by module, text before and text after."""
    table = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    return {(each["module"], each["before"], each["after"]): each["reason"] for each in table["equivalent"]}


class Trial:
    """A copy of the repository in which mutants are tried, one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seconds: dict[tuple[str, ...], float | None] = {}
        """What tests take without a change; None if they fail."""
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
        for path in filter(None, listed.decode().split("\0")):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / path).read_bytes())
            target.chmod((ROOT / path).stat().st_mode)

    def ending(self, mutant: Mutant) -> Ending:
        """What came of a mutant."""
        groups = [tuple(tests) for tests in tests_of(mutant.module) if tests]
        usable = [tests for tests in groups if self._passes_unchanged(tests)]
        file = self._folder / mutant.module
        source = file.read_bytes()
        file.write_bytes(mutant.applied(source))
        try:
            if any(not self._pass(tests) for tests in usable):
                return "killed"
        finally:
            file.write_bytes(source)
        return "survived" if usable else "untested"

    def _passes_unchanged(self, tests: tuple[str, ...]) -> bool:
        """Whether they pass without a change; else they say nothing about one."""
        if tests not in self._seconds:
            began = time.monotonic()
            self._seconds[tests] = MOST
            passes = self._pass(tests)
            self._seconds[tests] = time.monotonic() - began if passes else None
            if not passes:
                print(f"left out, as they fail without a change: {' '.join(tests)}", flush=True)
        return self._seconds[tests] is not None

    def _pass(self, tests: tuple[str, ...]) -> bool:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-m",
            "not long",
            "-p",
            "no:cacheprovider",
            *tests,
        ]
        environ = {**os.environ, "PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": "1"}
        most = PATIENCE * (self._seconds[tests] or 0) + 60
        try:
            done = subprocess.run(
                command, cwd=self._folder, env=environ, capture_output=True, timeout=most, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode in (0, 5)  # 5: all of them are `long`


def every_mutant() -> list[Mutant]:
    """Every mutant of every target."""
    files = [file for target in TARGETS for file in sorted((ROOT / target).rglob("*.py"))]
    files += [ROOT / target for target in TARGETS if target.endswith(".py")]
    return [
        mutant
        for file in files
        for mutant in mutants_of(file.relative_to(ROOT).as_posix(), file.read_bytes())
    ]


def main() -> None:
    """Tries the mutants that are chosen, and exits with 1 if one survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="how many of all mutants are tried")
    parser.add_argument("--seed", type=int, default=1, help="chooses them")
    options = parser.parse_args()
    mutants, reasons = every_mutant(), known()
    chosen = random.Random(options.seed).sample(mutants, min(options.count, len(mutants)))
    print(f"{len(chosen)} of {len(mutants)} mutants", flush=True)
    endings: Counter[Ending] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trial = Trial(Path(folder))
        for mutant in chosen:
            is_known = (mutant.module, mutant.before, mutant.after) in reasons
            ending = "known" if is_known else trial.ending(mutant)
            endings[ending] += 1
            if ending in ("survived", "untested"):
                print(f"{ending}: {mutant}", flush=True)
    print(", ".join(f"{number} {ending}" for ending, number in sorted(endings.items())))
    sys.exit(bool(endings["survived"] or endings["untested"]))


if __name__ == "__main__":
    main()
