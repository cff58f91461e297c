"""What an open page costs a run: CPU of the run's own process with `--page`, somebody watching, and without."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlsplit

from bench.journal import write_workspace

PROGRAM = """\
import os, resource, sys
from llmdo.__main__ import main
code = main()
used = resource.getrusage(resource.RUSAGE_SELF)
with open(os.environ["CPU_TO"], "w") as file:
    file.write(str(used.ru_utime + used.ru_stime))
raise SystemExit(code)
"""

LINK = re.compile(r"(http://\S+)/#token=([\w-]+)&at=/run/(\S+)")


def cpu_of(root: Path, *words: str) -> tuple[float, int]:
    """The seconds of CPU of a run's own process, and how many events whoever watched it saw."""
    cpu_file = root / "cpu"
    environ = {**os.environ, "CPU_TO": str(cpu_file), "DISPLAY": "", "BROWSER": ""}
    seen: list[int] = []
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "run", *words],
        cwd=root,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if match := LINK.search(line):
                threading.Thread(target=watch, args=(*match.groups(), seen), daemon=True).start()
        if process.wait():
            raise SystemExit("the run failed")
    return float(cpu_file.read_text(encoding="utf-8")), sum(seen)


def watch(address: str, token: str, run: str, seen: list[int]) -> None:
    """Follows a run as a window of the page does."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    connection.request("GET", f"/api/run/watch?run={run}", headers={"Authorization": f"Bearer {token}"})
    lines = connection.getresponse()
    seen.extend(len(json.loads(line)["events"]) for line in lines if line.strip())


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, options.steps)
        pairs = []
        for number in range(options.rounds):
            orders = [("--page",), ()]
            pairs.append({words: cpu_of(root, *words) for words in (orders if number % 2 else orders[::-1])})
    shown, alone = (sum(pair[words][0] for pair in pairs) for words in (("--page",), ()))
    figures = {
        "steps": options.steps,
        "rounds": options.rounds,
        "events_seen": [pair["--page",][1] for pair in pairs],
        "cpu_with_s": round(shown, 3),
        "cpu_without_s": round(alone, 3),
        "ratio": round(shown / alone, 3),
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
