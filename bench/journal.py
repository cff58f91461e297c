"""What a journal costs: CPU of runs with one, in files and in PostgreSQL, and with none; bytes a step; large ones.

Without `--store`, a server of Debian's package is started in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from llmdo.journal import JournalEntry, Runs
from llmdo.journal.entries import pack
from llmdo.journal.opening import STORE, migrate
from tests.support import postgres

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


def cpu_of(root: Path, *words: str, store: str = "") -> float:
    """The seconds of CPU of a command, its children included; `store` is empty for files."""
    before = os.times()
    environ = {**os.environ, STORE: store}
    subprocess.run(
        [sys.executable, "-m", "llmdo", *words], cwd=root, check=True, capture_output=True, env=environ
    )
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


def cpu_by_side(root: Path, address: str, number: int) -> dict[str, float]:
    """The CPU of a run without a journal, with one in files, and with one in PostgreSQL; each turn begins elsewhere."""
    sides = {
        "without": (("run", "--no-journal"), ""),
        "sqlite": (("run",), ""),
        **({"postgres": (("run",), address)} if address else {}),
    }
    order = [*sides][number % len(sides) :] + [*sides][: number % len(sides)]
    return {side: cpu_of(root, *sides[side][0], store=sides[side][1]) for side in order}


def ratios(runs: int, steps: int, address: str) -> dict[str, object]:
    """What a journal costs the whole command, beside the same run without one, over both stores.

    The client's CPU alone: a server of PostgreSQL has its own. The ratio of the least is the one that other work on the
    machine changes least.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, steps)
        turns = [cpu_by_side(root, address, number) for number in range(runs)]
    least = {side: min(turn[side] for turn in turns) for side in turns[0]}
    total = {side: sum(turn[side] for turn in turns) for side in turns[0]}
    return {
        "steps": steps,
        "runs": runs,
        "cpu_s": {side: round(seconds, 2) for side, seconds in least.items()},
        "ratio": {side: round(least[side] / least["without"], 3) for side in least if side != "without"},
        "ratio_of_sums": {
            side: round(total[side] / total["without"], 3) for side in total if side != "without"
        },
    }


def kept(steps: int) -> dict[str, object]:
    """The size of a journal, and what repeating its run costs."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, steps)
        cpu_of(root, "run")
        size = next((root / ".llmdo" / "runs").glob("*.sqlite")).stat().st_size
        return {"bytes_a_step": size // steps, "cpu_replay_s": cpu_of(root, "replay", "last")}


def listed(entries: int, rounds: int) -> dict[str, object]:
    """What a large journal costs whoever lists runs, and whoever counts what is in it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "w"\n')
        write_large(root, entries)
        list_ms = round(1000 * min(cpu_of(root, "runs") for _ in range(rounds)))
        began = time.process_time()
        with Runs(root).read("large") as journal:
            counted = sum(journal.counted().values())
        assert counted >= entries - 3
        spent = round(1000 * (time.process_time() - began))
    return {"entries": entries, "cpu_list_ms": list_ms, "cpu_open_and_count_ms": spent}


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, nargs="+", default=[25, 200, 1000])
    parser.add_argument(
        "--rounds", type=int, default=5, help="runs of 1,000 steps; of shorter ones there are more"
    )
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--store", help="the address of a database without tables of ours; else one is made")
    options = parser.parse_args()
    os.environ["LLMDO_TRUST"] = "1"  # the workspaces are written here
    with ExitStack() as stack:
        address = options.store or stack.enter_context(postgres.cluster()).new_database()
        migrate(address)
        runs = [max(options.rounds, min(40, 1000 * options.rounds // (5 * steps))) for steps in options.steps]
        figures = {
            "runs": [ratios(each, steps, address) for each, steps in zip(runs, options.steps, strict=True)],
            **kept(max(options.steps)),
            **listed(options.entries, options.rounds),
            "load": [round(number, 1) for number in os.getloadavg()],
        }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
