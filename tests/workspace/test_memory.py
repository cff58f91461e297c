"""A reading with a memory of earlier ones says what a reading without one says, whatever changed in between."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo import checks
from llmdo.base.diagnostic import Diagnostic
from llmdo.services import locking
from llmdo.workspace import lock, project
from llmdo.workspace.source_files import Memory
from tests.support.laws import tried
from tests.support.waiting import aged

MANIFEST = (
    'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["workers/*.worker"]\ntoolset-modules = ["tools/*.py"]\n'
    'model = "openai:gpt-5"\n\n[entries.go]\nworker = "main"\ninput = "Go."\nmay = ["fs.read", "fs.list", "x"]\n'
)
KIT = (
    "from tools import helper\nfrom pydantic_ai.toolsets import FunctionToolset\n\nkit = FunctionToolset()\n\n\n"
    "@kit.tool_plain\ndef look(name: str) -> str:\n    return name\n"
)
MAIN = "---\nname: main\ntoolsets:\n  filesystem: {}\n  other: {}\n---\nGo on.\n"
OTHER = "---\nname: other\ntoolsets:\n  kit: {}\n---\nGo.\n"

TEXTS = {
    "llmdo.toml": (MANIFEST, MANIFEST.replace('"x"', '"x.kit"'), MANIFEST + "\n[oops\n", ""),
    "tools/kit.py": (
        KIT,
        KIT.replace("kit", "kot"),
        KIT.replace("from tools import helper\n", ""),
        "def (:\n",
    ),
    "tools/helper.py": ("", "x = 1\n"),
    "workers/main.worker": (
        MAIN,
        MAIN.replace("filesystem: {}", 'filesystem: { write: ["a/**"] }'),
        MAIN.replace("other", "othr"),
        MAIN.replace("Go on.", "Go\u200b on."),
        MAIN.replace("name", "nam"),
        MAIN.replace("\n", "\r\n"),
        "no header\n",
    ),
    "workers/other.worker": (
        OTHER,
        OTHER.replace("kit", "main"),
        OTHER.replace("other", "main"),
        OTHER.replace("toolsets", "description: It looks.\ntoolsets"),
        "---\nname: other\n",
    ),
    "llmdo.lock": ("current", "of another description", "of another toolset", "", "version = 99\n"),
    "workers/third.worker": (OTHER.replace("other", "third"), "---\nname: third\n---\n"),
}
"""What each file may say."""


@pytest.fixture(scope="module")
def template_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for path, (text, *_) in TEXTS.items():
        if path not in ("llmdo.lock", "workers/third.worker"):
            write(folder, path, text)
    lock.write(folder, locking.derive(project.read(folder)))
    return folder


def lock_as(template_workspace: Path, text: str) -> str:
    """What is in `TEXTS` for the lock, spelled out."""
    current = (template_workspace / "llmdo.lock").read_text()
    described = current.replace("\n[worker.other]\n", '\n[worker.other]\ndescription = "It looks."\n')
    return {
        "current": current,
        "of another description": described,
        "of another toolset": current.replace('    "kit",\n', '    "filesystem",\n'),
    }.get(text, text)


def write(root: Path, path: str, text: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode("utf-8", "surrogatepass"))


def findings(root: Path, memory: Memory | None = None) -> tuple[Diagnostic, ...]:
    read = project.read(root, memory=memory)
    return checks.reported(read, checks.check(read))


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str, str | None]:
    """Which file is edited where, and what it says then; None where it goes away."""
    path = draw(st.sampled_from(sorted(TEXTS)))
    where = "disk" if path == "llmdo.lock" else draw(st.sampled_from(["disk", "editor"]))
    return where, path, draw(st.sampled_from([*TEXTS[path], None]))


@pytest.mark.law
@tried(60)
@given(sequence=st.lists(edits(), min_size=1, max_size=6))
def test_any_edits_give_the_findings_of_a_cold_check(
    template_workspace: Path,
    tmp_path_factory: pytest.TempPathFactory,
    sequence: list[tuple[str, str, str | None]],
) -> None:
    folder = tmp_path_factory.mktemp("edited")
    root = Path(shutil.copytree(template_workspace, folder / "w"))
    memory = Memory()
    try:
        assert findings(root, memory) == findings(root) == ()
        for where, path, named in sequence:
            text = lock_as(template_workspace, named) if named and path == "llmdo.lock" else named
            if where == "editor" and text is not None:
                memory.buffers[path] = text
            elif where == "editor":
                memory.buffers.pop(path, None)
            elif text is None:
                (root / path).unlink(missing_ok=True)
            else:
                write(root, path, text)
            plain = Path(shutil.copytree(root, folder / "plain", dirs_exist_ok=False))
            for each, shown in memory.buffers.items():
                if (plain / each).exists():
                    write(plain, each, shown)
            assert findings(root, memory) == findings(plain)
            shutil.rmtree(plain)
    finally:
        shutil.rmtree(folder)


def test_a_lock_that_was_replaced_is_read_again(template_workspace: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(template_workspace, tmp_path / "w"))
    memory = Memory()
    for text in ("of another description", "of another toolset", "version = 99\n", "of another toolset"):
        write(root, "llmdo.lock", lock_as(template_workspace, text))
        now = findings(root, memory)
        assert now
        assert now == findings(root)


def test_a_name_that_means_something_else_now_is_compared_with_the_lock(
    template_workspace: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(template_workspace, tmp_path / "w"))
    aged(root)
    memory = Memory()
    current = (root / "llmdo.lock").read_text()
    write(
        root, "llmdo.lock", current.replace("[worker.main]\n", '[worker.main]\ndescription = "It leads."\n')
    )
    for text in ("", "---\nname: kit\n---\nGo.\n"):  # `other` uses `kit`, and its own file stays as it is
        if text:
            write(root, "workers/third.worker", text)
        now = findings(root, memory)
        assert now == findings(root)
    read = project.read(root, memory=memory)
    changes = {item.name: item.changes for item in lock.drift(read.locked.graph, read.graph)}
    assert any("`delegates`" in change for change in changes["other"])


def test_a_file_that_is_the_same_is_not_read_again(template_workspace: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(template_workspace, tmp_path / "w"))
    aged(root)
    memory = Memory()
    first = project.read(root, memory=memory)
    again = project.read(root, memory=memory)
    assert [file.header["name"] for file in again.workspace.workers] == ["main", "other"]
    assert all(
        file is before for file, before in zip(again.workspace.workers, first.workspace.workers, strict=True)
    )
    assert again.workspace.modules["tools/kit.py"] is first.workspace.modules["tools/kit.py"]
    assert again.graph.workers["main"] is first.graph.workers["main"]


def test_a_file_of_the_same_size_and_time_is_read_again(template_workspace: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(template_workspace, tmp_path / "w"))
    aged(root)
    memory = Memory()
    assert findings(root, memory) == ()
    worker = root / "workers" / "other.worker"
    before = worker.stat()
    write(root, "workers/other.worker", OTHER.replace("kit", "kat"))
    os.utime(worker, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert worker.stat().st_size == before.st_size
    assert "LDO202" in {finding.code for finding in findings(root, memory)}


def test_a_file_that_changed_just_now_is_not_remembered(template_workspace: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(template_workspace, tmp_path / "w"))
    memory = Memory()

    def is_read_again() -> bool:
        write(root, "workers/other.worker", OTHER)
        first, second = (project.read(root, memory=memory).workspace.workers[1] for _ in range(2))
        return first is not second

    assert any(is_read_again() for _ in range(20))  # on a busy machine, a reading may come late


def test_a_text_of_an_editor_stands_for_no_link_and_for_no_file_that_is_gone(
    template_workspace: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(template_workspace, tmp_path / "w"))
    outside = tmp_path / "outside.worker"
    outside.write_text(OTHER)
    (root / "workers" / "other.worker").unlink()
    (root / "workers" / "other.worker").symlink_to(outside)
    memory = Memory()
    memory.buffers["workers/other.worker"] = OTHER
    assert findings(root, memory) == findings(root)
    assert "LDO107" in {finding.code for finding in findings(root, memory)}


def test_a_text_that_is_too_large_or_no_text_is_a_finding(template_workspace: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(template_workspace, tmp_path / "w"))
    memory = Memory()
    for text in (OTHER + "x" * 2**20, OTHER + "\ud800", OTHER + "\0"):
        memory.buffers["workers/other.worker"] = text
        codes = {finding.code for finding in findings(root, memory)}
        assert "LDO105" in codes
    memory.buffers = {"llmdo.toml": MANIFEST + "#" * 2**18}
    assert {finding.code for finding in findings(root, memory)} >= {"LDO105"}
