"""What is wrong with an eval is a finding at its place, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Llmdo
from tests.features.evaluation.conftest import write

CASE = {"name": "a", "input": "say a"}


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("never_riased: proc.exec", "5:3: error[LDO102]: unknown key `never_riased` in `evaluators`; did you mean `never_raised`?"),
        ("never_raised: proc.exce", "5:17: error[LDO207]: `proc.exce` is not a capability; did you mean `proc.exec`?"),
        ("regex: '('", "5:10: error[LDO103]: `(` is not a regular expression"),
        ("tools: [lok]", "5:11: error[LDO208]: entry `main` reaches no tool `lok`; did you mean `look`?"),
        ("decisions: {look: alowed}", "5:21: error[LDO103]: `alowed` is not `allowed`, `needs_approval` or `blocked`"),
        ("json_schema: {type: objct}", "5:16: error[LDO103]: this is not a JSON Schema"),
        ("judge: {nobody: 'Is it good?'}", "5:11: error[LDO203]: there is no worker `nobody`"),
        ("judge: {helper: 'Is it good?'}", "5:11: error[LDO103]: no entry starts the worker `helper`, so it cannot judge"),
        ("function: evals/none.py:f", "5:13: error[LDO106]: `evals/none.py` does not exist"),
        ("requests_at_most: -1", "5:21: error[LDO103]: `requests_at_most` is -1, less than 0"),
        ("equals_expected: true", "7:5: error[LDO104]: the case `a` has no `expected`, with which `equals_expected` compares"),
        ("ends: [", "error[LDO101]"),
    ],
)  # fmt: skip
def test_a_wrong_evaluator_is_named_where_it_stands(
    llmdo: Llmdo, root: Path, text: str, problem: str
) -> None:
    (root / "evals").mkdir()
    (root / "evals/e.yaml").write_text(
        f"schema: 1\r\nentry: main\r\n# judged\r\nevaluators:\r\n  {text}\r\ncases:\r\n  - name: a\r\n    input: say a\r\n",
        encoding="utf-8",
    )
    done = llmdo("eval", cwd=root)
    assert done.code == 1
    concise = " ".join(done.err.split())
    at, _, message = problem.partition(" ")
    assert message.partition(";")[0] in concise
    assert all(part.strip() in concise for part in message.split(";"))
    assert at.startswith("error") or f"evals/e.yaml:{at.rstrip(':')}" in concise
    assert not (root / ".llmdo/batches").exists()


@pytest.mark.parametrize(
    ("cases", "others", "message"),
    [
        ([], {}, "`cases` is empty"),
        ([CASE], {}, "nothing judges the case `a`"),
        ([CASE, {**CASE, "name": "A"}], {"evaluators": {"contains": "a"}}, "two cases are called `A`"),
        ([CASE], {"entry": "mian", "evaluators": {"contains": "a"}}, "there is no entry `mian`"),
        ([{**CASE, "attachments": ["no.md"]}], {"evaluators": {"contains": "a"}}, "`no.md` does not exist"),
        ([{"name": "../x"}], {"evaluators": {"contains": "a"}}, "`../x` is not the name of a case"),
        ([{**CASE, "attachments": ["../x"]}], {"evaluators": {"contains": "a"}}, "`../x` leaves the workspace"),
    ],
)  # fmt: skip
def test_an_eval_that_would_judge_nothing_does_not_begin(
    llmdo: Llmdo, root: Path, cases: list[Any], others: dict[str, Any], message: str
) -> None:
    write(root, cases, **others)
    done = llmdo("eval", cwd=root)
    assert (done.code, done.out) == (1, "")
    assert message in " ".join(done.err.split())
    assert not (root / ".llmdo/batches").exists()


def test_an_eval_is_named_where_there_are_several(llmdo: Llmdo, root: Path) -> None:
    assert "there is no eval in `evals/`" in llmdo("eval", cwd=root).err
    for name in ("first", "second"):
        write(root, [CASE], name, evaluators={"contains": "a"})
    which = llmdo("eval", cwd=root)
    assert (which.code, "one of: first, second" in which.err) == (2, True)
    assert "did you mean `second`?" in llmdo("eval", "secnd", cwd=root).err
    assert llmdo("eval", "second", cwd=root).code == 0


HEAD = b"schema: 1\nentry: main\nevaluators: {contains: a}\n"
GOOD = HEAD + b"cases: [{name: a, input: say a}]\n"
BOMB = b"".join(
    b"%c: &%c [%s]\n" % (each, each, b", ".join([b"*%c" % (each - 1)] * 9)) for each in b"bcdefghi"
)


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "missing key `cases`"),
        (b"\xff\xfe", "UTF-8"),
        (GOOD.decode().encode("utf-16"), "UTF-8"),
        (GOOD.replace(b"say a", b"caf\xe9"), "UTF-8"),
        (b"a\0b", ""),
        (b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 8, ""),
        (b"[" * 100_000, ""),
        (b"- 1\n", ""),
        (b"schema: &a 1\n", "anchor"),
        (b"a: &a [x]\n" + BOMB, "anchor"),
        (GOOD + b"entry: main\n", "entry"),
        (GOOD + b"#" * 5_000_000, "larger"),
        (HEAD + b"cases: [" + b"{name: a}, " * 30 + b"]\n", "two cases are called `a`"),
        (GOOD.replace(b"cases", b"csaes"), "did you mean `cases`?"),
        (GOOD.replace(b"input", b"inptu"), "did you mean `input`?"),
        (GOOD.replace(b"contains: a", b"contains: !!python/object/apply:os.system [id]"), ""),
    ],
)
def test_a_file_that_is_no_eval_is_a_finding(llmdo: Llmdo, root: Path, content: bytes, message: str) -> None:
    (root / "evals").mkdir()
    (root / "evals/e.yaml").write_bytes(content)
    done = llmdo("eval", cwd=root)
    assert done.code == 1
    assert message in " ".join(done.err.split())
    assert not (root / ".llmdo/batches").exists()
    assert "Traceback" not in done.err
    assert "header" not in done.err


def test_an_eval_with_the_line_ends_of_windows_and_a_byte_order_mark_is_run(llmdo: Llmdo, root: Path) -> None:
    (root / "evals").mkdir()
    (root / "evals/e.yaml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n"))
    done = llmdo("eval", cwd=root)
    assert done.code == 0, done.err


def test_a_judge_that_judges_itself_is_asked_once_a_case(llmdo: Llmdo, root: Path) -> None:
    write(root, [CASE], evaluators={"judge": {"main": "Is it good?"}})
    done = llmdo("eval", "--format", "json", cwd=root)
    assert done.code == 0, done.err
    assert "it gave no verdict" in done.out
    assert len(list((root / ".llmdo/runs").glob("*.sqlite"))) == 2


def test_a_file_of_a_case_is_no_link_out_of_the_workspace(llmdo: Llmdo, root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("hidden", encoding="utf-8")
    (root / "in.md").symlink_to(tmp_path / "secret.md")
    write(root, [{**CASE, "attachments": ["in.md"]}], evaluators={"contains": "a"})
    done = llmdo("eval", cwd=root)
    assert (done.code, "`in.md` is a link" in done.err) == (1, True), done.err


def test_a_link_is_not_followed(llmdo: Llmdo, root: Path, tmp_path: Path) -> None:
    (root / "evals").mkdir()
    (tmp_path / "outside.yaml").write_text("schema: 1\n", encoding="utf-8")
    (root / "evals/e.yaml").symlink_to(tmp_path / "outside.yaml")
    assert "`evals/e.yaml` is a link" in llmdo("eval", cwd=root).err
