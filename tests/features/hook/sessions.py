"""Sessions of clients as tests have them: events as the client writes them, answered by `llmdo hook`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from subprocess import PIPE, Popen

from llmdo.features.hook.access import UnknownToolError
from llmdo.features.hook.deciding import HookAnswer
from llmdo.features.hook.events import UnreadableEventError
from llmdo.features.hook.quick import answer_to, event_in
from llmdo.features.hook.session import NoSessionError, UnknownCallerError
from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.support import forking

REFUSALS = (UnknownToolError, UnreadableEventError, NoSessionError, UnknownCallerError)
AGENT = "---\nname: {name}\ndescription: Does.\n{tools}---\nDo it.\n"
MANIFEST = 'schema = 1\n\n[workspace]\nname = "shop"\nfrom = ["claude"]\n\n'

COPILOT_WORDS = {
    "session_id": "sessionId",
    "hook_event_name": "",
    "tool_name": "toolName",
    "tool_input": "toolArgs",
}
"""The names of Copilot CLI for parts of an event; it does not say which event it is."""


def relock(root: Path) -> None:
    """Writes the lock of a project."""
    lock.write(root, locking.derive(project.read(root)))


def write(root: Path, manifest: str = "", **agents: str) -> Path:
    """A project of Claude Code with these agents, each with its `tools`, and a manifest that adopts it."""
    (root / ".claude/agents").mkdir(parents=True, exist_ok=True)
    for name, tools in agents.items():
        text = AGENT.format(name=name, tools=f"tools: {tools}\n" if tools else "")
        (root / f".claude/agents/{name}.md").write_text(text)
    (root / "llmdo.toml").write_text(f"{MANIFEST}{manifest}")
    relock(root)
    return root


@dataclass
class Session:
    """One session of Claude Code in a project."""

    root: Path
    home: Path
    name: str = "11111111-aaaa"
    client: str = "claude"
    before: str = "PreToolUse"
    begins: str = "SessionStart"
    main: str | None = None
    """The agent that events of the session itself name, in a client that does that."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Its own names for parts of an event; empty for what it does not say."""
    environ: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        path = {name: text for name, text in os.environ.items() if name == "PYTHONPATH"}
        self.environ = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", **path}

    @property
    def journal(self) -> Path:
        """The file with the record of its decisions."""
        return self.home / f".local/state/llmdo/hook/{self.client}-{self.name}.jsonl"

    def event(self, kind: str, **more: object) -> bytes:
        """An event in JSON."""
        base = {"session_id": self.name, "cwd": str(self.root), "hook_event_name": kind}
        return json.dumps(self.own({**base, **more})).encode()

    def own(self, parts: Mapping[str, object]) -> dict[str, object]:
        """Parts of an event under the client's own names."""
        named = {self.words.get(name, name): value for name, value in parts.items()}
        return {name: value for name, value in named.items() if name}

    def start(self, source: str = "startup", **more: object) -> None:
        """The start of the session."""
        self.answer(self.event(self.begins, source=source, **more))

    def call(
        self, tool: str, agent: str | None = None, number: str | None = None, /, **arguments: object
    ) -> str:
        """The decision on a call; by an agent, which has an id of its own for each number."""
        return self.answer(self.calling(tool, agent, number, **arguments)).decision

    def calling(
        self, tool: str, agent: str | None = None, number: str | None = None, /, **arguments: object
    ) -> bytes:
        """The event of a call."""
        who = {} if self.main is None else {"agent_type": self.main}
        who = who if agent is None else {"agent_type": agent, "agent_id": f"{agent}-{number or 1}"}
        return self.event(self.before, tool_name=tool, tool_input=arguments, **who)

    def answer(self, event: bytes) -> HookAnswer:
        """The answer to an event; what nothing is known about is blocked."""
        client = import_module(f"llmdo.features.hook.clients.{self.client}")
        try:
            return answer_to(client, event_in(client, event), self.environ)
        except REFUSALS as error:
            return HookAnswer(decision="blocked", reason=str(error))

    def process(self, *options: str, **environ: str) -> Popen[bytes]:
        """A process of `llmdo hook` that waits for its event."""
        return forking.Popen(
            [sys.executable, "-P", "-m", "llmdo", "hook", self.client, *options],
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={**self.environ, **environ},
            cwd=self.home,
        )

    def printed(self, event: bytes, *options: str, **environ: str) -> tuple[int, str]:
        """What such a process makes of an event: its exit code, and its output or what it says instead."""
        with self.process(*options, **environ) as child:
            output, error = child.communicate(event)
        return child.returncode, (output or error).decode()
