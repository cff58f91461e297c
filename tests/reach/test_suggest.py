"""What `suggest` says is a ceiling under which the entry still does all that it may do, and which `check` accepts."""

from __future__ import annotations

import tomllib
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from llmdo.policy.authority import Capability, Rule
from llmdo.policy.vocabulary import ONLY_BY_FULL_NAME
from llmdo.reach import Analysis, entry_ceiling
from llmdo.reach.suggest import suggest, suggest_for
from llmdo.render.reach import suggestion
from tests.support import building
from tests.support.graphs import NOWHERE, capabilities, gated_graphs, graphs
from tests.support.laws import tried

file_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)


@tried(150)
@given(graphs() | gated_graphs())
def test_nothing_that_an_entry_can_reach_lies_outside_the_ceiling_that_is_suggested(graph) -> None:
    entry = replace(graph.entries["e"], may=None)
    bare = replace(graph, entries={"e": entry})
    ceiled = replace(entry, may=suggest(Analysis(bare), entry).may, may_at=NOWHERE)
    analysis = Analysis(replace(graph, entries={"e": ceiled}))
    for row in analysis.of(ceiled, ceiling=False):
        inside = entry_ceiling(ceiled).admits(row.capability)
        assert inside or row.decision == "blocked" or row.capability.name in ONLY_BY_FULL_NAME


@tried(100)
@given(st.lists(capabilities(), max_size=6), file_names)
def test_what_is_printed_is_toml_that_says_what_was_raised(raised, name) -> None:
    graph = building.graph(building.worker("main"))
    entry = graph.entries["go"]
    raised = [*raised, Capability("fs.write", f"out/{name}")]
    suggested = suggest_for(Analysis(graph), entry, raised, raised)
    table = tomllib.loads(suggestion(suggested))
    may = [Capability.parse(text) for text in table["entries"]["go"]["may"]]
    assert tuple(may) == suggested.may
    for capability in raised:
        assert capability.name in ONLY_BY_FULL_NAME or any(most.contains(capability) for most in may)
    rules = table.get("approvals", {}).get("rules", {})
    assert tuple(map(Capability.parse, rules)) == suggested.rules


def test_two_spellings_of_everywhere_are_one_line_of_a_ceiling() -> None:
    graph = building.graph(building.worker("main"))
    everywhere = [Capability("fs.write"), Capability("fs.write", "**"), Capability("fs.write", "out/**")]
    suggested = suggest_for(Analysis(graph), graph.entries["go"], everywhere, ())
    assert list(map(str, suggested.may)) == ["fs.write"]


def test_no_rule_is_suggested_that_would_withdraw_or_never_override_a_built_in_one() -> None:
    graph = building.graph(building.worker("main"))
    asked = [Capability.parse(f"{name}:a.md") for name in ("fs.read", "fs.write", "fs.write.protected")]
    suggested = suggest_for(Analysis(graph), graph.entries["go"], asked, asked)
    assert list(map(str, suggested.rules)) == ["fs.write:a.md"]
    ruled = replace(graph, rules=(Rule(Capability("fs.write"), "needs_approval", "llmdo.toml"),))
    assert suggest_for(Analysis(ruled), ruled.entries["go"], asked, asked).rules == ()


def test_rules_are_suggested_for_what_asks_because_nobody_named_it() -> None:
    kit = building.toolset("kit", "kit.py:kit", send=["net.connect"], look=["x.kit.look"], act=["x.kit.act"])
    graph = building.graph(
        building.worker("main", "kit"),
        kit,
        approvals={"x.kit.look": "needs_approval", "x.kit.act": "allowed"},
    )
    assert list(map(str, suggest(Analysis(graph), graph.entries["go"]).rules)) == ["net.connect"]
