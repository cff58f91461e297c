"""The archive that runs in a browser: nothing that runs agents is in it, and what is in it is enough."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from playground import checker
from playground.examples import examples

NEVER = (
    "runtime",
    "journal",
    "cli",
    "scaffold",
    "toolsets/shell",
    "toolsets/python",
    "toolsets/mcp",
    "features/batch",
)


def test_nothing_that_runs_agents_is_in_it() -> None:
    names = list(checker.files())
    assert "llmdo/services/foreign.py" in names
    assert [name for name in names if name.startswith(tuple(f"llmdo/{each}" for each in NEVER))] == []


def test_what_its_modules_import_as_they_load_is_in_it() -> None:
    files = checker.files()
    own = {name for name in files if name.startswith(("llmdo/", "playground/")) and name.endswith(".py")}
    missing = {
        f"{name}: {module}"
        for name in own
        for module in _loaded(ast.parse(files[name]))
        if module.split(".")[0] in ("llmdo", "playground") and not _is_in(module, files)
    }
    assert missing == set()


def _loaded(tree: ast.AST) -> set[str]:
    """The modules that are imported when a module loads, none within its functions or for types alone."""
    modules: set[str] = set()
    waiting = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            modules |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        waiting += ast.iter_child_nodes(node)
    return modules


def _is_in(module: str, files: dict[str, bytes]) -> bool:
    path = module.replace(".", "/")
    return f"{path}.py" in files or f"{path}/__init__.py" in files


def test_it_is_the_same_bytes_every_time() -> None:
    assert checker.archive() == checker.archive()


ALONE = """
import json, sys
from pathlib import Path
from playground.answers import ENDPOINTS, Subject, answer, tried

subject = Subject(after=Path.cwd())
assert tried(subject, str(Path.cwd())) is None
for command in ("check", "reach"):
    given = json.loads(answer(subject, json.dumps({"path": "/api/printed", "parameters": {"command": command}})))
    assert "data" in given, given
entries = json.loads(answer(subject, json.dumps({"path": "/api/project", "parameters": {}})))["data"]["entries"]
for entry in entries:
    asked = {"path": "/api/reach", "parameters": {"entry": entry["name"]}}
    assert "data" in json.loads(answer(subject, json.dumps(asked)))
print(len(entries))
"""


def test_every_example_is_answered_by_it_and_the_standard_library_alone(tmp_path: Path) -> None:
    zipfile.ZipFile(io.BytesIO(checker.archive())).extractall(tmp_path / "checker")
    environment = {"PYTHONPATH": str(tmp_path / "checker"), "PATH": os.environ["PATH"], "LLMDO_NO_CACHE": "1"}
    for name, example in examples().items():
        folder = tmp_path / name
        for path, text in example["files"].items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        words = [str(Path(sys.executable).resolve()), "-S", "-c", ALONE]  # without site-packages
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        assert int(done.stdout) > 0


def test_examples_are_small_and_hold_no_markup_that_ends_a_script() -> None:
    text = json.dumps(examples())
    assert len(text) < 250_000
