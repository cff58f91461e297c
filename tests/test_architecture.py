"""The shape of the package: who may import whom, what stays off the check path, how large things get."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "llmdo"
FILES = sorted(PACKAGE.rglob("*.py"))

LAYERS = (
    ("__main__",),
    ("cli",),
    ("__init__",),
    ("past",),
    ("embedding", "importing", "mending"),
    ("basis", "render", "scaffold", "completion"),
    ("locking", "serving", "doctor"),
    ("runtime",),
    ("journal",),
    ("audit",),
    ("toolsets",),
    ("checks",),
    ("project", "personal"),
    ("foreign",),
    ("diff", "selectors", "suggest", "paths"),
    ("reach", "revision"),
    ("bounds", "shapes"),
    ("inventory",),
    ("lock",),
    ("resolve",),
    ("modules",),
    ("builtin", "servers", "workspace"),
    ("references",),
    ("facts", "gaps", "worker_file"),
    ("graph", "topology", "models", "discovery"),
    ("schema",),
    ("formats",),
    ("worker_format",),
    ("shell", "toolset_format"),
    ("secret_files",),
    ("authority",),
    ("syntax", "resources", "fields", "backtrace"),
    ("diagnostic", "digest", "credentials"),
    ("source",),
    ("cache",),
    ("values", "version"),
)
"""A module imports from the layers below its own, and within its own part."""

DOORS = {
    "yaml": {"syntax/header.py"},
    "jsonschema": {"schema/validation.py"},
    "tomlkit": {"scaffold"},
    "typer": {"cli"},
    "rich": {"render/live.py"},
    "opentelemetry": {"runtime/telemetry/trace.py"},
    "pathspec": {"discovery.py"},
    "pydantic_ai": {"runtime", "toolsets"},
    "fastmcp": {"toolsets/mcp.py"},
    "mcp": {"serving.py"},
    "uvicorn": {"serving.py"},
}
"""Where each library may be imported."""


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def layer_of(part: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if part in layer)


def imports(path: Path) -> set[str]:
    """The dotted modules that a file imports when it runs; what only a type checker sees is left out."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names if node.module == "llmdo")
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


def test_every_module_has_a_layer() -> None:
    assert {part_of(path) for path in FILES} == {part for layer in LAYERS for part in layer}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_imports_only_from_layers_below_its_own(path: Path) -> None:
    own = part_of(path)
    for module in imports(path):
        names = module.split(".")
        if names[0] != "llmdo" or len(names) < 2:
            continue
        other = (
            names[1] if (PACKAGE / names[1]).exists() or (PACKAGE / f"{names[1]}.py").exists() else "__init__"
        )
        assert other == own or layer_of(other) > layer_of(own), f"{own} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_each_library_has_its_doors(path: Path) -> None:
    relative = path.relative_to(PACKAGE).as_posix()
    for module in imports(path):
        allowed = DOORS.get(module.split(".")[0])
        if allowed is not None:
            assert any(relative == door or relative.startswith(f"{door}/") for door in allowed), module


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_file_and_no_function_outgrows_a_reader(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    prose = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in prose
    ]
    # The formats are one list of fields; splitting it would only hide it.
    assert len(code) <= (500 if path.name == "formats.py" else 360)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = [number for number in code if node.lineno <= number <= (node.end_lineno or node.lineno)]
            assert len(lines) <= 60, node.name


def loaded_by(words: list[str], workspace: Path) -> set[str]:
    script = (
        "import sys\nfrom llmdo.__main__ import main\n"
        f"sys.argv = ['llmdo', *{words!r}]\ncode = main()\n"
        "print(*sorted(sys.modules), sep='\\n', file=sys.stderr)\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=workspace, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in done.stderr.split("\n")}


HEAVY = {
    "asyncio", "dataclasses", "inspect", "jsonschema", "pydantic", "pydantic_ai", "rich", "subprocess", "tomlkit",
    "typer", "yaml",
}  # fmt: skip


@pytest.mark.parametrize("words", [["check"], ["--version"], ["__complete", "run", ""], ["runs"]])
def test_the_clean_path_loads_nothing_heavy(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n', encoding="utf-8"
    )
    (tmp_path / "main.worker").write_text("---\nname: main\nentry: true\n---\nGo.\n", encoding="utf-8")
    assert not loaded_by(words, tmp_path) & HEAVY


def test_an_answer_from_memory_loads_next_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLMDO_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "w"
    root.mkdir()
    (root / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "w"\n', encoding="utf-8")
    (root / "llmdo.lock").write_text("", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "llmdo", "lock"], cwd=root, check=True, capture_output=True)
    time.sleep(0.15)  # what has just changed is not remembered
    assert "hashlib" in loaded_by(["check"], root)
    assert not loaded_by(["check"], root) & {*HEAVY, "hashlib", "json", "pathlib", "re", "tomllib", "typing"}


def test_check_works_where_fcntl_and_resource_do_not_exist(tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "w"\n', encoding="utf-8")
    script = (
        "import sys\nsys.modules['fcntl'] = sys.modules['resource'] = sys.modules['termios'] = None\n"
        "from llmdo.__main__ import main\nsys.argv = ['llmdo', 'check']\nsys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_map_names_every_module() -> None:
    text = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))) or ""
    for part in {part_of(path) for path in FILES} - {"__init__"}:
        assert f"{part}.py" in text or f"{part}/" in text, part
