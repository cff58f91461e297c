"""What a person names as inputs becomes items, or nothing is started."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.batch.cli import entry_and_files
from llmdo.features.batch.inputs import InputChoice, filled, items_of, require_distinct
from tests.cli.conftest import Llmdo
from tests.support.laws import tried

from .conftest import rows


def records_of(inputs: str, stdin: str = "", **options: object) -> list[tuple[str, str | None]]:
    choice = InputChoice(inputs=inputs, **options)
    return [(item.key, item.input) for item in require_distinct(items_of(choice, io.StringIO(stdin)))]


def refused(inputs: str, stdin: str = "", **options: object) -> str:
    with pytest.raises(LlmdoError) as refusal:
        records_of(inputs, stdin, **options)
    return refusal.value.message


def test_a_line_of_json_is_an_item_by_its_number_or_a_field() -> None:
    lines = '"plain"\n\n{"id": "b", "n": 1}\n'
    assert records_of("-", lines) == [("1", "plain"), ("3", '{"id": "b", "n": 1}')]
    assert records_of("-", '{"id": 7, "t": "x"}\n', key="id", template="say {t} {{so}}") == [
        ("7", "say x {so}")
    ]


def test_a_row_of_csv_is_a_record(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_bytes(b'\xef\xbb\xbfname,text\r\nacme,"two\nlines"\r\nglobex,one\r\n')
    records = records_of(str(file), key="name", template="{name}: {text}")
    assert records == [("acme", "acme: two\nlines"), ("globex", "globex: one")]


def test_a_file_is_an_item_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for name in ("b.md", "a.md", ".hidden.md", "c.txt"):
        (tmp_path / "in" / name).write_text(f"text of {name}")
    assert records_of("in/*.md") == [("in/a.md", "text of a.md"), ("in/b.md", "text of b.md")]
    assert records_of("in/a.md", template="{stem}|{name}|{path}|{text}") == [
        ("in/a.md", "a|a.md|in/a.md|text of a.md")
    ]


def test_files_are_named_one_by_one_as_a_shell_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, llmdo: Llmdo, root: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.md", "a.md", "c"):
        (tmp_path / name).write_text(f"text of {name}")
    assert [key for key, _ in records_of("b.md", more=("c", "a.md"))] == ["b.md", "c", "a.md"]
    for words, entry, files in (
        (("main", "b.md", "c"), "main", ("b.md", "c")),
        (("b.md", "main"), "main", ("b.md",)),
        (("b.md",), None, ("b.md",)),
        (("claude/main", "b.md"), "claude/main", ("b.md",)),
        (("main", "typo.md"), "main", ("typo.md",)),
        ((), None, ()),
    ):
        assert entry_and_files(words) == (entry, files)
    refused = llmdo("batch", "main", "--inputs", "main.worker", "typo.md", cwd=root)
    assert (refused.code, "there is no file `typo.md`" in refused.err) == (2, True)


@pytest.mark.long
def test_a_glob_without_quotes_is_what_it_is_in_quotes(root: Path) -> None:
    for name in ("b.md", "a.md", "c.md"):
        (root / name).write_text(f"text of {name}")
    command = f"{sys.executable} -m llmdo batch main --inputs *.md --out out.jsonl --jobs 1"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [(row["key"], row["output"]) for row in rows(root)] == [
        (name, f"echo text of {name}") for name in ("a.md", "b.md", "c.md")
    ]


def test_a_file_that_is_attached_is_not_the_input(tmp_path: Path) -> None:
    path = tmp_path / "deck.pdf"
    path.write_bytes(b"%PDF-\0")
    (item,) = items_of(InputChoice(inputs=str(path), attaches=True), io.StringIO())
    assert (item.input, item.files) == (None, ((str(path), b"%PDF-\0"),))


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (
            '{"id": 1}\n{"id": 1}\n',
            {"key": "id"},
            "two items have the same key: `1` at standard input:1 and standard input:2",
        ),
        ("", {}, "there are no inputs"),
        ("[1,\n", {}, "standard input:1: this line is not JSON: Expecting value"),
        ("[" * 100_000 + "\n", {}, "standard input:1: this line is not JSON: "),
        ('{"id": 1}\n', {"key": "di"}, "standard input:1: there is no field `di`"),
        ('"text"\n', {"key": "id"}, "standard input:1: there is no field `id`"),
        ('{"id": true}\n', {"key": "id"}, "standard input:1: a key is a number or a text"),
        ('{"id": " "}\n', {"key": "id"}, "standard input:1: a key is a number or a text"),
        ('{"id": "a\\nb"}\n', {"key": "id"}, "standard input:1: a key is a number or a text"),
        ('"\\ud800"\n', {}, "standard input:1: half of a surrogate pair is not a character"),
        ('{"a": 1}\n', {"template": "{b}"}, "standard input:1: there is no field `b` for `--input`"),
        ('{"a": "x"}\n', {"template": "{a.__class__}"}, "there is no field `a.__class__` for `--input`"),
        ('{"a": "x"}\n', {"template": "{a!r:>9}"}, "there is no field `a!r:>9` for `--input`"),
        ('{"a": 1}\n', {"template": "{a"}, "`--input` is not a template: expected '}' before end of string"),
    ],
)
def test_what_cannot_be_an_input_is_named_with_its_place(
    lines: str, options: dict[str, str], message: str
) -> None:
    assert message in refused("-", lines, **options)


def test_files_that_cannot_be_inputs_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,a\n1,2\n")
    (tmp_path / "y.csv").write_text("a,b\n1,2\n1\n")
    (tmp_path / "z.csv").write_text('a,b\n"1,2\n')
    (tmp_path / "latin.jsonl").write_bytes(b'"\xe9"\n')
    (tmp_path / "b.bin").write_bytes(b"\0\1")
    assert refused(f"{tmp_path}/x.csv").endswith("x.csv:1: two columns have one name")
    assert refused(f"{tmp_path}/y.csv").endswith("y.csv:3: this row does not have 2 fields")
    assert "this is not CSV: unexpected end of data" in refused(f"{tmp_path}/z.csv")
    assert refused(f"{tmp_path}/latin.jsonl").endswith("latin.jsonl` is not UTF-8 text")
    assert "is not UTF-8 text, and the entry takes no attachments" in refused(f"{tmp_path}/b.bin")
    assert "there is no file" in refused(f"{tmp_path}/missing.jsonl")
    assert "matches no file" in refused(f"{tmp_path}/*.md")
    assert refused(str(tmp_path)) == f"`{tmp_path}` is a folder"
    assert (
        refused(f"{tmp_path}/*.bin", key="id")
        == "`--key` names a field of a record, and files are not records"
    )


@tried(50)
@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.text()), st.lists(st.text(), max_size=5)
)
def test_a_template_gives_its_fields_and_nothing_else(fields: dict[str, str], texts: list[str]) -> None:
    template, expected = "", ""
    for text, (name, value) in zip(texts, fields.items(), strict=False):
        template += text.replace("{", "{{").replace("}", "}}") + f"{{{name}}}"
        expected += text + value
    assert filled(template, fields, "here") == expected
