"""Every format of the lock that was ever written is still read, and means what it meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.base.source import Source
from llmdo.graph.described import Server
from llmdo.graph.limits import Limits
from llmdo.policy.authority import Capability
from llmdo.workspace import lock, project
from llmdo.workspace.lock.encoding import REVISION, VERSION
from tests.cli.conftest import Llmdo
from tests.cli.conftest import llmdo as llmdo
from tests.cli.conftest import workspace as workspace

SAMPLES = Path(__file__).parent.parent / "data/locks"


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.lock").read_text(encoding="utf-8")


def test_the_format_that_is_written_now_has_a_sample() -> None:
    assert (SAMPLES / f"v{VERSION}r{REVISION}.lock").exists()


def test_version_1_revision_1_means_what_it_meant() -> None:
    locked = lock.read(Source("llmdo.lock", sample("v1r1")))
    assert locked.problems == ()
    graph = locked.graph
    assert graph is not None
    settings = graph.settings
    assert (settings.name, settings.built_in, settings.default, settings.max_depth) == ("w", 1, "blocked", 3)
    assert settings.model.name == "python:models.py:rules"
    assert [(str(rule.capability), rule.decision) for rule in graph.rules] == [
        ("fs.write:reports/**", "allowed"),
        ("x.calc.cpu", "allowed"),
    ]
    assert graph.paths == {"decks/": "input/"}
    assert graph.models == {"fast": ("openai:gpt-5-mini", "anthropic:claude-haiku-4-5")}
    assert list(graph.python_models) == ["python:models.py:rules"]
    assert list(graph.schema_sources) == ["schemas.py"]
    assert list(graph.modules) == ["tools/calc.py", "tools/plain.py"]
    assert list(graph.entries) == ["code", "go", "other"]
    code, go, other = graph.entries.values()
    assert (code.function.name, [call.name for call in code.calls]) == (
        "entries.py:nightly",
        ["main", "other"],
    )
    assert code.source.startswith("sha256:7a11b4")
    assert (go.worker.name, go.may, go.limits) == ("main", (), Limits(requests=3, cost_usd=0.5))
    assert go.input == 'Say "hello"\n\tand \\ more.'
    assert [(str(rule.capability), rule.decision) for rule in go.approvals] == [("net", "blocked")]
    assert (other.declared, other.worker.name) == (False, "other")
    assert [
        (acceptance.code, acceptance.entry, acceptance.gated, acceptance.reason)
        for acceptance in graph.acceptances
    ] == [
        (None, None, True, "people look"),
        ("LDO510", "go", False, "ours"),
    ]


def test_the_workers_and_toolsets_of_version_1_revision_1_are_those_that_they_were() -> None:
    graph = lock.read(Source("llmdo.lock", sample("v1r1"))).graph
    assert graph is not None
    main, other = graph.workers["main"], graph.workers["other"]
    assert [(use.name, use.config) for use in main.uses] == [
        ("calc", {}),
        ("filesystem", {"read": ["input/**"]}),
        ("other", {}),
    ]
    assert (main.path, main.description, main.model.name, main.may) == (
        "workers/main.worker",
        "Größe",
        "fast",
        (),
    )
    assert (main.attachments.max, main.attachments.suffixes) == (0, ())
    assert [str(rule.capability) for rule in main.approvals] == ["fs.list"]
    assert (other.recursive, other.entry, other.compatible_models) == (True, True, ("openai:*",))
    assert other.schema_out.name == "schemas.py:Out"
    calc, github = graph.toolsets["calc"], graph.toolsets["github"]
    assert (calc.kind, calc.python, calc.dynamic) == ("python", "tools/calc.py:calc_tools", False)
    assert calc.tools["factorial"].capabilities == (Capability("x.calc.cpu"),)
    assert (calc.tools["factorial"].metadata, calc.tools["harmless"].metadata) == (None, ())
    assert github.server == Server(command="github-mcp-server", args=("stdio",), env=("GITHUB_TOKEN",))
    assert github.dynamic


def test_an_old_lock_is_written_as_it_is_where_nothing_changed() -> None:
    graph = lock.read(Source("llmdo.lock", sample("v1r1"))).graph
    assert graph is not None
    assert lock.dump(graph) == sample("v1r1")


def newer(text: str, **numbers: int) -> str:
    for key, number in numbers.items():
        text = re.sub(rf"^{key} = \d+", f"{key} = {number}", text, flags=re.MULTILINE)
    return text


def test_a_newer_version_is_refused_even_where_it_is_no_toml_any_more() -> None:
    for text in (newer(sample("v1r1"), version=2), "version = 2\n[[[worker"):
        locked = lock.read(Source("llmdo.lock", text))
        assert (locked.state, locked.graph) == ("newer", None)
        assert [problem.code for problem in locked.problems] == ["LDO404"]


def test_a_newer_revision_is_read_and_what_is_not_known_of_it_is_reported() -> None:
    text = newer(sample("v1r1"), revision=9).replace("[settings]\n", '[settings]\nweather = "fine"\n')
    locked = lock.read(Source("llmdo.lock", text + '\n[moon]\nphase = "full"\n'))
    assert locked.graph == lock.read(Source("llmdo.lock", sample("v1r1"))).graph
    (problem,) = locked.problems
    assert (problem.code, problem.severity) == ("LDO406", "note")
    assert problem.message == (
        "`llmdo.lock` has revision 9, and this llmdo knows up to 1: 2 keys that it does not know are ignored"
    )


def test_a_newer_revision_excuses_no_wrong_value() -> None:
    text = newer(sample("v1r1"), revision=9).replace('"x.calc.cpu" = "allowed"', '"x.calc.cpu" = "perhaps"')
    locked = lock.read(Source("llmdo.lock", text))
    assert (locked.state, locked.graph) == ("unreadable", None)


@pytest.mark.parametrize("number", ["version", "revision"])
def test_lock_does_not_overwrite_what_a_newer_llmdo_wrote(llmdo: Llmdo, workspace: Path, number: str) -> None:
    assert llmdo("lock", cwd=workspace).code == 0
    path = workspace / "llmdo.lock"
    current = path.read_text(encoding="utf-8")
    path.write_text(newer(current, **{number: 9}), encoding="utf-8")
    (workspace / "main.worker").write_text("---\nname: main\n---\nOther.\n", encoding="utf-8")
    done = llmdo("lock", cwd=workspace)
    assert done.code == 2
    assert f"`llmdo.lock` has {number} 9, and this llmdo" in done.err
    assert "Traceback" not in done.err
    assert path.read_text(encoding="utf-8") == newer(current, **{number: 9})
    assert llmdo("lock", "--allow-downgrade", cwd=workspace).code == 0
    assert not checks.check(project.read(workspace), locked=True)


def test_check_fix_does_not_downgrade_a_lock(llmdo: Llmdo, workspace: Path) -> None:
    llmdo("lock", cwd=workspace)
    path = workspace / "llmdo.lock"
    path.write_text(newer(path.read_text(encoding="utf-8"), revision=9), encoding="utf-8")
    (workspace / "main.worker").write_text("---\nname: main\n---\nOther.\n", encoding="utf-8")
    llmdo("check", "--fix", cwd=workspace)
    assert "revision = 9" in path.read_text(encoding="utf-8")
