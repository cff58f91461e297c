"""Runs clients at ordinary work that policies allow, and counts the calls that llmdo blocks all the same.

python -m bench.benign [codex|gemini|opencode ...] [--policies NAME ...] [--verbose]

A call is judged if the hook was asked about it. It is falsely blocked if llmdo did not allow it; else it is left to the
client, whatever came of it then. A call that the client refused by itself before it asked is not judged, and named.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING

from bench.benign import place
from bench.benign.playing import BEGIN, SESSION, Play
from bench.benign.policies import POLICIES
from bench.check import BIN
from bench.clients.__main__ import FOLDER, version_of
from bench.clients.opencode import environ_of
from llmdo.features.hook.rehearsal import chat
from llmdo.features.hook.rehearsal.model import listening, serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.benign.policies import Policy

CLIENTS = ("codex", "gemini", "opencode")
SECONDS = 900


@contextmanager
def _pages() -> Iterator[int]:
    """The port of a server whose pages all say the same."""

    class _Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>a page</title><p>words</p>")

        def log_message(self, *_: object) -> None:
            """Nothing: the counts are what is printed."""

    with listening(_Handler) as port:
        yield port


def _opencode(program: str, root: Path, home: Path, port: int) -> tuple[list[str], Mapping[str, str]]:
    environ = environ_of(home, port)
    settings = json.loads(environ["OPENCODE_CONFIG_CONTENT"])
    settings["snapshot"] = False  # of all files, before and after each call
    # A model of this name is shown `apply_patch` instead of `edit` and `write`.
    settings["provider"]["scripted"]["models"]["gpt-5-scripted"] = {"tool_call": True}
    environ["OPENCODE_CONFIG_CONTENT"] = json.dumps(settings)
    model = "scripted/gpt-5-scripted" if (root / "PATCHES").exists() else "scripted/scripted"
    return [
        program,
        "run",
        "--model",
        model,
        "--agent",
        place.SESSIONS["opencode"],
        f"{BEGIN} {SESSION}",
    ], environ


def _ripgrep() -> str:
    """The folder of the ripgrep that Codex brings: opencode would fetch one."""
    return next(
        (str(path.parent) for path in FOLDER.glob("codex/node_modules/@openai/*/vendor/*/*/rg")), "/usr/bin"
    )


def _work(client: str, policy: Policy, folder: Path, pages: int) -> Play:
    """What came of the deeds of a policy with a client."""
    root, home = folder / f"{client}-{policy.name}", folder / f"home-{client}-{policy.name}"
    home.mkdir()
    root.mkdir()
    place.write(root, client, policy)
    if policy.patches:
        (root / "PATCHES").touch()
    is_patching = client != "opencode" or policy.patches
    deeds = {
        who: tuple(deed for deed in mine if is_patching or deed.kind != "patch")
        for who, mine in {SESSION: policy.session, **policy.others}.items()
    }
    play = Play(client, root, home, deeds)
    play.port = pages
    program = FOLDER / client / importlib.import_module(f"bench.clients.{client}").PROGRAM
    if client == "opencode":
        start, wire = _opencode, chat
    else:
        player = importlib.import_module(f"llmdo.features.hook.rehearsal.{client}")
        start, wire = player.start, player.WIRE
    with serving(wire, play.answer) as port:
        words, variables = start(str(program), root, home, port)
        node = shutil.which("node") or "/usr/bin/node"
        words = [*([node] if program.suffix == ".js" else []), *words[:-1], f"{BEGIN} {SESSION}"]
        path = f"{BIN}:/usr/bin:/bin:{Path(node).parent}:{_ripgrep()}"
        own = {each: os.environ[each] for each in ("PYTHONPATH",) if each in os.environ}
        environ = {**variables, **own, "HOME": str(home), "PATH": path}
        output = (folder / f"{root.name}.log").open("w")
        with output:
            try:
                subprocess.run(
                    words, cwd=root, env=environ, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                print(f"{root.name} was ended after {SECONDS} s")
    play.keep_records()
    return play


def _show(play: Play, policy: Policy, count: Counter[str], *, verbose: bool) -> None:
    for attempt in play.attempts.values():
        outcome = attempt.outcome
        count[outcome] += 1
        count[f"{outcome}, {attempt.deed.kind}"] += 1
        if outcome != "allowed":
            reason = " / ".join(each["reasons"][0] for each in attempt.records if each["reasons"])
            print(
                f"  {outcome}: {play.client}, {policy.name}, {attempt.who}: {attempt.tool}"
                f" {json.dumps(attempt.arguments, ensure_ascii=False)[:150]}: {reason or (attempt.result or '')[:200]}"
                f" (allowed, as {attempt.deed.why})"
            )
        elif verbose:
            print(f"  {attempt.who} {attempt.tool} {attempt.arguments}: {(attempt.result or '')[:100]!r}")
    wanted = sum(map(len, play.deeds.values()))
    if len(play.attempts) < wanted:
        missing = [f"{who}: {len(mine)}" for who, mine in play.deeds.items()]
        print(f"  {play.client}, {policy.name}: {wanted - len(play.attempts)} never came ({missing})")
        count["never came"] += wanted - len(play.attempts)


def main() -> None:
    """Prints what came of all calls; fails where one was falsely blocked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clients", nargs="*", default=CLIENTS)
    parser.add_argument("--policies", nargs="+", default=[policy.name for policy in POLICIES])
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--kept", type=Path, help="a folder in which the projects are kept")
    chosen = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="llmdo-benign-", dir="/var/tmp") as temporary, _pages() as pages:
        folder = chosen.kept or Path(temporary)
        for client in chosen.clients:
            count: Counter[str] = Counter()
            for policy in POLICIES:
                if policy.name in chosen.policies and client in policy.clients:
                    _show(_work(client, policy, folder, pages), policy, count, verbose=chosen.verbose)
            total += count
            version = version_of(importlib.import_module(f"bench.clients.{client}"))
            print(
                f"{client} {version}: "
                + ", ".join(f"{n} {what}" for what, n in count.items() if "," not in what)
            )
    print("all: " + ", ".join(f"{n} {what}" for what, n in total.items() if "," not in what))
    print("by kind: " + ", ".join(f"{n} {what}" for what, n in sorted(total.items()) if "," in what))
    sys.exit(any(what.startswith("falsely") for what in total))


if __name__ == "__main__":
    main()
