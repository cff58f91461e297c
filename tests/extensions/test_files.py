"""The files of an extension: which of them the lock holds, and what hinders llmdo from knowing them."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from llmdo.workspace import project
from tests.extensions.conftest import change, forget
from tests.support.commands import llmdo

FACTS = "acme_llmdo-1.0.dist-info"
TAG = sys.implementation.cache_tag


def record(packages: Path, *names: str) -> None:
    """Lists more files in the record of the distribution."""
    with (packages / FACTS / "RECORD").open("a") as lines:
        lines.writelines(f"{name},,\n" for name in names)


def compiled(packages: Path) -> None:
    """The module of the rules as code without a source."""
    rules = packages / "acme_llmdo/rules.py"
    py_compile.compile(str(rules), cfile=str(rules.with_suffix(".pyc")))
    rules.unlink()
    change(packages / FACTS / "RECORD", "acme_llmdo/rules.py,", "acme_llmdo/rules.pyc,")


@pytest.mark.parametrize(
    ("name", "is_listed"),
    [
        ("acme_llmdo/more.py", False),
        ("acme_llmdo/more.pyc", True),
        ("acme_llmdo/rules.abi3.so", False),
        ("acme_llmdo/crew/words.json", False),
        ("acme_llmdo/crew/words.json", True),
        ("acme_llmdo/rules/__init__.py", False),
        ("acme_llmdo/__pycache__/more.pyc", False),
        ("acme_llmdo/__pycache__/more.py", False),
        ("acme.pth", True),
        ("acme_words.txt", True),
        ("other/module.so", True),
        ("../lib64/acme_more.py", True),
        (f"{FACTS}/hidden.py", True),
    ],
)
def test_a_file_that_decides_what_an_extension_does_is_in_the_digest(
    root: Path, packages: Path, policy: Path, name: str, is_listed: bool
) -> None:
    assert project.read(root).is_current
    file = packages / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"")
    if is_listed:
        record(packages, name)
    added = project.read(root)
    file.write_bytes(b"# changed")
    assert len({each.graph.extensions["acme-llmdo"].digest for each in (added, project.read(root))}) == 2
    assert not project.read(root).is_current


def test_code_without_a_source_is_in_the_digest(root: Path, packages: Path, policy: Path) -> None:
    compiled(packages)
    before = project.read(root).graph.extensions["acme-llmdo"].digest
    assert llmdo(root, "check").returncode == 0
    rules = packages / "acme_llmdo/rules.pyc"
    rules.write_bytes(rules.read_bytes().replace(b"names no team", b"NAMES NO TEAM"))
    assert project.read(root).graph.extensions["acme-llmdo"].digest != before


@pytest.mark.parametrize(
    "name",
    [
        f"{FACTS}/INSTALLER",
        "../bin/acme",
        "../Scripts/acme.py",
        "../share/acme.1",
        f"acme_llmdo/__pycache__/rules.{TAG}.pyc",
        f"acme_llmdo/crew/__pycache__/reader.{TAG}.opt-1.pyc",
    ],
)
def test_a_file_that_an_installer_or_python_writes_is_not(
    root: Path, packages: Path, policy: Path, name: str
) -> None:
    file = packages / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x")
    record(packages, name)
    assert project.read(root).is_current


def broken(root: Path, sentence: str) -> None:
    """Check that a sentence says why the extension cannot be used, and that no code of it was run."""
    done = llmdo(root, "check")
    assert done.returncode == 2, done.stdout
    assert f"error[LDO114]: the extension `acme-llmdo` cannot be used: {sentence}" in done.stdout
    assert "hint: " in done.stdout
    assert "acme_llmdo" not in sys.modules


def test_code_that_python_would_run_whatever_its_source_says_is_refused(
    root: Path, packages: Path, policy: Path
) -> None:
    rules = packages / "acme_llmdo/rules.py"
    mode = py_compile.PycInvalidationMode
    for each, is_refused in (
        (mode.CHECKED_HASH, False),
        (mode.TIMESTAMP, False),
        (mode.UNCHECKED_HASH, True),
    ):
        py_compile.compile(str(rules), invalidation_mode=each)
        if is_refused:
            broken(root, "Python would run a file of `__pycache__` in place of `acme_llmdo/rules.py`")
        else:
            assert project.read(root).is_current
            forget()
    stale = Path(importlib.util.cache_from_source(str(rules)))
    stale.write_bytes(b"0000" + stale.read_bytes()[4:])  # of another Python, which this one does not run
    assert project.read(root).is_current


def without_record(facts: Path) -> None:
    (facts / "RECORD").unlink()


def egg(facts: Path) -> None:
    """The metadata of a distribution that lies where it is written."""
    (facts / "RECORD").rename(facts / "SOURCES.txt")
    (facts / "METADATA").rename(facts / "PKG-INFO")
    facts.rename(facts.with_suffix(".egg-info"))


def with_bytes(name: str, content: bytes) -> Callable[[Path], None]:
    def write(facts: Path) -> None:
        (facts / name).write_bytes(content)

    return write


def with_line(line: str) -> Callable[[Path], None]:
    def write(facts: Path) -> None:
        with (facts / "RECORD").open("a") as record:
            record.write(line)

    return write


UNREAD = "its metadata cannot be read: "


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (without_record, "it has no `RECORD` of its files"),
        (egg, "it has no `RECORD` of its files"),
        (with_bytes("RECORD", b""), "it has no `RECORD` of its files"),
        (with_line("\n"), UNREAD),
        (with_line("a,b,c,d,e\n"), UNREAD),
        (with_line("a,,many\n"), UNREAD),
        (with_line(f"{'a' * 200_000},,\n"), UNREAD),
        (with_bytes("RECORD", b"\xff,,\n"), UNREAD),
        (with_bytes("entry_points.txt", b"[llmdo.extension]\nacme\n"), UNREAD),
        (with_bytes("entry_points.txt", b"\xff"), UNREAD),
        (with_bytes("METADATA", b""), ""),
        (with_bytes("METADATA", b"Name: acme-llmdo\nVersion: 1 0\n"), "its metadata states no version"),
        (with_bytes("METADATA", b"\xff"), UNREAD),
    ],
)
def test_metadata_that_is_written_wrongly_is_told(
    root: Path, packages: Path, policy: Path, spoil: Callable[[Path], None], sentence: str
) -> None:
    spoil(packages / FACTS)
    broken(root, sentence)


def test_a_file_that_is_not_there_is_told(root: Path, packages: Path, policy: Path) -> None:
    (packages / "acme_llmdo/crew/more.py").symlink_to(packages / "nothing")
    broken(root, "it lacks its file `acme_llmdo/crew/more.py`")


def test_a_link_to_a_folder_is_refused(root: Path, packages: Path, policy: Path) -> None:
    (packages / "acme_llmdo/more").symlink_to(packages / "acme_llmdo/crew")
    broken(root, "it has a link to a folder: `acme_llmdo/more`")


def test_a_file_that_no_record_names_does_not_lead_into_the_workspace(
    root: Path, packages: Path, policy: Path
) -> None:
    shutil.copy(packages / "acme_llmdo/rules.py", root / "more.py")
    (packages / "acme_llmdo/more.py").symlink_to(root / "more.py")
    assert "lies inside the workspace" in llmdo(root, "check").stdout


@pytest.mark.parametrize(
    "value",
    [".acme_llmdo:EXTENSION", "acme_llmdo", "acme_llmdo :EXTENSION", "acme llmdo:X", "acme_llmdo:X [more]", "a:", ":b", "1:2", ""],
)  # fmt: skip
def test_an_entry_point_that_names_nothing_is_told(
    root: Path, packages: Path, policy: Path, value: str
) -> None:
    (packages / FACTS / "entry_points.txt").write_text(f"[llmdo.extension]\nacme = {value}\n")
    done = llmdo(root, "check")
    assert done.returncode == 2
    assert f"the entry point `{value}` of `acme-llmdo` does not name an `Extension`" in done.stdout
    assert 'hint: it is written `NAME = "package.module:NAME"`' in done.stdout


def test_an_entry_point_of_the_command_itself_is_told(root: Path, packages: Path, policy: Path) -> None:
    (packages / FACTS / "entry_points.txt").write_text("[llmdo.extension]\nacme = __main__:main\n")
    assert "the module `__main__` that the extension `acme-llmdo` names" in llmdo(root, "check").stdout


def test_an_installation_in_place_is_refused(
    root: Path, packages: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (packages / "acme_llmdo").rename(sources / "acme_llmdo")
    (packages / "acme.pth").write_text(str(sources))
    (packages / FACTS / "RECORD").write_text(f"acme.pth,,\n{FACTS}/METADATA,,\n")
    monkeypatch.syspath_prepend(str(sources))
    done = llmdo(root, "check")
    assert done.returncode == 2
    assert (
        "the module `acme_llmdo` that the extension `acme-llmdo` names is not one of its own files"
        in done.stdout
    )
    assert "without `-e`" in done.stdout
    assert "acme_llmdo" not in sys.modules


@pytest.mark.skipif(sys.platform != "linux", reason="names are any bytes on Linux alone")
def test_a_file_whose_name_is_no_text_counts(root: Path, packages: Path, policy: Path) -> None:
    (packages / "acme_llmdo" / os.fsdecode(b"\xff.py")).touch()
    assert not project.read(root).is_current


def test_a_pipe_among_the_files_is_not_waited_for(root: Path, packages: Path, policy: Path) -> None:
    os.mkfifo(packages / "acme_llmdo/pipe")
    broken(root, "it lacks its file `acme_llmdo/pipe`")
