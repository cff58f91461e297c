"""What a difference says is what trying every call of both graphs finds."""

from __future__ import annotations

import random
from collections.abc import Iterator, Set
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.diff import Difference, RowChange, diff, entry_rows
from llmdo.diff.rows import Comparison, scopes_of
from llmdo.graph.described import Server
from llmdo.graph.keys import Reference
from llmdo.graph.limits import Limits
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Acceptance, Notify, Schedule, Settings
from llmdo.graph.toolkit import tools_of
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Attachments, Use, Worker
from llmdo.policy.authority import STRICTNESS, Capability, FlowRule, Rule, decide, scope_contains, strictest
from llmdo.policy.flow import Flows, LabelledSource
from llmdo.reach import Analysis
from tests.reach.test_reach import authority_on, call_paths, calls_of, delegations
from tests.support.graphs import NOWHERE, graphs
from tests.support.laws import tried

STRANGERS = Capability("data.untrusted")
PATHS = ["in/a", "in/b", "in/c/d", "out/a", "out/b/c", "elsewhere"]

Deed = tuple[str, str | None]


def deeds(graph: Graph, named: Set[str | None], through: str = "w0") -> dict[Deed, int]:
    """Everything that a call under the entry can do to one file or at all, with the mildest decision over it.

    Of a call of a worker by its name, where that is `named`; on paths `through` a worker.
    """
    mildest: dict[Deed, int] = {}
    for path in call_paths(graph):
        if through not in path:
            continue
        gates = delegations(graph, path)
        if "blocked" in gates:
            continue
        worker, authority = graph.workers[path[-1]], authority_on(graph, path)
        for use in worker.uses:
            for tool in tools_of(graph, worker, use).values():
                for raised in calls_of(tool, delegation=use.name in graph.workers):
                    decision = decide(raised, tool.capabilities, authority).decision
                    if decision != "blocked":
                        strictness = STRICTNESS[strictest([decision, *gates])]
                        for deed in done_by(raised, named):
                            mildest[deed] = min(strictness, mildest.get(deed, 2))
    return mildest


def done_by(raised: frozenset[Capability], named: Set[str | None]) -> Iterator[Deed]:
    for capability in raised:
        if capability.name.startswith("fs"):
            yield from ((capability.name, path) for path in PATHS if scope_contains(capability.scope, path))
        else:
            yield capability.name, capability.scope if capability.scope in named else None


def named_in(graph: Graph) -> Set[str | None]:
    """The workers that rules or ceilings of `graph` name in what they say about delegation."""
    holders = [graph.entries["e"], *graph.workers.values()]
    rules = [*graph.rules, *(rule for holder in holders for rule in holder.approvals)]
    written = [
        *(rule.capability for rule in rules),
        *(capability for holder in holders for capability in holder.may or ()),
    ]
    return {each.scope for each in written if each.name == "agent.delegate"} - {None, "**"}


@tried(75)
@given(graphs(), graphs(), st.sampled_from([None, "w0", "w1", "w2"]))
def test_a_row_widens_exactly_where_a_call_can_do_more_or_with_fewer_questions(before, after, below) -> None:
    """Of the entry, and of a worker by what is called below it in the tree of the entry."""
    named = named_in(before) | named_in(after)
    old, new = (deeds(graph, named, below or "w0") for graph in (before, after))
    rows = (
        Comparison(Analysis(before), Analysis(after)).of_worker(below)
        if below
        else diff(before, after).entries[0].rows
    )
    wider = [row.capability for row in rows if row.effect == "widens"]
    narrower = [row.capability for row in rows if row.effect == "narrows"]
    for deed in {*old, *new}:
        name, path = deed
        change = new.get(deed, 2) - old.get(deed, 2)
        is_wider, is_narrower = (
            any(
                capability.covers_name(name) and scope_contains(capability.scope, path) for capability in side
            )
            for side in (wider, narrower)
        )
        assert is_wider or change >= 0, deed
        assert is_narrower or change <= 0, deed
    assert bool(wider) == any(strictness < old.get(deed, 2) for deed, strictness in new.items())
    assert bool(narrower) == any(strictness < new.get(deed, 2) for deed, strictness in old.items())


@tried(50)
@given(graphs())
def test_a_graph_is_the_same_as_itself(graph) -> None:
    difference = diff(graph, graph)
    assert difference.verdict == "same"
    assert difference == Difference(entries=difference.entries, changes=())
    assert {entry.verdict for entry in difference.entries} == {"same"}


@tried(75)
@given(graphs(), graphs(), st.sets(st.sampled_from(["w0", "w1", "w2", "w3", "e", "e1"])))
def test_an_entry_that_reaches_nothing_that_differs_reaches_what_it_did(first, other, touched) -> None:
    """So of those that differ in workers and entries alone, the others need not be looked at."""
    before = with_entry_of_each(first)
    later = with_entry_of_each(other)
    after = replace(
        before,
        workers=dict(sorted(swapped(before.workers, later.workers, touched).items())),
        entries=swapped(before.entries, later.entries, touched),
    )
    rows = entry_rows(Analysis(before), Analysis(after), touched)
    assert set(rows) <= {*before.entries, *after.entries}
    every = {each.name: seen_of(each.rows) for each in diff(before, after).entries}
    assert {name: seen for name, seen in every.items() if seen} == {
        name: seen_of(each) for name, each in rows.items() if each
    }


@tried(75)
@given(graphs(), st.lists(graphs(), min_size=2, max_size=2))
def test_an_analysis_that_was_compared_before_compares_as_a_new_one(before, later) -> None:
    kept = Analysis(before)
    for after in later:
        rows = entry_rows(kept, Analysis(after))
        assert rows == entry_rows(Analysis(before), Analysis(after))


@tried(50)
@given(graphs())
def test_an_entry_that_differs_itself_is_looked_at(graph) -> None:
    entry = graph.entries["e"]
    free = replace(graph, entries={"e": replace(entry, may=None, approvals=())})
    for before, after in ((graph, free), (free, graph)):
        rows = entry_rows(Analysis(before), Analysis(after), {"e"})
        assert seen_of(rows["e"]) == seen_of(diff(before, after).entries[0].rows)


def with_entry_of_each(graph: Graph) -> Graph:
    starts = {f"e{name[1:]}": Reference(name, NOWHERE) for name in graph.workers if name != "w0"}
    others = {name: Entry(name=name, at=NOWHERE, worker=start) for name, start in starts.items()}
    return replace(graph, entries={**graph.entries, **others})


def swapped(mine, theirs, names):
    """`mine`, but of these names what `theirs` has, or nothing."""
    kept = {name: value for name, value in mine.items() if name not in names}
    return kept | {name: value for name, value in theirs.items() if name in names}


def seen_of(rows: tuple[RowChange, ...]) -> list[object]:
    return [
        (row.kind, row.capability, row.effect, [hop.name for hop in row.after.path] if row.after else None)
        for row in rows
    ]


@tried(50)
@given(graphs(), st.lists(st.sampled_from(["in/**", "a/**", "b"]), min_size=4, max_size=4))
def test_every_scope_that_any_worker_could_name_counts(graph, folders) -> None:
    workers = {
        name: replace(worker, uses=tuple(reading(use, folder) for use in worker.uses))
        for (name, worker), folder in zip(graph.workers.items(), folders, strict=False)
    }
    graph = replace(graph, workers=workers)
    offered = {
        capability
        for worker in workers.values()
        for use in worker.uses
        for tool in tools_of(graph, worker, use).values()
        for capability in tool.capabilities
        if capability.scope is not None
    }
    analysis = Analysis(graph)
    assert {*scopes_of(analysis)} == offered | {*analysis.written}


def reading(use: Use, folder: str) -> Use:
    return replace(use, config={"read": [folder]}) if use.name == "filesystem" else use


@tried(80)
@given(graphs(), graphs())
def test_only_equal_graphs_are_the_same(before, after) -> None:
    assert (diff(before, after).verdict == "same") == (before == after)


def widenings(graph: Graph) -> Iterator[Graph]:
    """Graphs that can do more, or as much, by one edit."""
    entry, name = graph.entries["e"], min(graph.workers)
    worker = graph.workers[name]
    yield replace(graph, settings=replace(graph.settings, max_depth=graph.settings.max_depth + 1))
    yield replace(graph, entries={"e": replace(entry, may=None)})
    yield replace(graph, entries={"e": replace(entry, approvals=())})
    yield replace(graph, workers={**graph.workers, name: replace(worker, may=None)})
    for used in {*graph.workers, *graph.toolsets} - {use.name for use in worker.uses}:
        uses = sorted((*worker.uses, Use(name=used, config={}, at=NOWHERE)), key=lambda use: use.name)
        yield replace(graph, workers={**graph.workers, name: replace(worker, uses=tuple(uses))})


@tried(50)
@given(graphs())
def test_what_only_widens_narrows_when_it_is_taken_back(graph) -> None:
    for wider in widenings(graph):
        back = {"widened": "narrowed", "changed": "changed", "same": "same"}
        assert diff(wider, graph).verdict == back[diff(graph, wider).verdict]


@tried(50)
@given(graphs(), graphs(), st.randoms(use_true_random=False))
def test_the_order_of_items_means_nothing(before, after, shuffling) -> None:
    assert diff(shuffled(before, shuffling), shuffled(after, shuffling)) == diff(before, after)


def shuffled(graph: Graph, shuffling: random.Random) -> Graph:
    def mixed(mapping):
        names = list(mapping)
        shuffling.shuffle(names)
        return {name: mapping[name] for name in names}

    return replace(
        graph,
        rules=tuple(shuffling.sample(graph.rules, len(graph.rules))),
        workers=mixed(graph.workers),
        toolsets=mixed(graph.toolsets),
    )


# One fact at a time.

CONSOLE = Toolset(
    name="console",
    kind="python",
    at=NOWHERE,
    python="tools.py:console",
    source="sha256:1",
    tools={"run": Tool(name="run", capabilities=(Capability("proc.exec"),), digest="sha256:2")},
)
ENTRY = Entry(name="e", at=NOWHERE, worker=Reference("main", NOWHERE))


def worker(name: str, *uses: str, **more) -> Worker:
    return Worker(
        name=name,
        at=NOWHERE,
        path=f"{name}.worker",
        config="",
        prompt="",
        uses=tuple(Use(name=used, config={}, at=NOWHERE) for used in uses),
        **more,
    )


def graph_of(*workers: Worker, entry: Entry = ENTRY, toolset: Toolset = CONSOLE, **more) -> Graph:
    return Graph(
        settings=Settings(name="w", built_in=3, default="needs_approval", max_depth=5),
        workers={member.name: member for member in workers},
        entries={entry.name: entry},
        toolsets={toolset.name: toolset},
        **more,
    )


MAIN = worker("main", "console")
PLAIN = graph_of(MAIN)


def test_a_capability_gained_by_delegation_has_its_path() -> None:
    difference = diff(graph_of(worker("main")), graph_of(worker("main", "other"), worker("other", "console")))
    row = next(row for row in difference.entries[0].rows if row.capability.name == "proc.exec")
    assert (row.kind, difference.verdict) == ("gained", "widened")
    assert [hop.name for hop in row.after.path] == ["main", "other", "console"]


def test_a_gate_is_removed_only_when_some_path_asks_nobody() -> None:
    rule = Rule(Capability("proc.exec"), "allowed", "llmdo.toml")
    assert [row.kind for row in diff(PLAIN, graph_of(MAIN, rules=(rule,))).entries[0].rows] == [
        "gate removed"
    ]
    assert [row.kind for row in diff(graph_of(MAIN, rules=(rule,)), PLAIN).entries[0].rows] == ["gate added"]


def test_every_limit_that_goes_up_or_away_widens() -> None:
    def limited(**limits):
        return graph_of(MAIN, entry=replace(ENTRY, limits=Limits(**limits)))

    def attached(**limits):
        return graph_of(worker("main", "console", attachments=Attachments(**limits)))

    for less, more in (
        (limited(requests=3), limited(requests=4)),
        (limited(seconds=3.5), limited()),
        (attached(max=0), attached(max=1)),
        (attached(max=1), attached()),
        (attached(suffixes=(".md",)), attached(suffixes=(".md", ".pdf"))),
        (attached(suffixes=()), attached()),
        (PLAIN, replace(PLAIN, settings=replace(PLAIN.settings, max_depth=6))),
    ):
        assert diff(less, more).verdict == "widened"
        assert diff(more, less).verdict == "narrowed"


def test_what_runs_say_leaving_the_machine_widens() -> None:
    plain = Notify(url_env="A_WEBHOOK", secret_env="A_SECRET")
    whole = replace(plain, content=True)
    by_notify = {None: PLAIN, **{each: replace(PLAIN, notify=each) for each in (plain, whole)}}
    another = replace(PLAIN, notify=replace(plain, url_env="ANOTHER"))
    assert [
        diff(by_notify[before], by_notify[after]).verdict
        for before, after in ((None, plain), (plain, whole), (None, whole), (whole, plain), (whole, None))
    ] == ["changed", "widened", "widened", "narrowed", "narrowed"]
    assert diff(by_notify[plain], another).verdict == "widened"


@pytest.mark.parametrize("read", [("**",), ("docs/**", "mail/**")])
def test_a_source_that_was_added_widens_no_listing(read: tuple[str, ...]) -> None:
    files = Use(name="filesystem", config={"read": list(read)}, at=NOWHERE)
    flows = Flows(
        rules=(FlowRule((STRANGERS,), Capability("x"), "needs_approval", "llmdo.toml"),), owner="llmdo.toml"
    )
    plain = graph_of(replace(MAIN, uses=(files,)), flows=flows)
    mail = LabelledSource(Capability("fs.read", "mail/inbox/**"), STRANGERS)
    difference = diff(plain, replace(plain, sources=(mail,)))
    assert (difference.entries[0].verdict, difference.verdict) == ("same", "narrowed")


def test_a_schedule_is_told_of_with_the_entry_that_it_starts() -> None:
    (entry, *_) = PLAIN.entries
    weekly = Schedule(name="weekly", at=NOWHERE, entry=Reference(entry, NOWHERE), cron="0 6 * * 1")
    before, after = PLAIN, replace(PLAIN, schedules={"weekly": weekly})
    [new] = diff(before, after).changes
    assert (new.route, new.entries, new.effect) == (("schedule", "weekly"), (entry,), "none")
    hourly = replace(after, schedules={"weekly": replace(weekly, cron="0 * * * *")})
    [changed] = diff(after, hourly).changes
    assert (changed.route, changed.entries) == (("schedule", "weekly", "cron"), (entry,))
    assert diff(after, hourly).verdict == "changed"
    other = replace(after.entries[entry], name="other")
    moved = replace(
        after,
        entries={"other": other},
        schedules={"weekly": replace(weekly, entry=Reference("other", NOWHERE))},
    )
    assert (diff(after, moved).changes, len(diff(after, moved).renames)) == ((), 1), "which is the same entry"


def test_an_mcp_server_with_less_isolation_or_more_wanted_tools_widens() -> None:
    def serving(isolation: str = "auto", **reached) -> Graph:
        server = Server(command="docs", **reached)
        toolset = Toolset(name="docs", kind="mcp", at=NOWHERE, server=server, isolation=isolation)
        return graph_of(worker("main", "docs"), toolset=toolset)

    for less, more in (
        (serving("require"), serving("auto")),
        (serving("auto"), serving("off")),
        (serving(include=("read",)), serving(include=("read", "write"))),
        (serving(include=("read",)), serving()),
        (serving(exclude=("write",)), serving()),
        (serving(), serving(env=("TOKEN",))),
        (serving(args=("--key", "plain")), serving(args=("--key", "${KEY}"))),
    ):
        assert diff(less, more).verdict == "widened"
    accepting = accepted("mcp.call")
    assert diff(serving(), replace(serving(env=("TOKEN",)), acceptances=(accepting,))).is_accepted


def test_another_mcp_server_for_a_worker_widens_though_it_raises_nothing_new() -> None:
    """Of three servers whose calls raise the same, that of another command can do other things."""

    def using(*names: str) -> Graph:
        commands = {"docs": ("docs", ()), "docs2": ("docs", ("--verbose",)), "mail": ("mail", ())}
        toolsets = [
            Toolset(name=name, kind="mcp", at=NOWHERE, server=Server(command=command, args=args))
            for name, (command, args) in commands.items()
        ]
        return replace(graph_of(worker("main", *names)), toolsets={each.name: each for each in toolsets})

    assert diff(using("docs"), using("docs", "mail")).verdict == "widened"
    assert diff(using("docs"), using("mail")).verdict == "widened"
    assert diff(using("docs"), using("docs2")).verdict == "changed"
    assert diff(using("docs", "mail"), using("docs")).verdict == "changed"
    allowing = replace(using("docs", "mail"), acceptances=(accepted("mcp.call"),))
    assert diff(using("docs"), allowing).is_accepted


def test_a_ceiling_widens_where_it_admits_more_by_the_law_of_ceilings() -> None:
    def under(*may: str):
        return graph_of(worker("main"), entry=replace(ENTRY, may=tuple(map(Capability.parse, may))))

    assert diff(under("fs.write"), under("fs.write:out/**")).verdict == "narrowed"
    assert diff(under("fs"), under("fs.read")).verdict == "narrowed"
    assert diff(under("fs.write"), under("fs.write", "fs.write.protected")).verdict == "widened"
    assert diff(under("fs.read", "fs.write"), under("fs.read", "agent.delegate")).verdict == "narrowed"
    assert diff(under("fs.read"), under("fs.write")).verdict == "widened"
    assert diff(under(), graph_of(worker("main"))).verdict == "widened"


def test_a_tool_that_declares_less_widens_where_it_is_reached() -> None:
    silent = replace(CONSOLE, source="sha256:3", tools={"run": Tool(name="run", capabilities=())})
    hooked = replace(CONSOLE, source="sha256:3", tools={"run": replace(CONSOLE.tools["run"], hook=True)})
    for toolset in (silent, hooked):
        difference = diff(PLAIN, graph_of(MAIN, toolset=toolset))
        assert difference.verdict == "widened"
        unreached = diff(graph_of(worker("main")), graph_of(worker("main"), toolset=toolset))
        assert unreached.verdict == "changed"


def test_a_tool_that_changed_names_who_reaches_it() -> None:
    tools = {"run": replace(CONSOLE.tools["run"], digest="sha256:9")}
    after = graph_of(MAIN, toolset=replace(CONSOLE, source="sha256:3", tools=tools))
    changes = {change.route: change for change in diff(PLAIN, after).changes}
    change = changes["toolset", "console", "tool", "run", "digest"]
    assert (change.workers, change.entries, change.effect) == (("main",), ("e",), "none")
    assert diff(PLAIN, after).entries[0].verdict == "changed"


def test_facts_that_changed_while_their_source_did_not_were_edited_by_hand() -> None:
    tool = CONSOLE.tools["run"]
    for tools in (
        {},
        {"run": tool, "more": tool},
        {"run": replace(tool, digest="sha256:9")},
        {"run": replace(tool, hook=True)},
        {"run": replace(tool, metadata=())},
    ):
        difference = diff(PLAIN, graph_of(MAIN, toolset=replace(CONSOLE, tools=tools)))
        assert difference.hand_edits
        assert difference.fails(None)
        rebuilt = replace(CONSOLE, source="sha256:3", tools=tools)
        assert not diff(PLAIN, graph_of(MAIN, toolset=rebuilt)).hand_edits


def test_a_table_of_the_manifest_may_change_capabilities_without_the_source() -> None:
    tools = {"run": replace(CONSOLE.tools["run"], capabilities=(Capability("x.console.run"),))}
    assert not diff(PLAIN, graph_of(MAIN, toolset=replace(CONSOLE, tools=tools))).hand_edits


def accepted(capability: str, *, entry: str | None = None, gated: bool = False) -> Acceptance:
    return Acceptance(
        code=None,
        capability=Capability.parse(capability),
        entry=entry,
        gated=gated,
        reason="ours",
        at=NOWHERE,
    )


def test_an_accepted_widening_is_shown_and_does_not_fail() -> None:
    before = graph_of(worker("main"))
    for acceptance, holds in (
        (accepted("proc.exec"), True),
        (accepted("proc", entry="e"), True),
        (accepted("proc.exec", entry="other"), False),
        (accepted("proc.exec.read"), False),
        (accepted("proc.exec", gated=True), True),
    ):
        difference = diff(before, graph_of(MAIN, acceptances=(acceptance,)))
        assert difference.verdict == "widened"
        assert difference.is_accepted == holds
        assert difference.fails("widened") != holds
        assert difference.fails("changed")
    allowed = Rule(Capability("proc.exec"), "allowed", "llmdo.toml")
    freely = graph_of(MAIN, rules=(allowed,), acceptances=(accepted("proc.exec", gated=True),))
    assert diff(before, freely).fails("widened")


def test_only_the_acceptances_of_the_later_side_count() -> None:
    before = graph_of(worker("main"), acceptances=(accepted("proc.exec"),))
    assert diff(before, PLAIN).fails("widened")


def test_an_acceptance_covers_no_wider_scope_and_no_capability_that_needs_its_full_name() -> None:
    def writing(*acceptances: Acceptance):
        use = Use(name="filesystem", config={"read": [], "write": ["out/**"]}, at=NOWHERE)
        return graph_of(replace(worker("main"), uses=(use,)), acceptances=acceptances)

    before = graph_of(worker("main"))
    plain, *by_full_name = (
        accepted(f"{name}:out/**") for name in ("fs.write", "fs.write.code", "fs.write.protected")
    )
    assert not diff(before, writing(plain, *by_full_name)).fails("widened")
    assert diff(before, writing(plain)).fails("widened")
    assert diff(before, writing(accepted("fs.write:out/a"), *by_full_name)).fails("widened")
    rows = diff(before, writing(accepted("fs.write:out/a"), *by_full_name)).entries[0].rows
    assert [(str(row.capability), row.elsewhere, row.accepted is not None) for row in rows] == [
        ("fs.write.protected:out/**", False, True),
        ("fs.write.code:out/**", False, True),
        ("fs.write:out/**", True, False),
        ("fs.write:out/a", False, True),
    ]


def test_against_nothing_everything_is_new() -> None:
    difference = diff(Graph(settings=PLAIN.settings), PLAIN)
    assert (difference.entries[0].status, difference.verdict) == ("new", "widened")
    assert {change.route for change in difference.changes} == {
        ("entry", "e"),
        ("toolset", "console"),
        ("worker", "main"),
    }
