"""What a journal costs: CPU of a run of many steps with and without one, bytes a step, and listing a large one."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from llmdo.journal import JournalEntry, Runs
from llmdo.journal.entries import pack

MANIFEST = """\
schema = 1
[workspace]
name = "long"
workers = ["*.worker"]
model = "python:models.py:scripted"
[toolsets.steps]
python = "tools.py:steps"
capabilities = { step = ["x.steps.write"] }
[approvals.rules]
"x.steps" = "allowed"
[entries.main]
worker = "main"
input = "go"
limits = { requests = 100000 }
"""

MODELS = """\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

STEPS = %d

async def answer(messages, info):
    step = len(messages) // 2
    if step < STEPS:
        calls = [ToolCallPart("step", {"number": step, "text": "what this step is about, in a sentence or two"})]
        return ModelResponse(parts=calls, usage=RequestUsage(input_tokens=10, output_tokens=5))
    return ModelResponse(parts=[TextPart("done")], usage=RequestUsage(input_tokens=1, output_tokens=1))

scripted = FunctionModel(answer)
"""

TOOLS = '''\
from pydantic_ai.toolsets import FunctionToolset

steps = FunctionToolset(id="steps")

@steps.tool_plain
async def step(number: int, text: str) -> str:
    """Takes a step."""
    return f"step {number}: {text}"
'''


def write_workspace(root: Path, steps: int) -> None:
    """Writes a workspace whose run takes that many steps, a request and a tool each."""
    files = {"llmdo.toml": MANIFEST, "models.py": MODELS % steps, "tools.py": TOOLS}
    files["main.worker"] = "---\nname: main\ntoolsets: [steps]\n---\nGo.\n"
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "llmdo", "lock"], cwd=root, check=True, capture_output=True)


def cpu_of(root: Path, *words: str) -> float:
    """The seconds of CPU of a command, its children included."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "llmdo", *words], cwd=root, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def write_large(root: Path, entries: int) -> None:
    """Writes the journal of a run with that many entries, which did not end."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    body = pack(
        {
            "asked": {"model": "m", "parts": []},
            "response": {"usage": usage, "parts": [{"content": "x" * 300}]},
        }
    )
    with Runs(root).create("large") as journal:
        journal.add(JournalEntry(path="main", kind="run", step=1, body=pack({"entry": "main"})))
        journal.add(JournalEntry(path="main", kind="session", step=1))
        for number in range(entries // 3):
            journal.add(JournalEntry(path="main", kind="request", step=number + 1, body=body))
            journal.add(JournalEntry(path=f"main/step#{number}", kind="started", step=1))
            journal.add(
                JournalEntry(
                    path=f"main/step#{number}", kind="finished", step=1, outcome="success", body=body
                )
            )
        ending = {
            "usage": {"requests": entries // 3, "tool_calls": 0, **usage, "cost_usd": None},
            "denied": [],
        }
        journal.add(JournalEntry(path="main", kind="end", step=1, outcome="completed", body=pack(ending)))
        journal.commit()


def many_runs(runs: int, steps: int) -> dict[str, object]:
    """What the journal costs the whole command where it is started many times, for few steps each."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, steps)
        pairs = []
        for number in range(runs):
            orders = [("run",), ("run", "--no-journal")]
            taken = {words: cpu_of(root, *words) for words in (orders if number % 2 else orders[::-1])}
            pairs.append((taken["run",], taken["run", "--no-journal"]))
    recorded, bare = (sum(seconds) for seconds in zip(*pairs, strict=True))
    return {
        "runs": runs,
        "steps": steps,
        "cpu_with_s": recorded,
        "cpu_without_s": bare,
        "ratio": round(recorded / bare, 3),
    }


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--steps-each", type=int, default=25)
    parser.add_argument("--entries", type=int, default=100_000)
    options = parser.parse_args()
    figures: dict[str, object] = {"steps": options.steps}
    figures["many_runs"] = many_runs(options.runs, options.steps_each)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, options.steps)
        pairs = [(cpu_of(root, "run"), cpu_of(root, "run", "--no-journal")) for _ in range(options.rounds)]
        recorded = [kept_seconds for kept_seconds, _ in pairs]
        bare = [other for _, other in pairs]
        size = next((root / ".llmdo" / "runs").glob("*.sqlite")).stat().st_size
        figures["cpu_with_s"], figures["cpu_without_s"] = map(statistics.median, (recorded, bare))
        figures["ratio"] = round(min(recorded) / min(bare), 3)
        figures["ratio_of_medians"] = round(statistics.median(recorded) / statistics.median(bare), 3)
        figures["bytes_a_step"] = size // options.steps
        figures["cpu_replay_s"] = cpu_of(root, "replay", "last")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "w"\n')
        write_large(root, options.entries)
        figures["entries"] = options.entries
        figures["cpu_list_ms"] = round(1000 * min(cpu_of(root, "runs") for _ in range(options.rounds)))
        began = time.process_time()
        with Runs(root).read("large") as journal:
            counted = sum(journal.counted().values())
        figures["cpu_open_and_count_ms"] = round(1000 * (time.process_time() - began))
        assert counted >= options.entries - 3
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
