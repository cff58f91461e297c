"""Whether the hooks of a client do what they are for: its settings, the project, and the client itself at work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.nearest import MANIFEST
from llmdo.base.values import dataclass, field
from llmdo.features.hook import compiling, install
from llmdo.features.hook.rehearsal.model import serving
from llmdo.features.hook.rehearsal.script import AGENT, OPEN, SESSION, SHUT
from llmdo.services import locking
from llmdo.workspace import lock
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    from llmdo.features.hook.events import Client

SECONDS = 120
"""How long a client may take for a rehearsal."""
REHEARSED = ("codex", "copilot", "gemini", "opencode")
"""The clients that are started: others have terms of their own, or ask for an account."""
_POLICY = f'schema = 1\n\n[approvals.rules]\n"fs.read:{SHUT}" = "blocked"\n'
_KILLED = "#!/bin/sh\nkill -9 $$\n"


@dataclass(frozen=True, slots=True)
class Symptom:
    """A fact about the hooks of a client."""

    is_fine: bool | None
    """None where it is neither fine nor wrong, but to be known."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What came of a client's work under a scripted model."""

    results: Mapping[str, str]
    """By who made a call, and the file that it was to read, the words that came back."""
    decided: frozenset[str] = field(default_factory=frozenset)
    """The call paths that llmdo decided about."""


def symptoms(root: Path, name: str, environ: Mapping[str, str]) -> Iterator[Symptom]:
    """All that is known about the hooks of a client in the project at `root`, the client's own conduct last."""
    client: Client = import_module(f"llmdo.features.hook.clients.{name}")
    has_hooks = install.is_installed(root, name)
    yield Symptom(
        has_hooks,
        f"`{client.SETTINGS}` has the hooks"
        if has_hooks
        else f"`{client.SETTINGS}` lacks the hooks: run `llmdo hook install {name}`",
    )
    program = shutil.which("llmdo", path=environ.get("PATH"))
    yield Symptom(
        program is not None,
        f"the hooks start `{program}`" if program else "`llmdo` is not on the PATH: every call is denied",
    )
    tables = compiling.compiled(str(root), client, environ)
    yield Symptom(not tables.fault, tables.fault or f"{len(tables.agents)} agents can be decided about")
    if tables.stale:
        yield Symptom(None, f"the lock is out of date: {tables.stale}")
    yield Symptom(None, f"{client.PRODUCT}: {client.FAILING}")
    yield Symptom(None, f"{client.PRODUCT}: {client.TRUSTING}")
    if has_hooks and program and not tables.fault:
        yield from _rehearsed(root, name, client, environ)


def _rehearsed(root: Path, name: str, client: Client, environ: Mapping[str, str]) -> Iterator[Symptom]:
    if name not in REHEARSED:
        yield Symptom(None, f"llmdo does not start {client.PRODUCT}: nothing is proved of its hooks")
        return
    player = import_module(f"llmdo.features.hook.rehearsal.{name}")
    program = shutil.which(player.PROGRAM, path=environ.get("PATH"))
    if program is None:
        message = f"`{player.PROGRAM}` is not on the PATH, so nothing is proved of its hooks"
        yield Symptom(is_fine=False, text=message)
        return
    whole = rehearse(root, client, player, program, environ)
    for who, path in ((SESSION, client.MAIN), (AGENT, f"{client.MAIN}/{AGENT}")):
        yield from _conduct(whole, who, path, identifies=client.IDENTIFIES)
    killed = rehearse(root, client, player, program, environ, is_killed=True)
    came = killed.results.get(f"{SESSION}/{OPEN}", "")
    is_stopped = player.STOPPED in came
    yield Symptom(
        is_stopped,
        "a hook that is killed stops the call"
        if is_stopped
        else "a hook that is killed lets the call through",
    )


def _conduct(seen: Rehearsal, who: str, path: str, *, identifies: bool) -> Iterator[Symptom]:
    """What came of the calls of the session, or of the agent."""
    name = "the session" if who == SESSION else "an agent that it starts"
    results = {key: seen.results.get(f"{who}/{key}") for key in (OPEN, SHUT)}
    if results[SHUT] is None:
        yield Symptom(is_fine=False, text=f"{name} made no call, so nothing is proved of it")
        return
    is_denied = "denied by llmdo" in str(results[SHUT])
    fired = any(each.rpartition("/")[0] == path for each in seen.decided) if identifies else is_denied
    yield Symptom(is_fine=fired, text=f"{name}: hooks fire" if fired else f"{name}: hooks do not fire")
    yield Symptom(
        is_denied,
        f"{name}: a call that is denied is stopped, and the model reads why"
        if is_denied
        else f"{name}: a call that is denied goes on",
    )


def rehearse(
    root: Path,
    client: Client,
    player: ModuleType,
    program: str,
    environ: Mapping[str, str],
    *,
    is_killed: bool = False,
) -> Rehearsal:
    """The work of a client in a copy of the project; with `is_killed`, its hooks are killed as they begin."""
    # Some clients do not find their own sandbox in /tmp.
    above = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None  # noqa: S108
    with tempfile.TemporaryDirectory(prefix="llmdo-hook-", dir=above) as name:
        folder = Path(name).resolve()
        project, home = folder / "project", folder / "home"
        home.mkdir()
        _copy(root, project, client.SETTINGS, player)
        (home / ".config/llmdo").mkdir(parents=True)
        (home / ".config/llmdo/policy.toml").write_text(_POLICY)
        path = environ.get("PATH", os.defpath)
        if is_killed:
            (folder / "bin").mkdir()
            (folder / "bin/llmdo").write_text(_KILLED)
            (folder / "bin/llmdo").chmod(0o755)
            path = f"{folder / 'bin'}{os.pathsep}{path}"
        script = player.script()
        with serving(player.WIRE, script.answer) as port:
            words, variables = player.start(program, project, home, port)
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    words,
                    cwd=project,
                    env={**variables, "HOME": str(home), "PATH": path},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=SECONDS,
                    check=False,
                )
        return Rehearsal(results=dict(script.results), decided=frozenset(_decided(home)))


def _copy(root: Path, project: Path, settings: str, player: ModuleType) -> None:
    """Copies what the client and llmdo read of a project, and adds the agent of the rehearsal."""
    graph = projects.read(root).graph
    for path in (MANIFEST, settings, *graph.adopted, *(policy.name for policy in graph.policies)):
        if (root / path).is_file():
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / path, project / path)
    for path in (OPEN, SHUT):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("x\n")
    player.agent(project)
    lock.write(project, locking.derive(projects.read(project)))


def _decided(home: Path) -> Iterator[str]:
    for path in (home / ".local/state/llmdo/hook").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            yield str(json.loads(line).get("path"))
