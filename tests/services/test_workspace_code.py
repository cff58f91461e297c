"""Which of a workspace's code is locked, what `lock` learns by importing it, and when that is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.support.commands import llmdo

MANIFEST = """schema = 1

[workspace]
name = "w"
workers = ["workers/*.worker"]
toolset-modules = ["tools/*.py"]
model = "python:models.py:rules"
"""
WORKER = "---\nname: main\nentry: true\ndescription: Works.\ntoolsets: [calc]\n---\nWork.\n"
MODEL = (
    "from pydantic_ai.messages import ModelResponse, TextPart\n"
    "from pydantic_ai.models.function import FunctionModel\n"
    "rules = FunctionModel(lambda messages, info: ModelResponse(\n"
    "    parts=[TextPart(','.join(tool.name for tool in info.function_tools))]))\n"
)
PLUGINS = (
    "import importlib\nfrom pydantic_ai import FunctionToolset\n\ncalc = FunctionToolset()\n"
    "importlib.import_module('plugins.round').add(calc)\n"
)
ROUND = (
    "def add(calc):\n"
    "    @calc.tool_plain(metadata={'capabilities': ['net.connect']})\n"
    "    def rounded(n: float) -> int:\n        return round(n)\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "llmdo.toml": MANIFEST,
        "workers/main.worker": WORKER,
        "models.py": MODEL,
        "tools/calc.py": PLUGINS,
    }
    for path, text in {**files, "plugins/round.py": ROUND}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def name_sources(root: Path) -> None:
    (root / "llmdo.toml").write_text(f'{MANIFEST}\n[toolsets.calc]\nsources = ["plugins/*.py"]\n')


def write_lock(root: Path) -> None:
    lock.write(root, locking.derive(project.read(root)))


def test_sources_that_no_text_names_are_named_by_the_manifest_locked_and_run(root: Path) -> None:
    done = llmdo(root, "lock")
    assert done.returncode == 2
    assert (
        "`plugins/round.py` is imported as `plugins.round`, and the text of no module says so" in done.stderr
    )
    name_sources(root)
    write_lock(root)
    toolset = project.read(root).graph.toolsets["calc"]
    assert toolset.sources == ("plugins/round.py",)
    assert [str(capability) for capability in toolset.tools["rounded"].capabilities] == ["net.connect"]
    assert llmdo(root, "check", "--locked").returncode == 0
    assert llmdo(root, "run", "--locked", "main", "go").stdout == "rounded\n"
    (root / "plugins/round.py").write_text(ROUND.replace("rounded", "renamed"))
    done = llmdo(root, "check", "--locked")
    assert done.returncode == 1
    assert "toolset `calc`: its source changed" in done.stdout


def test_a_new_file_among_the_sources_makes_the_lock_stale(root: Path) -> None:
    name_sources(root)
    write_lock(root)
    (root / "plugins/other.py").write_text("")
    printed = llmdo(root, "check", "--locked").stdout
    assert "`sources` +`plugins/other.py`" in printed


def test_what_was_learnt_by_importing_is_forgotten_when_the_source_changes(root: Path) -> None:
    name_sources(root)
    write_lock(root)
    assert "rounded" in project.read(root).graph.toolsets["calc"].tools
    for path in ("tools/calc.py", "plugins/round.py"):
        (root / path).write_text((root / path).read_text() + "# edited\n")
        read = project.read(root)
        assert not read.graph.toolsets["calc"].tools
        assert not lock.facts(read.locked.graph, read.graph)
        write_lock(root)
    (root / "plugins/round.py").write_text(ROUND.replace("net.connect", "proc.exec"))
    tool = locking.derive(project.read(root)).toolsets["calc"].tools["rounded"]
    assert [str(capability) for capability in tool.capabilities] == ["proc.exec"]


@pytest.mark.few(1)
@pytest.mark.parametrize("path", ["helpers/__init__.py", "plugins/__init__.py", "tools/__init__.py"])
def test_a_new_package_where_an_import_looks_makes_the_lock_stale(root: Path, path: str) -> None:
    name_sources(root)
    (root / "helpers.py").write_text("")
    (root / "tools/calc.py").write_text(f"import helpers\n{PLUGINS}")
    write_lock(root)
    assert llmdo(root, "check", "--locked").returncode == 0
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text("")
    checked = llmdo(root, "check", "--locked")
    assert (checked.returncode, "its source changed" in checked.stdout) == (1, True)


UNREAD = [
    "def make():\n    return FunctionToolset()\n\ncalc = make()\n",
    "calc = [FunctionToolset()][0]\n",
    "from shared import toolset as calc\n",
]


@pytest.mark.long
@pytest.mark.parametrize("definition", UNREAD)
def test_lock_imports_before_it_judges_what_the_text_cannot_say(root: Path, definition: str) -> None:
    (root / "shared.py").write_text("from pydantic_ai import FunctionToolset\ntoolset = FunctionToolset()\n")
    tool = "@calc.tool_plain\ndef add(n: int) -> int:\n    return n\n"
    (root / "tools/calc.py").write_text(f"from pydantic_ai import FunctionToolset\n{definition}{tool}")
    printed = llmdo(root, "check").stdout
    assert (
        "`main` uses `calc`, which is bound in `tools/calc.py`, whose text does not show that it is"
        in printed
    )
    assert "annotate it" in printed
    assert llmdo(root, "lock").returncode == 0
    assert llmdo(root, "check", "--locked").returncode == 0
    (root / "tools/calc.py").write_text((root / "tools/calc.py").read_text() + "# edited\n")
    printed = llmdo(root, "check").stdout
    assert (
        "which is locked as `tools/calc.py:calc` and cannot be read from the text of `tools/calc.py`"
        in printed
    )
    assert llmdo(root, "lock").returncode == 0
    assert llmdo(root, "check", "--locked").returncode == 0


def test_lock_still_refuses_a_name_that_importing_does_not_show(root: Path) -> None:
    (root / "tools/calc.py").write_text("other = 1\n")
    refused = llmdo(root, "lock")
    assert refused.returncode == 1
    assert "`main` uses `calc`, which is neither a toolset nor a worker" in refused.stderr
