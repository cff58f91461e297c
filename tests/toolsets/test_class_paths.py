"""A header may name a toolset by the path of its class; all that holds for other toolsets of Python holds for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo import checks
from llmdo.graph.inventory import Inventory
from llmdo.workspace import project
from tests.support.building import Step, script
from tests.support.commands import llmdo
from tests.support.locks import locked

CALCULATOR = """
from pydantic_ai.toolsets import FunctionToolset
from tools.rounding import rounded

(FILE := __file__)


class Calculator(FunctionToolset):
    def __init__(self, precision: int = 2) -> None:
        super().__init__()

        @self.tool_plain
        def divide(a: float, b: float) -> str:
            return rounded(a / b, precision)
"""
FORMS = ("tools.calc.Calculator", "tools.calc:Calculator", "tools/calc.py:Calculator")
DIVIDES: list[tuple[str, dict[str, object]]] = [("divide", {"a": 1, "b": 3})]


def workspace(
    root: Path, first: str, second: str = "toolsets: []", /, *, more: str = "", **scripts: list[Step]
) -> Path:
    """A workspace of two workers, of which `main` may call the other one."""
    (root / "tools").mkdir()
    (root / "tools/calc.py").write_text(CALCULATOR, encoding="utf-8")
    (root / "tools/rounding.py").write_text(
        "def rounded(value, precision):\n    return f'{value:.{precision}f}'\n", encoding="utf-8"
    )
    script(root, **{"main": ["{tools}"], "other": ["{tools}"], **scripts})
    (root / "llmdo.toml").write_text(
        f'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n{more}', encoding="utf-8"
    )
    for name, header in (("main", f"entry: true\n{first}"), ("other", f"description: Works.\n{second}")):
        (root / f"{name}.worker").write_text(
            f"---\nname: {name}\nmodel: python:models.py:{name}\n{header}\n---\nWork.\n", encoding="utf-8"
        )
    return root


@pytest.mark.few(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("header", ["toolsets: [{}]", "toolsets:\n  {}: {{}}"])
def test_every_spelling_means_the_same_toolset(tmp_path: Path, form: str, header: str) -> None:
    graph = project.read(workspace(tmp_path, header.format(form))).graph
    assert [use.name for use in graph.workers["main"].uses] == ["Calculator"]
    assert graph.toolsets["Calculator"].python == "tools/calc.py:Calculator"
    plain = tmp_path / "plain"
    plain.mkdir()
    listed = project.read(
        workspace(plain, header.format("Calculator"), more='toolset-modules = ["tools/calc.py"]\n')
    )
    assert graph.workers["main"] == listed.graph.workers["main"]
    assert graph.toolsets == listed.graph.toolsets


@pytest.mark.long
def test_its_calls_ask_as_those_of_any_toolset_of_python(tmp_path: Path) -> None:
    root = workspace(tmp_path, f"toolsets: [{FORMS[0]}]", main=[DIVIDES, "{results}"])
    locked(root)
    refused = llmdo(root, "run", "main", "Go.").stdout
    assert "`divide` needs approval, which was not given: no rule names `x.Calculator.any`" in refused
    assert llmdo(root, "run", "main", "Go.", "--approve", "x.Calculator").stdout == "[success: 0.33]\n"
    with (root / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('[approvals.rules]\n"x.Calculator" = "blocked"\n')
    assert "Unknown tool name: 'divide'" in llmdo(root, "run", "main", "Go.", "--approve-all").stdout


def test_a_ceiling_and_a_declaration_hold_for_it(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        f"toolsets: [{FORMS[0]}]\nmay: [fs.read]",
        more='[toolsets.Calculator]\ncapabilities = { divide = ["x.Calculator.cpu"] }\n',
        main=[DIVIDES, "{results}"],
    )
    done = llmdo(root, "run", "main", "Go.", "--approve-all")
    assert "can reach `x.Calculator.cpu` by main > Calculator, outside its ceiling [LDO501]" in done.stderr
    assert "Unknown tool name: 'divide'" in done.stdout


@pytest.mark.long
def test_two_workers_configure_it_each_for_itself(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        f"toolsets:\n  {FORMS[0]}: {{ precision: 4 }}\n  other: {{}}",
        f"toolsets:\n  {FORMS[2]}: {{ precision: 1 }}",
        main=[[*DIVIDES, ("other", {"input": "Go."})], "{results}"],
        other=[DIVIDES, "{results}"],
    )
    locked(root)
    done = llmdo(root, "run", "main", "Go.", "--approve", "x.Calculator")
    assert done.stdout == "[success: 0.3333] [success: [success: 0.3]]\n"
    run = next((root / ".llmdo/runs").glob("*.sqlite")).stem
    assert llmdo(root, "runs", "replay", run).stdout == done.stdout
    assert "Calculator (divide)  main.worker:6:3" in llmdo(root, "reach", "main", "x.Calculator").stdout
    assert "[Calculator]" in llmdo(root, "reach", "--graph").stdout


def test_a_change_of_its_source_is_drift(tmp_path: Path) -> None:
    root = locked(workspace(tmp_path, f"toolsets: [{FORMS[0]}]"))
    assert llmdo(root, "check", "--locked").returncode == 0
    (root / "tools/rounding.py").write_text(
        "def rounded(value, precision):\n    return 'x'\n", encoding="utf-8"
    )
    stale = llmdo(root, "check", "--locked", "--format", "concise").stdout
    assert "Calculator" in stale
    assert llmdo(root, "run", "main", "Go.", "--locked").returncode != 0


def test_check_runs_nothing_of_it_and_knows_all_that_it_imports(tmp_path: Path) -> None:
    root = workspace(tmp_path, f"toolsets: [{FORMS[0]}]")
    (root / "tools/calc.py").write_text(
        CALCULATOR.replace("(FILE := __file__)", "open('/dev/null/x')"), encoding="utf-8"
    )
    read = project.read(root)
    assert [finding for finding in checks.check(read) if finding.severity == "error"] == []
    governing = Inventory.of(read.graph).governing
    assert {"tools/calc.py", "tools/rounding.py", "tools/rounding/__init__.py"} <= governing
    assert "raised" in llmdo(root, "lock").stderr


def test_its_sources_are_part_of_it(tmp_path: Path) -> None:
    root = workspace(
        tmp_path, f"toolsets: [{FORMS[1]}]", more='[toolsets.Calculator]\nsources = ["plugins/*.py"]\n'
    )
    (root / "plugins").mkdir()
    (root / "plugins/one.py").write_text("x = 1\n", encoding="utf-8")
    read = project.read(root)
    toolset = read.graph.toolsets["Calculator"]
    assert toolset.sources == ("plugins/one.py",)
    (root / "plugins/one.py").write_text("x = 2\n", encoding="utf-8")
    assert project.read(root).graph.toolsets["Calculator"].source != toolset.source


@pytest.mark.parametrize(
    "name", ["json.decoder.JSONDecoder", "pydantic_ai.toolsets.FunctionToolset", "os:system"]
)
def test_a_header_imports_nothing_that_is_installed(tmp_path: Path, name: str) -> None:
    root = workspace(tmp_path, f"toolsets: ['{name}']")
    for command in (["check"], ["lock"], ["run", "main", "Go."]):
        done = llmdo(root, *command)
        assert done.returncode == 1
        assert "which is not a class of the workspace" in done.stdout + done.stderr
    assert project.read(root).graph.toolsets == {}


def test_what_the_manifest_declares_may_be_installed(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        "toolsets: [pydantic_ai.toolsets.FunctionToolset]",
        more='[toolsets.empty]\npython = "pydantic_ai.toolsets:FunctionToolset"\n',
    )
    assert [use.name for use in project.read(root).graph.workers["main"].uses] == ["empty"]


def test_the_name_of_the_manifest_counts(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        f"toolsets: [{FORMS[0]}]",
        f"toolsets: [{FORMS[2]}]",
        more='[toolsets.calc]\npython = "tools/calc.py:Calculator"\ncapabilities = { divide = [] }\n',
    )
    graph = project.read(root).graph
    assert [use.name for worker in graph.workers.values() for use in worker.uses] == ["calc", "calc"]
    assert [*graph.toolsets] == ["calc"]


@pytest.mark.few(1)
@pytest.mark.parametrize("form", FORMS)
def test_a_worker_file_alone_names_one_beside_it(tmp_path: Path, form: str) -> None:
    root = workspace(tmp_path, f"toolsets:\n  {form}: {{ precision: 3 }}", main=[DIVIDES, "{results}"])
    (root / "llmdo.toml").unlink()
    refused = llmdo(root, "run", "main.worker", "Go.")
    assert "`divide` needs approval, which was not given" in refused.stdout
    assert llmdo(root, "run", "main.worker", "Go.", "--approve-all").stdout == "[success: 0.333]\n"


def test_a_worker_in_python_names_one_as_well(tmp_path: Path) -> None:
    root = workspace(tmp_path, "toolsets: [helper]", more='toolset-modules = ["team.py"]\n')
    (root / "team.py").write_text(
        "import llmdo\n\n"
        "helper = llmdo.Worker(name='helper', description='Works.', instructions='Work.',"
        f" model='python:models.py:other', toolsets=['{FORMS[0]}'])\n",
        encoding="utf-8",
    )
    graph = project.read(root).graph
    assert [use.name for use in graph.workers["helper"].uses] == ["Calculator"]
    assert "Calculator" in graph.toolsets
    assert llmdo(locked(root), "check", "--locked").returncode == 0


def test_a_dotted_path_means_the_file_that_check_read_whatever_is_installed(tmp_path: Path) -> None:
    root = workspace(tmp_path, "toolsets: [json.decoder.Calculator]", main=[DIVIDES, "{results}"])
    (root / "json").mkdir()
    (root / "json/decoder.py").write_text(CALCULATOR, encoding="utf-8")
    assert project.read(root).graph.toolsets["Calculator"].python == "json/decoder.py:Calculator"
    done = llmdo(locked(root), "run", "main", "Go.", "--approve-all", "--locked")
    assert done.stdout == "[success: 0.33]\n"


def test_a_run_does_not_go_on_with_another_class(tmp_path: Path) -> None:
    header = f"toolsets:\n  {FORMS[0]}: {{ precision: 4 }}"
    root = locked(workspace(tmp_path, header, main=[DIVIDES, "{results}"]))
    llmdo(root, "run", "main", "Go.", "--approvals", "later")
    run = next((root / ".llmdo/runs").glob("*.sqlite")).stem
    text = (root / "tools/calc.py").read_text(encoding="utf-8")
    (root / "tools/calc.py").write_text(text + "\n\nX = 1\n", encoding="utf-8")
    done = llmdo(root, "resume", run, "--approve-all")
    assert (done.returncode, "toolset `Calculator`: its source changed" in done.stderr) == (2, True), done
    (root / "tools/calc.py").write_text(text, encoding="utf-8")
    done = llmdo(root, "resume", run, "--approve-all")
    assert done.stdout == "[success: 0.3333]\n", done


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "header",
    [
        "toolsets: [tools.calc.Calculator.x.y, a..b, .a.b, 'a.b.', 'tools/calc.py:', ':Calculator', 'a:b:c']",
        "toolsets: ['tools.calc._Calculator', 'tools/calc.py:Cälc', 'tools\\\\calc.py:C', 'tools.calc.C\\n']",
        f"toolsets: ['{'a.' * 5000}C', 'tools/calc.py:{'C' * 65}']",
        "toolsets: {? [a.b] : {}}",
        "toolsets: {tools.calc.Calculator: 3}",
        "toolsets: {tools.calc.Calculator: null, tools: {}}",
        "toolsets: [con.calc.C, 'tools/../tools/calc.py:Calculator', 'tools//calc.py:Calculator', '~/a.py:C']",
    ],
)
def test_odd_paths_are_findings(tmp_path: Path, header: str) -> None:
    root = workspace(tmp_path, header)
    done = llmdo(root, "check", "--format", "concise")
    assert done.returncode == 1
    assert done.stderr == ""
    assert llmdo(root, "run", "main", "Go.").returncode == 1
