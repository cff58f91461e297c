"""Agents that work at the same time, and kills: neither loses what another one noted, nor lets anything through."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from llmdo.features.hook.session import SessionFile
from llmdo.journal import audit
from tests.features.hook.sessions import Session, write
from tests.support.laws import share

AGENTS = 6
CALLS = 4
MANIFEST = """\
[entries.agent0]
may = ["fs.read", "agent.delegate"]

[flows]
"data.untrusted -> proc.exec" = "blocked"
"""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    root = write(tmp_path / "shop", MANIFEST, **{f"agent{number}": "" for number in range(AGENTS)})
    session = Session(root, tmp_path)
    session.start()
    return session


def records(session: Session) -> audit.Audit:
    [path] = (session.home / ".local/state/llmdo/hook").glob("*.jsonl")
    return audit.read(path.read_text().splitlines())


def test_agents_at_the_same_time_each_have_their_own_ceiling_and_labels(session: Session) -> None:
    for number in range(AGENTS):
        session.call("Agent", subagent_type=f"agent{number}")
    events: list[bytes] = []
    for number in range(AGENTS):
        for _ in range(CALLS):
            events.append(session.calling("Bash", f"agent{number}", command="make"))
            if number % 2:
                events.append(session.calling("Read", f"agent{number}", file_path="a.txt"))
    random.Random(1).shuffle(events)
    children = [session.process() for _ in events]
    for child, event in zip(children, events, strict=True):
        assert child.stdin
        child.stdin.write(event)
        child.stdin.close()
    answers = []
    for child, event in zip(children, events, strict=True):
        assert child.stdout
        with child:
            answers.append((json.loads(event), child.stdout.read()))
        assert child.returncode == 0
    for event, answer in answers:
        is_denied = event["agent_type"] == "agent0"
        assert bool(answer) == is_denied, (event, answer)
    read = records(session)
    assert [fault for fault in read.faults if not fault.is_end] == []
    assert len(read.records) == AGENTS + len(events)
    assert {str(record["path"]).split("/")[1] for record in read.records[AGENTS:]} == {
        f"agent{n}" for n in range(AGENTS)
    }


def test_a_kill_at_any_moment_leaves_a_state_that_goes_on(session: Session) -> None:
    session.call("Agent", subagent_type="agent0")
    session.call("WebFetch", url="https://example.com/")
    chance = random.Random(2)
    for _ in range(share(40)):
        child = session.process()
        assert child.stdin
        child.stdin.write(session.calling("Read", "agent0", file_path=f"{chance.random()}.txt"))
        child.stdin.close()
        with suppress(TimeoutExpired):
            child.wait(chance.random() * 0.03)
        child.kill()
        with child:
            pass
        with SessionFile("claude", session.name, session.environ) as file:
            state = file.read()
        assert state.contexts[""].labels == {"data.untrusted"}
    assert session.call("Bash", command="make") == "blocked"
    assert session.call("Bash", "agent0", command="make") == "blocked"
    assert [fault for fault in records(session).faults if not fault.is_end] == []
