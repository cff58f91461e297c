"""Who has another name is judged as who they were, and nothing hides behind that."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.diff import Difference, Rename, diff
from llmdo.diff.renames import Renaming
from llmdo.diff.renames import renamed as told_by
from llmdo.graph.keys import Reference
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Use
from llmdo.policy.authority import Capability, Rule
from tests.diff.test_diff import CONSOLE, ENTRY, graph_of, worker
from tests.support.graphs import NOWHERE, graphs
from tests.support.laws import tried

RENAMES = {f"w{number}": name for number, name in enumerate(["zeta", "w0-new", "helper", "other"])}
chosen = st.sets(st.sampled_from(sorted(RENAMES)), min_size=1)


def prompted(graph: Graph) -> Graph:
    """The graph with a prompt of its own for each worker: by that it is known again."""
    workers = {name: replace(member, prompt=f"sha256:{name}") for name, member in graph.workers.items()}
    return replace(graph, workers=workers)


def renamed(graph: Graph, names: set[str]) -> Graph:
    """The graph with other names for some of its workers."""
    return told_by(graph, Renaming({old: RENAMES[old] for old in names if old in graph.workers}, {}))


def effects(difference: Difference) -> set[str]:
    return {each.effect for each in difference.everything} & {"widens", "narrows"}


@tried(60)
@given(graphs(), chosen)
def test_a_pure_rename_widens_nothing(graph, names) -> None:
    before = prompted(graph)
    difference = diff(before, renamed(before, names))
    moved = {each.before: each.after for each in difference.renames}
    assert moved == {name: RENAMES[name] for name in names if name in graph.workers}
    assert difference.verdict == ("changed" if moved else "same")
    assert not effects(difference)
    assert not difference.workers


@tried(24)
@given(graphs(), graphs(), chosen)
def test_a_rename_hides_nothing_that_changed_besides(before, after, names) -> None:
    before, after = prompted(before), prompted(after)
    plain, moved = diff(before, after), diff(before, renamed(after, names & before.workers.keys()))
    assert effects(plain) <= effects(moved)
    assert [entry.verdict for entry in plain.entries if entry.verdict == "widened"] == [
        entry.verdict for entry in moved.entries if entry.verdict == "widened"
    ]


@pytest.mark.long
@tried(24)
@given(graphs(), chosen, st.data())
def test_what_is_added_below_an_agent_widens_whoever_is_renamed_at_the_same_time(graph, names, data) -> None:
    before = replace(
        prompted(graph), rules=(), entries={"e": replace(graph.entries["e"], may=None, approvals=())}
    )
    before = replace(
        before,
        workers={name: replace(member, may=None, approvals=()) for name, member in before.workers.items()},
        settings=replace(before.settings, default="needs_approval", max_depth=4),
    )
    reached, waiting = set(), ["w0"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(before.edges[name])
    name = data.draw(st.sampled_from(sorted(reached)))
    extra = Toolset(
        name="zz",
        kind="python",
        at=NOWHERE,
        tools={"t": Tool(name="t", capabilities=(Capability("net.search"),))},
    )
    uses = (*before.workers[name].uses, Use(name="zz", config={}, at=NOWHERE))
    after = replace(
        before,
        toolsets={**before.toolsets, "zz": extra},
        workers={**before.workers, name: replace(before.workers[name], uses=uses, config="other")},
    )
    assert diff(before, renamed(after, names)).verdict == "widened"


def team(*workers, **more) -> Graph:
    return graph_of(*workers, **more)


def test_a_gain_below_an_entry_that_has_it_already_is_reported_for_the_worker() -> None:
    before = team(worker("main", "console", "helper"), worker("helper"))
    after = team(worker("main", "console", "helper"), worker("helper", "console"))
    difference = diff(before, after)
    assert difference.entries[0].rows == ()
    (helper,) = difference.workers
    assert (helper.name, helper.below, helper.verdict) == ("helper", ("e",), "widened")
    assert [(row.kind, row.capability.name) for row in helper.rows] == [("gained", "proc.exec")]
    assert difference.fails("widened")
    assert diff(after, before).verdict == "narrowed"


def test_of_those_that_gain_by_the_same_worker_that_is_named_alone() -> None:
    def chain(*uses: str) -> Graph:
        return team(worker("main", "a", "console"), worker("a", "b"), worker("b", "c"), worker("c", *uses))

    difference = diff(chain(), chain("console"))
    assert [each.name for each in difference.workers] == ["c"]
    by_delegate = diff(
        team(worker("main", "a", "b", "console"), worker("a"), worker("b", "console")),
        team(worker("main", "a", "b", "console"), worker("a", "b"), worker("b", "console")),
    )
    (gained,) = by_delegate.workers
    assert gained.name == "a"
    assert [hop.name for row in gained.rows for hop in row.after.path if row.capability.name == "proc.exec"] == [
        "a", "b", "console",
    ]  # fmt: skip


def test_a_ceiling_above_a_worker_holds_for_what_it_gains() -> None:
    def under(*uses: str) -> Graph:
        ceiling = (Capability("fs"),)
        return team(
            worker("main", "console", "middle"),
            replace(worker("middle", "helper"), may=ceiling),
            worker("helper", *uses),
        )

    assert diff(under(), under("console")).verdict == "changed"


def test_a_new_worker_below_an_entry_is_judged_like_a_new_entry() -> None:
    difference = diff(
        team(worker("main", "console")),
        team(worker("main", "console", "helper"), worker("helper", "console")),
    )
    assert [(each.name, each.status, each.verdict) for each in difference.workers] == [
        ("helper", "new", "widened")
    ]
    unreached = diff(
        team(worker("main", "console")), team(worker("main", "console"), worker("idle", "console"))
    )
    assert unreached.verdict == "changed"


def test_a_worker_is_known_again_by_its_prompt_its_file_or_its_powers_and_a_like_name() -> None:
    def named(name: str, prompt: str, path: str, *uses: str):
        return replace(worker(name, *uses), prompt=prompt, path=path)

    def moved(old, new) -> tuple[Rename, ...]:
        return diff(team(worker("main", old.name), old), team(worker("main", new.name), new)).renames

    old = named("tester", "sha256:1", "tester.worker", "console")
    renames = (Rename("worker", "tester", "checker"),)
    assert moved(old, named("checker", "sha256:1", "checker.worker", "console")) == renames
    assert moved(old, named("checker", "sha256:2", "tester.worker", "console")) == renames
    assert moved(old, named("checker", "sha256:2", "checker.worker", "console")) == ()
    assert moved(old, named("tester2", "sha256:2", "tester2.worker", "console"))[0].after == "tester2"
    assert moved(old, named("tester2", "sha256:2", "tester2.worker")) == ()


def test_a_renamed_worker_that_gains_is_widened_under_its_new_name() -> None:
    before = team(worker("main", "old", "console"), replace(worker("old"), prompt="sha256:1"))
    after = team(worker("main", "new", "console"), replace(worker("new", "console"), prompt="sha256:1"))
    difference = diff(before, after)
    assert difference.renames == (Rename("worker", "old", "new"),)
    assert [(each.name, each.was, each.status, each.verdict) for each in difference.workers] == [
        ("new", "old", "kept", "widened")
    ]


def test_a_rule_that_names_a_worker_does_not_follow_its_rename() -> None:
    rules = (Rule(Capability("agent.delegate", "old"), "blocked", "llmdo.toml"),)
    before = team(worker("main", "old"), replace(worker("old", "console"), prompt="sha256:1"), rules=rules)
    after = team(worker("main", "new"), replace(worker("new", "console"), prompt="sha256:1"), rules=rules)
    assert diff(before, after).verdict == "widened"


def test_a_rule_of_the_caller_is_renamed_with_what_it_names() -> None:
    def calling(name: str, ruled: str) -> Graph:
        rules = (Rule(Capability("agent.delegate", ruled), "blocked", "worker `main`"),)
        main = worker("main", name, approvals=rules, may=(Capability("agent.delegate", ruled),))
        return team(main, replace(worker(name, "console"), prompt="sha256:1"))

    renamed_whole = diff(calling("old", "old"), calling("new", "new"))
    assert (renamed_whole.verdict, [change.route for change in renamed_whole.changes]) == (
        "changed",
        [("worker", "new", "path")],
    )
    assert diff(calling("old", "old"), calling("new", "old")).verdict == "widened"


def test_a_name_that_a_rule_waits_for_is_no_new_name() -> None:
    """A rule about a worker that did not exist would else seem to have held for it all along."""
    rules = (Rule(Capability("agent.delegate", "new"), "allowed", "llmdo.toml"),)
    settings = {"settings": replace(team(worker("main")).settings, default="needs_approval"), "rules": rules}
    ask = (Rule(Capability("agent.delegate"), "needs_approval", "llmdo.toml"),)
    old = replace(worker("old", "console"), prompt="sha256:1")
    before = replace(team(worker("main", "old"), old), rules=(*ask, *rules), settings=settings["settings"])
    after = replace(
        team(worker("main", "new"), replace(old, name="new")),
        rules=(*ask, *rules),
        settings=settings["settings"],
    )
    assert diff(before, after).renames == ()


def test_an_entry_that_alone_starts_the_same_worker_is_renamed() -> None:
    before, after = (
        team(worker("main", "console")),
        team(worker("main", "console"), entry=replace(ENTRY, name="later")),
    )
    difference = diff(before, after)
    assert difference.renames == (Rename("entry", "e", "later"),)
    assert difference.verdict == "changed"
    assert [(each.name, each.was, each.status) for each in difference.entries] == [("later", "e", "kept")]


def test_agents_of_one_name_are_told_apart_by_their_files() -> None:
    def project(*paths: tuple[str, str, str]) -> Graph:
        workers = [
            replace(worker(name, *([] if uses == "" else [uses])), path=path, prompt="sha256:1")
            for name, path, uses in paths
        ]
        graph = graph_of(*workers)
        entries = {
            member.name: Entry(name=member.name, at=NOWHERE, worker=Reference(member.name, NOWHERE))
            for member in workers
        }
        return replace(graph, entries=entries, read_from="claude")

    before = project(("r", "b.md", ""), ("r (2)", "c.md", "console"))
    after = project(("r", "a.md", ""), ("r (2)", "b.md", ""), ("r (3)", "c.md", "console"))
    difference = diff(before, after)
    assert {(each.before, each.after) for each in difference.renames} == {("r", "r (2)"), ("r (2)", "r (3)")}
    assert difference.verdict == "changed"
    gained = project(("r", "a.md", ""), ("r (2)", "b.md", "console"), ("r (3)", "c.md", "console"))
    assert [each.name for each in diff(before, gained).entries if each.verdict == "widened"] == ["r (2)"]
    fewer = project(("r", "c.md", "console"))
    assert diff(before, fewer).verdict in ("changed", "narrowed")
    assert diff(fewer, before).entries[0].verdict in ("changed", "same", "narrowed")


@pytest.mark.parametrize("read_from", [None, "claude"])
def test_a_gate_that_is_taken_from_a_worker_alone_widens(read_from: str | None) -> None:
    """In a foreign project a file of settings may do so, which is no agent's."""
    free = (Rule(Capability("proc.exec"), "allowed", "llmdo.toml"),)
    ask = (Rule(Capability("proc.exec"), "needs_approval", "worker `helper`"),)

    def project(*rules: Rule) -> Graph:
        helper = worker("helper", "console", approvals=rules)
        return replace(team(worker("main", "console", "helper"), helper, rules=free), read_from=read_from)

    difference = diff(project(*ask), project())
    assert [(each.name, [row.kind for row in each.rows]) for each in difference.workers] == [
        ("helper", ["gate removed"])
    ]
    assert diff(project(), project(*ask)).verdict == "narrowed"


def test_how_decisions_are_put_is_no_change_of_a_foreign_project() -> None:
    free = (Rule(Capability("proc.exec"), "allowed", "claude"),)
    ask = (Rule(Capability("proc.exec"), "needs_approval", "claude"),)
    before = replace(team(worker("main", "console")), read_from="claude")
    after = replace(team(worker("main", "console", approvals=ask), rules=free), read_from="claude")
    assert diff(before, after).verdict == "same"
    assert diff(replace(before, read_from=None), replace(after, read_from=None)).verdict == "changed"


def test_what_a_worker_gains_counts_by_the_ways_to_it() -> None:
    """A question before the call of the worker is one before all it does, and beyond the depth nothing runs."""
    rules = (Rule(Capability("proc.exec"), "allowed", "llmdo.toml"),)
    ask = (Rule(Capability("agent.delegate"), "needs_approval", "worker `main`"),)

    def project(*uses: str, depth: int = 5) -> Graph:
        main = worker("main", "console", "helper", approvals=ask)
        graph = team(main, worker("helper", *uses), worker("deep", "console"), rules=rules)
        return replace(graph, settings=replace(graph.settings, max_depth=depth))

    (helper,) = diff(project(), project("console")).workers
    assert [(row.capability.name, row.after.decision) for row in helper.rows] == [
        ("proc.exec", "needs_approval")
    ]
    for depth, is_gained in ((1, False), (2, True)):
        (helper,) = diff(project(depth=depth), project("deep", depth=depth)).workers
        assert ("proc.exec" in {row.capability.name for row in helper.rows}) is is_gained


def test_of_many_that_gain_by_a_toolset_that_changed_one_is_shown() -> None:
    def using(*capabilities: str) -> Graph:
        tool = Tool(name="run", capabilities=tuple(map(Capability, capabilities)), digest="sha256:2")
        shared = replace(CONSOLE, source=str(capabilities), tools={"run": tool})
        other = Toolset(name="web", kind="python", at=NOWHERE, tools={"get": replace(tool, name="get")})
        helpers = [worker(f"h{number}", "console") for number in range(9)]
        main = worker("main", "web", *(helper.name for helper in helpers))
        graph = team(main, *helpers, toolset=shared)
        web = replace(other, tools={"get": Tool(name="get", capabilities=(Capability("net.connect"),))})
        return replace(graph, toolsets={"console": shared, "web": web})

    difference = diff(using("proc.exec"), using("net.connect", "proc.exec"))
    assert [each.name for each in difference.workers] == ["h0"]
    assert difference.verdict == "widened"
    (changed,) = [change for change in difference.changes if change.route[-1] == "capabilities"]
    assert len(changed.workers) == 9
