"""Measures from a key to what an editor shows: the CPU time of a reading with its checks, and of a whole server.

python -m bench.editor [--workers 1000] [--rounds 15]

A key is typed into one worker of the workspace of `bench.generate`: into its prompt, into its description, and into the
list of those to whom it delegates, each of which makes the lock out of date.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.client import LanguageClient

from bench.generate import Shape, generate
from llmdo.features.editor.server import Session

EDITED = "workers/worker_00007.worker"
HERTZ = os.sysconf("SC_CLK_TCK")


def typed(text: str, kind: str, number: int) -> str:
    """The text of a worker after a key."""
    match kind:
        case "a comment":
            return text.replace("---\n", f"---\n# {number}\n", 1)
        case "the prompt":
            return f"{text}{number}\n"
        case "its description":
            return text.replace("description: ", f"description: {'x' * (number + 1)}", 1)
    return text.replace("toolsets:\n", f"toolsets:\n  worker_{900 + number:05}: {{}}\n", 1)


KINDS = ("a comment", "the prompt", "its description", "a delegate")


def in_process(root: Path, kind: str, rounds: int) -> float:
    """The median CPU time from a key to findings, in milliseconds."""
    session = Session(root)
    text = (root / EDITED).read_text(encoding="utf-8")
    session.reading()
    session.edit(EDITED, typed(text, kind, rounds))
    session.reading()
    taken = []
    for number in range(rounds):
        session.edit(EDITED, typed(text, kind, number))
        start = time.process_time()
        session.reading()
        taken.append(1_000 * (time.process_time() - start))
    return statistics.median(taken)


def children() -> list[int]:
    """The processes that this one has started and that go on."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in listed.split()]


def used(pid: int) -> float:
    """The CPU time of a process so far, in milliseconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return 1_000 * (int(fields[11]) + int(fields[12])) / HERTZ


async def served(root: Path, rounds: int) -> float:
    """The mean CPU time of the server from a key to the notification about it, in milliseconds."""
    client = LanguageClient("bench", "1")
    shown: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda sent: shown.put_nowait(sent))
    await client.start_io(sys.executable, "-m", "llmdo", "lsp")
    folder = types.WorkspaceFolder(uris.from_fs_path(str(root)) or "", "w")
    parameters = types.InitializeParams(types.ClientCapabilities(), workspace_folders=[folder])
    await client.initialize_async(parameters)
    client.initialized(types.InitializedParams())
    text = (root / EDITED).read_text(encoding="utf-8")
    uri = uris.from_fs_path(str(root / EDITED)) or ""
    item = types.TextDocumentItem(uri, "yaml", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    (pid,) = children()
    start = 0.0
    for number in range(2 * rounds + 4):
        if number == 4:
            start = used(pid)
        wrong = text.replace("toolsets:\n", f"toolsets:\n  nobody_{number}: {{}}\n", 1)
        named = types.VersionedTextDocumentIdentifier(number + 2, uri)
        changes = [types.TextDocumentContentChangeWholeDocument(wrong)]
        client.text_document_did_change(types.DidChangeTextDocumentParams(named, changes))
        await shown.get()
    taken = (used(pid) - start) / (2 * rounds)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return taken


def floor() -> float:
    """The CPU time of `python -c pass`, in milliseconds."""
    taken = []
    for _ in range(9):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(1_000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return statistics.median(taken)


def main() -> None:
    """Generates the workspace, measures, and prints a line for each key."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "w"
        root.mkdir()
        generate(root, Shape(workers=chosen.workers))
        base = floor()
        print(
            f"{chosen.workers:,} workers; python -c pass {base:.1f} ms CPU; from a key to diagnostics, CPU ms:"
        )
        for kind in KINDS:
            taken = in_process(root, kind, chosen.rounds)
            print(f"{kind:20} {taken:7.1f}  {taken / base:5.1f} x python -c pass")
        taken = asyncio.run(served(root, chosen.rounds))
        print(f"{'a name, as a server':20} {taken:7.1f}  {taken / base:5.1f} x python -c pass (target 50 ms)")


if __name__ == "__main__":
    main()
