"""Measures `llmdo check --from claude` beside `llmdo check` on as many workers: CPU time, in turns.

python -m bench.foreign [--agents 200] [--rounds 9] [--project FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.generate import Shape, generate

MOST = 3.0
"""How many times the CPU time of our own check it may take."""

_TOOLS = ("Bash", "Edit", "Glob", "Grep", "Read", "WebFetch", "WebSearch", "Write")


def agents(folder: Path, number: int) -> None:
    """Writes a collection as people publish them: most agents name no tools, some a few."""
    chance = random.Random(0)
    for index in range(number):
        tools = ", ".join(sorted(chance.sample(_TOOLS, 3)))
        named = f"tools: {tools}\n" if chance.random() < 0.1 else ""
        path = folder / "plugins" / f"plugin-{index // 4}" / "agents" / f"agent-{index}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"---\nname: agent-{index}\ndescription: Does the {index}th thing. Use it for that.\nmodel: inherit\n"
            f"{named}---\n" + "Work with care, and say what you did.\n" * 60,
            encoding="utf-8",
        )


def main() -> None:
    """Prints both medians and their ratio; fails where it is more than `MOST`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--project", type=Path, help="a project of Claude Code instead of a generated one")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ours = Path(folder) / "ours"
        theirs = (chosen.project or Path(folder) / "theirs").absolute()
        generate(ours, Shape(workers=chosen.agents))
        if not chosen.project:
            agents(theirs, chosen.agents)
        llmdo = [sys.executable, "-m", "llmdo", "check"]
        tasks = {
            "llmdo check": {"words": [*llmdo, "--no-cache"], "folder": str(ours)},
            "llmdo check --from claude": {"words": [*llmdo, "--from", "claude", "."], "folder": str(theirs)},
        }
        took = measured(tasks, chosen.rounds)
    for name, times in took.items():
        print(f"{name}: {statistics.median(times):.1f} ms CPU")
    first, second = (statistics.median(times) for times in took.values())
    print(f"ratio {second / first:.2f} (at most {MOST})")
    sys.exit(second / first > MOST)


def measured(tasks: dict[str, dict[str, object]], rounds: int) -> dict[str, list[float]]:
    """The CPU time of each command in each round, in ms; a first round is not counted."""
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.measure"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    took: dict[str, list[float]] = {name: [] for name in tasks}
    with child:
        assert child.stdin
        assert child.stdout
        for number in range(rounds + 1):
            for name, task in tasks.items():
                environ = {key: value for key, value in os.environ.items() if not key.startswith("LLMDO_")}
                # An installed tool has its bytecode; a checkout writes it in the first round.
                environ.pop("PYTHONDONTWRITEBYTECODE", None)
                environ["PYTHONPATH"] = str(Path(__file__).parent.parent)
                print(json.dumps({**task, "environ": environ}), file=child.stdin, flush=True)
                answer = json.loads(child.stdout.readline())
                assert answer["code"] == 0, name
                if number:
                    took[name].append(answer["cpu"])
        child.stdin.close()
    return took


if __name__ == "__main__":
    main()
