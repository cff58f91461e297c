"""The structure of the code in figures: what one allowed `read_file` goes through, and lines by part.

A module is entered when a function of it is called; a move is a call from one module of llmdo to
another, whatever of other packages lies between. The first of three equal calls imports, so the second one is counted.
`--show` lists the modules with their calls.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import llmdo
from llmdo import open_entry
from llmdo.runtime.gate.toolset import Gate
from llmdo.runtime.telemetry.events import ToolFinished

if TYPE_CHECKING:
    from types import FrameType

    from llmdo.runtime.telemetry.events import Event

HOUSE = Path(llmdo.__file__).parent
PARTS = {
    "journal": ("journal", "features/postgres"),
    "runtime/recording": ("runtime/recording",),
    "runtime/telemetry": ("runtime/telemetry",),
    "services about runs": tuple(
        f"services/{name}.py"
        for name in (
            "basis", "continuing", "export_import", "inbox", "past", "plan",
            "resume_replay", "run", "run_processes", "runs", "watching",
        )
    ),
    "services of batches and fleets": ("features/batch", "features/fleet"),
}  # fmt: skip
"""The parts that one log and one plan are about, by their files and folders."""

FILES = {
    "llmdo.toml": """\
schema = 1
[workspace]
name = "house"
workers = ["*.worker"]
model = "python:models.py:scripted"
[entries.main]
worker = "main"
input = "go"
""",
    "main.worker": "---\nname: main\ntoolsets: { filesystem: { read: ['notes/**'] } }\n---\nRead.\n",
    "notes/a.txt": "a note\n",
    "models.py": """\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

def answer(messages, info):
    if len(messages) > 6:
        return ModelResponse(parts=[TextPart("read")])
    return ModelResponse(parts=[ToolCallPart("read_file", {"path": "notes/a.txt"})])

scripted = FunctionModel(answer)
""",
}


class Walk:
    """The calls of functions of llmdo from the beginning of one call at the gate to the event that tells its end."""

    def __init__(self, number: int) -> None:
        """`number` says which call it is, from 1 on."""
        self.calls: Counter[str] = Counter()
        self.moves: Counter[tuple[str, str]] = Counter()
        self._number = number
        self._begun: set[FrameType] = set()
        self._is_over = False

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Counts one event of the interpreter's profile."""
        if event != "call" or self._is_over or (module := _module_of(frame)) is None:
            return
        if frame.f_code is Gate.call_tool.__code__:
            self._begun.add(frame)  # a coroutine is called once more whenever it goes on
        if len(self._begun) < self._number:
            return
        self.calls[module] += 1
        caller, above = None, frame.f_back
        while above is not None and (caller := _module_of(above)) is None:
            above = above.f_back
        if caller is not None and caller != module:
            self.moves[caller, module] += 1

    def end(self, event: Event) -> None:
        """Takes the events of the run."""
        if isinstance(event, ToolFinished) and len(self._begun) == self._number:
            self._is_over = True

    @property
    def figures(self) -> dict[str, int]:
        """Both in numbers."""
        return {"modules_entered": len(self.calls), "moves_between_modules": self.moves.total()}


def walked(*, journal: bool) -> Walk:
    """The way of the second of three equal `read_file`."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in FILES.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        walk, entry = Walk(2), open_entry(root, "main")
        before = sys.getprofile()
        threading.setprofile(walk.note)
        sys.setprofile(walk.note)
        try:
            outcome = asyncio.run(entry.run(journal=journal, on_event=walk.end, stream=False))
        finally:
            sys.setprofile(before)
            threading.setprofile(None)
    if outcome.status != "completed":
        raise SystemExit(f"the run is {outcome.status}: {outcome.error}")
    return walk


def lines_of(*places: str) -> int:
    """The lines of code in the files there: no blank lines, comments or docstrings."""
    files = [
        file
        for place in places
        for file in ([HOUSE / place] if place.endswith(".py") else (HOUSE / place).rglob("*.py"))
    ]
    return sum(_code_in(file.read_text(encoding="utf-8")) for file in files if file.exists())


def _code_in(text: str) -> int:
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in prose
        for number, line in enumerate(text.splitlines(), 1)
    )


def _module_of(frame: FrameType) -> str | None:
    name = frame.f_globals.get("__name__", "")
    return name if isinstance(name, str) and name.startswith("llmdo.") else None


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    walks = {"with_a_journal": walked(journal=True), "without": walked(journal=False)}
    whole = {"llmdo": lines_of("."), "features": lines_of("features")}
    whole["core"] = whole["llmdo"] - whole["features"]
    sizes = {name: lines_of(*places) for name, places in PARTS.items()}
    figures = {
        "read_file": {name: walk.figures for name, walk in walks.items()},
        "lines": {**sizes, "together": sum(sizes.values()), **whole},
        "modules": len([*HOUSE.rglob("*.py")]),
    }
    print(json.dumps(figures, indent=2))
    if options.show:
        for (caller, module), number in walks["with_a_journal"].moves.most_common():
            print(f"{number:5}  {caller} -> {module}")


if __name__ == "__main__":
    main()
