"""Runs `llmdo check` the way an attacker's repository would meet it, and watches what it does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MANIFEST = """\
schema = 1
[workspace]
name = "w"
workers = ["**/*.worker"]
toolset-modules = ["**/*.py"]
model = "test"
"""
WORKER = "---\nname: {}\nentry: true\n---\nGo.\n"

WATCH = """
import json, sys

events = []

def note(event, arguments):
    if event == "open":
        events.append([event, str(arguments[0])])
    elif event == "import":
        events.append([event, str(arguments[0]) + " " + str(arguments[1])])
    elif event.partition(".")[0] in {"exec", "socket", "subprocess", "ctypes", "shutil"} or event in {
        "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.scandir", "os.listdir", "os.link",
        "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.mkdir", "os.chmod", "os.truncate",
    }:
        events.append([event, str(arguments[0]) if arguments else ""])

BEFORE
from llmdo.__main__ import main
sys.argv = ["llmdo", "check", *sys.argv[2:]]
sys.addaudithook(note)
try:
    code = main()
finally:
    seen = list(events)
    status = open("/proc/self/status").read() if sys.platform == "linux" else "VmHWM: 0"
    with open(sys.argv_report, "w") as file:
        json.dump({"events": seen, "peak": int(status.split("VmHWM:")[1].split()[0]) // 1024}, file)
sys.exit(code)
"""


@dataclass(frozen=True)
class Checked:
    """What one `llmdo check` did."""

    code: int
    out: str
    err: str
    peak: int
    """Of its resident memory, in MiB."""
    events: list[tuple[str, str]]
    """Audit events of the interpreter while it ran, each with its first argument."""

    @property
    def codes(self) -> set[str]:
        return {finding["code"] for finding in json.loads(self.out)["findings"]} if self.out else set()


def check(root: Path, report: Path, *words: str, before: str = "", seconds: float = 60) -> Checked:
    """Runs `llmdo check --format json` in a child; `before` is code that runs there first."""
    script = WATCH.replace("BEFORE", before).replace("sys.argv_report", repr(str(report)))
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, "-", "--format", "json", *words],
        cwd=root,
        capture_output=True,
        timeout=seconds,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(report.parent / "home"),
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    measured = json.loads(report.read_text(encoding="utf-8"))
    return Checked(
        code=done.returncode,
        out=done.stdout.decode(),
        err=done.stderr.decode(),
        peak=measured["peak"],
        events=[(event, argument) for event, argument in measured["events"]],
    )
