"""The wheel holds all that an installed llmdo needs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


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


def test_every_requirement_has_an_upper_bound(unpacked: Path) -> None:
    (info,) = unpacked.glob("llmdo_workspace-*.dist-info")
    lines = (info / "METADATA").read_text(encoding="utf-8").splitlines()
    requirements = [line for line in lines if line.startswith("Requires-Dist:")]
    assert requirements
    for line in requirements:
        assert "<" in line or "llmdo-workspace[" in line, line
