"""Times a call of `llmdo hook` beside `python -c pass`: CPU time of whole processes, which take turns.

python -m bench.hook [--rounds 30] [--agents 20]

The least of many rounds counts: it is what the call needs, and the rest is what else the machine did. The session has
some agents; the tables are in the cache, as after the first call, but for the row that says otherwise.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.check import BIN
from llmdo.services import locking
from llmdo.workspace import lock, project

AGENT = "---\nname: agent-{}\ndescription: Does one thing.\ntools: Read, Write, Edit, Bash, WebFetch\n---\nDo it.\n"
MANIFEST = """\
schema = 1

[workspace]
name = "bench"
from = ["claude"]

[approvals.rules]
"fs.write:docs/**" = "needs_approval"

[entries.agent-1]
may = ["fs.read", "fs.list", "fs.write", "net", "agent.delegate"]

[flows]
"data.untrusted -> proc.exec" = "blocked"
"""
PASS, MOST = "python -c pass", 3.0
CALLS = {
    "Read": {"file_path": "src/a.py"},
    "Write": {"file_path": "src/a.txt"},
    "Write that asks": {"file_path": "docs/a.txt"},
    "Bash": {"command": "make test"},
    "Bash that reads": {"command": "cat src/a.py"},
    "WebFetch": {"url": "https://example.com/"},
}
LATER = "Read, after a change of the project"


def _project(root: Path, agents: int) -> None:
    (root / ".claude/agents").mkdir(parents=True)
    for number in range(agents):
        (root / f".claude/agents/agent-{number}.md").write_text(AGENT.format(number))
    (root / "llmdo.toml").write_text(MANIFEST)
    lock.write(root, locking.derive(project.read(root)))


class Session:
    """A session of Claude Code in a project, as far as its hooks are concerned."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        path = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        self.environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", **path}

    def event(self, kind: str, **more: object) -> bytes:
        """An event in JSON."""
        return json.dumps(
            {"session_id": "bench", "cwd": str(self.root), "hook_event_name": kind, **more}
        ).encode()

    def cpu(self, words: list[str], event: bytes = b"") -> float:
        """The CPU time of a process in milliseconds."""
        child = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self.environ,
        )
        assert child.stdin
        child.stdin.write(event)
        child.stdin.close()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, words
        return (used.ru_utime + used.ru_stime) * 1000


def measured(root: Path, home: Path, rounds: int) -> dict[str, list[float]]:
    """The CPU times of each call, and of the yardstick, which take turns."""
    session = Session(root, home)
    hook = [str(BIN / "llmdo"), "hook", "claude"]
    session.cpu(hook, session.event("SessionStart", source="startup"))
    for number in range(3):
        call = {"tool_name": "Agent", "tool_input": {"subagent_type": f"agent-{number}"}}
        session.cpu(hook, session.event("PreToolUse", **call))
        who = {"agent_id": str(number), "agent_type": f"agent-{number}"}
        session.cpu(hook, session.event("PreToolUse", tool_name="Read", tool_input={"file_path": "a"}, **who))
    who = {"agent_id": "2", "agent_type": "agent-2"}
    used: dict[str, list[float]] = {PASS: [], **{name: [] for name in CALLS}, LATER: []}
    for number in range(rounds):
        used[PASS].append(session.cpu([sys.executable, "-c", "pass"]))
        for name, arguments in CALLS.items():
            call = {"tool_name": name.split(" ", maxsplit=1)[0], "tool_input": arguments}
            used[name].append(session.cpu(hook, session.event("PreToolUse", **call, **who)))
        if number % 10 == 0:
            (root / ".claude/settings.json").write_text(json.dumps({"model": str(number)}))
            call = {"tool_name": "Read", "tool_input": CALLS["Read"]}
            used[LATER].append(session.cpu(hook, session.event("PreToolUse", **call, **who)))
            session.cpu(hook, session.event("PreToolUse", **call, **who))
    return used


def main() -> None:
    """Measures, prints the table, and fails where a call costs more than it may."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--agents", type=int, default=20)
    chosen = parser.parse_args()
    compileall.compile_dir(str(Path(project.__file__).parents[1]), quiet=2)
    with tempfile.TemporaryDirectory() as name:
        root, home = Path(name) / "p", Path(name) / "home"
        home.mkdir()
        _project(root, chosen.agents)
        used = measured(root, home, chosen.rounds)
    least = {name: min(times) for name, times in used.items()}
    print(f"{'a call':40} {'CPU ms':>8} {'median':>8} {'ratio':>6}")
    for name, cpu in least.items():
        print(f"{name:40} {cpu:8.1f} {statistics.median(used[name]):8.1f} {cpu / least[PASS]:6.2f}")
    worst = max(least[name] / least[PASS] for name in CALLS)
    print(f"a call / {PASS}: {worst:.2f} (target {MOST})")
    sys.exit(worst > MOST)


if __name__ == "__main__":
    main()
