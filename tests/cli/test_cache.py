"""What a check remembers never makes it say anything else than a check would."""

from __future__ import annotations

import contextlib
import io
import marshal
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import pytest

from llmdo.cli import check, quick
from llmdo.services import locking
from llmdo.version import __version__
from llmdo.workspace import lock, project
from tests.support.laws import share
from tests.support.waiting import aged

FILES = {
    "llmdo.toml": (
        'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["workers/*.worker", "more/**/*.worker"]\n'
        'toolset-modules = ["tools/*.py"]\nmodel = "openai:gpt-5"\n\n[paths]\n"deck.md" = "input/deck.md"\n\n'
        '[entries.go]\nworker = "main"\ninput = "Read deck.md."\nmay = ["fs.read", "fs.list", "x"]\n'
    ),
    "input/deck.md": "# Deck\n",
    "more/deep/other.worker": "---\nname: other\ntoolsets:\n  kit: {}\n---\nGo.\n",
    "tools/kit.py": (
        "try:\n    import helper\nexcept ImportError:\n    helper = None\nfrom pydantic_ai.toolsets import FunctionToolset\n\nkit = FunctionToolset()\n\n\n"
        "@kit.tool_plain\ndef look(name: str) -> str:\n    return name\n"
    ),
    "workers/main.worker": "---\nname: main\ntoolsets:\n  filesystem: {}\n  other: {}\n---\nGo on.\n",
}


@pytest.fixture(scope="module")
def template_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean workspace with a lock."""
    folder = tmp_path_factory.mktemp("made")
    for path, text in FILES.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    lock.write(folder, locking.derive(project.read(folder)))
    return folder


@pytest.fixture
def root(template_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, and a cache folder."""
    monkeypatch.delenv("LLMDO_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(shutil.copytree(template_workspace, tmp_path / "w"))


class Terminal(io.StringIO):
    """What is printed to a terminal."""

    def isatty(self) -> bool:
        return True


def checked(root: Path, *words: str, out: io.StringIO | None = None) -> tuple[int, str]:
    """What a check says, without asking the memory; it may write there."""
    options = check.parse(["--project", str(root), *words])
    assert options is not None
    out = out or io.StringIO()
    with contextlib.redirect_stdout(out):
        code = check.run(options)
    return code, out.getvalue()


def remembered(root: Path, *words: str) -> str | None:
    known = known_answer(root, *words)
    return known[1] if known else None


def known_answer(root: Path, *words: str, colour: bool = False) -> tuple[int, str] | None:
    """The exit code and the text that are remembered."""
    options = quick.options(["--project", str(root), *words])
    assert options is not None
    return quick.remembered(options, os.environ, colour=colour)


def memory(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "cache" / "llmdo" / "check").iterdir()
    return file


@pytest.mark.long
def test_a_clean_check_is_remembered_as_long_as_nothing_changes(root: Path) -> None:
    aged(root.parent)
    assert remembered(root, "--locked") is None
    assert checked(root, "--locked") == (0, "no findings\n")
    assert remembered(root, "--locked") == "no findings\n"
    (root / "llmdo.toml").touch()
    assert remembered(root, "--locked") is None


def test_another_question_is_another_answer(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    aged(root.parent)
    checked(root)
    checked(root, "--locked", "--format", "json")
    assert remembered(root) == "no findings\n"
    assert remembered(root, "--locked") is None
    assert '"status": "clean"' in (remembered(root, "--locked", "--format=json") or "")
    monkeypatch.setenv("CI", "true")
    assert remembered(root) is None
    assert '"status": "clean"' in (remembered(root, "--format=json") or "")


LONELY = "---\nname: main\n---\nGo.\n"
"""A worker that leaves the others unused: warnings."""
BROKEN = {
    "errors": "---\nname: main\nmodle: x\ntoolsets: [nobody]\n---\nGo.\n",
    "syntax": '---\nname: "main\n---\nGo.\n',
    "no header": "Go.\n",
}


@pytest.mark.long
@pytest.mark.parametrize("form", ["text", "concise", "json"])
def test_findings_are_remembered_as_a_clean_answer_is(root: Path, form: str) -> None:
    worker = root / "workers" / "main.worker"
    for text in (LONELY, *BROKEN.values()):
        worker.write_text(text, encoding="utf-8")
        aged(root.parent)
        for strict in ([], ["--strict"]):
            words = ["--format", form, *strict]
            assert known_answer(root, *words) is None
            done = checked(root, *words)
            assert done[0] == (0 if text == LONELY and not strict else 1)
            assert known_answer(root, *words) == done
        worker.touch()
        assert remembered(root, "--format", form) is None


def test_colours_are_another_answer(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    (root / "workers" / "main.worker").write_text(LONELY, encoding="utf-8")
    aged(root.parent)
    checked(root)
    assert known_answer(root) is not None
    assert known_answer(root, colour=True) is None
    done = checked(root, out=Terminal())
    assert "\x1b[" in done[1]
    assert known_answer(root, colour=True) == done
    assert "\x1b[" not in (remembered(root) or "\x1b[")


def test_an_accepted_warning_is_remembered(root: Path) -> None:
    accepted = '[[check.accept]]\ncode = "LDO505"\nreason = "it is ours"\n'
    manifest = root / "llmdo.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(f'{text}[approvals]\ndefault = "allowed"\n{accepted}', encoding="utf-8")
    aged(root.parent)
    done = checked(root)
    assert "LDO505" not in done[1]
    assert known_answer(root) == done
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(accepted, ""), encoding="utf-8")
    assert known_answer(root) is None
    assert "LDO505" in checked(root)[1]


def test_what_was_not_looked_at_as_a_whole_is_not_remembered(root: Path) -> None:
    (root / "workers" / "link.worker").symlink_to(root / "input" / "deck.md")
    aged(root.parent)
    assert "LDO107" in checked(root)[1]
    assert known_answer(root) is None


@pytest.mark.parametrize("change", ["target", "root", "link"])
def test_what_lies_in_the_root_of_tools_counts_as_well(root: Path, change: str) -> None:
    site = root.parent / "site"
    shutil.copytree(root / "input", site / "input")
    manifest = root / "llmdo.toml"
    stated = manifest.read_text(encoding="utf-8").replace('name = "w"\n', 'name = "w"\nroot = "../site"\n')
    if change != "target":  # which would be missing as well
        stated = stated.replace('[paths]\n"deck.md" = "input/deck.md"\n', "")
    manifest.write_text(stated, encoding="utf-8")
    aged(root.parent)
    done = checked(root)
    assert "LDO1" not in done[1]
    assert known_answer(root) == done
    if change == "target":
        (site / "input/deck.md").unlink()
    else:
        site.rename(root.parent / "moved")
    if change == "link":
        site.symlink_to("moved")
    assert known_answer(root) is None
    aged(root.parent)
    done = checked(root)
    assert {"target": "LDO106", "root": "LDO113", "link": "LDO107"}[change] in done[1]
    if change == "root":
        assert known_answer(root) == done
        site.mkdir()
        assert known_answer(root) is None


def test_no_copy_of_a_secret_is_kept(root: Path) -> None:
    manifest = root / "llmdo.toml"
    server = '[toolsets.s]\nmcp = { url = "https://example.org/", headers = { Authorization = "Bearer ghp_%s" } }\n'
    manifest.write_text(manifest.read_text(encoding="utf-8") + server % ("a1B2" * 9), encoding="utf-8")
    aged(root.parent)
    assert "LDO537" in checked(root)[1]
    assert known_answer(root) is None


@pytest.mark.parametrize("change", ["remove", "add", "edit"])
def test_a_finding_goes_with_what_it_is_about(root: Path, change: str) -> None:
    """Where a file is missing, the folder in which it would be is what was looked at."""
    deck = root / "input" / "deck.md"
    if change == "add":
        deck.unlink()
    aged(root.parent)
    done = checked(root)
    assert ("LDO106" in done[1]) is (change == "add")
    assert known_answer(root) == done
    if change == "remove":
        deck.unlink()
    else:
        deck.write_text("# Another deck\n", encoding="utf-8")
    assert known_answer(root) is None


def test_what_has_just_changed_is_not_remembered(root: Path) -> None:
    (root / "workers" / "main.worker").touch()
    assert checked(root, "--locked")[0] == 0
    assert remembered(root, "--locked") is None


@pytest.mark.parametrize("switch", ["--no-cache", "LLMDO_NO_CACHE", "--fix"])
def test_it_can_be_switched_off(root: Path, switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    aged(root.parent)
    if switch.startswith("--"):
        checked(root, "--no-cache")
        assert remembered(root) is None
        checked(root)
        assert remembered(root) is not None
        assert remembered(root, switch) is None
    else:
        checked(root)
        assert remembered(root) is not None
        monkeypatch.setenv(switch, "1")
        assert remembered(root) is None


def test_a_damaged_memory_is_none(root: Path, tmp_path: Path) -> None:
    aged(root.parent)
    checked(root, "--locked")
    file = memory(tmp_path)
    whole = file.read_bytes()
    dice = random.Random(1)
    for _ in range(200):
        cut = whole[: dice.randrange(len(whole))]
        file.write_bytes(cut)
        assert remembered(root, "--locked") is None
        flipped = bytearray(whole)
        flipped[dice.randrange(len(whole))] ^= dice.randrange(1, 256)
        file.write_bytes(flipped)
        assert remembered(root, "--locked") is None
    for odd in (b"", b"x", marshal.dumps(None), marshal.dumps(("x",) * 4), marshal.dumps([[1]] * 4)):
        file.write_bytes(odd)
        assert remembered(root, "--locked") is None
    assert checked(root, "--locked")[0] == 0
    assert remembered(root, "--locked") == "no findings\n"


def test_a_memory_that_others_could_write_to_is_none(root: Path, tmp_path: Path) -> None:
    aged(root.parent)
    checked(root, "--locked")
    file = memory(tmp_path)
    file.chmod(0o622)
    assert remembered(root, "--locked") is None
    file.chmod(0o600)
    assert remembered(root, "--locked") is not None
    file.parent.chmod(0o777)
    file.unlink()
    checked(root, "--locked")
    assert list(file.parent.iterdir()) == []


def test_nothing_is_remembered_inside_the_workspace(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    aged(root.parent)
    for place in (root / "cache", root / "input"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        checked(root, "--locked")
        assert remembered(root, "--locked") is None
    assert not (root / "cache").exists()
    assert sorted(path.name for path in (root / "input").iterdir()) == ["deck.md"]


def test_a_cache_folder_that_cannot_be_made_is_no_trouble(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(root.parent)
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert checked(root, "--locked") == (0, "no findings\n")
    assert remembered(root, "--locked") is None


@pytest.mark.parametrize("version", ["99.0", __version__])
def test_what_another_llmdo_remembered_counts_for_nothing(root: Path, tmp_path: Path, version: str) -> None:
    aged(root.parent)
    checked(root, "--locked")
    (number, _, *head), *rest = marshal.loads(memory(tmp_path).read_bytes())
    content = marshal.dumps(((number, version, *head), *rest))
    memory(tmp_path).write_bytes(content + crc32(content).to_bytes(4, "big"))
    assert (remembered(root, "--locked") is not None) == (version == __version__)


def test_what_is_remembered_of_one_workspace_is_not_believed_of_another(root: Path, tmp_path: Path) -> None:
    aged(root.parent)
    checked(root, "--locked")
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    assert remembered(copy, "--locked") is None
    root.rename(tmp_path / "away")
    copy.rename(root)
    assert remembered(root, "--locked") is None


def worker(root: Path) -> Path:
    return root / "workers" / "main.worker"


def rewritten_with_its_old_time(root: Path) -> None:
    before = worker(root).stat()
    text = worker(root).read_text(encoding="utf-8")
    worker(root).write_text(text.replace("other: {}", "ohter: {}"), encoding="utf-8")
    os.utime(worker(root), ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced_by_a_link(root: Path) -> None:
    worker(root).rename(root.parent / "outside")
    worker(root).symlink_to(root.parent / "outside")


def folder_replaced_by_a_link(root: Path) -> None:
    (root / "workers").rename(root.parent / "workers")
    (root / "workers").symlink_to(root.parent / "workers")


def folder_replaced_by_a_copy(root: Path) -> None:
    """The same names, sizes and times, and another text in one file."""
    folder = root / "workers"
    before = worker(root).stat()
    shutil.copytree(folder, root.parent / "copy")
    shutil.rmtree(folder)
    (root.parent / "copy").rename(folder)
    text = worker(root).read_text(encoding="utf-8")
    worker(root).write_text(text.replace("other: {}", "ohter: {}"), encoding="utf-8")
    os.utime(worker(root), ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))


def two_files_swapped(root: Path) -> None:
    first, second = worker(root), root / "more" / "deep" / "other.worker"
    first.rename(root / "aside")
    second.rename(first)
    (root / "aside").rename(second)


def appended(path: str, text: str) -> Callable[[Path], object]:
    def append(root: Path) -> None:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a", encoding="utf-8") as file:
            file.write(text)

    return append


def removed(path: str) -> Callable[[Path], object]:
    return lambda root: (root / path).unlink()


EDITS: dict[str, Callable[[Path], object]] = {
    "a prompt edited": appended("workers/main.worker", "More.\n"),
    "rewritten with its old time": rewritten_with_its_old_time,
    "replaced by a link": replaced_by_a_link,
    "its folder replaced by a link": folder_replaced_by_a_link,
    "its folder replaced by a copy": folder_replaced_by_a_copy,
    "two files swapped": two_files_swapped,
    "a worker added": appended("workers/new.worker", "---\nname: new\n---\nGo.\n"),
    "a worker added far below": appended("more/deep/deeper/new.worker", "---\nname: new\n---\nGo.\n"),
    "a worker renamed": lambda root: worker(root).rename(root / "workers" / "other.txt"),
    "a worker removed": removed("more/deep/other.worker"),
    "a module edited": appended("tools/kit.py", "# more\n"),
    "a module added": appended("tools/second.py", "x = 1\n"),
    "an imported module that was missing": appended("helper.py", "x = 1\n"),
    "an imported package that was missing": appended("helper/__init__.py", "x = 1\n"),
    "the lock edited": appended("llmdo.lock", "x = 1\n"),
    "the lock removed": removed("llmdo.lock"),
    "the manifest edited": appended("llmdo.toml", "[approvals]\n"),
    "a path map's target removed": removed("input/deck.md"),
    "files ignored": appended(".gitignore", "workers/*\n"),
    "a case collision": appended("workers/MAIN.worker", "---\nname: second\n---\nGo.\n"),
    "a folder in the place of a file": lambda root: (
        (root / "input" / "deck.md").unlink(),
        (root / "input" / "deck.md").mkdir(),
    ),
}


@pytest.mark.few(7)
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_whatever_could_change_the_answer_is_noticed(root: Path, edit: Callable[[Path], object]) -> None:
    aged(root.parent)
    assert checked(root, "--locked") == known_answer(root, "--locked") == (0, "no findings\n")
    edit(root)
    if (known := known_answer(root, "--locked")) is not None:
        assert known[0] == 1
        assert known == checked(root, "--locked", "--no-cache")


def random_edits(root: Path, dice: random.Random, count: int) -> Iterator[str]:
    """Applies edits, one at a time, and mostly takes them back; the name of each."""
    saved = root.parent / "saved"
    shutil.copytree(root, saved, symlinks=True)
    while count:
        name = dice.choice(["taken back", dice.choice([*EDITS, "touched", "chmod"])])
        if name == "taken back":
            shutil.rmtree(root)
            shutil.copytree(saved, root, symlinks=True)
        else:
            files = sorted(path for path in root.rglob("*") if path.is_file())
            with contextlib.suppress(OSError):
                if name == "touched":
                    dice.choice(files).touch()
                elif name == "chmod":
                    dice.choice(files).chmod(dice.choice([0o600, 0o644, 0o000]))
                else:
                    EDITS[name](root)
        for left in ("outside", "workers"):
            folder = root.parent / left
            if folder.is_dir() and not (root / "workers").is_symlink():
                shutil.rmtree(folder)
        yield name
        count -= 1


def hold_against_checks(root: Path, seed: int, count: int) -> int:
    """How often the memory gave the answer, each time the one that a check gives."""
    answered = 0
    for _ in random_edits(root, random.Random(seed), count):
        for _ in range(2):
            known = known_answer(root, "--locked")
            done = checked(root, "--locked", "--no-cache")
            if known is not None:
                answered += 1
                assert known == done
            aged(root.parent)
            checked(root, "--locked")
    return answered


@pytest.mark.long
def test_after_random_edits_the_memory_says_what_a_check_says(root: Path) -> None:
    assert hold_against_checks(root, 1, 12) > 0


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(4))
def test_after_many_random_edits_the_memory_says_what_a_check_says(root: Path, seed: int) -> None:
    assert hold_against_checks(root, seed + 2, share(150)) > share(150) // 15
