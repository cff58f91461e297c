"""Runs commands one at a time and tells what each took.

A process of its own, and a small one: the peak memory of a child counts what its parent held when it began. Reads
lines of JSON, `{"words": [...], "folder": "...", "environ": {...}}`, and answers each with a line.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Answers every line with CPU time in ms, peak memory in MB and the exit code."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for line in sys.stdin:
        task = json.loads(line)
        os.chdir(task["folder"])
        words = task["words"]
        streams = [(os.POSIX_SPAWN_DUP2, nothing, stream) for stream in (0, 1, 2)]
        child = os.posix_spawn(words[0], words, task["environ"], file_actions=streams)
        _, status, used = os.wait4(child, 0)
        scale = 1024 * 1024 if sys.platform == "darwin" else 1024
        answer = {
            "cpu": (used.ru_utime + used.ru_stime) * 1000,
            "memory": used.ru_maxrss / scale,
            "code": os.waitstatus_to_exitcode(status),
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
