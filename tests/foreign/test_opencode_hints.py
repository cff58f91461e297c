"""Where one line of the files of opencode ends every flow of an agent, the hint of its flow names such a line."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from llmdo import foreign
from llmdo.foreign import advice
from llmdo.foreign.flows import worst_flows
from tests.support.laws import tried

if TYPE_CHECKING:
    from llmdo.foreign.flows import Flow

    Tables = dict[str, dict[str, dict[str, object]]]

SETTINGS = "opencode.json"
WORDS = st.sampled_from(["allow", "ask", "deny"])
TOOLS = ("bash", "task", "webfetch", "websearch")
RULES = st.dictionaries(st.sampled_from(["*", "edit", "read", *TOOLS]), WORDS, max_size=4)
SWITCHES = st.dictionaries(st.sampled_from(["*", "bash", "webfetch", "write"]), st.booleans(), max_size=2)
TABLE = st.fixed_dictionaries({}, optional={"permission": RULES, "tools": SWITCHES})
AGENT = st.tuples(TABLE, st.sampled_from(["all", "primary", "subagent"]))
EDIT = re.compile(
    r'(?P<moved>take `\w+` out of `tools`, and )?write `\{?"?(?:permission"?: \{")?(?P<tool>\w+)"?: (?P<word>"\w+"|false)\}*` '
    r"(?:into `opencode\.json`|under `permission`|at the end of `(?:permission|tools)`(?:, in place of `\w+`)?|in place of `\w+`|"
    r"or the like in place of `\w+`|)\s?"
    r"\((?P<path>[^:)]+)(?::\d+:\d+)?\); [^;]+(?:; .*)?"
)


def sure_flow(tables: Tables, modes: dict[str, str], name: str) -> tuple[Flow | None, str]:
    """The flow of an agent that LDO552 is about, and its hint."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / ".opencode/agent").mkdir(parents=True)
        for path, table in tables.items():
            header = "".join(f"{key}: {json.dumps(value)}\n" for key, value in table.items())
            text = f"---\ndescription: x\nmode: {modes.get(path)}\n{header}---\nWork.\n"
            (root / path).write_text(
                json.dumps(table, indent=1) if path == SETTINGS else text, encoding="utf-8"
            )
        project = foreign.read("opencode", root)
        flow = worst_flows(project).get(name)
        sure = flow if flow and flow.guess is None else None
        return sure, (sure and advice.hint(project, sure)) or ""


def edited(tables: Tables, path: str, tool: str, word: str) -> Tables:
    """The tables after an edit of one line."""
    key, value = ("tools", False) if word == "false" else ("permission", word.strip('"'))
    table = tables.get(path, {})
    others = {name: word for name, word in table.get(key, {}).items() if name != tool}
    return {
        **tables,
        path: {**table, key: {**others, tool: value}},
    }  # below the others, as the last one counts


def without_switch(tables: Tables, path: str, tool: str) -> Tables:
    """The tables after a tool is taken out of `tools` of one file."""
    switches = {name: value for name, value in tables[path]["tools"].items() if name != tool}
    return {**tables, path: {**tables[path], "tools": switches}}


@given(st.lists(AGENT, min_size=1, max_size=3), TABLE)
@tried(60)
def test_no_other_line_ends_more_than_that_of_the_hint(
    agents: list[tuple[dict[str, dict[str, object]], str]], common: dict[str, dict[str, object]]
) -> None:
    paths = [f".opencode/agent/a{number}.md" for number in range(len(agents))]
    modes = {path: mode for path, (_, mode) in zip(paths, agents, strict=True)}
    tables: Tables = {
        SETTINGS: common,
        **{path: table for path, (table, _) in zip(paths, agents, strict=True)},
    }
    flow, hint = sure_flow(tables, modes, "a0")
    edit = EDIT.fullmatch(hint)
    if flow is None or edit is None:  # of several lines, none of which ends it alone, it names each
        ends = not flow
    else:
        before = without_switch(tables, edit["path"], edit["tool"]) if edit["moved"] else tables
        ends = sure_flow(edited(before, edit["path"], edit["tool"], edit["word"]), modes, "a0")[0] is None
    if not ends:
        others = [(path, tool) for path in tables for tool in TOOLS]
        ending = [each for each in others if sure_flow(edited(tables, *each, "deny"), modes, "a0")[0] is None]
        assert not ending, hint
