"""What reach says is what walking every call path finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base import topology
from llmdo.base.values import replace
from llmdo.graph.builtin import PROVIDER_SIDE
from llmdo.graph.resolved import Graph
from llmdo.graph.toolkit import delegating, tools_of
from llmdo.graph.toolset import Tool
from llmdo.policy.authority import (
    STRICTNESS,
    Authority,
    Capability,
    Ceiling,
    base_rules,
    decide,
    gravity,
    strictest,
)
from llmdo.policy.vocabulary import UNDECLARED, VOCABULARY, WORST_FIRST
from llmdo.reach import Analysis, entry_ceiling
from llmdo.reach.edges import calls_by_worker
from llmdo.reach.paths import Target, paths_to
from llmdo.reach.shapes import FRESH
from tests.support import building
from tests.support.graphs import capabilities, gated_graphs, graphs
from tests.support.laws import tried

PROBES = [None, "in/a", "in/b", "in/c/d", "out/a", "elsewhere", "in/**", "out/**", "**"]


def call_paths(graph: Graph) -> Iterator[tuple[str, ...]]:
    """Every chain of delegations from the entry's worker, up to the depth that the settings allow."""

    def below(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield path
        if len(path) <= graph.settings.max_depth:
            for use in graph.workers[path[-1]].uses:
                if use.name in graph.workers:
                    yield from below((*path, use.name))

    return below((graph.entries["e"].worker.name,))


def authority_on(graph: Graph, path: tuple[str, ...]) -> Authority:
    entry = graph.entries["e"]
    ceilings = [entry_ceiling(entry)] if entry.may is not None else []
    ceilings += [
        Ceiling(graph.workers[name].may, name) for name in path if graph.workers[name].may is not None
    ]
    return Authority(
        base=base_rules(graph.rules),
        default=graph.settings.default,
        layers=(*entry.approvals, *graph.workers[path[-1]].approvals),
        ceilings=tuple(ceilings),
    )


def delegations(graph: Graph, path: tuple[str, ...]) -> list[str]:
    """The decisions over the delegations that lead along `path`."""
    return [
        decide([delegating(callee)], [delegating(callee)], authority_on(graph, path[:length])).decision
        for length, callee in enumerate(path[1:], 1)
    ]


def calls_of(tool: Tool, *, delegation: bool) -> Iterator[frozenset[Capability]]:
    """What single calls of a tool may raise: with a hook any one declared thing, at any probed place in it.

    That of a worker also raises that this very worker is called.
    """
    if not tool.hook:
        yield frozenset(tool.capabilities)
        return
    always = {delegating(tool.name)} if delegation else set()
    if delegation:
        yield frozenset(always)
    for declared in tool.capabilities:
        if delegation and declared.name == "agent.delegate":
            continue
        names = [name for name in [*VOCABULARY, "x.t.any"] if declared.covers_name(name)]
        for scope in [declared.scope, *PROBES] if declared.name.startswith("fs") else [None]:
            for name in names:
                raised = Capability(name, scope)
                if declared.contains(raised):
                    yield frozenset({raised, *always})


@tried(150)
@given(graphs() | gated_graphs())
def test_every_call_that_can_be_made_is_inside_reach(graph) -> None:
    rows = Analysis(graph).of(graph.entries["e"])
    for path in call_paths(graph):
        gates = delegations(graph, path)
        if "blocked" in gates:
            continue
        authority = authority_on(graph, path)
        for use in graph.workers[path[-1]].uses:
            for tool in tools_of(graph, graph.workers[path[-1]], use).values():
                for raised in calls_of(tool, delegation=use.name in graph.workers):
                    decision = decide(raised, tool.capabilities, authority).decision
                    if decision == "blocked":
                        continue
                    whole = strictest([decision, *gates])
                    for capability in raised:
                        covering = [row for row in rows if row.capability.contains(capability)]
                        assert covering, (path, capability)
                        mildest = min(STRICTNESS[row.decision] for row in covering)
                        assert mildest <= STRICTNESS[whole], (path, capability)


@tried(150)
@given(graphs() | gated_graphs())
def test_what_reach_shows_is_a_path_that_exists_and_decides_so(graph) -> None:
    paths = set(call_paths(graph))
    for row in Analysis(graph).of(graph.entries["e"]):
        names = tuple(hop.name for hop in row.path)
        assert names[:-1] in paths
        worker = graph.workers[names[-2]]
        assert any(use.name == names[-1] for use in worker.uses)
        gates = delegations(graph, names[:-1])
        assert [hop.decision for hop in row.path[1:-1]] == gates
        assert row.decision == strictest([row.verdict.decision, *gates])
        assert {reason.decision for reason in row.reasons} == {row.decision}
        on_path = {rule for name in names[:-1] for rule in graph.workers[name].approvals}
        for reason in row.reasons:
            assert (reason.capability.scope or "").rpartition("/")[2] != FRESH  # which nobody could read
            assert reason.rule is None or reason.rule in {
                *base_rules(graph.rules),
                *graph.entries["e"].approvals,
                *on_path,
            }


def line_of(capability: Capability) -> Capability:
    """The line of reach that is about `capability`: `**` is everywhere, as no scope is."""
    return Capability(capability.name) if capability.is_everywhere else capability


Way = tuple[str, int, tuple[str, ...]]
"""Its decision, its length and its names."""


def every_call(analysis: Analysis) -> Iterator[tuple[Capability, Tool, Way]]:
    """Every call of the entry, by walking all paths: its row, its tool, and the way to it."""
    graph = analysis.graph
    for path in call_paths(graph):
        gates = delegations(graph, path)
        if "blocked" in gates:
            continue
        for use in graph.workers[path[-1]].uses:
            for tool in tools_of(graph, graph.workers[path[-1]], use).values():
                for row, raised, declared in analysis.shapes.of_tool(
                    tool, delegation=use.name in graph.workers
                ):
                    decision = decide(raised, declared, authority_on(graph, path)).decision
                    yield (
                        line_of(row),
                        tool,
                        (strictest([decision, *gates]), len(path), (*path, use.name)),
                    )


def covers(analysis: Analysis, row: Capability, tool: Tool, narrow: Capability) -> bool:
    """Whether a call of this tool, which has the wider `row`, may be about all that the `narrow` one is about."""
    if row.name != narrow.name or row == narrow or not row.contains(narrow):
        return False
    written = [each for each in analysis.written if each.covers_name(row.name) and not each.is_everywhere]
    between = [Capability(row.name, each.scope) for each in written]
    return not tool.hook or not any(
        each != row and row.contains(each) and each.contains(narrow) for each in between
    )


def ways_to(analysis: Analysis) -> tuple[dict[Capability, list[Way]], dict[Capability, list[Way]]]:
    """Every way to raise each row of the entry, and every way of wider calls that may be about it."""
    ways: dict[Capability, list[Way]] = {}
    calls = [*every_call(analysis)]
    for row, _, way in calls:
        ways.setdefault(row, []).append(way)
    covering = {
        narrow: [way for row, tool, way in calls if covers(analysis, row, tool, narrow)] for narrow in ways
    }
    return ways, covering


def mildness(way: Way) -> tuple[int, int, tuple[str, ...]]:
    return STRICTNESS[way[0]], *way[1:]


@tried(150)
@given(graphs() | gated_graphs())
def test_a_row_says_the_mildest_decision_over_all_paths_and_shows_a_shortest_of_those(graph) -> None:
    analysis = Analysis(graph)
    ways, covering = ways_to(analysis)
    for row in analysis.of(graph.entries["e"]):
        all_ways = ways[line_of(row.capability)]
        best = min(all_ways, key=mildness)
        wide = min(covering[line_of(row.capability)], key=mildness, default=best)
        is_covered = STRICTNESS[wide[0]] < STRICTNESS[best[0]]
        best = wide if is_covered else best
        assert (row.decision, tuple(hop.name for hop in row.path)) == (best[0], best[2])
        if is_covered:
            continue
        open_ways = [way for way in all_ways if way[0] != "blocked"] or all_ways
        assert row.takes_delegation == (min(length for _, length, _ in open_ways) > 1)


@tried(150)
@given(graphs() | gated_graphs())
def test_reach_has_exactly_the_rows_that_walking_all_paths_finds(graph) -> None:
    analysis = Analysis(graph)
    ways, covering = ways_to(analysis)
    mildest = {
        row: min([*own, *covering[row]], key=lambda way: STRICTNESS[way[0]])[0] for row, own in ways.items()
    }
    # By a tool of any worker, also of one that this entry does not reach: a row is the same line for all of them.
    stated = {
        line_of(row)
        for worker in graph.workers.values()
        for use in worker.uses
        for tool in tools_of(graph, worker, use).values()
        for row, *_ in analysis.shapes.of_tool(tool, delegation=use.name in graph.workers)
        if any(row.name == each.name and each.contains(row) for each in tool.capabilities)
    }
    expected = {
        row: decision
        for row, decision in mildest.items()
        # What nobody states, as only a rule names it, is worth a row where it is milder than all rows around it.
        if row in stated
        or all(
            STRICTNESS[decision] < STRICTNESS[mildest[wider]]
            for wider in mildest
            if wider != row and wider.contains(row)
        )
    }
    rows = analysis.of(graph.entries["e"])
    assert {line_of(row.capability): row.decision for row in rows} == expected
    assert len(rows) == len(expected)


@tried(100)
@given(graphs() | gated_graphs(), capabilities(), st.booleans())
def test_the_mildest_of_all_the_paths_that_are_listed_is_what_reach_says(graph, wanted, alone) -> None:
    analysis, entry = Analysis(graph), graph.entries["e"]
    walk, rows = (analysis.walk(entry), analysis.of(entry))
    if alone:
        walk, rows = analysis.walk_below("w0"), analysis.of_worker("w0")
    listed = list(paths_to(walk, Target(wanted)))
    lengths = [len(path.hops) for path in listed]
    assert lengths == sorted(lengths)
    meant = [row for row in rows if wanted.touches(row.capability) or row.capability.touches(wanted)]
    mildest = [
        min((row.decision for row in side), key=STRICTNESS.get, default="blocked") for side in (listed, meant)
    ]
    assert mildest[0] == mildest[1]


@tried(150)
@given(graphs())
def test_an_edge_says_the_mildest_decision_over_its_calls_on_all_paths_to_it(graph) -> None:
    analysis = Analysis(graph)
    mildest: dict[tuple[str, str, Capability], str] = {}
    for path in call_paths(graph):
        if "blocked" in delegations(graph, path):
            continue
        worker = graph.workers[path[-1]]
        for use in worker.uses:
            for tool in tools_of(graph, worker, use).values():
                calls = analysis.shapes.of_tool(tool, delegation=use.name in graph.workers)
                for row, raised, declared in calls:
                    decision = decide(raised, declared, authority_on(graph, path)).decision
                    edge = (path[-1], use.name, line_of(row))
                    mildest[edge] = min(mildest.get(edge, decision), decision, key=STRICTNESS.__getitem__)
    walk = analysis.walk(graph.entries["e"])
    for name, worker in graph.workers.items():
        calls = calls_by_worker(analysis, [walk], name)
        assert list(calls) == [use.name for use in worker.uses]
        for used, rows in calls.items():
            for row in rows:
                assert row.decision == mildest.get((name, used, line_of(row.capability)), "blocked")
            shown = [line_of(row.capability) for row in rows]
            for origin, target, capability in mildest:
                if (origin, target) == (name, used):
                    around = [row for row in rows if row.capability.contains(capability)]
                    milder = [
                        row
                        for row in around
                        if STRICTNESS[row.decision] <= STRICTNESS[mildest[name, used, capability]]
                    ]
                    assert capability in shown or milder


@tried(100)
@given(graphs())
def test_the_worst_row_comes_first(graph) -> None:
    rows = Analysis(graph).of(graph.entries["e"])
    places = [(STRICTNESS[row.decision], gravity(row.capability)) for row in rows]
    assert places == sorted(places)


def test_every_capability_has_a_place_among_the_grave_ones() -> None:
    assert set(VOCABULARY) - set(WORST_FIRST) == {UNDECLARED}
    names = ["proc", "proc.exec.unlisted", "proc.exec", "fs", "fs.write:in/**", "x.shop.pay", "fs.read"]
    assert sorted(map(Capability.parse, sorted(names)), key=gravity) == list(map(Capability.parse, names))


@tried(75)
@given(graphs(), st.integers(0, 3))
def test_a_deeper_limit_never_hides_anything(graph, more) -> None:
    deeper = replace(graph, settings=replace(graph.settings, max_depth=graph.settings.max_depth + more))
    before = {row.capability: row for row in Analysis(graph).of(graph.entries["e"])}
    after = {row.capability: row for row in Analysis(deeper).of(deeper.entries["e"])}
    for capability, row in before.items():
        assert STRICTNESS[after[capability].decision] <= STRICTNESS[row.decision]


@tried(100)
@given(graphs())
def test_nothing_is_reached_that_lies_outside_the_bound(graph) -> None:
    analysis = Analysis(graph)
    for name in graph.workers:
        inside = analysis.bounds.of([name])
        for row in analysis.of_worker(name):
            assert inside & analysis.bounds.rows_where(
                lambda capability, row=row: capability == row.capability
            )
    for row in analysis.of(graph.entries["e"], ceiling=False):
        assert analysis.may_reach(
            graph.entries["e"],
            analysis.bounds.rows_where(lambda capability, row=row: capability == row.capability),
        )


@tried(100)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3), min_size=6),
    st.lists(st.integers(0, 63), min_size=6, max_size=6),
)
def test_every_name_gathers_what_all_names_below_it_have(edges, bits) -> None:
    own = dict(zip(sorted(edges), bits, strict=True))
    gathered = topology.gathered(edges, own)
    for name in edges:
        below, waiting, expected = set(), [name], 0
        while waiting:
            at = waiting.pop()
            if at not in below:
                below.add(at)
                expected |= own[at]
                waiting.extend(edges[at])
        assert gathered[name] == expected


@tried(100)
@given(graphs())
def test_the_height_is_the_longest_chain_of_all(graph) -> None:
    analysis = Analysis(graph)

    def longest(path):
        below = analysis.graph.edges[path[-1]]
        if any(other in path for other in below):
            return None
        lengths = [longest((*path, other)) for other in below]
        return None if None in lengths else max([len(path) - 1, *lengths])

    chains = [longest((name,)) for name in graph.workers]
    assert analysis.height == (None if None in chains else max(chains))


def test_files_that_may_be_handed_over_are_reported_as_secrets_by_either_of_their_names() -> None:
    main = building.worker("main", building.use("b"))
    paths = {"id_rsa": "in/deck.txt", "notes": "in/.env", "deck": "in/a"}
    graph = building.graph(main, building.worker("b"), paths=paths)
    printed = [str(row.capability) for row in Analysis(graph).of(graph.entries["go"])]
    assert [text for text in printed if "protected" in text] == [
        "fs.read.protected:in/.env",
        "fs.read.protected:in/deck.txt",
    ]


def test_a_delegate_without_files_does_not_hide_those_that_another_one_is_handed() -> None:
    first = building.worker("a", attachments={"max": 0})
    main = building.worker("main", building.use("a"), building.use("b"))
    graph = building.graph(main, first, building.worker("b"), paths={"decks/": "in/"})
    printed = [str(row.capability) for row in Analysis(graph).of(graph.entries["go"])]
    assert printed == ["fs.read:in/**", "agent.delegate", "fs.read.protected:in/**"]


def test_a_path_around_a_ceiling_is_a_shortest_one() -> None:
    """Through `c` the first tool is near; around `c`, whose ceiling cuts it off, the second one is nearer."""
    names = {"main": ["a", "c"], "a": ["b"], "b": ["far", "second"], "far": ["first"], "first": ["kit_a"]}
    workers = [building.worker(name, *used) for name, used in {**names, "second": ["kit_b"]}.items()]
    kits = [building.toolset(name, f"{name}.py:kit", tool=["net.connect"]) for name in ("kit_a", "kit_b")]
    graph = building.graph(*workers, building.worker("c", "first", may=[]), *kits)
    row = next(row for row in Analysis(graph).of(graph.entries["go"]) if row.capability.name == "net.connect")
    assert [hop.name for hop in row.path] == ["main", "a", "b", "second", "kit_b"]


def test_a_way_around_a_gated_delegation_is_the_one_that_is_shown() -> None:
    """By `a` the tool is as near as by `b`, but `a` asks before it delegates."""
    asks = {"agent.delegate": "needs_approval"}
    workers = [
        building.worker("main", "a", "b"),
        building.worker("a", "end", approvals=asks),
        building.worker("b", "end"),
        building.worker("end", "kit"),
    ]
    kit = building.toolset("kit", "kit.py:kit", tool=["net.connect"])
    graph = building.graph(*workers, kit, approvals={"net.connect": "allowed"})
    row = next(row for row in Analysis(graph).of(graph.entries["go"]) if row.capability.name == "net.connect")
    assert (row.decision, [hop.name for hop in row.path]) == ("allowed", ["main", "b", "end", "kit"])


@pytest.mark.parametrize(
    ("blocked", "ways"), [("agent.delegate", []), ("agent.delegate:a", [["main", "b", "c", "kit"]])]
)
def test_nothing_is_reached_by_a_delegation_that_is_blocked(blocked: str, ways: list[list[str]]) -> None:
    """By `a` the tool is nearest, and no call comes to it there."""
    workers = [
        building.worker("main", "a", "b"),
        building.worker("a", "kit"),
        building.worker("b", "c"),
        building.worker("c", "kit"),
    ]
    kit = building.toolset("kit", "kit.py:kit", tool=["net.connect"])
    graph = building.graph(*workers, kit, approvals={"net.connect": "allowed", blocked: "blocked"})
    rows = [row for row in Analysis(graph).of(graph.entries["go"]) if row.capability.name == "net.connect"]
    assert [[hop.name for hop in row.path] for row in rows] == ways


def test_a_milder_call_of_a_delegate_does_not_say_that_it_takes_one() -> None:
    """The entry's worker can make the call itself, though it asks."""
    main = building.worker("main", "a", "kit", approvals={"net.connect": "needs_approval"})
    kit = building.toolset("kit", "kit.py:kit", tool=["net.connect"])
    graph = building.graph(main, building.worker("a", "kit"), kit, approvals={"net.connect": "allowed"})
    row = next(row for row in Analysis(graph).of(graph.entries["go"]) if row.capability.name == "net.connect")
    assert (row.decision, [hop.name for hop in row.path]) == ("allowed", ["main", "a", "kit"])
    assert not row.takes_delegation


def test_what_is_implied_twice_is_shown_whichever_way_everywhere_is_written() -> None:
    """Both tools may raise what the rule names, and neither declares it by that name."""
    tools = [Tool(name="tool", capabilities=(Capability("x.t", scope),), hook=True) for scope in (None, "**")]
    kits = [building.toolset(name, "kit.py:kit", tool=tool) for name, tool in zip("ab", tools, strict=True)]
    graph = building.graph(building.worker("main", "a", "b"), *kits, approvals={"x.t.any": "allowed"})
    rows = {str(row.capability): row.decision for row in Analysis(graph).of(graph.entries["go"])}
    assert rows["x.t.any"] == "allowed"


def test_a_blocked_call_is_shown_on_a_shortest_way_though_a_ceiling_cuts_it_off_there() -> None:
    workers = [
        building.worker("main", "a", "b"),
        building.worker("a", "c"),
        building.worker("b", "kit", may=[]),
        building.worker("c", "kit"),
    ]
    kit = building.toolset("kit", "kit.py:kit", tool=["net.connect"])
    graph = building.graph(*workers, kit, approvals={"net.connect": "blocked"})
    row = next(row for row in Analysis(graph).of(graph.entries["go"]) if row.capability.name == "net.connect")
    assert (row.decision, [hop.name for hop in row.path]) == ("blocked", ["main", "b", "kit"])


def test_a_row_is_elsewhere_also_of_a_narrower_one_that_sorts_before_it() -> None:
    """`!` sorts before `*`."""
    kit = building.toolset("kit", "kit.py:kit", tool=["fs.write:a/!b", "fs.write:a/**"])
    graph = building.graph(building.worker("main", "kit"), kit)
    rows = {str(row.capability): row.elsewhere for row in Analysis(graph).of(graph.entries["go"])}
    assert rows == {"fs.write:a/!b": False, "fs.write:a/**": True}


@pytest.mark.parametrize(("hook", "decided"), [(False, "allowed"), (True, "blocked")])
def test_a_row_is_no_stricter_than_a_call_that_counts_for_every_path(hook: bool, decided: str) -> None:
    """The narrow tool's own call is blocked; a rule tells its folder from the rest, which a tool without a hook cannot."""
    kits = [
        building.toolset(name, "kit.py:kit", tool=Tool(name="tool", capabilities=(each,), hook=hook))
        for name, each in zip(
            "abc", (Capability("fs.write", "out/**"), *[Capability("fs.write")] * 2), strict=True
        )
    ]
    main = building.worker("main", "a", "helper", "later", approvals={"fs.write:out/**": "blocked"})
    own = {"fs.write:out/**": "blocked"} if hook else {}
    below = [building.worker(name, kit, approvals=own) for name, kit in (("helper", "b"), ("later", "c"))]
    graph = building.graph(main, *below, *kits, approvals={"fs.write": "allowed"})
    row = next(
        each
        for each in Analysis(graph).of(graph.entries["go"])
        if each.capability == Capability("fs.write", "out/**")
    )
    assert row.decision == decided
    names = [hop.name for hop in row.path]
    assert names == (["main", "helper", "b"] if decided == "allowed" else ["main", "a"])
    assert {reason.rule.capability for reason in row.reasons if reason.rule} == {
        Capability("fs.write", "out/**" if decided == "blocked" else None)
    }


def test_a_row_is_no_stricter_than_a_call_that_no_rule_tells_from_it() -> None:
    """Nobody wrote the folder but the tool that declares it."""
    narrow, wide = (
        building.toolset(name, "kit.py:kit", tool=Tool(name="tool", capabilities=(each,), hook=True))
        for name, each in (("a", Capability("fs.write", "out/**")), ("b", Capability("fs.write")))
    )
    main = building.worker("main", "a", "helper", approvals={"fs.write": "needs_approval"})
    graph = building.graph(
        main, building.worker("helper", "b"), narrow, wide, approvals={"fs.write": "allowed"}
    )
    rows = {str(row.capability): row.decision for row in Analysis(graph).of(graph.entries["go"])}
    assert (rows["fs.write"], rows["fs.write:out/**"]) == ("allowed", "allowed")
    own = Analysis(graph).of(graph.entries["go"], toolset="a")
    assert [row.decision for row in own if row.capability.name == "fs.write"] == ["needs_approval"]


@pytest.mark.parametrize("name", ["a_kit", "z_kit"])
def test_what_a_built_in_and_a_declared_tool_may_both_do_is_as_sure_as_the_weaker(name: str) -> None:
    files = building.use("filesystem", read=["in/**"])
    kit = building.toolset(name, "kit.py:kit", tool=["fs.read:in/**"])
    for used, assurance in ((files,), "enforced"), ((name,), "declared"), ((files, name), "declared"):
        graph = building.graph(building.worker("main", *used), kit)
        rows = {str(row.capability): row.assurance for row in Analysis(graph).of(graph.entries["go"])}
        assert rows["fs.read:in/**"] == assurance


def test_what_a_providers_tools_or_a_foreign_project_say_is_declared() -> None:
    search = building.graph(building.worker("main", building.use(PROVIDER_SIDE, tools=["web_search"])))
    files = building.graph(building.worker("main", building.use("filesystem", read=["in/**"])))
    foreign = replace(files, read_from="claude")
    for graph, assurances in (search, {"declared"}), (files, {"enforced"}), (foreign, {"declared"}):
        assert {row.assurance for row in Analysis(graph).of(graph.entries["go"])} == assurances


@pytest.mark.parametrize("calls", [["a.z", "b.a"], ["b.a", "a.z"]])
def test_of_two_calls_of_a_function_the_first_toolset_by_name_is_shown(calls: list[str]) -> None:
    kits = [building.toolset(name, "kit.py:kit", **{tool: ["net.connect"]}) for name, tool in ("az", "ba")]
    graph = building.graph(building.worker("main"), *kits, function="run.py:run", calls=calls)
    [row] = Analysis(graph).of(graph.entries["go"])
    assert ([hop.name for hop in row.path], row.tool) == (["a"], "z")
