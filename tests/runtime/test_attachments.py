"""Files that a caller hands to a worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llmdo.policy.authority import Capability
from llmdo.runtime import Answer, ApproveAll, ApproveSome, Question, RejectAll, RunOutcome
from tests.support.building import Step, go, graph, script, use, worker


def handed(root: Path, *paths: str, limits: dict[str, Any] | None = None, **more: Any) -> RunOutcome:
    """The outcome of a run in which `main` hands `paths` to `helper`, which repeats what it was given."""
    calls: list[Step] = [[("helper", {"input": "look", "attachments": list(paths)})], "{results}"]
    script(root, main=calls, helper=["{prompt}"])
    reader = use("filesystem", read=more.pop("read", ["**"]))
    return go(
        graph(worker("main", "helper", reader), worker("helper", attachments=limits or {}), **more), root
    )


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input/deck.txt").write_text("We sell.")
    (tmp_path / "input/other.txt").write_text("Other.")
    (tmp_path / "input/data.json").write_text('{"a": 1}')
    (tmp_path / "input/empty.txt").write_text("")
    (tmp_path / "input/picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "input/blob.bin").write_bytes(b"\x00\x01")
    (tmp_path / "input/Latin.txt").write_bytes(b"caf\xe9")


def test_a_document_arrives_as_content_under_its_alias(tmp_path: Path) -> None:
    outcome = handed(tmp_path, "path/to/deck.txt", paths={"path/to/deck.txt": "input/deck.txt"})
    assert outcome.output == ("[success: look | File `path/to/deck.txt`: | <text/plain path/to/deck.txt 8>]")


def test_a_folder_alias_and_an_override_of_the_run_count(tmp_path: Path) -> None:
    aliases = {"decks/": "input/"}
    assert "<text/plain decks/other.txt 6>" in (
        handed(tmp_path, "decks/other.txt", paths=aliases).output or ""
    )
    steps: list[Step] = [[("helper", {"input": "look", "attachments": ["the.txt"]})], "{results}"]
    script(tmp_path, main=steps, helper=["{prompt}"])
    tree = graph(worker("main", "helper"), worker("helper"), paths={"the.txt": "input/deck.txt"})
    assert "the.txt 8>" in (go(tree, tmp_path).output or "")
    assert "the.txt 6>" in (go(tree, tmp_path, paths={"the.txt": "input/other.txt"}).output or "")


def test_an_image_keeps_its_kind_and_other_text_is_part_of_the_prompt(tmp_path: Path) -> None:
    outcome = handed(tmp_path, "input/picture.png", "input/data.json")
    assert outcome.output == (
        "[success: look | File `input/picture.png`: | <image/png input/picture.png 8> | "
        'File `input/data.json`:\n{"a": 1}]'
    )


def test_an_empty_file_is_reported_and_not_sent(tmp_path: Path) -> None:
    assert handed(tmp_path, "input/empty.txt").output == "[success: look | File `input/empty.txt` is empty.]"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("path", "limits", "problem"),
    [
        ("input/none.txt", {}, "`input/none.txt` does not exist"),
        (
            "input/blob.bin",
            {},
            "`input/blob.bin` is neither UTF-8 text nor a file of a kind that models take",
        ),
        ("input/Latin.txt", {}, "`input/Latin.txt` is not UTF-8 text"),
        ("input/deck.txt", {"max_bytes": 7}, "`input/deck.txt` is larger than 7 bytes"),
        (
            "input/deck.txt",
            {"suffixes": (".pdf", ".md")},
            "does not take `input/deck.txt`: it accepts .pdf, .md",
        ),
        ("input", {}, "`input` is a folder"),
    ],
)
def test_a_file_that_cannot_be_handed_over_is_told_to_the_caller(
    tmp_path: Path, path: str, limits: dict[str, Any], problem: str
) -> None:
    outcome = handed(tmp_path, path, limits=limits)
    assert problem in (outcome.output or "")
    assert str(tmp_path) not in (outcome.output or "")
    assert "helper" not in outcome.usage_by_worker


def test_a_failure_names_the_alias_and_not_the_file(tmp_path: Path) -> None:
    outcome = handed(tmp_path, "the-deck.txt", paths={"the-deck.txt": "input/gone.txt"})
    assert outcome.output == "[failed: `the-deck.txt` does not exist]"


def test_the_suffix_that_counts_is_that_of_the_file(tmp_path: Path) -> None:
    outcome = handed(
        tmp_path, "deck.pdf", limits={"suffixes": (".pdf",)}, paths={"deck.pdf": "input/deck.txt"}
    )
    assert "does not take `deck.pdf`" in (outcome.output or "")


def test_more_files_than_the_callee_takes_are_refused(tmp_path: Path) -> None:
    outcome = handed(tmp_path, "input/deck.txt", "input/other.txt", limits={"max": 1})
    assert "`helper` takes at most 1 attachments, not 2" in (outcome.output or "")


def test_a_worker_that_takes_none_has_no_such_argument(tmp_path: Path) -> None:
    outcome = handed(tmp_path, "input/deck.txt", limits={"max": 0})
    assert "[retried:" in (outcome.output or "")
    assert "helper" not in outcome.usage_by_worker


@pytest.mark.parametrize("path", ["/etc/passwd", "../{outside}", "input/../../{outside}", "~/.ssh/id"])
def test_a_path_outside_the_workspace_never_arrives(tmp_path: Path, path: str) -> None:
    # Other tests' folders lie beside this one, so the file has a name of its own.
    outside = tmp_path.with_name(f"{tmp_path.name}-outside.txt")
    outside.write_text("outside")
    outcome = handed(tmp_path, path.format(outside=outside.name))
    assert "[failed:" in (outcome.output or "")
    assert "helper" not in outcome.usage_by_worker


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "input/link.txt").symlink_to("/etc/hostname")
    assert "[failed: `input/link.txt` is a link" in (handed(tmp_path, "input/link.txt").output or "")


@pytest.mark.few(2)
@pytest.mark.parametrize("spelling", ["input/deck.txt", "./input/deck.txt", "input//deck.txt", "alias.txt"])
def test_the_read_is_judged_for_the_caller_on_the_mapped_file(tmp_path: Path, spelling: str) -> None:
    more: dict[str, Any] = {"paths": {"alias.txt": "input/deck.txt"}}
    outcome = handed(tmp_path, spelling, approvals={"fs.read:input/deck.txt": "blocked"}, **more)
    assert "`helper` is blocked: `fs.read:input/deck.txt`" in (outcome.output or "")
    outcome = handed(tmp_path, spelling, may=["fs.read:other/**"], **more)
    assert "outside the ceiling of entry `go`" in (outcome.output or "")


def test_a_caller_hands_over_only_what_it_may_read(tmp_path: Path) -> None:
    outcome = handed(tmp_path, "input/deck.txt", read=["input/other.txt"])
    words = "`helper` is blocked: `helper` may be handed `input/other.txt`; `input/deck.txt` lies outside"
    assert words in (outcome.output or "")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("path", "paths"),
    [
        ("input/.env", {}),
        ("input/.ENV", {}),
        ("notes.txt", {"notes.txt": "input/.env"}),
        ("deck/.env", {"deck/": "input/"}),
        ("keys/id_rsa", {"keys/id_rsa": "input/deck.txt"}),
    ],
)
def test_handing_over_what_mostly_holds_secrets_asks_at_a_terminal_only(
    tmp_path: Path, path: str, paths: dict[str, str]
) -> None:
    for name in (".env", ".ENV"):
        (tmp_path / "input" / name).write_text("KEY=canary")
    calls: list[Step] = [[("helper", {"input": "look", "attachments": [path]})], "{results}"]
    script(tmp_path, main=calls, helper=["{prompt}"])
    team_graph = graph(worker("main", "helper", use("filesystem")), worker("helper"), paths=paths)
    some = ApproveSome((Capability("fs"), Capability("fs.read.protected")), RejectAll())
    for approver in (RejectAll(), ApproveAll(), some):
        outcome = go(team_graph, tmp_path, approver=approver)
        assert "canary" not in str(outcome.output)
        assert [call.decision for call in outcome.denied] == ["needs_approval"]
        assert "fs.read.protected" in outcome.denied[0].reasons[0]
    questions: list[Question] = []

    class Yes:
        async def ask(self, question: Question) -> Answer:
            questions.append(question)
            return Answer(allowed=True, by="test", at_terminal=True)

    assert "success" in str(go(team_graph, tmp_path, approver=Yes()).output)
    assert questions[0].terminal_only


def test_a_name_of_a_secret_that_only_the_path_map_gives_asks_as_well(tmp_path: Path) -> None:
    calls: list[Step] = [[("helper", {"input": "look", "attachments": ["id_rsa"]})], "{results}"]
    script(tmp_path, main=calls, helper=["{prompt}"])
    team_graph = graph(worker("main", "helper"), worker("helper"), paths={"id_rsa": "input/deck.txt"})
    (denied,) = go(team_graph, tmp_path, approver=RejectAll()).denied
    assert denied.decision == "needs_approval"


def test_the_files_of_one_call_are_bounded_in_number_and_in_all(tmp_path: Path) -> None:
    many = handed(tmp_path, *["input/deck.txt"] * 101)
    assert many.output == "[failed: `helper` takes at most 100 attachments, not 101]"
    (tmp_path / "input/big.txt").write_bytes(b"x" * 9_000_000)
    large = handed(tmp_path, *["input/big.txt"] * 6)
    assert "with `input/big.txt`, its attachments are more than 50,000,000 bytes" in (large.output or "")
    enough = handed(tmp_path, *["input/deck.txt"] * 100)
    assert (enough.output or "").startswith("[success")


@pytest.mark.long
def test_a_worker_that_takes_larger_files_takes_as_much_in_all(tmp_path: Path) -> None:
    (tmp_path / "input/big.txt").write_bytes(b"x" * 51_000_000)
    outcome = handed(tmp_path, "input/big.txt", limits={"max_bytes": 51_000_000})
    assert "<text/plain input/big.txt 51000000>" in (outcome.output or "")
    twice = handed(tmp_path, "input/big.txt", "input/big.txt", limits={"max_bytes": 51_000_000})
    assert "its attachments are more than 51,000,000 bytes" in (twice.output or "")
