"""A project of another tool that a manifest names reaches what `--from` says, and its lock says it all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.policy.authority import STRICTNESS, Capability
from llmdo.workspace import lock, project
from llmdo.workspace.reading import read_lock
from tests.checks.test_cases import copied
from tests.foreign.test_cases import ALL, format_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from llmdo.policy.vocabulary import Decision
    from llmdo.reach import Row

MANIFEST = """schema = 1
[workspace]
name = "adopted"
from = [{}]
"""


def named(form: str) -> str:
    """The manifest that names a format, or each that `auto` may mean."""
    return MANIFEST.format(f'"{form}"')


def facts(rows: Iterable[Row]) -> dict[str, tuple[Decision, str]]:
    """What rows say of each capability."""
    return {
        str(Capability(row.capability.name) if row.capability.is_everywhere else row.capability): (
            row.decision,
            row.assurance,
        )
        for row in rows
    }


SINGLE = [case for case in ALL if format_of(case) != "auto"]
EXACT = {"passes-kiro-parts", "qwen-parts"}
"""Here `--from` takes the settings of one agent for those of another as well; adopted, each has its own."""
MILDER = {
    "opencode-plugins",
    "passes-gh-aw-engine-without-an-id",
    "passes-github-actions-after-own-runs",
    "passes-github-actions-document-start",
    "passes-github-actions-labels",
    "passes-github-actions-offered-workflow",
    "passes-github-actions-searches-after-a-look",
    "passes-opencode-asked-task",
}
"""Here a tool counts that `--from` leaves out for a milder one, as rules of the manifest may cut off that one alone; or
an agent blocks all but a part, which no rule of a lock says.
"""


@pytest.mark.few(60)
@pytest.mark.parametrize("case", SINGLE, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_it_reaches_what_its_format_says_and_its_lock_says_the_same(case: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    copied(case, root)
    original = foreign.read(format_of(case), root, may_be_empty=True)
    (root / "llmdo.toml").write_text(named(format_of(case)), encoding="utf-8")
    read = project.read(root)
    assert read.graph.entries.keys() == original.graph.entries.keys()
    for name, entry in original.graph.entries.items():
        expected = facts(original.analysis.of(entry))
        reached = facts(read.analysis.of(read.graph.entries[name]))
        if case.name in MILDER:
            assert all(
                STRICTNESS[reached[each][0]] <= STRICTNESS[decision]
                for each, (decision, _) in expected.items()
            )
        else:
            assert {each: reached[each] for each in expected} == expected or case.name in EXACT
    assert {*read.graph.adopted} == {*original.team.files}
    lock.write(root, read.graph)
    again = project.read(root)
    assert again.is_current
    source, _ = read_lock(root)
    locked = lock.read(source)
    assert locked.problems == ()
    assert locked.graph is not None
    assert lock.drift(locked.graph, read.graph) == ()
    assert locked.graph == read.graph
