"""Recorded runs as a script: the file repeats the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.source import Source
from llmdo.services.script_export import in_flow
from llmdo.workspace import script
from llmdo.workspace.script import escaped, filled
from tests.support.commands import llmdo

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "script:models.yaml"

[approvals.rules]
"fs.write" = "allowed"

[entries.main]
worker = "main"
"""

SCRIPT = """\
main:
  - answer: "I ask {{input}}: \\u2028 ü\\n"
    call: [{ reader: { input: one } }, { reader: { input: two } }]
  - call: { write_file: { path: out/a.txt, content: "{result}" } }
  - answer: "done, {input}"
reader:
  - when: one
    call: list_files
  - answer: "{input}: {result}"
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    header = "toolsets:\n  filesystem: { read: ['in/**'], write: ['out/**'] }\n"
    files = {
        "llmdo.toml": MANIFEST,
        "models.yaml": SCRIPT,
        "main.worker": f"---\nname: main\n{header}  reader: {{}}\n---\nGo.\n",
        "reader.worker": f"---\nname: reader\n{header}---\nGo.\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "in").mkdir()
    return tmp_path


def test_an_exported_script_repeats_the_run(workspace: Path) -> None:
    first = llmdo(workspace, "run", "main", "all")
    assert first.stdout == "done, all\n", first.stderr
    exported = llmdo(workspace, "runs", "export", "last", "again.yaml")
    assert exported.returncode == 0, exported.stderr
    assert "wrote 6 answers to again.yaml" in exported.stderr
    written = (workspace / "out/a.txt").read_text()
    (workspace / "out/a.txt").unlink()
    again = llmdo(workspace, "run", "main", "all", "--model", "script:again.yaml")
    assert again.stdout == first.stdout
    manifest = workspace / "llmdo.toml"
    manifest.write_text(manifest.read_text().replace("script:models.yaml", "script:again.yaml"))
    (workspace / "models.yaml").unlink()
    llmdo(workspace, "lock")
    assert llmdo(workspace, "check", "--locked").stdout == "no findings\n"
    again = llmdo(workspace, "run", "main", "all")
    assert (again.stdout, (workspace / "out/a.txt").read_text()) == (first.stdout, written), again.stderr
    other = llmdo(workspace, "runs", "export", "last", "other.yaml")
    assert other.returncode == 0, other.stderr
    assert (workspace / "other.yaml").read_text() == (workspace / "again.yaml").read_text()
    assert llmdo(workspace, "runs", "export", "last", "other.yaml").returncode == 2


def test_two_answers_to_one_input_are_no_script(workspace: Path) -> None:
    (workspace / "models.yaml").write_text(
        "main:\n  - call: { reader: { input: one } }\n  - call: { write_file: { path: out/zz, content: b } }\n"
        "  - call: { reader: { input: one } }\n  - answer: done\n"
        "reader:\n  - call: { list_files: { path: out } }\n  - after: zz\n    answer: full\n  - answer: empty\n"
    )
    for worker in ("main", "reader"):
        path = workspace / f"{worker}.worker"
        path.write_text(path.read_text().replace("in/**", "out/**"))
    (workspace / "out").mkdir()
    ran = llmdo(workspace, "run", "main", "all")
    assert ran.returncode == 0, ran.stderr
    refused = llmdo(workspace, "runs", "export", "last", "again.yaml")
    assert "main/reader#2: `reader` answered the same input in two ways" in refused.stderr
    assert not (workspace / "again.yaml").exists()


TEXTS = st.text(st.sampled_from("{}a ") | st.characters(exclude_categories=["Cs"]), max_size=6) | st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "{", "{{", "x{"]),
    st.sampled_from(["input", "result"]),
    st.sampled_from(["", "}", "}}"]),
)


@given(
    st.recursive(
        TEXTS | st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)
    )
)
def test_what_is_escaped_is_filled_in_as_it_was(value: Any) -> None:
    assert filled(escaped(value), {"input": "I", "result": "R"}) == value


def test_a_text_of_any_characters_is_read_as_it_was_written() -> None:
    for number in (*range(1, 0x300), 0x2028, 0x2029, 0xFEFF, 0x1F600):
        read = script.parse(Source("s.yaml", f"a:\n  - answer: {in_flow(chr(number))}\n"))
        assert (read.problems, read.steps["a"][0].answer) == ((), chr(number)), number


def test_an_eval_is_recorded_as_a_script_that_gives_its_answers_again(workspace: Path) -> None:
    (workspace / "evals").mkdir()
    (workspace / "evals/e.yaml").write_text(
        "schema: 1\nentry: main\ncases:\n"
        "  - { name: a, input: all, evaluators: { equals: 'done, all' } }\n"
        "  - { name: b, input: all of it, evaluators: { equals: 'done, all of it' } }\n"
    )
    recorded = llmdo(workspace, "eval", "--record-script", "again.yaml")
    assert recorded.returncode == 0, recorded.stderr
    assert 'input: "all of it"' in (workspace / "again.yaml").read_text()
    (workspace / "models.yaml").write_text("main:\n  - answer: other\n")
    assert llmdo(workspace, "eval", "--fail-under", "1").returncode == 1
    again = llmdo(workspace, "eval", "--fail-under", "1", "--model", "script:again.yaml")
    assert again.returncode == 0, (again.stdout, again.stderr)
