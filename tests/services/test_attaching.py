"""What whoever starts a run hands to its entry: through the path map, under limits, before the gate, in the journal."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai import BinaryContent

import llmdo
from llmdo.cli.completion import complete
from llmdo.journal import Runs
from llmdo.runtime import Answer, Question
from tests.support import commands
from tests.support.building import script

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]

[paths]
"the/deck.txt" = "input/deck.txt"

[entries.go]
worker = "main"
input = "look"

[entries.narrow]
worker = "main"
input = "look"
may = ["fs.read:input/**"]

[entries.code]
function = "code.py:code"
input = "look"
"""

WORKER = "---\nname: main\nmodel: python:models.py:main\n{}---\nLook.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace = tmp_path / "team"
    for folder in ("input", "other"):
        (workspace / folder).mkdir(parents=True)
        (workspace / folder / "deck.txt").write_text(f"deck of {folder}", encoding="utf-8")
    (workspace / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (workspace / "main.worker").write_text(WORKER.format(""), encoding="utf-8")
    (workspace / "code.py").write_text(
        "async def code(runtime, input):\n    return input\n", encoding="utf-8"
    )
    (workspace / ".env").write_text("KEY=1", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("outside", encoding="utf-8")
    script(workspace, main=["{prompt}", "{prompt}"])
    return workspace


def limit(root: Path, text: str) -> None:
    (root / "main.worker").write_text(WORKER.format(f"attachments: {text}\n"), encoding="utf-8")


def test_a_file_arrives_through_the_path_map_and_content_as_it_is(root: Path) -> None:
    picture = BinaryContent(b"\x89PNG", media_type="image/png", identifier="logo")
    outcome = llmdo.run(root, "go", attachments=["the/deck.txt", root / "other" / "deck.txt", picture])
    assert outcome.output == (
        "look | File `the/deck.txt`: | <text/plain the/deck.txt 13> | File `other/deck.txt`: | "
        "<text/plain other/deck.txt 13> | File `logo`: | <image/png logo 4>"
    )


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("entry", "limits", "attached", "problem"),
    [
        ("go", "{max: 1}", ["input/deck.txt", "other/deck.txt"], "takes at most 1 attachments, not 2"),
        ("go", "{max: 0}", [BinaryContent(b"x", media_type="image/png")], "takes at most 0 attachments"),
        ("go", "{max-bytes: 3}", ["input/deck.txt"], "is larger than 3 bytes"),
        ("go", "{max-bytes: 3}", [BinaryContent(b"1234", media_type="image/png")], "is larger than 3 bytes"),
        ("go", "{suffixes: [.pdf]}", ["input/deck.txt"], "it accepts .pdf"),
        ("go", "{suffixes: [.pdf]}", [BinaryContent(b"1", media_type="image/png")], "it accepts .pdf"),
        ("go", "{}", ["missing.txt"], "`missing.txt` does not exist"),
        ("go", "{}", ["../outside.txt"], "`../outside.txt` has a `..`"),
        ("go", "{}", [".env"], "`fs.read.protected"),
        ("narrow", "{}", ["other/deck.txt"], "outside the ceiling of entry `narrow`"),
        ("code", "{}", ["input/deck.txt"], "starts no worker, so it takes no attachments"),
    ],
)
def test_what_may_not_be_handed_over_ends_the_run_before_a_model_is_asked(
    entry: str, limits: str, attached: list[str | BinaryContent], problem: str, root: Path
) -> None:
    limit(root, limits)
    try:
        outcome = llmdo.run(root, entry, attachments=attached)
    except llmdo.LlmdoError as error:
        message = error.message
    else:
        message = str(outcome.error)
        assert (outcome.status, outcome.usage.requests) == ("failed", 0)
    assert problem in message


def test_what_is_within_the_limits_arrives_and_is_no_tool_call(root: Path) -> None:
    limit(root, "{max: 2, max-bytes: 100, suffixes: [.txt, .png]}\ntoolsets: [filesystem]")
    script(root, main=[[("list_files", {"path": "input"})], "{results}"])
    picture = BinaryContent(b"1", media_type="image/png", identifier="p")
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8")
    limited = manifest.replace("[entries.narrow]", "limits = { tool-calls = 1 }\n\n[entries.narrow]")
    (root / "llmdo.toml").write_text(limited, encoding="utf-8")
    outcome = llmdo.run(root, "go", attachments=["input/deck.txt", picture])
    assert outcome.output == "[success: input/deck.txt]"


def test_a_person_is_asked_about_what_mostly_holds_secrets(root: Path) -> None:
    questions: list[Question] = []

    class Person:
        async def ask(self, question: Question) -> Answer:
            questions.append(question)
            return Answer(allowed=True, by="test", at_terminal=True)

    outcome = llmdo.run(root, "go", attachments=[".env"], approver=Person())
    assert outcome.status == "completed", outcome.error
    assert [(question.path, question.arguments) for question in questions] == [
        ("main/(attachments)", {"attachments": [".env"]})
    ]


@pytest.mark.parametrize("wrong", ["input/deck.txt", b"bytes", [3], 7])
def test_what_is_no_attachment_is_a_type_error(wrong: object, root: Path) -> None:
    with pytest.raises(TypeError, match="BinaryContent"):
        llmdo.run(root, "go", attachments=wrong)  # type: ignore[arg-type]


def test_content_may_come_from_elsewhere_and_only_as_far_as_the_gate_lets_it(root: Path) -> None:
    asked: list[tuple[str, int]] = []

    class Elsewhere:
        async def read(self, path: str, most: int) -> bytes:
            asked.append((path, most))
            if path.endswith("broken.txt"):
                raise OSError("gone")
            return b"x" * (most + 1) if path.endswith("large.txt") else b"from elsewhere"

    def go(entry: str, path: str) -> str:
        limit(root, "{max-bytes: 20}")
        outcome = llmdo.run(root, entry, attachments=[path], attachment_resolver=Elsewhere())
        return str(outcome.output or outcome.error)

    assert "<text/plain the/deck.txt 14>" in go("go", "the/deck.txt")
    assert asked == [("input/deck.txt", 20)]
    assert "outside the ceiling" in go("narrow", "other/deck.txt")
    assert len(asked) == 1
    assert "the resolver raised OSError: gone" in go("go", "input/broken.txt")
    assert "is larger than 20 bytes" in go("go", "input/large.txt")


def test_a_file_outside_needs_a_path_map_of_the_command_line(root: Path) -> None:
    outside = str(root.parent / "outside.txt")
    refused = commands.llmdo(root, "run", "go", "--attach", outside)
    assert refused.returncode == 2
    assert f"--path NAME={outside} --attach NAME" in refused.stderr
    unused = commands.llmdo(root, "run", "go", "--path", f"a.txt={outside}")
    assert unused.returncode == 2
    assert "add `--attach a.txt`" in unused.stderr
    handed = commands.llmdo(root, "run", "go", "--path", f"a.txt={outside}", "--attach", "a.txt")
    assert handed.stdout == "look | File `a.txt`: | <text/plain a.txt 7>\n", handed.stderr
    ceiling = commands.llmdo(root, "run", "narrow", "--path", f"a.txt={outside}", "--attach", "a.txt")
    assert ceiling.returncode == 1
    assert "outside the ceiling of entry `narrow`" in ceiling.stderr


def test_an_outside_file_of_a_secret_name_asks_whatever_it_is_called_here(root: Path) -> None:
    secret = root.parent / ".netrc"
    secret.write_text("machine", encoding="utf-8")
    asked = commands.llmdo(
        root, "run", "go", "--path", f"a.txt={secret}", "--attach", "a.txt", "--approve-all"
    )
    assert asked.returncode == 1
    assert "fs.read.protected" in asked.stderr


def test_a_file_is_named_from_the_folder_of_the_shell(root: Path) -> None:
    here = commands.llmdo(root / "other", "run", "go", "--attach", "deck.txt")
    assert "<text/plain other/deck.txt 13>" in here.stdout, here.stderr
    assert complete(["run", "go", "--attach", ""], root) == [], "so that the shell offers files"


def test_a_run_is_repeated_and_goes_on_without_the_files(root: Path) -> None:
    outside = root.parent / "outside.txt"
    words = ("--path", f"a.txt={outside}", "--attach", "a.txt", "--attach", "other/deck.txt")
    first = commands.llmdo(root, "run", "go", *words)
    assert first.returncode == 0, first.stderr
    outside.unlink()
    (root / "other" / "deck.txt").unlink()
    again = commands.llmdo(root, "runs", "replay", "last")
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    more = commands.llmdo(root, "run", "--continue", "last", "--input", "more")
    assert (more.returncode, more.stdout) == (0, first.stdout), more.stderr


def test_a_run_that_stopped_after_it_was_handed_content_goes_on_with_it(root: Path) -> None:
    picture = BinaryContent(b"\x89PNG", media_type="image/png", identifier="logo")
    stop = llmdo.run(root, "go", attachments=[picture], journal=True, on_event=stopping)
    assert stop.status != "completed"
    resumed = llmdo.resume(root, stop.run)
    assert resumed.output == "look | File `logo`: | <image/png logo 4>", resumed.error
    with Runs(root).read(stop.run, whole=True) as journal:
        assert [entry.path for entry in journal.entries("files")] == ["main"]


def stopping(event: object) -> None:
    if type(event).__name__ == "WorkerStarted":
        raise OSError("the log is full")
