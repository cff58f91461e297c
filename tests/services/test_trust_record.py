"""The record of answers: read strictly, written whole, and out of reach of every workspace."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.workspace import project
from llmdo.workspace.trust import Consent, TrustRecord, UntrustedError, is_trusted, record_of
from llmdo.workspace.trust.consent import keep, question_of
from tests.support import forking

DIGEST = "sha256:" + "a" * 64
MANIFEST = 'schema = 1\n[workspace]\nname = "w"\ntoolset-modules = ["tools.py"]\n'


@pytest.fixture
def record(tmp_path: Path) -> TrustRecord:
    return TrustRecord(tmp_path / "state" / "llmdo" / "trust")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    root.mkdir()
    (root / "llmdo.toml").write_text(MANIFEST)
    (root / "tools.py").write_text("x = 1\n")
    return root


def answer_of(record: TrustRecord, kind: str) -> Path:
    return next(path for path in record.folder.iterdir() if path.name.startswith(kind))


def test_an_answer_is_for_its_person_alone_and_says_what_was_shown(record: TrustRecord, root: Path) -> None:
    record.keep("content", root, DIGEST, {"python tools.py": "x = 1\n"})
    assert record.has_content(DIGEST)
    assert not record.has_folder(root)
    assert {stat.S_IMODE(path.stat().st_mode) for path in record.folder.iterdir()} == {0o600}
    assert stat.S_IMODE(record.folder.stat().st_mode) == 0o700
    given, texts = record.last(root) or ("", {})
    assert texts == {"python tools.py": "x = 1\n"}
    assert [(answer.kind, answer.when) for answer in record.answers()] == [("content", given)]


def empty(path: Path) -> None:
    path.write_bytes(b"")


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


def binary(path: Path) -> None:
    path.write_bytes(os.urandom(200))


def nested(path: Path) -> None:
    path.write_bytes(b"[" * 60_000)


def huge(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b" " * 100_000 + b"}")


def another_schema(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 2}))


def another_digest(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "digest": "sha256:" + "b" * 64}))


def a_list(path: Path) -> None:
    path.write_text(json.dumps([json.loads(path.read_text())]))


def writable_by_others(path: Path) -> None:
    path.chmod(0o622)


def a_link(path: Path) -> None:
    path.rename(path.parent / "elsewhere")
    path.symlink_to(path.parent / "elsewhere")


def a_second_name(path: Path) -> None:
    os.link(path, path.parent.parent / "second")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.long
@pytest.mark.parametrize(
    "damage",
    [
        empty, half, binary, nested, huge, another_schema, another_digest, a_list, writable_by_others, a_link,
        a_second_name, a_folder, a_pipe,
    ],
)  # fmt: skip
def test_a_damaged_answer_is_none(record: TrustRecord, root: Path, damage: Callable[[Path], None]) -> None:
    record.keep("content", root, DIGEST, {})
    damage(answer_of(record, "content"))
    assert not record.has_content(DIGEST)
    assert list(record.answers()) == []


def test_an_answer_under_the_name_of_another_is_none(record: TrustRecord, root: Path, tmp_path: Path) -> None:
    record.keep("folder", root, None, {})
    other = TrustRecord(tmp_path / "other")
    other.keep("folder", tmp_path, None, {})
    answer_of(record, "folder").replace(answer_of(other, "folder"))
    assert not other.has_folder(tmp_path)


def test_what_was_shown_is_left_out_where_it_is_too_large(record: TrustRecord, root: Path) -> None:
    record.keep("content", root, DIGEST, {"python a.py": "x" * 9_000_000})
    assert record.has_content(DIGEST)
    assert record.last(root) is None


def test_a_workspace_around_the_record_is_never_trusted(environ: dict[str, str], root: Path) -> None:
    inside = {**environ, "XDG_STATE_HOME": str(root / ".llmdo")}
    graph = project.read(root).graph
    question = question_of(graph, root, inside)
    with pytest.raises(LlmdoError, match="lies in the workspace"):
        keep(graph, root, question, "folder", inside)
    record_of(inside).keep("folder", root, None, {})  # as content of the workspace might
    assert record_of(inside).has_folder(root)
    assert not is_trusted(graph, root, inside)


def test_a_record_that_a_link_leads_into_the_workspace_counts_for_nothing(
    environ: dict[str, str], root: Path, tmp_path: Path
) -> None:
    (root / "sub").mkdir()
    (tmp_path / "state").symlink_to(root / "sub")
    record_of(environ).keep("folder", root, None, {})
    assert not is_trusted(project.read(root).graph, root, environ)


def test_a_folder_above_which_tools_work_on_may_not_hold_the_record(
    environ: dict[str, str], root: Path
) -> None:
    (root / "llmdo.toml").write_text(MANIFEST.replace("toolset", 'root = ".."\ntoolset'))
    record_of(environ).keep("folder", root, None, {})
    assert not is_trusted(project.read(root).graph, root, environ)


def test_a_page_executes_nothing_that_was_not_answered_for(environ: dict[str, str], root: Path) -> None:
    graph = project.read(root).graph
    assert not is_trusted(graph, root, environ)
    with pytest.raises(UntrustedError, match="1 Python file of this workspace"):
        Consent(environ, strict=True).require(graph, root)
    keep(graph, root, question_of(graph, root, environ), "content", environ)
    assert is_trusted(graph, root, environ)
    Consent(environ, strict=True).require(graph, root)
    (root / "tools.py").write_text("x = 2\n")
    assert not is_trusted(project.read(root).graph, root, environ)


def test_a_person_is_asked_once_for_the_same_thing(environ: dict[str, str], root: Path) -> None:
    graph, asked = project.read(root).graph, []
    consent = Consent(environ, ask=lambda question: asked.append(question) or "content")  # type: ignore[func-returns-value]
    for _ in range(3):
        consent.require(graph, root)
    (root / "tools.py").write_text("x = 2\n")
    consent.require(project.read(root).graph, root)
    first, second = asked
    assert (first.since, first.before) == (None, {})
    assert second.before == {"python tools.py": "x = 1\n"}
    assert second.texts == {"python tools.py": "x = 2\n"}


def test_an_answer_for_a_folder_is_none_for_the_code_that_a_run_brings(
    environ: dict[str, str], root: Path, tmp_path: Path
) -> None:
    graph = project.read(root).graph
    keep(graph, root, question_of(graph, root, environ), "folder", environ)
    consent = Consent(environ, strict=True)
    brought = tmp_path / "brought"
    brought.mkdir()
    (brought / "tools.py").write_text("x = 1\n")
    with pytest.raises(UntrustedError):
        consent.require(graph, root, brought)
    consent.require(graph, root)


def test_what_changed_since_it_was_read_is_not_shown_as_if_it_had_not(
    environ: dict[str, str], root: Path
) -> None:
    graph = project.read(root).graph
    (root / "tools.py").write_text("x = 2\n")
    with pytest.raises(LlmdoError, match=r"`tools\.py` changed while it was read"):
        question_of(graph, root, environ)


def test_an_answer_that_cannot_be_kept_holds_for_the_command(tmp_path: Path, root: Path) -> None:
    (tmp_path / "file").write_text("")
    environ = {"XDG_STATE_HOME": str(tmp_path / "file"), "XDG_CONFIG_HOME": str(tmp_path)}
    warnings: list[str] = []
    Consent(environ, tell=warnings.append, ask=lambda _: "content").require(project.read(root).graph, root)
    assert warnings[0].startswith("warning: the answer cannot be kept in ")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["content", "folder"])
def test_processes_that_answer_at_once_leave_a_whole_answer(
    record: TrustRecord, root: Path, tmp_path: Path, kind: str
) -> None:
    script = (
        "from pathlib import Path\nfrom llmdo.workspace.trust import TrustRecord\n"
        f"record = TrustRecord(Path({str(record.folder)!r}))\n"
        f"for number in range(30): record.keep({kind!r}, Path({str(root)!r}), {DIGEST!r}, {{'a': 'x' * number * 1000}})\n"
    )
    processes = [forking.Popen([sys.executable, "-c", script], cwd=tmp_path) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert len(list(record.answers())) == 1
    assert record.last(root) is not None
    assert len(list(record.folder.iterdir())) == 2
