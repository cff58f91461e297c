"""The facts of capabilities stand in one table, and each fact is used."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import llmdo
from llmdo.base.values import fields
from llmdo.policy.vocabulary import (
    EFFECTS,
    FACTS,
    IN_A_SHELL,
    LEGS,
    ONLY_READS,
    REPEATABLE,
    VOCABULARY,
    CapabilityFacts,
    danger,
    facts_of,
    families,
    has_paths,
)
from tests.support.laws import tried

PACKAGE = Path(llmdo.__file__).parent
TOOLS = ("graph/builtin.py", "foreign/lines.py", "features/")
"""Where tools say what they do, which is no fact of a capability."""
MOST = 2


def listed(node: ast.AST) -> list[str]:
    """The names of capabilities in a collection that a module writes out."""
    parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    names = [part.value for part in parts if isinstance(part, ast.Constant)]
    return [name for name in names if name in VOCABULARY]


def test_no_other_module_has_a_list_of_capabilities() -> None:
    others = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if not path.relative_to(PACKAGE).as_posix().startswith((*TOOLS, "policy/vocabulary.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Dict | ast.Tuple | ast.List | ast.Set) and len(listed(node)) > MOST
    ]
    assert not others


def test_each_fact_is_read() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert [fact.name for fact in fields(CapabilityFacts) if f"facts.{fact.name}" not in text] == []


@tried(100)
@given(names=st.sets(st.sampled_from(sorted(VOCABULARY))))
def test_families_cover_these_rows_and_of_others_only_those_below_one_of_them(names: set[str]) -> None:
    def is_below(name: str, above: str) -> bool:
        return name == above or name.startswith(f"{above}.")

    fewest = families(names)
    for name in VOCABULARY:
        is_covered = any(is_below(name, family) for family in fewest)
        assert is_covered == any(is_below(name, each) for each in names), name
    assert not [
        (above, below) for above in fewest for below in fewest if above != below and is_below(above, below)
    ]


def test_a_family_stands_for_its_rows_where_all_are_meant() -> None:
    rows = {name for name in VOCABULARY if name.startswith("mcp.")}
    assert families(rows) == ("mcp",)
    assert families(rows - {"mcp.call"}) == tuple(sorted(rows - {"mcp.call"}))


def test_what_follows_from_the_table() -> None:
    assert of_today(EFFECTS) == {"fs.delete", "fs.write", "mcp.call", "mcp.start", "net", "proc.exec", "x"}
    assert of_today(LEGS["private data"]) == {"env.read", "fs.read", "secret.read"}
    assert of_today(LEGS["a way out"]) == {"mcp.call", "net", "proc.exec"}
    assert of_today(IN_A_SHELL) == {"env.read", "fs", "net", "proc"}
    of_files = {"fs.list", "fs.read", "fs.read.protected"}
    of_others = {"data.untrusted", "env.read", "mcp.read", "net.search", "proc.exec.read", "secret.read"}
    assert of_files | of_others == of_today(REPEATABLE)
    assert of_today(ONLY_READS) == {"proc.exec.read"}


def of_today(names: Iterable[str]) -> set[str]:
    """The names in the families that were there when this was written: a new family changes no test."""
    families = {"agent", "capability", "data", "env", "fs", "mcp", "net", "proc", "secret", "x"}
    return {name for name in names if name.split(".")[0] in families}


def test_a_capability_without_a_row_has_the_facts_of_the_one_above() -> None:
    assert facts_of("x.bank.send") is FACTS["x"]
    assert facts_of("fs.write.code") is FACTS["fs.write.code"]
    assert facts_of("fs") is facts_of("nothing") is None
    assert [
        name for name in ("fs", "x.t.any", "fs.read", "net", "proc.exec", "nothing") if has_paths(name)
    ] == [
        "fs",
        "x.t.any",
        "fs.read",
    ]


def test_whatever_runs_a_program_unasked_is_of_the_highest_danger() -> None:
    """A shell, the code that another program runs, and the files that govern the run."""
    commands = {name for name, facts in FACTS.items() if name.startswith("proc.") and facts.is_effect}
    for name in {*commands, "proc", "fs.write.code", "fs.write.protected"}:
        assert danger(name, "allowed") == "high", name
        assert danger(name, "needs_approval") == "medium", name


def test_what_the_built_in_rules_allow_is_of_low_danger_and_what_is_blocked_of_none() -> None:
    for name, facts in FACTS.items():
        assert danger(name, "blocked") == "none"
        if facts.decision == "allowed":
            assert danger(name, "allowed") == "low", name
        if facts.is_effect and name != "net.search":
            assert danger(name, "allowed") != "low", name
