"""The image, built by a container runtime and run as docs/releasing.md says.

`LLMDO_TEST_CONTAINER=1` builds it from the base that the Dockerfile names, which a registry gives or the machine has.
`LLMDO_TEST_CONTAINER=debian` is for machines that reach no registry: Debian's packages, with Debian's own Python, stand in
for the base, so what is tested then is all of the image but its Python. It takes podman and mmdebstrap. Both values make
these tests fail rather than skip; without one they are skipped, as they load some hundred megabytes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.project.test_dist import build
from tests.project.test_release import DOCKERFILE, instructions

ROOT = Path(__file__).parents[2]
PITCHDECK = ROOT / "examples/pitchdeck"
ASKED = os.environ.get("LLMDO_TEST_CONTAINER", "")
TAG = "localhost/llmdo-of-tests"
STAND_IN = "localhost/llmdo-stand-in-of-tests"
OWNER = 4242
"""Nobody that the image knows, as the person at the machine is nobody that it knows."""
CERTIFICATES = "/etc/ssl/certs"
PACKAGES = "ca-certificates,python3,python3-pip"
PYTHON = """\
FROM {base}
RUN rm -f /usr/lib/python3*/EXTERNALLY-MANAGED \\
    && ln -s /usr/bin/python3 /usr/local/bin/python && ln -s /usr/bin/python3 /usr/local/bin/python3
"""
PROBE = "--unshare-all --ro-bind / / --proc /proc --dev /dev true"

pytestmark = [pytest.mark.long, pytest.mark.registry, pytest.mark.timeout(600)]

Run = Callable[..., subprocess.CompletedProcess[str]]


def done(*words: str | Path, **rest: str) -> None:
    ended = subprocess.run([*map(str, words)], capture_output=True, text=True, **rest)  # type: ignore[call-overload]
    assert ended.returncode == 0, f"{words}\n{ended.stdout}{ended.stderr}"


@pytest.fixture(scope="module")
def runtime() -> str:
    if not ASKED:
        pytest.skip("LLMDO_TEST_CONTAINER is not set: building the image loads a base and what llmdo needs")
    known = ["podman"] if ASKED == "debian" else ["docker", "podman"]
    path = next(filter(None, map(shutil.which, known)), None)
    return path or pytest.fail(f"there is no {' and no '.join(known)} here to build an image with")


def stand_in(runtime: str, folder: Path) -> list[str]:
    """The options of a build on Debian's packages, in the place of the base that the Dockerfile names."""
    codename = instructions("FROM")[0].rpartition("-")[2]
    done("mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", codename, folder / "base.tar")
    done(runtime, "import", folder / "base.tar", f"{STAND_IN}:packages")
    (folder / "Dockerfile").write_text(PYTHON.format(base=f"{STAND_IN}:packages"), encoding="utf-8")
    done(runtime, "build", "--tag", STAND_IN, folder)
    return ["--from", STAND_IN, "--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro"]


@pytest.fixture(scope="module")
def image(runtime: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("image")
    options = stand_in(runtime, tmp_path_factory.mktemp("base")) if ASKED == "debian" else []
    build(ROOT, folder / "dist")
    (folder / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
    shutil.copy(ROOT / ".dockerignore", folder)
    done(runtime, "build", "--network", "host", "--tag", TAG, *options, folder)
    yield TAG
    for name in (TAG, STAND_IN, f"{STAND_IN}:packages"):
        subprocess.run([runtime, "rmi", name], capture_output=True)


@pytest.fixture
def run(runtime: str, image: str) -> Run:
    """A command in a container: options of the runtime, then `*command` after the image."""

    def of(*command: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        words = [runtime, "run", "--rm", "--network", "none", *options, image, *command]
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    return of


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A copy of the example, which belongs to somebody that the image does not know."""
    root = tmp_path / "pitchdeck"
    shutil.copytree(PITCHDECK, root, ignore=shutil.ignore_patterns(".llmdo", "__pycache__", "reports"))
    if os.geteuid() == 0:
        for path in (root, *root.rglob("*")):
            os.chown(path, OWNER, OWNER)
    return root


def at(root: Path) -> tuple[str, ...]:
    return ("--volume", f"{root}:/work")


def owner(root: Path) -> tuple[str, ...]:
    return ("--user", str(root.stat().st_uid))


def test_it_helps_and_runs_as_a_user_without_rights(run: Run) -> None:
    helped = run()
    assert helped.returncode == 0
    assert helped.stdout.startswith("Usage: llmdo [OPTIONS] COMMAND")
    finished = run("-c", "id -u; echo $HOME; pwd; ls /tmp", options=("--entrypoint", "sh"))
    assert finished.stdout.split() == [*instructions("USER"), "/home/llmdo", "/work"]


def test_what_only_reads_needs_no_more_than_to_read(run: Run, workspace: Path) -> None:
    read_only = ("--read-only", "--volume", f"{workspace}:/work:ro")
    checked = run("check", "--locked", options=read_only)
    assert (checked.returncode, checked.stdout) == (0, "no findings\n")
    reached = run("reach", options=read_only)
    assert "fs.write:reports/**" in reached.stdout
    scanned = run("scan", options=read_only)
    assert (scanned.returncode, "Traceback" in scanned.stderr) == (0, False)


def test_who_owns_the_folder_runs_its_entries(run: Run, workspace: Path) -> None:
    ran = run("run", "--trust", "pitchdeck", options=(*at(workspace), *owner(workspace)))
    assert ran.returncode == 0, ran.stderr
    assert "4 decks found, 4 reports written." in ran.stdout
    assert len([*(workspace / "reports").iterdir()]) == 4
    listed = run("runs", options=(*at(workspace), *owner(workspace)))
    assert "complete" in listed.stdout


def test_another_user_is_told_that_nothing_can_be_written(run: Run, workspace: Path) -> None:
    if workspace.stat().st_uid != OWNER:
        pytest.skip("in a container of this person's own, the folder is the user's of the image")
    ran = run("run", "--trust", "pitchdeck", options=at(workspace))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "error: no journal can be kept" in ran.stderr
    (workspace / ".llmdo").mkdir(mode=0o700)
    finished = run("doctor", options=at(workspace))
    assert (finished.returncode, finished.stderr) == (1, "")
    assert (
        "`/work/.llmdo` cannot be written" in finished.stdout
        or "`/work` cannot be written" in finished.stdout
    )


def test_no_file_of_the_workspace_is_taken_for_the_persons_own(run: Run, workspace: Path) -> None:
    done("git", "init", "--quiet", cwd=str(workspace))
    (workspace / ".gitconfig").write_text('[core]\n\tfsmonitor = "touch /work/executed; false"\n')
    options = (*at(workspace), *owner(workspace))
    status = run("-C", "/work", "status", "--short", options=(*options, "--entrypoint", "git"))
    assert (status.returncode, "?? llmdo.toml" in status.stdout) == (0, True), status.stderr
    assert not (workspace / "executed").exists()
    assert "/home/llmdo/.config/llmdo" in run("doctor", options=options).stdout


@pytest.mark.parametrize("kind", ["usual", "unmasked"])
def test_the_doctor_says_whether_commands_are_isolated(
    run: Run, runtime: str, workspace: Path, kind: str
) -> None:
    unmasked = "unmask=ALL" if "podman" in runtime else "systempaths=unconfined"
    security = {
        "usual": (),
        "unmasked": ("--security-opt", "seccomp=unconfined", "--security-opt", unmasked),
    }[kind]
    options = (*at(workspace), *security)
    bubblewrap = run(*PROBE.split(), options=(*options, "--entrypoint", "bwrap"))
    printed = run("doctor", options=options).stdout
    (isolation,) = [line for line in printed.splitlines() if line.split()[:1] == ["isolation"]]
    assert isolation.split(None, 1)[1].startswith("none (" if bubblewrap.returncode else "bubblewrap;")
    if kind == "unmasked":
        assert bubblewrap.returncode == 0, bubblewrap.stderr
