"""What is built in changes with its version alone; a family of capabilities that no tool raises yet changes nothing.

`LLMDO_ACCEPT=1 pytest tests/policy/test_built_in_version.py` writes what is built in now: after a new version.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from llmdo.base.values import fields
from llmdo.graph import builtin
from llmdo.policy.authority import BUILT_IN_VERSION
from llmdo.policy.vocabulary import FACTS, CapabilityFacts

KEPT = Path(__file__).parent.parent / "data" / "built-in-rules.txt"
WORDS = ("meaning", "verb", "harm")
"""The facts that decide nothing."""
CONFIGURED = {"write": ["**"]}
"""With which a toolset has all of its tools."""


PROVIDER_SIDE = {"tools": ["code_execution", "web_fetch", "web_search", "x_search"]}


def of(name: str, facts: CapabilityFacts) -> str:
    """A row of the vocabulary, but for its words."""
    stated = {each.name: getattr(facts, each.name) for each in fields(facts) if each.name not in WORDS}
    return " ".join([name, *(f"{key}={value}" for key, value in stated.items() if value)])


def built_in() -> Iterator[str]:
    """All that is built in and decides about a call, a line each."""
    yield f"version {BUILT_IN_VERSION}"
    for name, facts in FACTS.items():
        yield of(name, facts)
    for toolset in (*builtin.BUILT_IN, builtin.PROVIDER_SIDE):
        config = PROVIDER_SIDE if toolset == builtin.PROVIDER_SIDE else CONFIGURED
        for tool in builtin.tools(toolset, config).values():
            yield f"{toolset}.{tool.name} raises {', '.join(sorted(map(str, tool.capabilities)))}"


def family(line: str) -> str:
    """The toolset, or the first label of the capability, that a line is about."""
    return line.split()[0].partition(".")[0]


def test_what_is_built_in_changes_with_its_version_alone() -> None:
    if os.environ.get("LLMDO_ACCEPT"):
        KEPT.write_text("".join(f"{line}\n" for line in sorted(built_in())), encoding="utf-8")
    kept = KEPT.read_text(encoding="utf-8").splitlines()
    known = {*map(family, kept)}
    # What no locked workspace has a tool for decides about none, unless an open shell can do it.
    now = [line for line in built_in() if family(line) in known or "is_in_a_shell" in line]
    assert sorted(now) == kept, "a new BUILT_IN_VERSION, with its line of history; then LLMDO_ACCEPT=1"
