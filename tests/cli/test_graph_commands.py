"""reach, why, graph and suggest: what the files answer, from the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Llmdo

FILES = {
    "llmdo.toml": """\
schema = 1

[workspace]
name = "deputy"
workers = ["workers/*.worker"]
toolset-modules = ["tools.py"]

[approvals.rules]
"proc.exec" = "allowed"
"fs.write:reports/**" = "allowed"

[entries.triage]
worker = "triage"

[entries.release]
worker = "releaser"
""",
    "tools.py": """\
from pydantic_ai.toolsets import FunctionToolset

runner = FunctionToolset()


@runner.tool_plain(metadata={"capabilities": ["proc.exec"]})
def publish(tag: str) -> str:
    return tag
""",
    "workers/triage.worker": (
        '---\nname: triage\ntoolsets:\n  releaser: {}\n  filesystem: {read: ["issues/**"], write: ["reports/**", "out/**"]}\n'
        "---\nGo.\n"
    ),
    "workers/releaser.worker": "---\nname: releaser\ntoolsets:\n  runner: {}\n---\nGo.\n",
}


@pytest.fixture
def deputy(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def test_reach_is_a_table_with_path_gate_and_assurance(llmdo: Llmdo, deputy: Path) -> None:
    done = llmdo("reach", "triage")
    assert done.code == 0
    assert (
        done.out
        == """\
triage: depth proved: at most 1
  capability                     decision        nothing asks  assurance  path
  agent.delegate                 allowed         yes           enforced   triage > releaser
  fs.list:issues/**              allowed         yes           enforced   triage > filesystem (list_files)
  fs.read:issues/**              allowed         yes           enforced   triage > filesystem (read_file)
  fs.write.protected:out/**      needs_approval  no            enforced   triage > filesystem (write_file)
  fs.write.protected:reports/**  needs_approval  no            enforced   triage > filesystem (write_file)
  fs.write:out/**                needs_approval  no            enforced   triage > filesystem (write_file)
  fs.write:reports/**            allowed         yes           enforced   triage > filesystem (write_file)
  proc.exec                      allowed         yes           declared   triage > releaser > runner (publish)
"""
    )


def test_reach_speaks_json_and_markdown(llmdo: Llmdo, deputy: Path) -> None:
    document = json.loads(llmdo("reach", "--format", "json").out)
    assert document["schema"] == "llmdo.reach/1"
    assert [entry["name"] for entry in document["entries"]] == ["release", "triage"]
    (row,) = [row for row in document["entries"][1]["rows"] if row["capability"] == "proc.exec"]
    assert row["nothing_asks"] is True
    assert [hop["name"] for hop in row["path"]] == ["triage", "releaser", "runner"]
    assert (row["path"][1]["path"], row["path"][1]["line"]) == ("workers/triage.worker", 4)
    assert (
        "| `proc.exec` | allowed | yes | declared | triage > releaser > runner (publish) |"
        in llmdo("reach", "triage", "--format", "markdown").out
    )


def test_why_names_file_and_line_of_each_edge(llmdo: Llmdo, deputy: Path) -> None:
    done = llmdo("why", "triage", "proc.exec")
    assert (
        done.out
        == """\
proc.exec: allowed, declared
  triage
  > releaser  workers/triage.worker:4:3
  > runner  workers/releaser.worker:4:3
    "proc.exec" = "allowed" (llmdo.toml)
"""
    )
    assert "all 1 paths" in llmdo("why", "triage", "proc", "--all").out


def test_why_says_no(llmdo: Llmdo, deputy: Path) -> None:
    done = llmdo("why", "releaser", "net.connect")
    assert (done.code, done.err) == (1, "`releaser` cannot reach `net.connect`\n")
    assert llmdo("why", "releaser", "net.conect").code == 2
    assert "did you mean `releaser`?" in llmdo("why", "relaser", "proc.exec").err


def test_the_graph_is_drawn_once_and_readable_without_colour(llmdo: Llmdo, deputy: Path) -> None:
    assert (
        llmdo("graph").out
        == """\
entry release
`-- releaser
    `-- [runner]
entry triage
`-- triage
    |-- releaser (above)
    `-- [filesystem]
"""
    )


def test_a_recursive_graph_ends(llmdo: Llmdo, deputy: Path) -> None:
    (deputy / "workers/releaser.worker").write_text(
        "---\nname: releaser\nrecursive: true\ntoolsets: [triage, releaser]\n---\nGo.\n", encoding="utf-8"
    )
    out = llmdo("graph", "triage").out
    assert out.count("(above)") == 2
    assert "bounded at run time through the recursion of releaser" in llmdo("reach", "triage").out


@pytest.mark.parametrize("form", ["mermaid", "dot"])
def test_names_cannot_break_out_of_a_drawing(llmdo: Llmdo, deputy: Path, form: str) -> None:
    out = llmdo("graph", "--format", form).out
    assert 'w0["releaser"]' in out or 'w0 [label="releaser", shape=box];' in out
    assert out.count("asks") == 0


def test_the_graph_speaks_json(llmdo: Llmdo, deputy: Path) -> None:
    document = json.loads(llmdo("graph", "--format", "json").out)
    assert document["workers"][1]["uses"][0] == {"name": "releaser", "kind": "worker", "decision": "allowed"}


def test_what_suggest_prints_makes_the_check_clean_and_the_questions_end(llmdo: Llmdo, deputy: Path) -> None:
    out = llmdo("suggest", "triage").out
    assert out.startswith("[entries.triage]\nmay = [")
    may = out.splitlines()[1]
    assert '"proc.exec"' in may
    manifest = FILES["llmdo.toml"].replace(
        '[entries.triage]\nworker = "triage"', f'[entries.triage]\nworker = "triage"\n{may}'
    )
    manifest = manifest.replace("[entries.triage]", '"fs.write:out/**" = "allowed"\n\n[entries.triage]')
    assert '"fs.write:out/**" = "allowed"' in out
    (deputy / "llmdo.toml").write_text(manifest, encoding="utf-8")
    assert json.loads(llmdo("check", "--format", "json").out)["findings"][0]["code"] == "LDO402"
    assert llmdo("check", "--strict").code == 0
    rows = json.loads(llmdo("reach", "triage", "--format", "json").out)["entries"][0]["rows"]
    assert {row["capability"] for row in rows if row["decision"] == "needs_approval"} == set()


@pytest.mark.parametrize(
    ("selector", "entries"),
    [
        ("releaser", ["release", "triage"]),
        ("triage", ["triage"]),
        ("release", ["release", "triage"]),
        ("cap:fs.write", ["triage"]),
        ("cap:proc", ["release", "triage"]),
        ("path:workers/t*", ["triage"]),
        ("+releaser,path:workers/t*", ["triage"]),
        ("0+releaser", ["release", "triage"]),
    ],
)
def test_selectors_choose_entries(llmdo: Llmdo, deputy: Path, selector: str, entries: list[str]) -> None:
    document = json.loads(llmdo("reach", "--select", selector, "--format", "json").out)
    assert [entry["name"] for entry in document["entries"]] == entries


def test_a_selector_that_means_nothing_is_refused(llmdo: Llmdo, deputy: Path) -> None:
    assert "did you mean `triage`?" in llmdo("reach", "--select", "trage").err
    assert llmdo("reach", "--select", "a b").code == 2


def test_state_modified_compares_with_a_revision(llmdo: Llmdo, deputy: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        subprocess.run(["git", *identity, *words], cwd=deputy, check=True, capture_output=True)

    assert llmdo("lock").code == 0
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "start")
    assert json.loads(llmdo("reach", "--select", "state:modified", "--format", "json").out)["entries"] == []
    worker = deputy / "workers/triage.worker"
    worker.write_text(worker.read_text(encoding="utf-8") + "More.\n", encoding="utf-8")
    document = json.loads(llmdo("reach", "--select", "state:modified", "--format", "json").out)
    assert [entry["name"] for entry in document["entries"]] == ["triage"]


def test_check_tells_only_of_what_is_selected(llmdo: Llmdo, deputy: Path) -> None:
    (deputy / "workers/lonely.worker").write_text("---\nname: lonely\n---\nGo.\n", encoding="utf-8")

    def codes(*words: str) -> set[str]:
        return {one["code"] for one in json.loads(llmdo("check", *words, "--format", "json").out)["findings"]}

    assert codes() == {"LDO303", "LDO402", "LDO502"}
    assert codes("--select", "lonely") == {"LDO303"}
    assert codes("--select", "triage") == {"LDO502"}
    assert llmdo("check", "--select", "nobody").code == 2
