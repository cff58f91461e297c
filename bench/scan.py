"""Times `llmdo scan` beside `llmdo check` on as many workers of ours: CPU time, in turns, the least counts.

python -m bench.scan [--agents 200] [--others 20000] [--rounds 9] [--project FOLDER]

Three folders are made: a workspace, which is checked without memory; a collection of agents of Claude Code; and the
same collection in a repository with many other files, as they lie in one, and a `.gitignore`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.foreign import agents, measured
from bench.generate import Shape, generate

MOST = 1.2
"""How many times the CPU time of the check a scan of the agents may take."""
MOST_AMONG_OTHERS = 1.5
"""How many times that of the check, where they lie among other files."""

SUFFIXES = (
    *(".py",) * 6, *(".ts",) * 5, *(".js",) * 3, *(".go",) * 2, *(".json",) * 2, *(".html",), *(".css",), *(".svg",),
    *(".txt",), *(".md",), *(".yaml",) * (1),
)  # fmt: skip
"""What the other files are called, in turns: of twenty-four two are of a kind that a format is looked for in."""
IN_A_FOLDER = 20
IGNORED = (
    "*.log",
    "*.pyc",
    "__pycache__/",
    "/dist/",
    "/build/",
    "node_modules/",
    ".env",
    "*.tmp",
    "coverage/",
    "/out",
)


def others(root: Path, number: int) -> None:
    """Writes files as they lie in a repository, twenty to a folder, four folders deep."""
    (root / ".gitignore").write_text("\n".join(IGNORED) + "\n", encoding="utf-8")
    for index in range(number):
        place = index // IN_A_FOLDER
        folder = root / "src" / f"part-{place % 10}" / f"area-{place // 10 % 10}" / f"unit-{place // 100}"
        if index % IN_A_FOLDER == 0:
            folder.mkdir(parents=True, exist_ok=True)
        suffix = SUFFIXES[index % len(SUFFIXES)]
        (folder / f"file-{index}{suffix}").write_text(f"name: the {index}th file\n" * 5, encoding="utf-8")


def main() -> None:
    """Prints what ran and the ratios; fails where one is too large."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--others", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--project", type=Path, help="a project instead of the generated agents")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        ours, theirs, among = (Path(name) / folder for folder in ("ours", "theirs", "among"))
        generate(ours, Shape(workers=chosen.agents))
        for root in (theirs, among):
            agents(root, chosen.agents)
        others(among, chosen.others)
        llmdo = [sys.executable, "-m", "llmdo"]
        scanned = (chosen.project or theirs).absolute()
        tasks = {
            f"llmdo check, {chosen.agents:,} workers, cold": {
                "words": [*llmdo, "check", "--no-cache"],
                "folder": str(ours),
            },
            f"llmdo scan, {chosen.project or f'{chosen.agents:,} agents'}": {
                "words": [*llmdo, "scan"],
                "folder": str(scanned),
            },
            f"the same and {chosen.others:,} other files": {"words": [*llmdo, "scan"], "folder": str(among)},
        }
        version = subprocess.run(
            [*llmdo, "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()
        print(
            f"{version}, Python {sys.version.split()[0]} on {os.cpu_count()} cores; the least of {chosen.rounds} rounds"
        )
        least = {task: min(times) for task, times in measured(tasks, chosen.rounds).items()}
    check, *scans = least.values()
    for task, time in least.items():
        print(f"{task}: {time:.1f} ms CPU")
    ratios = [time / check for time in scans]
    for ratio, most in zip(ratios, (MOST, MOST_AMONG_OTHERS), strict=True):
        print(f"ratio {ratio:.2f} (at most {most})")
    sys.exit(ratios[0] > MOST or ratios[1] > MOST_AMONG_OTHERS)


if __name__ == "__main__":
    main()
