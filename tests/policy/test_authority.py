"""The laws of the one evaluator."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from llmdo.policy.authority import (
    BUILT_IN,
    STRICTNESS,
    Authority,
    Capability,
    Carried,
    Ceiling,
    FlowRule,
    Rule,
    base_rules,
    decide,
    never_runs,
    scope_contains,
    scopes_meet,
)
from llmdo.policy.composition import Base, Layer, authority_of
from llmdo.policy.vocabulary import UNDECLARED, VOCABULARY

PATHS = ["a", "a/b", "a/b/c", "b", "ab", "a/bc"]
scopes = st.sampled_from([None, "**", *PATHS, *(f"{path}/**" for path in PATHS)])
exact_paths = st.sampled_from([*PATHS, "c", "a/c", "b/c/d"])
names = st.sampled_from([*VOCABULARY, "agent", "fs", "proc", "net", "x", "x.t", "x.t.any", "x.tt.any"])
leaves = st.sampled_from([*VOCABULARY, "x.t.any", "x.tt.any"])
patterns = st.builds(Capability, names, scopes)
raised = st.builds(Capability, leaves, scopes)
decisions = st.sampled_from(["allowed", "needs_approval", "blocked"])
rules = st.builds(Rule, patterns, decisions, st.just("test"))
ceilings = st.builds(Ceiling, st.lists(patterns, max_size=4).map(tuple), st.just("test"))
authorities = st.builds(
    Authority,
    base=st.lists(rules, max_size=6).map(base_rules),
    default=decisions,
    layers=st.lists(rules, max_size=4).map(tuple),
    ceilings=st.lists(ceilings, max_size=2).map(tuple),
)
bases = st.builds(
    Base, st.lists(rules, max_size=4).map(base_rules), decisions, st.lists(rules, max_size=2).map(tuple)
)
layers = st.builds(Layer, st.lists(rules, max_size=2).map(tuple), st.none() | ceilings)
ANYTHING = tuple(Capability(name) for name in [*VOCABULARY, "x.t", "x.tt"])


def strictness(
    calls: list[Capability], authority: Authority, declared: tuple[Capability, ...] = ANYTHING
) -> int:
    return STRICTNESS[decide(calls, declared, authority).decision]


@given(st.lists(raised, max_size=4), authorities, st.randoms(use_true_random=False))
def test_no_order_matters(calls, authority, random) -> None:
    def shuffled(items):
        items = list(items)
        random.shuffle(items)
        return tuple(items)

    other = replace(
        authority,
        base=shuffled(authority.base),
        layers=shuffled(authority.layers),
        ceilings=shuffled(authority.ceilings),
    )
    assert strictness(calls, authority) == strictness(list(shuffled(calls)), other, shuffled(ANYTHING))


@given(st.lists(raised, max_size=3), raised, authorities)
def test_raising_one_more_capability_never_loosens(calls, more, authority) -> None:
    assert strictness([*calls, more], authority) >= strictness(calls, authority)


@given(st.lists(raised, min_size=1, max_size=3), rules, authorities)
def test_a_rule_in_a_layer_never_loosens(calls, rule, authority) -> None:
    tightened = replace(authority, layers=(*authority.layers, rule))
    assert strictness(calls, tightened) >= strictness(calls, authority)


@given(st.lists(raised, min_size=1, max_size=3), patterns, st.lists(rules, max_size=5), authorities)
def test_a_blocked_rule_in_the_manifest_never_loosens(calls, pattern, manifest, authority) -> None:
    before = replace(authority, base=base_rules(manifest))
    after = replace(authority, base=base_rules([*manifest, Rule(pattern, "blocked", "test")]))
    assert strictness(calls, after) >= strictness(calls, before)


@given(st.lists(raised, min_size=1, max_size=3), ceilings, authorities)
def test_another_ceiling_never_loosens(calls, ceiling, authority) -> None:
    lowered = replace(authority, ceilings=(*authority.ceilings, ceiling))
    assert strictness(calls, lowered) >= strictness(calls, authority)


@given(raised, st.lists(patterns, max_size=3), authorities)
def test_what_was_not_declared_is_blocked(call, declared, authority) -> None:
    verdict = decide([call], declared, authority)
    if not any(capability.contains(call) for capability in declared):
        assert verdict.decision == "blocked"
        assert verdict.reasons[0].capability.name == UNDECLARED


@given(authorities)
def test_nothing_lifts_an_undeclared_capability(authority) -> None:
    generous = replace(authority, base=base_rules([Rule(Capability(UNDECLARED), "allowed", "test")]))
    assert decide([Capability(UNDECLARED)], ANYTHING, generous).decision == "blocked"


@given(leaves, exact_paths, authorities)
def test_an_unknown_scope_is_judged_at_least_as_strictly_as_any_known_one(name, path, authority) -> None:
    unknown = strictness([Capability(name, None)], authority)
    assert unknown >= strictness([Capability(name, path)], authority)


def test_a_question_about_one_folder_does_not_lift_a_block_everywhere_else() -> None:
    rules = base_rules([Rule(Capability("fs.write", "a/**"), "needs_approval", "test")])
    authority = Authority(base=rules, default="blocked")
    for scope, decision in (
        ("a/b", "needs_approval"),
        ("b", "blocked"),
        ("**", "blocked"),
        (None, "blocked"),
    ):
        assert decide([Capability("fs.write", scope)], ANYTHING, authority).decision == decision


@given(st.lists(raised, max_size=4), authorities)
def test_a_verdict_gives_reasons_of_its_own_strictness(calls, authority) -> None:
    verdict = decide(calls, ANYTHING, authority)
    assert all(reason.decision == verdict.decision for reason in verdict.reasons)
    assert bool(verdict.reasons) == bool(calls)


@given(authorities)
def test_a_call_that_raises_nothing_is_allowed(authority) -> None:
    assert decide([], (), authority).decision == "allowed"


@given(scopes, scopes, scopes)
def test_containment_of_scopes_is_transitive_and_two_scopes_are_nested_or_apart(first, second, third) -> None:
    if scope_contains(first, second) and scope_contains(second, third):
        assert scope_contains(first, third)
    assert scopes_meet(first, second) == scopes_meet(second, first)


@given(patterns, raised)
def test_what_contains_a_capability_stands_around_it(container, other) -> None:
    assert (container in set(other.around)) == container.contains(other)


def test_a_rule_of_an_agent_may_leave_parts_out() -> None:
    listed = Capability("net.connect", "docs.example")
    rule = Rule(Capability("net.connect"), "needs_approval", "settings", but=(listed,))
    assert not rule.applies(listed)
    assert rule.applies(Capability("net.connect", "other.example"))
    assert rule.applies(Capability("net.connect"))


def test_a_capability_covers_whole_labels_only() -> None:
    assert Capability("fs").contains(Capability("fs.read", "a"))
    assert not Capability("fs.re").contains(Capability("fs.read", "a"))
    assert not Capability("fs.read", "a/**").contains(Capability("fs.read", "ab"))
    assert Capability("fs.list", "a/**").contains(Capability("fs.list", "a"))


def test_a_manifest_rule_replaces_the_built_in_one_of_its_name() -> None:
    unlisted = Capability("proc.exec.unlisted")
    loosened = Authority(base_rules([Rule(unlisted, "needs_approval", "llmdo.toml")]))
    assert decide([unlisted], [unlisted], loosened).decision == "needs_approval"
    broad = Authority(base_rules([Rule(Capability("proc.exec"), "allowed", "llmdo.toml")]))
    assert decide([unlisted], [unlisted], broad).decision == "blocked"


def test_a_scoped_rule_withdraws_a_built_in_allowance() -> None:
    read = Capability("fs.read")
    authority = Authority(base_rules([Rule(Capability("fs.read", "input/**"), "allowed", "llmdo.toml")]))
    assert decide([Capability("fs.read", "input/a")], [read], authority).decision == "allowed"
    assert decide([Capability("fs.read", "secret")], [read], authority).decision == "needs_approval"


def test_a_scoped_rule_does_not_withdraw_a_built_in_question() -> None:
    protected = Capability("fs.write.protected", "llmdo.toml")
    scoped = Rule(Capability("fs.write.protected", "docs/**"), "allowed", "llmdo.toml")
    assert decide([protected], [protected], Authority(base_rules([scoped]))).decision == "needs_approval"


def test_reserved_names_lie_inside_a_ceiling_only_by_full_name() -> None:
    for name in ("fs.write.protected", "proc.exec.unlisted", "proc.exec.unvouched"):
        for raised in (Capability(name, "a"), Capability(f"{name}.below", "a")):
            assert not Ceiling((Capability("fs"), Capability("proc.exec")), "test").admits(raised)
            assert Ceiling((Capability(name),), "test").admits(raised)


def test_delegation_and_the_marker_need_no_place_in_a_ceiling() -> None:
    assert Ceiling((), "test").admits(Capability("agent.delegate"))
    assert Ceiling((), "test").admits(Capability("data.untrusted"))
    assert not Ceiling((), "test").admits(Capability("fs.read", "a"))


def test_a_question_about_a_protected_file_is_for_a_terminal_only() -> None:
    authority = Authority(base_rules([Rule(Capability("fs.write"), "allowed", "llmdo.toml")]))
    for name in ("fs.write.protected", "fs.write.protected.below"):
        calls = [Capability("fs.write", "llmdo.toml"), Capability(name, "llmdo.toml")]
        verdict = decide(calls, calls, authority)
        assert verdict.decision == "needs_approval"
        assert verdict.terminal_only


def test_every_built_in_rule_names_a_capability_of_the_vocabulary() -> None:
    assert {rule.capability.name for rule in BUILT_IN} <= set(VOCABULARY)


def test_a_ceiling_holds_the_reading_of_secrets_only_by_its_full_name() -> None:
    secret = Capability("fs.read.protected", "in/.env")
    for wide in ("fs", "fs.read", "fs.read:in/**"):
        assert not Ceiling((Capability.parse(wide),), "entry `e`").admits(secret)
    for full in ("fs.read.protected", "fs.read.protected:in/**"):
        assert Ceiling((Capability.parse(full),), "entry `e`").admits(secret)


def test_allowing_to_read_leaves_the_question_about_secrets_until_a_rule_names_it() -> None:
    read, secret = Capability("fs.read", ".env"), Capability("fs.read.protected", ".env")

    def decided(name: str) -> str:
        rules = (Rule(Capability.parse(name), "allowed", "llmdo.toml"),)
        return decide([read, secret], [Capability("fs.read")], Authority(base=base_rules(rules))).decision

    assert decided("fs") == decided("fs.read") == decided("fs.read.protected:.env") == "needs_approval"
    assert decided("fs.read.protected") == "allowed"


@given(st.lists(raised, min_size=1, max_size=3), bases, layers, st.lists(layers, max_size=3), layers)
def test_nobody_on_the_path_loosens_what_the_others_decide(calls, base, entry, path, added) -> None:
    for place in range(len(path) + 1):
        longer = authority_of(base, entry, [*path[:place], replace(added, rules=()), *path[place:]])
        if place < len(path):
            assert strictness(calls, longer) >= strictness(calls, authority_of(base, entry, path))
    for without in (
        authority_of(base, Layer(), path),
        authority_of(replace(base, tightening=()), entry, path),
    ):
        assert strictness(calls, authority_of(base, entry, path)) >= strictness(calls, without)


@given(st.lists(raised, min_size=1, max_size=3), bases, layers, layers, layers)
def test_the_rules_of_a_worker_end_at_its_own_calls_and_its_ceiling_does_not(
    calls, base, entry, above, own
) -> None:
    below = authority_of(base, entry, [above, own])
    assert below == authority_of(base, entry, [Layer(ceiling=above.ceiling), own])
    if above.ceiling is not None and not all(map(above.ceiling.admits, calls)):
        assert decide(calls, ANYTHING, below).decision == "blocked"
    assert set(below.layers) == {*entry.rules, *own.rules, *base.tightening}


FILES = [*PATHS, *(f"{path}/new" for path in PATHS), "new"]
NAMES = ["agent", "agent.delegate", "fs", "fs.write", "fs.write.protected"]
EVERYTHING = [Capability(name, path) for name in [*NAMES, "fs.new", "fs.write.new"] for path in FILES]
"""Something of every kind that a call can raise: of what the rules below name, and of what they do not."""
related = st.builds(Capability, st.sampled_from(NAMES), scopes)
related_rules = st.lists(st.builds(Rule, related, decisions, st.just("test")), max_size=5).map(tuple)
tight = st.builds(
    Authority,
    base=related_rules,
    default=st.just("blocked") | decisions,
    layers=related_rules,
    ceilings=st.lists(
        st.builds(Ceiling, st.lists(related, max_size=4).map(tuple), st.just("test")), max_size=1
    ).map(tuple),
)


@given(st.lists(patterns, min_size=1, max_size=4), authorities)
def test_a_tool_is_hidden_where_what_every_call_of_it_raises_is_blocked(declared, authority) -> None:
    assert never_runs(declared, authority) == (decide(declared, declared, authority).decision == "blocked")


@given(st.lists(related, max_size=4), st.data(), tight)
def test_a_tool_that_narrows_its_calls_is_hidden_exactly_where_all_of_them_are_blocked(
    declared, data, authority
) -> None:
    group = st.lists(st.sampled_from(declared), min_size=1, max_size=3) if declared else st.nothing()
    least = data.draw(st.lists(group, max_size=2) if declared else st.just([]))
    mildest = [
        [capability for capability in EVERYTHING if any(most.contains(capability) for most in group)]
        for group in least
    ]
    runs = [
        next(
            (
                capability
                for capability in group
                if decide([capability], declared, authority).decision != "blocked"
            ),
            None,
        )
        for group in mildest
    ]
    hidden = never_runs(declared, authority, least)
    assert hidden == (None in runs)
    if not hidden:  # the call that raises no more than it must is let through, or asked about
        call = [capability for capability in runs if capability is not None]
        assert decide(call, declared, authority).decision != "blocked"


@given(st.lists(related, min_size=1, max_size=3), st.lists(related, min_size=1, max_size=3), tight)
def test_whatever_a_hidden_tool_raises_is_blocked(declared, calls, authority) -> None:
    if never_runs(declared, authority, [declared]):
        assert decide(calls, declared, authority).decision == "blocked"


def test_a_tool_stays_in_sight_as_long_as_something_is_left_of_it() -> None:
    write, everything = Capability("fs.write"), [[Capability("fs.write")]]

    def hidden(*rules: tuple[str, str], default: str = "allowed") -> bool:
        base = tuple(Rule(Capability.parse(text), decision, "test") for text, decision in rules)
        return never_runs([write], Authority(base=base, default=default), everything)

    for path in PATHS:
        assert not hidden((f"fs.write:{path}", "blocked"), (f"fs.write:{path}/**", "blocked"))
        assert not hidden((f"fs.write:{path}", "needs_approval"), default="blocked")
    assert hidden(("fs.write:**", "blocked"))
    assert hidden(("fs.write:a/**", "allowed"), ("fs.write:a/**", "blocked"), default="blocked")


def decided_by(flow: FlowRule, raised: str) -> str:
    """The decision over a call that a stranger may have chosen, where only the flow rule says something."""
    own = Capability(raised)
    authority = Authority(
        base=(Rule(own, "allowed", "llmdo.toml"),), flows=(flow,), reads=frozenset({"x.kit.look"})
    )
    return decide([own], [own], authority, Carried(frozenset(flow.sources), sends=True)).decision


def test_only_a_preset_spares_what_reads_and_means_what_extensions_bring() -> None:
    sources = (Capability("data.untrusted"),)
    stated = FlowRule(sources, Capability("x"), "blocked", "llmdo.toml")
    preset = FlowRule(sources, Capability("x"), "blocked", "llmdo.toml", is_preset=True)
    decisions = {
        raised: (decided_by(stated, raised), decided_by(preset, raised))
        for raised in ("x.kit.send", "x.kit.look", "acme.send", "fs.write")
    }
    assert decisions == {
        "x.kit.send": ("blocked", "blocked"),
        "x.kit.look": ("blocked", "allowed"),
        "acme.send": ("allowed", "blocked"),
        "fs.write": ("allowed", "allowed"),
    }
