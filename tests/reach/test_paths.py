"""What `reach` prints, `why` answers: for every name and every row of the examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.base.values import replace
from llmdo.policy.authority import STRICTNESS, Capability
from llmdo.reach import Analysis
from llmdo.reach.paths import MAX_PATHS, Target, every_path, origins_of, rows_to, target_of
from llmdo.reach.risks import leaks
from llmdo.render import reach as render
from llmdo.workspace import project
from tests.support import building

EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/llmdo.toml"))


def assert_that_every_name_is_answered(analysis: Analysis) -> None:
    graph = analysis.graph
    for entry in graph.entries.values():
        assert entry in origins_of(graph, entry.name)
        for row in analysis.of(entry):
            printed = render.capability(row)
            answer = rows_to(analysis, entry, target_of(graph, printed))
            assert row in answer, printed
            assert not row.elsewhere or answer == [row]
            paths = every_path(analysis, entry, target_of(graph, printed))
            mildest = min((path.decision for path in paths), key=STRICTNESS.__getitem__)
            assert mildest == min((answered.decision for answered in answer), key=STRICTNESS.__getitem__), (
                printed
            )
            for hop in row.path[:-1]:
                (worker,) = origins_of(graph, hop.name)[:1]
                assert rows_to(analysis, worker, target_of(graph, str(row.capability))), (hop.name, printed)
            for hop in row.path:
                if hop.name in graph.workers:
                    (called,) = rows_to(analysis, entry, target_of(graph, hop.name))
                    assert called.path[-1].name == hop.name
                    assert len(called.path) == 1 or every_path(analysis, entry, target_of(graph, hop.name))
            end = row.path[-1].name
            if end in graph.workers:
                continue
            named = rows_to(analysis, entry, target_of(graph, f"tool:{row.tool}"))
            # A tool whose call counts for a narrower row has the wider one.
            assert any(listed.capability.contains(row.capability) for listed in named), (row.tool, printed)
            raised = [listed.capability for listed in rows_to(analysis, entry, target_of(graph, end))]
            assert any(capability.touches(row.capability) for capability in raised), (end, printed)
            target = replace(target_of(graph, str(row.capability)), toolset=end)
            assert any(rows_to(analysis, origin, target) for origin in origins_of(graph, end)), (end, printed)


@pytest.mark.few(5)
@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_why_takes_every_name_that_reach_prints(folder: Path) -> None:
    assert_that_every_name_is_answered(project.read(folder).analysis)


@pytest.mark.parametrize(
    ("deepest", "expected"), [(0, []), (1, ["main a kit"]), (2, ["main a kit", "main b a kit"])]
)
def test_no_path_is_longer_than_delegations_may_be(deepest: int, expected: list[str]) -> None:
    workers = [building.worker("main", "a", "b"), building.worker("a", "kit"), building.worker("b", "a")]
    kit = building.toolset("kit", "kit.py:kit", tool=["net.connect"])
    graph = building.graph(*workers, kit)
    analysis = Analysis(replace(graph, settings=replace(graph.settings, max_depth=deepest)))
    paths = every_path(analysis, analysis.graph.entries["go"], Target(Capability("net.connect")))
    assert [" ".join(hop.name for hop in path.hops) for path in paths] == expected


def test_paths_of_a_worker_begin_with_it_and_are_not_without_end() -> None:
    names = [f"w{number}" for number in range(MAX_PATHS + 1)]
    workers = [building.worker("main", *names), *[building.worker(name, "kit") for name in names]]
    kit = building.toolset("kit", "kit.py:kit", tool=["net.connect"])
    analysis = Analysis(building.graph(*workers, kit))
    target = Target(Capability("net.connect"))
    [path] = every_path(analysis, analysis.graph.workers["w0"], target)
    assert [hop.name for hop in path.hops] == ["w0", "kit"]
    assert len(every_path(analysis, analysis.graph.workers["main"], target)) == MAX_PATHS


def test_a_function_has_its_own_calls_and_no_others() -> None:
    kits = [building.toolset(name, "kit.py:kit", tool=["net.connect"]) for name in "ab"]
    helper = building.worker("helper")
    graph = building.graph(
        helper,
        *kits,
        function="run.py:run",
        calls=["a.tool", "helper"],
        approvals={"agent.delegate": "needs_approval", "net.connect": "allowed"},
    )
    entry = graph.entries["go"]
    assert (origins_of(graph, "a"), origins_of(graph, "b")) == ((entry,), ())
    [row] = rows_to(Analysis(graph), entry, target_of(graph, "helper"))
    assert (str(row.capability), row.decision) == ("agent.delegate", "needs_approval")


@pytest.mark.parametrize("is_isolated", [False, True])
def test_a_shell_reads_private_data_unless_it_is_isolated(is_isolated: bool) -> None:
    kit = building.toolset("kit", "kit.py:kit", read=["data.untrusted"], send=["net.connect"])
    asks = {"proc.exec.unlisted": "needs_approval"}
    graph = building.graph(building.worker("main", "shell", "kit"), kit, approvals=asks)
    graph = replace(graph, shell=replace(graph.shell, isolation="require" if is_isolated else "none"))
    leak = leaks(Analysis(graph))(graph.entries["go"])
    legs = {leg: row.capability.name for leg, row in leak.legs} if leak else {}
    assert legs.get("private data") == (None if is_isolated else "proc.exec.unlisted")
