"""The source distribution and the wheel: what is in them, and that everyone who builds them gets the same bytes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from pathlib import Path

import pytest

from tests.project.test_release import STEPS

ROOT = Path(__file__).parents[2]
HATCH = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"][
    "targets"
]
PACKED = {name.removeprefix("/") for name in HATCH["sdist"]["include"]}
SOURCES = {"PKG-INFO"}
"""What the source distribution has and the repository has not."""


def build(root: Path, out: Path, **environment: str) -> dict[str, Path]:
    """Both distributions of what is in `root`, by the suffix of each."""
    words = [sys.executable, "-m", "build", "--sdist", "--wheel", "--no-isolation", "--outdir", str(out)]
    done = subprocess.run(
        [*words, str(root)], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.suffix: path for path in out.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(ROOT, tmp_path_factory.mktemp("dist"))


def clone() -> Path:
    """The repository, where this is a clone of it."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone: nothing here says what is in the repository")
    return ROOT


def members(sdist: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(sdist) as archive:
        return {entry.name.partition("/")[2]: entry for entry in archive.getmembers()}


def digests(distributions: dict[str, Path]) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in distributions.values()}


@pytest.mark.long
def test_the_source_distribution_holds_what_the_repository_holds(built: dict[str, Path]) -> None:
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=clone(), capture_output=True, text=True, check=True).stdout
    tracked = {name for name in listed.split("\0") if name and (ROOT / name).exists()}
    assert members(built[".gz"]).keys() ^ tracked == SOURCES


@pytest.mark.long
def test_the_source_distribution_has_plain_files_alone_of_nobody_in_particular(
    built: dict[str, Path],
) -> None:
    for name, entry in members(built[".gz"]).items():
        assert entry.isfile(), name
        assert (entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, "", ""), name
        assert stat.S_IMODE(entry.mode) in (0o644, 0o755), name


def test_no_file_of_the_repository_is_a_link() -> None:
    """A link to a folder would be followed: all that it leads to would be published."""
    words = ["git", "ls-files", "--stage", "--", *sorted(PACKED)]
    listed = subprocess.run(words, cwd=clone(), capture_output=True, text=True, check=True).stdout
    assert not re.findall(r"^120000 .*", listed, re.MULTILINE)


@pytest.mark.long
def test_who_builds_from_the_source_distribution_gets_the_same_bytes(
    built: dict[str, Path], tmp_path: Path
) -> None:
    """In another folder, at another time, for another user, in another place of the world."""
    with tarfile.open(built[".gz"]) as archive:
        # Python 3.11 has it from 3.11.4 on, and Debian 12 has 3.11.2; later ones warn where it is not asked for.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path / "a folder", **safely)
    (root,) = (tmp_path / "a folder").iterdir()
    for path in root.rglob("*"):
        path.chmod(0o700 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o600)
        os.utime(path, (1, 1))
    before = os.umask(0o077)
    try:
        again = build(
            root, tmp_path / "again", TZ="Pacific/Chatham", LC_ALL="C", PYTHONHASHSEED="7", HOME=str(tmp_path)
        )
    finally:
        os.umask(before)
    assert digests(again) == digests(built)


@pytest.mark.long
def test_the_release_uses_the_installed_wheel_as_its_users_do(built: dict[str, Path], tmp_path: Path) -> None:
    """What the workflow does with the wheel, but for what comes from the network."""
    programs = tmp_path / "used/bin"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "used")], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet"]
    done = subprocess.run(
        [*pip, "--no-deps", "--no-index", "--no-compile", str(built[".whl"])], capture_output=True, text=True
    )
    if "No module named pip" in done.stderr:
        pytest.skip("there is no pip here to install a wheel with")
    assert done.returncode == 0, done.stderr
    asked = [str(programs / "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    # What llmdo needs comes from where these tests have it; llmdo itself does not, as only its finder is there.
    (site / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    asked = [str(programs / "python"), "-P", "-c", "import llmdo; print(llmdo.__file__)"]
    where = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert Path(where.strip()).is_relative_to(site)
    (script,) = [step["run"] for _, step in STEPS if step.get("name") == "Use the wheel as its users do"]
    creating, installed, *used = script.splitlines()
    assert (creating, installed) == (
        "python -m venv used",
        "used/bin/python -m pip install --quiet dist/*.whl",
    )
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", "\n".join(used)],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "helper" in done.stdout
