"""What a mistake at the command line is answered with: what is wrong, where, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import llmdo


def said(root: Path, *words: str) -> str:
    """What a command that cannot go on says, with `HERE` for its folder."""
    done = llmdo(root, *words)
    assert done.returncode == 2, done.stdout
    return done.stderr.replace(str(root), "HERE")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["run", "main", "hi", "--env-file", "env"],
            "error: `--env-file env`: there is no file `env` in `HERE`\n  hint: did you mean `.env`?\n",
        ),
        (
            ["run", "main", "hi", "--env-file", "secrets/.env"],
            "error: `--env-file secrets/.env`: there is no folder `secrets` in `HERE`\n"
            "  hint: its path is relative to this folder\n",
        ),
        (
            ["batch", "main", "--inputs", "in/a.md", "in/c.md"],
            "error: `--inputs in/c.md`: there is no file `c.md` in `HERE/in`\n",
        ),
        (
            ["batch", "main", "--inputs", "inn/deck.md"],
            "error: `--inputs inn/deck.md`: there is no folder `inn` in `HERE`\n  hint: did you mean `in`?\n",
        ),
        (
            ["batch", "main", "--inputs", "in/decks.md"],
            "error: `--inputs in/decks.md`: there is no file `decks.md` in `HERE/in`\n  hint: did you mean `in/deck.md`?\n",
        ),
        (
            ["audit", "lines.jsonl"],
            "error: there is no file `lines.jsonl` in `HERE`\n",
        ),
        (
            ["diff", "--locks", "a.lock", "b.lock"],
            "error: there is no file `a.lock` in `HERE`\n",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_file_that_is_not_there_is_named_with_its_folder_and_what_is_like_it(
    words: list[str], message: str, folder: Path
) -> None:
    assert message in said(folder, *words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "desk"\nworkers = ["*.worker"]\nmodel = "test"\n'
        '[entries.main]\nworker = "main"\ninput = "go"\n',
        encoding="utf-8",
    )
    (tmp_path / "main.worker").write_text("---\nname: main\n---\nGo.\n", encoding="utf-8")
    (tmp_path / ".env").write_text("A=1\n", encoding="utf-8")
    (tmp_path / "in").mkdir()
    for name in ("a.md", "deck.md"):
        (tmp_path / "in" / name).write_text("Hi.\n", encoding="utf-8")
    return tmp_path
