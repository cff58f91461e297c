"""What judging costs beside the runs that are judged: `python -m bench.evaluation`.

The eval of the example `pitchdeck`, 12 decks, with two models (its script of rules, named twice), five times each,
eight at a time: the CPU of `llmdo eval` to that of `llmdo batch` with the same runs, a batch for each model.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "pitchdeck"
MODELS = ("python:models.py:rules", "pitch_evaluator=python:models.py:rules")
REPEAT, JOBS = 5, 8
COPIES = "evals/decks/copies"


def cpu_of(root: Path, *words: str) -> float:
    """The seconds of CPU of a command."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "llmdo", *words], cwd=root, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def prepare(folder: Path) -> Path:
    """The example, with five copies of each deck for the batches."""
    root = folder / EXAMPLE.name
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns(".llmdo", "reports", "__pycache__"))
    decks = [*(root / "input").iterdir(), *(root / "evals/decks").iterdir()]
    (root / COPIES).mkdir()
    for deck in decks:
        for number in range(REPEAT):
            shutil.copyfile(deck, root / COPIES / f"{number}-{deck.name}")
    return root


def in_batches(root: Path) -> float:
    """The CPU of the runs alone."""
    words = ("--inputs", f"{COPIES}/*", "--input", "Evaluate the pitch deck {path}.", "--jobs", str(JOBS))
    return sum(cpu_of(root, "batch", "deck", *words, "--model", model) for model in MODELS)


def evaluated(root: Path) -> float:
    """The CPU of the same runs, judged."""
    models = [word for model in MODELS for word in ("--model", model)]
    return cpu_of(root, "eval", "decks", *models, "--repeat", str(REPEAT), "--jobs", str(JOBS))


def main() -> None:
    """Prints what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        root = prepare(Path(folder))
        pairs = [(in_batches(root), evaluated(root)) for _ in range(rounds)]
    runs = len(MODELS) * REPEAT * 12
    batch, judged = (min(each) for each in zip(*pairs, strict=True))
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, the best of {rounds} rounds, CPU seconds"
    )
    print(f"{runs} runs in batches {batch:.2f}, evaluated {judged:.2f}: {judged / batch:.2f} x (at most 1.1)")


if __name__ == "__main__":
    main()
