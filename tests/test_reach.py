"""What reach says is what walking every call path finds."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from llmdo import topology
from llmdo.authority import (
    STRICTNESS,
    VOCABULARY,
    Authority,
    Capability,
    Ceiling,
    Rule,
    base_rules,
    decide,
    strictest,
)
from llmdo.graph import Graph, Tool
from llmdo.inventory import DELEGATE, tools_of
from llmdo.reach import Analysis, Row, entry_ceiling
from tests.graphs import graphs
from tests.laws import tried
from tests.runtime import building

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


def rules_on(graph: Graph, row: Row) -> tuple[Rule, ...]:
    """The rules of the entry and of the worker whose call a row is about."""
    return (*graph.entries["e"].approvals, *graph.workers[row.path[-2].name].approvals)


def delegations(graph: Graph, path: tuple[str, ...]) -> list[str]:
    """The decisions over the delegations that lead along `path`."""
    return [
        decide([DELEGATE], [DELEGATE], authority_on(graph, path[: length + 1])).decision
        for length in range(len(path) - 1)
    ]


def calls_of(tool: Tool, *, delegation: bool) -> Iterator[frozenset[Capability]]:
    """What single calls of a tool may raise: with a hook any one declared thing, at any probed place in it."""
    if not tool.hook:
        yield frozenset(tool.capabilities)
        return
    always = {DELEGATE} if delegation else set()
    for declared in tool.capabilities:
        names = [name for name in [*VOCABULARY, "x.t.any"] if declared.covers_name(name)]
        for scope in [declared.scope, *PROBES] if declared.name.startswith("fs") else [None]:
            for name in names:
                raised = Capability(name, scope)
                if declared.contains(raised):
                    yield frozenset({raised, *always})


@tried(150)
@given(graphs())
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
                    for one in raised:
                        covering = [row for row in rows if row.capability.contains(one)]
                        assert covering, (path, one)
                        mildest = min(STRICTNESS[row.mildest] for row in covering)
                        assert mildest <= STRICTNESS[whole], (path, one)


@tried(150)
@given(graphs())
def test_what_reach_shows_is_a_path_that_exists_and_decides_so(graph) -> None:
    paths = set(call_paths(graph))
    for row in Analysis(graph).of(graph.entries["e"]):
        for hops in (row.path, row.free):
            if hops is None:
                continue
            names = tuple(hop.name for hop in hops)
            assert names[:-1] in paths
            worker = graph.workers[names[-2]]
            assert any(use.name == names[-1] for use in worker.uses)
            if hops is row.free:
                assert set(delegations(graph, names[:-1])) <= {"allowed"}
            assert [hop.decision for hop in hops[1:-1]] == delegations(graph, names[:-1])
        if row.free is not None:
            assert len(row.free) >= len(row.path)
        assert {reason.decision for reason in row.reasons} == {row.verdict.decision}
        for reason in row.reasons:
            assert reason.rule is None or reason.rule in {*base_rules(graph.rules), *rules_on(graph, row)}


@tried(150)
@given(graphs())
def test_reach_shows_the_shortest_of_the_mildest_paths(graph) -> None:
    analysis = Analysis(graph)
    ways: dict[Capability, list[tuple[bool, bool, int, tuple[str, ...]]]] = {}
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
                    is_free = {decision, *gates} == {"allowed"}
                    way = (decision == "blocked", not is_free, len(path), (*path, use.name))
                    ways.setdefault(row, []).append(way)
    for row in analysis.of(graph.entries["e"]):
        best = min((blocked, length, names) for blocked, _, length, names in ways[row.capability])
        assert (row.verdict.decision == "blocked", tuple(hop.name for hop in row.path)) == (best[0], best[2])
        free = min(
            (names for _, asks, _, names in ways[row.capability] if not asks),
            key=lambda one: (len(one), one),
            default=None,
        )
        assert row.free == free if free is None else tuple(hop.name for hop in row.free) == free


@tried(75)
@given(graphs(), st.integers(0, 3))
def test_a_deeper_limit_never_hides_anything(graph, more) -> None:
    from dataclasses import replace

    deeper = replace(graph, settings=replace(graph.settings, max_depth=graph.settings.max_depth + more))
    before = {row.capability: row for row in Analysis(graph).of(graph.entries["e"])}
    after = {row.capability: row for row in Analysis(deeper).of(deeper.entries["e"])}
    for capability, row in before.items():
        assert STRICTNESS[after[capability].mildest] <= STRICTNESS[row.mildest]


@tried(100)
@given(graphs())
def test_nothing_is_reached_that_lies_outside_the_bound(graph) -> None:
    analysis = Analysis(graph)
    for name in graph.workers:
        inside = analysis.bounds.of([name])
        for row in analysis.of_worker(name):
            assert inside & analysis.bounds.rows_where(lambda one, row=row: one == row.capability)
    for row in analysis.of(graph.entries["e"], ceiling=False):
        assert analysis.may_reach(
            graph.entries["e"], analysis.bounds.rows_where(lambda one, row=row: one == row.capability)
        )


@tried(100)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3), min_size=6),
    st.lists(st.integers(0, 63), min_size=6, max_size=6),
)
def test_every_name_gathers_what_all_names_below_it_have(edges, bits) -> None:
    own = dict(zip(sorted(edges), bits, strict=True))
    found = topology.gathered(edges, own)
    for name in edges:
        below, waiting, expected = set(), [name], 0
        while waiting:
            at = waiting.pop()
            if at not in below:
                below.add(at)
                expected |= own[at]
                waiting.extend(edges[at])
        assert found[name] == expected


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


def test_a_delegate_without_files_does_not_hide_those_that_another_one_is_handed() -> None:
    first = building.worker("a", attachments={"max": 0})
    main = building.worker("main", building.use("a"), building.use("b"))
    graph = building.graph(main, first, building.worker("b"), paths={"decks/": "in/"})
    found = [str(row.capability) for row in Analysis(graph).of(graph.entries["go"])]
    assert found == ["agent.delegate", "fs.read:in/**"]


def test_a_path_around_a_ceiling_is_a_shortest_one() -> None:
    """Through `c` the first tool is near; around `c`, whose ceiling cuts it off, the second one is nearer."""
    names = {"main": ["a", "c"], "a": ["b"], "b": ["far", "second"], "far": ["first"], "first": ["kit_a"]}
    workers = [building.worker(name, *used) for name, used in {**names, "second": ["kit_b"]}.items()]
    kits = [building.toolset(name, f"{name}.py:kit", tool=["net.connect"]) for name in ("kit_a", "kit_b")]
    graph = building.graph(*workers, building.worker("c", "first", may=[]), *kits)
    row = next(row for row in Analysis(graph).of(graph.entries["go"]) if row.capability.name == "net.connect")
    assert [hop.name for hop in row.path] == ["main", "a", "b", "second", "kit_b"]
