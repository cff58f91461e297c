"""The wheel holds all that an installed llmdo needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of the wheel, as pip would lay it out."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = out.glob("llmdo_workspace-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(out / "site")
    return out / "site"


def llmdo(site: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-P", "-m", "llmdo", *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.mark.long
def test_an_installed_llmdo_starts_a_workspace_that_checks_locks_and_runs(
    unpacked: Path, tmp_path: Path
) -> None:
    where = subprocess.run(
        [sys.executable, "-P", "-c", "import llmdo; print(llmdo.__file__)"],
        env={**os.environ, "PYTHONPATH": str(unpacked)}, capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert where.stdout.startswith(str(unpacked))
    assert llmdo(unpacked, "init", "mine", cwd=tmp_path).returncode == 0
    for words in (["check", "--strict"], ["lock"], ["check", "--locked"], ["run"]):
        done = llmdo(unpacked, *words, cwd=tmp_path / "mine")
        assert done.returncode == 0, done.stdout + done.stderr
    assert llmdo(unpacked, "schema", "manifest", cwd=tmp_path).stdout.startswith("{")


@pytest.mark.long
def test_the_wheel_has_its_licence_its_two_commands_and_no_tests(unpacked: Path) -> None:
    (info,) = unpacked.glob("llmdo_workspace-*.dist-info")
    assert (info / "licenses/LICENSE").is_file()
    entry_points = (info / "entry_points.txt").read_text(encoding="utf-8")
    assert "llmdo = llmdo.__main__:script" in entry_points
    assert "llmdo-workspace = llmdo.__main__:script" in entry_points
    assert {path.name for path in unpacked.iterdir()} == {"llmdo", info.name}
    assert (unpacked / "llmdo/py.typed").is_file()
    assert (unpacked / "llmdo/data/adapters/llm-do/llm_do/runtime/args.py").is_file()


@pytest.mark.long
def test_the_wheel_holds_every_file_that_the_repository_has_for_it(unpacked: Path) -> None:
    folders = {
        "llmdo": "llmdo",
        **{name: f"llmdo/data/{name}" for name in ("adapters", "schemas", "templates")},
    }
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone: nothing here says what is in the repository")
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *folders]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = [Path(name) for name in listed.split("\0") if name and (ROOT / name).exists()]
    expected = {f"{folders[path.parts[0]]}/{path.relative_to(path.parts[0]).as_posix()}" for path in tracked}
    packed = {
        path.relative_to(unpacked).as_posix() for path in (unpacked / "llmdo").rglob("*") if path.is_file()
    }
    assert {name for name in packed if not name.endswith(".pyc")} == expected


@pytest.mark.long
def test_all_that_the_extras_add_is_there_from_the_wheel(unpacked: Path, tmp_path: Path) -> None:
    """Every module is imported from it, and what the page is made of is read from it."""
    script = (
        "import importlib, pkgutil, llmdo\n"
        "for module in pkgutil.walk_packages(llmdo.__path__, 'llmdo.'):\n"
        "    if not module.name.endswith('__main__'): print(importlib.import_module(module.name).__file__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={**os.environ, "PYTHONPATH": str(unpacked)}, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all(Path(file).is_relative_to(unpacked) for file in done.stdout.splitlines())
    assert llmdo(unpacked, "init", "mine", cwd=tmp_path).returncode == 0
    pages = []
    for number, site in enumerate((unpacked, ROOT)):
        done = llmdo(site, "page", "--export", f"page-{number}.html", cwd=tmp_path / "mine")
        assert done.returncode == 0, done.stderr
        pages.append((tmp_path / "mine" / f"page-{number}.html").read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    for template in (ROOT / "templates").iterdir():
        if template.is_dir():
            done = llmdo(unpacked, "init", f"of-{template.name}", "--template", template.name, cwd=tmp_path)
            assert done.returncode == 0, done.stderr


def test_the_extras_that_a_hint_names_are_those_that_there_are(unpacked: Path) -> None:
    (info,) = unpacked.glob("llmdo_workspace-*.dist-info")
    lines = (info / "METADATA").read_text(encoding="utf-8").splitlines()
    extras = {line.partition(": ")[2] for line in lines if line.startswith("Provides-Extra:")}
    files = [*(ROOT / "llmdo").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    named = {
        name.strip()
        for file in files
        for names in re.findall(r"llmdo-workspace\[([\w, -]+)\]", file.read_text(encoding="utf-8"))
        for name in names.split(",")
    }
    assert {"lsp", "mcp", "web"} <= named <= extras


@pytest.mark.long
@pytest.mark.registry
@pytest.mark.timeout(600)
@pytest.mark.parametrize("runner", ["uvx", "pipx"])
def test_the_wheel_runs_without_being_installed(unpacked: Path, tmp_path: Path, runner: str) -> None:
    program = shutil.which(
        runner, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    )
    if program is None:
        pytest.skip(f"there is no {runner} here")
    (wheel,) = unpacked.parent.glob("llmdo_workspace-*.whl")
    agents = tmp_path / "project/.claude/agents"
    agents.mkdir(parents=True)
    (agents / "helper.md").write_text("---\nname: helper\ndescription: x\ntools: Bash\n---\nHelp.\n")
    how = ["--from", str(wheel)] if runner == "uvx" else ["run", "--no-cache", "--spec", str(wheel)]
    folders = {"PIPX_HOME": str(tmp_path / "pipx"), "UV_TOOL_DIR": str(tmp_path / "uv")}
    done = subprocess.run(
        [program, *how, "llmdo", "scan"],
        cwd=tmp_path / "project",
        env={**os.environ, **folders},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode and re.search(r"(?i)network|resolve host|failed to connect", done.stderr):
        pytest.skip(f"{runner} cannot reach what llmdo needs: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "claude: 1 agent in 1 file" in done.stdout


def test_every_requirement_has_an_upper_bound(unpacked: Path) -> None:
    (info,) = unpacked.glob("llmdo_workspace-*.dist-info")
    lines = (info / "METADATA").read_text(encoding="utf-8").splitlines()
    requirements = [line for line in lines if line.startswith("Requires-Dist:")]
    assert requirements
    for line in requirements:
        assert "<" in line or "llmdo-workspace[" in line, line
