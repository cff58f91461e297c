"""What files that cannot be read leave unknown is not judged: the cause is reported, and first."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.base.diagnostic import Diagnostic
from llmdo.workspace import project
from tests.support.commands import llmdo

EXAMPLES = Path(__file__).parents[2] / "examples"


def findings(root: Path) -> tuple[Diagnostic, ...]:
    return checks.check(project.read(root), locked=True)


def unclosed(text: bytes) -> bytes:
    """`text` that no parser of a file of the workspace accepts."""
    return text.replace(b"---\n", b'---\n"a: [', 1) if text.startswith(b"---") else text + b"\n([\n"


def binary(_text: bytes) -> bytes:
    return b"\xff\0"


@pytest.mark.few(3)
@pytest.mark.parametrize("broken", [unclosed, binary])
@pytest.mark.parametrize(
    "example", ["approvals_demo", "file_organizer", "mcp_notes", "recursive_task_decomposer", "stabilized"]
)
@pytest.mark.parametrize("has_lock", [True, False], ids=["locked", "unlocked"])
def test_a_file_that_cannot_be_read_adds_only_what_is_wrong_with_it(
    example: str, broken: Callable[[bytes], bytes], has_lock: bool, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(EXAMPLES / example, tmp_path / "w"))
    if not has_lock:
        (root / "llmdo.lock").unlink()
    whole = set(findings(root))
    workspace = project.read(root).workspace
    workers = (worker.document.source.path for worker in workspace.workers)
    for name in {"llmdo.toml", *workers, *workspace.modules, *(["llmdo.lock"] if has_lock else [])}:
        path = root / name
        content = path.read_bytes()
        path.write_bytes(broken(content))
        new = [finding for finding in findings(root) if finding not in whole]
        path.write_bytes(content)
        assert [finding.at.path for finding in new] == [name], f"{name}: {new}"
        assert new[0].severity == "error"


def workspace(root: Path, **files: str) -> Path:
    """A workspace of two workers, one of which delegates to the other, and of `files`."""
    texts = {
        "llmdo.toml": 'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n\n[entries.go]\nworker = "a"\n',
        "a.worker": "---\nname: a\ntoolsets: [b]\n---\nGo.\n",
        "b.worker": "---\nname: b\n---\nGo.\n",
    }
    for path, text in {**texts, **files}.items():
        (root / path).write_text(text, encoding="utf-8")
    return root


def codes(root: Path) -> list[tuple[str, str]]:
    """Code and path of what is found besides that there is no lock."""
    return [(finding.code, finding.at.path) for finding in findings(root) if finding.code != "LDO402"]


def test_what_cannot_be_read_comes_first(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        **{
            "z.worker": "no header\n",
            "a.worker": "---\nname: a\nmodel: gpt\nentyr: true\ntoolsets: [b]\n---\nGo.\n",
        },
    )
    assert codes(root) == [("LDO109", "z.worker"), ("LDO204", "a.worker"), ("LDO102", "a.worker")]


@pytest.mark.parametrize(
    ("manifest", "code"),
    [
        ('wokers = ["*.worker"]\n[entries.go]\nworker = "a"\n', "LDO102"),
        ('workers = "*.worker"\n[entries.go]\nworker = "a"\n', "LDO103"),
        ('workers = ["/*.worker"]\n[entries.go]\nworker = "a"\n', "LDO107"),
        ('workers = ["*.worker"]\n[entrise.go]\nworker = "a"\n[entries.b]\nworker = "b"\n', "LDO102"),
        ('workers = ["*.worker"]\n[entries.b]\nworker = "b"\n[entries.go]\nworker = 5\n', "LDO103"),
    ],
)
def test_what_follows_from_a_part_of_a_manifest_that_was_left_out_is_not_reported(
    manifest: str, code: str, tmp_path: Path
) -> None:
    text = f'schema = 1\n\n[workspace]\nname = "w"\n{manifest}'
    assert [reported for reported, _ in codes(workspace(tmp_path, **{"llmdo.toml": text}))] == [code]


def test_what_follows_from_a_part_of_a_header_that_was_left_out_is_not_reported(tmp_path: Path) -> None:
    root = workspace(tmp_path, **{"a.worker": "---\nname: a\ntoolset: [b]\n---\nGo.\n"})
    assert codes(root) == [("LDO102", "a.worker")]


def test_what_is_known_is_judged_beside_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    header = "---\nname: a\nmodel: gpt\nmay: [fs.raed]\ntoolsets: [b]\n---\nGo.\n"
    root = workspace(tmp_path, **{"a.worker": header, "c.worker": "no header\n"})
    assert codes(root) == [("LDO109", "c.worker"), ("LDO204", "a.worker"), ("LDO207", "a.worker")]


def test_an_alias_that_was_left_out_is_not_missed(tmp_path: Path) -> None:
    text = 'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n\n[models]\nfast = 5\n\n[entries.go]\nworker = "a"\n'
    header = "---\nname: a\nmodel: fast\ntoolsets: [b]\n---\nGo.\n"
    assert codes(workspace(tmp_path, **{"llmdo.toml": text, "a.worker": header})) == [
        ("LDO103", "llmdo.toml")
    ]


def test_a_run_does_not_begin_beside_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    root = workspace(tmp_path, **{"c.worker": "no header\n"})
    done = llmdo(root, "run", "go", "Hello.")
    assert done.returncode == 1
    assert "LDO109" in done.stderr


CEILING = 'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n\n[entries.go]\nworker = "a"\nmay = ["fs.read"]\n'


def test_no_hint_widens_a_ceiling_before_the_lock_is_current(tmp_path: Path) -> None:
    header = "---\nname: a\ntoolsets: {filesystem: {write: ['out/**']}}\n---\nGo.\n"
    root = workspace(
        tmp_path, **{"llmdo.toml": CEILING, "a.worker": header, "b.worker": "---\nname: b\n---\nGo.\n"}
    )

    def hints() -> set[str]:
        return {finding.hint or "" for finding in findings(root) if finding.code == "LDO501"}

    assert hints()
    assert not any("to its `may`" in hint for hint in hints())
    assert llmdo(root, "lock").returncode == 0
    assert any('add "fs.write:out/**" to its `may`' in hint for hint in hints())
    (root / "b.worker").write_text("---\nname: b\n---\nGo on.\n", encoding="utf-8")
    assert not any("to its `may`" in hint for hint in hints())


def test_tools_that_the_manifest_includes_are_judged_without_a_lock(tmp_path: Path) -> None:
    root = Path(shutil.copytree(EXAMPLES / "mcp_notes", tmp_path / "w"))
    (root / "llmdo.lock").unlink()
    assert [finding.code for finding in findings(root)] == ["LDO402"]
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8")
    for wider in ('["add_note", "delete_note"]', '["*_note"]'):
        (root / "llmdo.toml").write_text(manifest.replace('["add_note"]', wider), encoding="utf-8")
        outside = [finding for finding in findings(root) if finding.code == "LDO501"]
        assert ["mcp.call" in finding.message for finding in outside] == [True], wider
