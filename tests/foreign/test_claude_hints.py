"""The edit of a hint about an agent of Claude Code ends what the hint says, however its file lists its tools."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from llmdo import foreign
from llmdo.base.diagnostic import Diagnostic
from llmdo.foreign import findings
from tests.foreign.test_hints import STAYS, applied
from tests.support.laws import tried

ITEMS = (
    "Agent", "Agent(a1)", "Bash", "Bash(git log:*)", "Edit", "Read", "WebFetch", "WebSearch", "mcp__github__get_issue",
    "mcp__notes__list", "mcp__tavily",
)  # fmt: skip
LISTS = st.lists(st.sampled_from(ITEMS), min_size=1, max_size=6, unique=True)
AGENT = st.tuples(LISTS, st.sampled_from(["words", "list", "lines"]))


def written(number: int, tools: list[str], form: str) -> str:
    """An agent with a list of tools in one of the forms that Claude Code reads."""
    value = {
        "words": f" {', '.join(tools)}",
        "list": f" [{', '.join(tools)}]",
        "lines": "".join(f"\n  - {tool}" for tool in tools),
    }[form]
    return f"---\nname: a{number}\ndescription: x\ntools:{value}\n---\nWork.\n"


def flows(root: Path) -> list[Diagnostic]:
    """The findings about flows."""
    return [
        each for each in findings.check(foreign.read("claude", root)) if each.code in ("LDO552", "LDO555")
    ]


def hints(root: Path) -> dict[str | None, str]:
    """The hint about the flow of each agent that has one."""
    return {each.subject: each.hint or "" for each in flows(root)}


@given(st.lists(AGENT, min_size=1, max_size=2))
@example([(["Agent", "Agent(a1)"], "lines")])
@tried(60)
def test_the_edit_of_a_hint_leaves_a_flow_only_where_it_says_so(agents: list[tuple[list[str], str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / ".claude/agents").mkdir(parents=True)
        (root / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash", "WebFetch"]}}')
        for number, (tools, form) in enumerate(agents):
            (root / f".claude/agents/a{number}.md").write_text(written(number, tools, form))
        before = hints(root)
        hint = before.get("a0", "")
        if "; and " not in hint and applied(root, hint):
            assert bool(STAYS.search(hint)) is ("a0" in hints(root)), hint


ALLOWED = st.lists(
    st.sampled_from(
        (
            "Bash",
            "Bash(curl:*)",
            "Bash(gh api:*)",
            "Bash(gh issue view:*)",
            "Bash(git push:*)",
            "Bash(ls)",
            "WebFetch(domain:a.example)",
            "WebFetch(domain:a.vercel.app)",
            "WebFetch(domain:github.com)",
        )
    ),
    max_size=2,
)


@given(st.lists(AGENT, min_size=1, max_size=2), ALLOWED)
@example([(["Bash", "WebFetch"], "words")], [])
@example([(["Bash", "WebFetch"], "words")], ["Bash(git push:*)"])
@example([(["Bash", "mcp__github__get_issue"], "words")], ["Bash(curl *)"])
@example([(["Agent"], "words")], ["WebFetch(domain:a.vercel.app)"])
@tried(60)
def test_a_session_that_asks_has_no_flow_where_a_hint_offers_that(
    agents: list[tuple[list[str], str]], allowed: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / ".claude/agents").mkdir(parents=True)
        permissions: dict[str, object] = {"allow": allowed}
        (root / ".claude/settings.json").write_text(json.dumps({"permissions": permissions}))
        for number, (tools, form) in enumerate(agents):
            (root / f".claude/agents/a{number}.md").write_text(written(number, tools, form))
        offered = {name for name, hint in hints(root).items() if '"defaultMode": "default"' in hint}
        named = {each.subject for each in flows(root) if "unless its session asks" in each.message}
        asking = {"permissions": {**permissions, "defaultMode": "default"}}
        (root / ".claude/settings.json").write_text(json.dumps(asking))
        assert offered <= named
        assert named.isdisjoint(hints(root))
