"""What the preset `rule-of-two` costs people: the examples ask no more where their inputs are strangers' words."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.support.commands import llmdo
from tests.support.examples import copied

INPUTS = {
    "approvals_demo": ["letters"],
    "calculator": [],
    "chat": [],
    "code_analyzer": ["project"],
    "code_entry": ["input"],
    "confused_deputy": ["issues"],
    "file_organizer": ["inbox"],
    "greeter": [],
    "mcp_notes": ["notes"],
    "pitchdeck": ["input"],
    "recursive_task_decomposer": [],
    "service": [],
    "stabilized": ["input"],
    "whiteboard_planner": ["boards", "notes"],
}
"""The folders of each example that strangers may have written."""


def asked(root: Path) -> int:
    """How often a person is asked in one run of each entry that has an input, who always says yes."""
    entries = tomllib.loads((root / "llmdo.toml").read_text(encoding="utf-8"))["entries"]
    questions = 0
    for name, entry in entries.items():
        if "input" in entry:
            log = root / f"{name}.jsonl"
            done = llmdo(root, "run", name, "--approve-all", "--log-events", str(log))
            assert "Traceback" not in done.stderr
            events = map(json.loads, log.read_text(encoding="utf-8").splitlines())
            questions += sum(event["event"] == "asked" for event in events)
    return questions


@pytest.mark.long
@pytest.mark.parametrize("name", INPUTS)
def test_an_example_asks_nothing_new_under_the_rule_of_two(name: str, tmp_path: Path) -> None:
    plain, ruled = copied(name, tmp_path / "plain"), copied(name, tmp_path / "ruled")
    sources = "".join(f'"fs.read:{folder}/**" = "data.untrusted"\n' for folder in INPUTS[name])
    with (ruled / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(f'\n[flows]\npreset = "rule-of-two"\n\n[sources]\n{sources}')
    assert llmdo(ruled, "lock").returncode == 0
    assert asked(ruled) == asked(plain)
