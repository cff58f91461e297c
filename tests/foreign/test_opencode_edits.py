"""The edits of a hint about opencode, all made, leave no flow of which the hint says nothing."""

from __future__ import annotations

import json
import re
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from llmdo import foreign
from llmdo.foreign import advice
from llmdo.foreign.flows import worst_flows
from tests.foreign.test_opencode_hints import AGENT, SETTINGS, TABLE, WORDS
from tests.support.laws import tried

if TYPE_CHECKING:
    from llmdo.foreign.flows import Flow

    Files = dict[str, dict[str, Any]]

TABLES = st.one_of(TABLE, st.fixed_dictionaries({"permission": WORDS}))
AGENTS = st.one_of(AGENT, st.tuples(TABLES, st.sampled_from(["all", "subagent"])))
SERVERS = st.sets(st.sampled_from(["github", "notes"]), max_size=2)
AT = r" \((?P<path>[^():]+)(?::\d+:\d+)?\)"
CHANGE = re.compile(
    rf"(?P<text>(?:take|write) `[^;]*?)(?:{AT}| there as well)(?=;|, also from other agents|$)"
)
UNNAMED = re.compile(r"the same with|and \d+ more(?! lose)")
"""The parts of a hint that leave a change to whoever reads it."""
SECOND = re.compile(r"; `[^`]+` can then still send data: ")


def written(root: Path, files: Files) -> None:
    """Writes the files of a project, each key of a file of its own on one line."""
    for path, table in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        header = "".join(f"{key}: {json.dumps(value)}\n" for key, value in table.items())
        text = json.dumps(table, indent=1) if path == SETTINGS else f"---\n{header}---\nWork.\n"
        (root / path).write_text(text, encoding="utf-8")


def flow_of(files: Files) -> tuple[Flow | None, str]:
    """The worst flow of an agent, and its hint."""
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), files)
        project = foreign.read("opencode", Path(folder))
        flow = worst_flows(project).get("a0")
        return flow, (flow and advice.hint(project, flow)) or ""


def change(table: dict[str, Any], text: str) -> None:
    """Makes one change of a table with `permission`, `tools` and `mcp`."""
    if taken := re.match(r"take `([^`]+)` out of `(\w+)`", text):
        del table[taken[2]][taken[1]]
    line = re.search(r"write `(.*?)`(?= |$)", text)
    if line is None:
        return
    text_of = line[1] if line[1].startswith("{") else f"{{{line[1]}}}"
    key, value = next(iter(yaml.safe_load(text_of).items()))
    if key == "permission":
        assert not isinstance(table.get(key), dict), text
        table[key] = value
        return
    rules = table["tools" if value is False else "permission"]
    if value:  # of a switch the line is that of its place
        assert (key in rules) is ("in place of" in text), text
    if "at the end" in text:
        rules.pop(key, None)
    rules[key] = value


def edited(files: Files, hint: str) -> Files:
    """The files after all changes of a hint."""
    after = deepcopy(files)
    path = SETTINGS
    for each in CHANGE.finditer(hint):
        path = each["path"] or path
        change(after[path], each["text"])
    return after


@given(st.lists(AGENTS, min_size=1, max_size=3), TABLES, SERVERS)
@tried(40)
def test_the_edits_of_a_hint_leave_no_flow_that_it_does_not_name(
    agents: list[tuple[dict[str, dict[str, object]], str]],
    common: dict[str, dict[str, object]],
    servers: set[str],
) -> None:
    files: Files = {
        SETTINGS: {**common, "mcp": {each: {"type": "local", "command": [each]} for each in sorted(servers)}}
    }
    for number, (table, mode) in enumerate(agents):
        files[f".opencode/agent/a{number}.md"] = {"description": "x", "mode": mode, **table}
    flow, hint = flow_of(files)
    if flow is None or flow.guess or UNNAMED.search(hint):
        return
    first, *second = SECOND.split(hint)
    left, _ = flow_of(edited(files, first))
    if second or "milder flow stays" in hint:
        assert left is not None, hint
        assert left.guess is None, hint
        assert left.way > flow.way, hint
    else:
        assert left is None or left.guess, hint
        assert (left is not None) is bool(re.search("brings? words", hint)), hint
    if second:
        last, _ = flow_of(edited(files, hint))
        assert last is None or last.guess, hint
