"""The code that a run began with, kept beside its journal: the run goes on although the checkout moved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.digest import of_text
from llmdo.journal import JournalError, Runs
from llmdo.journal.kept_sources import KeptSources

from .conftest import Llmdo

TOOLS = """\
from pydantic_ai.toolsets import FunctionToolset
from helpers.words import said

tools = FunctionToolset(id="tools")


@tools.tool_plain(metadata={"capabilities": ["x.tools.note"]})
def note(text: str) -> str:
    return said(text)
"""
YES = ("--yes", "main/note#1")


@pytest.fixture
def noting(workspace: Path) -> Path:
    """A workspace whose `main` notes what its input says, with a tool that imports a package; nothing allows it."""
    manifest = (workspace / "llmdo.toml").read_text()
    (workspace / "llmdo.toml").write_text(f'{manifest}\n[toolsets.tools]\npython = "tools.py:tools"\n')
    (workspace / "tools.py").write_text(TOOLS)
    (workspace / "helpers").mkdir()
    (workspace / "helpers/words.py").write_text("def said(text): return f'noted {text}'\n")
    (workspace / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nGo.\n")
    return workspace


def waiting(llmdo: Llmdo, root: Path) -> str:
    """A run that waits for an answer, which it has; its id."""
    done = llmdo("run", "main", "note:text:hello", "--approvals", "later", cwd=root)
    assert done.code == 3, done.err
    assert llmdo("approve", "last", *YES, cwd=root).code == 0
    return Runs(root).find("last")


def move_on(root: Path) -> None:
    (root / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nGo on.\n")
    (root / "helpers/words.py").write_text("def said(text): return f'wrote {text}'\n")


def store(root: Path) -> Path:
    return Runs(root).folder / "sources"


def sources_of(root: Path) -> dict[str, int]:
    """The files that are kept, each with when it was written."""
    return {path.name: path.stat().st_mtime_ns for path in store(root).iterdir()}


@pytest.mark.long
def test_a_run_goes_on_and_is_carried_although_the_checkout_moved(
    llmdo: Llmdo, noting: Path, tmp_path: Path
) -> None:
    run = waiting(llmdo, noting)
    move_on(noting)
    refused = llmdo("resume", run, cwd=noting)
    assert refused.code == 2
    assert "`--sources run` runs the code that it began with" in refused.err
    assert "with 3 source files" in llmdo("runs", "export", run, str(tmp_path / "run.sqlite"), cwd=noting).err
    done = llmdo("resume", run, "--sources", "run", cwd=noting)
    assert (done.code, done.out) == (0, "noted hello\n"), done.err
    clone = tmp_path / "clone"
    shutil.copytree(noting, clone, ignore=shutil.ignore_patterns(".llmdo"))
    assert llmdo("runs", "import", str(tmp_path / "run.sqlite"), cwd=clone).code == 0
    assert llmdo("approve", "last", *YES, cwd=clone).code == 0
    assert llmdo("resume", "last", "--sources", "run", cwd=clone).out == "noted hello\n"


@pytest.mark.long
def test_code_is_kept_once_for_all_runs_and_for_its_owner_alone(llmdo: Llmdo, noting: Path) -> None:
    waiting(llmdo, noting)
    before = sources_of(noting)
    assert len(before) == 4  # two of tools, one of models, and the list
    assert store(noting).stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in store(noting).iterdir()} == {0o600}
    waiting(llmdo, noting)
    assert sources_of(noting) == before
    move_on(noting)
    waiting(llmdo, noting)
    after = sources_of(noting)
    assert len(after) == 6
    assert after.items() >= before.items()


@pytest.mark.long
def test_code_is_removed_with_the_last_run_that_began_with_it(llmdo: Llmdo, noting: Path) -> None:
    first = waiting(llmdo, noting)
    old = sources_of(noting)
    move_on(noting)
    run = waiting(llmdo, noting)
    assert llmdo("runs", "prune", first, "--dry-run", cwd=noting).code == 0
    assert len(sources_of(noting)) == 6
    assert llmdo("runs", "prune", first, cwd=noting).code == 0
    assert len(sources_of(noting)) == 4
    assert len(sources_of(noting).keys() & old.keys()) == 2
    done = llmdo("resume", run, "--sources", "run", cwd=noting)
    assert (done.code, done.out) == (0, "wrote hello\n")
    assert llmdo("runs", "prune", "--keep", "0", cwd=noting).code == 0
    assert not list(Runs(noting).folder.iterdir())


def test_nothing_is_removed_where_a_journal_cannot_be_read(llmdo: Llmdo, noting: Path) -> None:
    run = waiting(llmdo, noting)
    before = sources_of(noting)
    Runs(noting).path("another").write_bytes(b"no journal")
    pruned = llmdo("runs", "prune", run, cwd=noting)
    assert "is all kept" in pruned.err
    assert sources_of(noting) == before


@pytest.mark.long
@pytest.mark.parametrize("damage", ["changed", "missing", "link"])
def test_damaged_code_is_refused(llmdo: Llmdo, noting: Path, tmp_path: Path, damage: str) -> None:
    run = waiting(llmdo, noting)
    path = store(noting) / of_text((noting / "helpers/words.py").read_text()).partition(":")[2]
    text = path.read_text()
    path.unlink()
    if damage == "changed":
        path.write_text(text.replace("noted", "wrote"))
    elif damage == "link":
        (tmp_path / "linked").write_text(text)
        path.symlink_to(tmp_path / "linked")
    problems = {"changed": "is damaged", "missing": "`helpers/words.py` is missing", "link": "cannot be read"}
    for words in (("resume", run, "--sources", "run"), ("runs", "export", run, str(tmp_path / "run.sqlite"))):
        refused = llmdo(*words, cwd=noting)
        assert (refused.code, problems[damage] in refused.err) == (2, True), refused.err
    assert not (tmp_path / "run.sqlite").exists()
    shutil.rmtree(store(noting))
    assert llmdo("runs", "export", run, str(tmp_path / "run.sqlite"), cwd=noting).code == 0
    assert llmdo("resume", run, cwd=noting).out == "noted hello\n"


def test_no_link_is_followed(llmdo: Llmdo, noting: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    Runs(noting).prepare()
    store(noting).symlink_to(tmp_path / "elsewhere")
    refused = llmdo("run", "main", "note:text:hello", cwd=noting)
    assert (refused.code, "is a link" in refused.err) == (2, True)
    assert not list((tmp_path / "elsewhere").iterdir())


def gone(path: str) -> str:
    raise LlmdoError(f"`{path}` is gone")


def test_what_is_no_longer_what_was_read_is_not_kept(tmp_path: Path) -> None:
    place = KeptSources(tmp_path / "sources")
    code = {"a.py": of_text("a = 1\n"), "b.py": of_text("b = 1\n")}
    with place.held():
        assert place.keep(code, lambda path: "a = 1\n") is None
        assert place.keep(code, gone) is None
        name = place.keep(code, lambda path: f"{path[0]} = 1\n")
        assert name is not None
        assert place.keep(code, gone) == name  # nothing is read again
    assert place.files(name) == {"a.py": "a = 1\n", "b.py": "b = 1\n"}
    assert place.files(of_text("another")) is None
    for forged in ("../../etc/passwd", "sha256:x", "sha256:" + "0" * 64 + "/x"):
        with pytest.raises(JournalError, match="is not the digest of a file"):
            place.files(forged)
    with pytest.raises(JournalError, match="is not a list of files"):
        place.files(code["a.py"])
