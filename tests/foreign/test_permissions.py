"""The rules of formats' permissions: the engine decides as a model does that asks about one call after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.source import Source
from llmdo.features.claude.rules import RULES as CLAUDE
from llmdo.features.cursor.permissions import RULES as CURSOR
from llmdo.features.docker_agent.permissions import RULES as DOCKER_AGENT
from llmdo.features.gemini.settings import RULES as GEMINI
from llmdo.features.opencode.permissions import RULES as OPENCODE
from llmdo.foreign.permissions import LAST, STRICTEST, PermissionRule, PermissionRuling, RuleTable, like
from llmdo.policy.authority import STRICTNESS, Capability
from llmdo.policy.vocabulary import Decision
from llmdo.syntax.document import Document, Place
from tests.support.laws import tried

ORDERS = {"strictest": STRICTEST, "allow over ask": ("blocked", "allowed", "needs_approval"), "last": LAST}
DOCUMENT = Document(Source("rules.json", ""), {}, dict)
PATTERNS = ("p", "q", "r")
OTHER = "a call that no pattern is about"
RAISED = (Capability("x.tool"),)
each_order = pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
decisions = st.sampled_from(STRICTEST)


def table(order: object) -> RuleTable:
    return RuleTable(
        order=order, names=like, part=lambda capability, pattern: Capability(capability.name, pattern)
    )  # type: ignore[arg-type]


@st.composite
def lists_of_rules(draw: st.DrawFn, *, alone: bool) -> list[PermissionRule]:
    """Rules about tools `a` and `b`; if `alone`, no two are about the same pattern."""
    texts = st.tuples(st.sampled_from(["a", "b", "*"]), st.sampled_from([None, *PATTERNS]), decisions)
    rules = []
    for number, (tool, pattern, decision) in enumerate(draw(st.lists(texts, max_size=8))):
        if not (alone and pattern and any(rule.pattern == pattern for rule in rules)):
            rules.append(PermissionRule(tool, pattern, decision, Place(DOCUMENT, (number,))))
    return rules


def decision_of_call(
    order: object, rules: Sequence[PermissionRule], call: str, default: Decision
) -> Decision:
    """The naive model: every rule is held against one call of tool `a`."""
    matching = [rule.decision for rule in rules if rule.tool in ("a", "*") and rule.pattern in (None, call)]
    if not matching:
        return default
    if order == LAST:
        return matching[-1]
    assert isinstance(order, tuple)
    return next(decision for decision in order if decision in matching)


def milder(first: Decision, second: Decision) -> Decision:
    return min(first, second, key=STRICTNESS.__getitem__)


def decision_of_rulings(rulings: Sequence[PermissionRuling], call: str) -> Decision:
    """The mildest decision that the rulings have for a call."""
    whole, *parts = rulings
    decision = whole.decision
    for ruling in parts:
        if [capability.scope for capability in ruling.capabilities] == [call]:
            decision = milder(decision, ruling.decision)
    return decision


@each_order
@tried(100)
@given(rules=lists_of_rules(alone=True), default=decisions)
def test_the_rulings_are_the_decisions_about_each_call(
    order: object, rules: list[PermissionRule], default: Decision
) -> None:
    rulings = list(table(order).rulings(rules, "a", RAISED, default))
    whole = decision_of_call(order, rules, OTHER, default)
    assert (rulings[0].decision, rulings[0].capabilities) == (whole, RAISED)
    for call in PATTERNS:
        # What is stricter than the tool as a whole is no ruling of its own: the whole is asked about at least.
        expected = milder(decision_of_call(order, rules, call, default), whole)
        assert decision_of_rulings(rulings, call) == expected


@each_order
@tried(100)
@given(rules=lists_of_rules(alone=False), default=decisions)
def test_no_call_is_ruled_more_strictly_than_it_is_decided(
    order: object, rules: list[PermissionRule], default: Decision
) -> None:
    rulings = list(table(order).rulings(rules, "a", RAISED, default))
    for call in (*PATTERNS, OTHER):
        decided = decision_of_call(order, rules, call, default)
        assert STRICTNESS[decision_of_rulings(rulings, call)] <= STRICTNESS[decided]


@each_order
@tried(100)
@given(rules=lists_of_rules(alone=False), default=decisions)
def test_every_ruling_is_that_of_its_rule_and_every_part_is_milder(
    order: object, rules: list[PermissionRule], default: Decision
) -> None:
    whole, *parts = table(order).rulings(rules, "a", RAISED, default)
    assert whole.decision == (whole.rule.decision if whole.rule else default)
    for part in parts:
        assert part.rule in rules
        assert part.decision == part.rule.decision
        assert STRICTNESS[part.decision] < STRICTNESS[whole.decision]


def of(rules: RuleTable, tool: str, *texts: tuple[str, Decision]) -> Iterator[str]:
    """The rulings about a tool that runs any command, as text."""
    read = [rules.rule(text, decision, Place(DOCUMENT, (text,))) for text, decision in texts]
    known = [rule for rule in read if rule]
    for ruling in rules.rulings(known, tool, (Capability("proc.exec.unlisted"),), "needs_approval"):
        yield f"{ruling.decision} {' '.join(map(str, ruling.capabilities))}"


ALLOWED_PART = ["needs_approval proc.exec.unlisted", "allowed proc.exec"]
SAVING_PART = [ALLOWED_PART[0], f"{ALLOWED_PART[1]} fs.write fs.write.protected"]
"""As git writes what it shows into any file by `--output`."""


@pytest.mark.parametrize(
    ("rules", "tool", "texts", "expected"),
    [
        (CLAUDE, "Bash", [("Bash(git log:*)", "allowed")], SAVING_PART),
        (CLAUDE, "Bash", [("Bash(git log:*)", "allowed"), ("Bash", "needs_approval")], ALLOWED_PART[:1]),
        (CLAUDE, "Bash", [("Bash(:*)", "allowed"), ("Bash", "blocked")], ["blocked proc.exec.unlisted"]),
        (
            GEMINI,
            "run_shell_command",
            [("run_shell_command(git log)", "allowed")],
            ["allowed proc.exec.unlisted"],
        ),
        (GEMINI, "run_shell_command", [("run_*", "blocked")], ["blocked proc.exec.unlisted"]),
        (CURSOR, "Shell", [("Shell(git:log)", "allowed"), ("Shell(*)", "needs_approval")], ALLOWED_PART[:1]),
        (CURSOR, "Shell", [("Shell(git:log)", "allowed")], ALLOWED_PART),
        (DOCKER_AGENT, "shell", [("shell", "needs_approval"), ("SHELL:cmd=ls", "allowed")], ALLOWED_PART),
        (
            DOCKER_AGENT,
            "shell",
            [("shell", "needs_approval"), ("sh*", "allowed")],
            ["allowed proc.exec.unlisted"],
        ),
    ],
)
def test_a_format_is_a_table(
    rules: RuleTable, tool: str, texts: list[tuple[str, Decision]], expected: list[str]
) -> None:
    assert [*of(rules, tool, *texts)] == expected


def test_of_the_rules_of_opencode_the_last_decides() -> None:
    rules = [
        PermissionRule("bash", "git log *", "allowed", Place(DOCUMENT, (0,))),
        PermissionRule("*", "*", "blocked", Place(DOCUMENT, (1,))),
        PermissionRule("ba?h", "ls *", "needs_approval", Place(DOCUMENT, (2,))),
    ]
    rulings = OPENCODE.rulings(rules, "bash", (Capability("proc.exec.unlisted"),), "allowed")
    assert [(ruling.decision, ruling.rule) for ruling in rulings] == [
        ("blocked", rules[1]),
        ("needs_approval", rules[2]),
    ]
