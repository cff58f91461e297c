"""A call is decided as reach says of it: the law that holds them together, over made-up projects."""

from __future__ import annotations

import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from llmdo.policy.authority import STRICTNESS, Capability, strictest
from llmdo.policy.vocabulary import Decision
from llmdo.reach import Analysis
from llmdo.reach.rows import Row
from llmdo.workspace import project
from tests.features.hook.sessions import Session, write
from tests.support.laws import tried
from tests.support.waiting import aged

TOOLS = ("Read", "Grep", "Glob", "Write", "Edit", "Bash", "WebFetch", "WebSearch", "mcp__github", "Agent")
PERMISSIONS = (*TOOLS, "Bash(git log:*)", "Write(docs/**)", "Edit(docs/**)", "Read(docs/**)")
RULES = (
    "fs.read", "fs.write", "fs.write:docs/**", "fs.read:docs/**", "fs.list", "net", "net.search", "proc.exec",
    "proc.exec.unlisted", "mcp.call", "fs", "fs.write.protected",
)  # fmt: skip
DECISIONS = ("allowed", "needs_approval", "blocked")
MODES = (None, "acceptEdits", "bypassPermissions", "default", "dontAsk", "plan")

settings = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(MODES),
        "allow": st.lists(st.sampled_from(PERMISSIONS), max_size=3, unique=True),
        "ask": st.lists(st.sampled_from(PERMISSIONS), max_size=2, unique=True),
        "deny": st.lists(st.sampled_from(PERMISSIONS), max_size=1, unique=True),
    }
)
tools = st.none() | st.lists(st.sampled_from(TOOLS), min_size=1, max_size=4, unique=True)
rules = st.dictionaries(st.sampled_from(RULES), st.sampled_from(DECISIONS), max_size=3)
ceiling = st.none() | st.lists(st.sampled_from(RULES), max_size=4, unique=True)


def probe(row: Row, *, is_listed: bool) -> tuple[str, dict[str, object]] | None:
    """A call of the tool of a row that raises what the row is about, and nothing beside it that another row tells."""
    capability, tool = row.capability, row.tool
    path = (capability.scope or "x").replace("**", "a")
    path = f"{path}.txt"
    if capability.name == "fs.write.protected":
        path = ".claude/x"
    match tool:
        case "Read" | "Write" | "Edit":
            return tool, {"file_path": path}
        case "WebFetch":
            return tool, {"url": "https://example.com/"}
        case "WebSearch":
            return tool, {"query": "x"}
        case "Bash" if capability.name == "proc.exec.unlisted":
            return tool, {"command": "make"}
        case "Bash" if capability.name == "proc.exec" and is_listed:
            return tool, {"command": "git log -3"}
        case _ if tool.startswith("mcp__"):
            return f"{tool}__get", {}
    return None


CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("Read", {"file_path": "docs/a"}), ("Write", {"file_path": "a"}), ("Edit", {"file_path": "docs/a"}),
    ("Write", {"file_path": ".claude/x"}), ("Grep", {"pattern": "x"}), ("Glob", {"pattern": "*"}),
    ("WebFetch", {"url": "https://example.com/"}), ("WebSearch", {"query": "x"}), ("mcp__github__get", {}),
    ("Bash", {"command": "make"}), ("Bash", {"command": "git log -3"}),
)  # fmt: skip


def chain_of(row: Row) -> list[str] | None:
    """The agents on the way to a row, if none is called again, and nobody is asked about their calls."""
    chain = [hop.name for hop in row.path[:-1] if not hop.name.startswith("every agent")]
    if len({*chain}) < len(chain) or any(hop.decision != "allowed" for hop in row.path[:-1]):
        return None
    return chain


def expected(raised: list[str], row: Row, rows: tuple[Row, ...]) -> Decision:
    """What reach says of a call on the path of a row that raises these: the narrowest row about each of them."""
    decisions: list[Decision] = []
    for capability in map(Capability.parse, raised):
        about = [each for each in rows if each.path == row.path and each.capability.contains(capability)]
        about.sort(
            key=lambda each: (len(each.capability.name), each.capability.scope is not None), reverse=True
        )
        decisions += [each.decision for each in about[:1]]
    return strictest(decisions)


def mildest(raised: Capability, rows: tuple[Row, ...]) -> Decision:
    """What reach says at least of a call that raises this, on whatever path."""
    about = [each for each in rows if each.capability.grants(raised)]
    key = max(
        ((len(each.capability.name), each.capability.scope is not None) for each in about), default=None
    )
    closest = [
        each.decision
        for each in about
        if (len(each.capability.name), each.capability.scope is not None) == key
    ]
    return min(closest, key=STRICTNESS.__getitem__, default="blocked")


@tried(30)
@given(settings, st.tuples(tools, tools), rules, ceiling)
@example(
    {"mode": "bypassPermissions", "allow": [], "ask": ["Read"], "deny": ["Edit"]}, (None, None), {}, None
)
def test_every_cell_is_decided_as_reach_says(
    permissions: dict[str, Any],
    agents: tuple[list[str] | None, list[str] | None],
    own: dict[str, str],
    may: list[str] | None,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        lines = [
            "[approvals.rules]",
            *(f"{json.dumps(key)} = {json.dumps(word)}" for key, word in own.items()),
        ]
        if may is not None:
            lines += ["[entries.main]", 'worker = "main-session"', f"may = {json.dumps(may)}"]
        named = {f"agent{number}": ", ".join(each or ()) for number, each in enumerate(agents)}
        root = folder / "shop"
        (root / ".claude").mkdir(parents=True)
        mode = {"defaultMode": permissions["mode"]} if permissions["mode"] else {}
        lists = {word: permissions[word] for word in ("allow", "ask", "deny")}
        (root / ".claude/settings.json").write_text(json.dumps({"permissions": {**lists, **mode}}))
        (root / ".mcp.json").write_text('{"mcpServers": {"github": {"command": "github-mcp-server"}}}')
        write(root, "\n".join([*lines, ""]), **named)
        aged(root)
        is_listed = "Bash(git log:*)" in lists["allow"] and permissions["mode"] != "acceptEdits"
        graph = project.read(root).graph
        entry = next(
            each for each in graph.entries.values() if each.worker and each.worker.name == "main-session"
        )
        rows = Analysis(graph).of(entry)
        for number, row in enumerate(rows):
            call, chain = probe(row, is_listed=is_listed), chain_of(row)
            if call is None or chain is None:
                continue
            session = Session(root, folder, f"s{number}")
            session.start()
            for above, agent in pairwise(chain):
                session.call("Agent", *(() if above == chain[0] else (above,)), subagent_type=agent)
            who = () if len(chain) == 1 else (chain[-1],)
            answer = session.answer(session.calling(call[0], *who, **call[1]))
            record = json.loads(session.journal.read_text().splitlines()[-1])
            seen = (row.capability, chain, call, answer.reason)
            assert answer.decision == expected(record["capabilities"], row, rows), seen
        for number, (tool, arguments) in enumerate(CALLS):
            session = Session(root, folder, f"c{number}")
            session.start()
            decision = session.call(tool, **arguments)
            raised = json.loads(session.journal.read_text().splitlines()[-1])["capabilities"]
            least = strictest([mildest(Capability.parse(each), rows) for each in raised])
            assert STRICTNESS[decision] >= STRICTNESS[least], (tool, arguments, decision, least)
