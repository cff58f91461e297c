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
  capability                     decision        assurance  path
  proc.exec                      allowed         declared   triage > releaser > runner (publish)
  fs.write:reports/**            allowed         enforced   triage > filesystem (write_file)
  fs.read:issues/**              allowed         enforced   triage > filesystem (read_file)
  fs.list:issues/**              allowed         enforced   triage > filesystem (list_files)
  agent.delegate                 allowed         enforced   triage > releaser
  fs.write.protected:out/**      needs_approval  enforced   triage > filesystem (write_file)
  fs.write.protected:reports/**  needs_approval  enforced   triage > filesystem (write_file)
  fs.write.code:out/**           needs_approval  enforced   triage > filesystem (write_file)
  fs.write.code:reports/**       needs_approval  enforced   triage > filesystem (write_file)
  fs.write:out/**                needs_approval  enforced   triage > filesystem (write_file)
  fs.read.protected:issues/**    needs_approval  enforced   triage > filesystem (list_files)
"""
    )


def test_reach_speaks_json_and_markdown(llmdo: Llmdo, deputy: Path) -> None:
    document = json.loads(llmdo("reach", "--format", "json").out)
    assert document["schema"] == "llmdo.reach/2"
    assert [entry["name"] for entry in document["entries"]] == ["release", "triage"]
    (row,) = [row for row in document["entries"][1]["rows"] if row["capability"] == "proc.exec"]
    assert row["decision"] == "allowed"
    path = [document["steps"][number] for number in row["path"]]
    assert [step["name"] for step in path] == ["triage", "releaser", "runner"]
    assert (path[1]["path"], path[1]["line"]) == ("workers/triage.worker", 4)
    assert [document["reasons"][number] for number in row["reasons"]] == [
        '"proc.exec" = "allowed" (llmdo.toml)'
    ]
    assert len(document["steps"]) == len({json.dumps(step) for step in document["steps"]})
    assert (
        "| `proc.exec` | allowed | declared | triage > releaser > runner (publish) |"
        in llmdo("reach", "triage", "--format", "markdown").out
    )


def test_why_names_file_and_line_of_each_edge(llmdo: Llmdo, deputy: Path) -> None:
    done = llmdo("why", "triage", "proc.exec")
    assert (
        done.out
        == """\
proc.exec: allowed without approval; assurance: declared
  triage
  > releaser          workers/triage.worker:4:3
  > runner (publish)  workers/releaser.worker:4:3
  because "proc.exec" = "allowed" (llmdo.toml)
"""
    )
    assert "the only path:" in llmdo("why", "triage", "proc", "--all").out


def let_triage_publish_itself_after_a_question(deputy: Path) -> None:
    (deputy / "workers/triage.worker").write_text(
        "---\nname: triage\ntoolsets: [runner, releaser]\napprovals: { proc.exec: needs_approval }\n---\nGo.\n",
        encoding="utf-8",
    )


def test_a_longer_path_without_a_gate_is_the_one_that_is_shown(llmdo: Llmdo, deputy: Path) -> None:
    let_triage_publish_itself_after_a_question(deputy)
    assert llmdo("reach", "triage").out.splitlines()[2] == (
        "  proc.exec       allowed   declared   triage > releaser > runner (publish)"
    )
    document = json.loads(llmdo("reach", "triage", "--format", "json").out)
    row = document["entries"][0]["rows"][0]
    assert (row["capability"], row["decision"]) == ("proc.exec", "allowed")
    assert [document["steps"][number]["name"] for number in row["path"]] == ["triage", "releaser", "runner"]
    first = llmdo("reach", "triage", "--format", "markdown").out.splitlines()[6]
    assert first == "| `proc.exec` | allowed | declared | triage > releaser > runner (publish) |"
    assert llmdo("why", "triage", "proc.exec").out.startswith("proc.exec: allowed without approval")
    assert (
        llmdo("why", "triage", "proc.exec", "--all").out.partition("\n\n")[2]
        == """\
all 2 paths, shortest first:

needs approval:
  triage
  > runner  workers/triage.worker:3:12

allowed without approval:
  triage
  > releaser  workers/triage.worker:3:20
  > runner    workers/releaser.worker:4:3
"""
    )


def test_a_question_before_a_delegation_is_the_reason_that_why_gives(llmdo: Llmdo, deputy: Path) -> None:
    (deputy / "workers/triage.worker").write_text(
        "---\nname: triage\ntoolsets: [releaser]\napprovals: { agent: needs_approval }\n---\nGo.\n",
        encoding="utf-8",
    )
    assert (
        llmdo("why", "triage", "proc.exec").out
        == """\
proc.exec: needs approval; assurance: declared
  triage
  > releaser (needs approval)  workers/triage.worker:3:12
  > runner (publish)           workers/releaser.worker:4:3
  because "agent" = "needs_approval" (worker `triage`)
"""
    )


def test_why_says_where_a_file_is_handed_over(llmdo: Llmdo, deputy: Path) -> None:
    (deputy / "workers/releaser.worker").write_text("---\nname: releaser\n---\nGo.\n", encoding="utf-8")
    (deputy / "workers/triage.worker").write_text(
        "---\nname: triage\ntoolsets: [releaser]\n---\nGo.\n", encoding="utf-8"
    )
    manifest = deputy / "llmdo.toml"
    manifest.write_text(
        f'{manifest.read_text(encoding="utf-8")}\n[paths]\n"issues/" = "in/"\n', encoding="utf-8"
    )
    rows = [line.split(maxsplit=3) for line in llmdo("reach", "triage").out.splitlines()]
    assert ["fs.read:in/**", "allowed", "enforced", "triage > releaser (attachment)"] in rows
    done = llmdo("why", "triage", "fs.read", "--all")
    assert done.out.count("  > releaser (attachment)  workers/triage.worker:3:12\n") == 3
    assert "  > releaser  " not in done.out


def test_why_says_no(llmdo: Llmdo, deputy: Path) -> None:
    done = llmdo("why", "releaser", "net.connect")
    assert (done.code, done.err) == (1, "`releaser` cannot reach `net.connect`\n")
    assert llmdo("why", "releaser", "net.conect").code == 2
    assert "did you mean `releaser`?" in llmdo("why", "relaser", "proc.exec").err


def test_why_answers_about_a_toolset_from_either_side(llmdo: Llmdo, deputy: Path) -> None:
    block = """\
proc.exec: allowed without approval; assurance: declared
  triage
  > releaser          workers/triage.worker:4:3
  > runner (publish)  workers/releaser.worker:4:3
  because "proc.exec" = "allowed" (llmdo.toml)
"""
    assert llmdo("why", "triage", "runner").out == block
    assert llmdo("why", "triage", "toolset:runner").out == block
    listed = llmdo("why", "triage", "filesystem", "--all").out
    assert listed.count("; assurance: ") == 9
    assert listed.endswith(
        "the only path:\n\nallowed without approval:\n  triage\n  > filesystem  workers/triage.worker:5:3\n"
    )
    assert llmdo("why", "runner", "proc.exec").out == (
        "proc.exec: allowed without approval; assurance: declared\n  releaser\n"
        "  > runner (publish)  workers/releaser.worker:4:3\n"
        '  because "proc.exec" = "allowed" (llmdo.toml)\n'
    )
    assert llmdo("why", "runner", "runner").out == llmdo("why", "runner", "proc.exec").out
    assert (llmdo("why", "runner", "net.connect").code, llmdo("why", "runner", "filesystem").code) == (1, 1)
    assert llmdo("why", "release", "filesystem").err == "`release` cannot reach `filesystem`\n"
    assert llmdo("why", "shell", "proc.exec").err == "`shell` cannot reach `proc.exec`\n"


def test_a_toolset_that_a_milder_one_stands_beside_is_answered_for_itself(llmdo: Llmdo, deputy: Path) -> None:
    """Reach shows one way to a capability; another toolset that raises it as well has its own."""
    (deputy / "tools.py").write_text(
        FILES["tools.py"].replace(
            "runner = FunctionToolset()", "runner, spare = FunctionToolset(), FunctionToolset()"
        )
        + """\


@spare.tool_plain(metadata={"capabilities": ["proc.exec", "env.read"]})
def publish_again(tag: str) -> str:
    return tag
""",
        encoding="utf-8",
    )
    worker = deputy / "workers/releaser.worker"
    worker.write_text("---\nname: releaser\ntoolsets: [runner, spare]\n---\nGo.\n", encoding="utf-8")
    done = llmdo("why", "release", "spare")
    assert "proc.exec: needs approval" in done.out
    assert "> runner" not in done.out
    assert "proc.exec: allowed" in llmdo("why", "release", "runner").out


def test_why_shows_the_way_to_a_worker_and_the_gates_on_it(llmdo: Llmdo, deputy: Path) -> None:
    assert llmdo("why", "triage", "releaser").out == (
        "agent.delegate:releaser: allowed without approval; assurance: enforced\n"
        '  triage\n  > releaser  workers/triage.worker:4:3\n  because "agent.delegate" = "allowed" (built in)\n'
    )
    assert llmdo("why", "release", "releaser").out == "releaser: started without a call\n  releaser\n"
    (deputy / "workers/triage.worker").write_text(
        "---\nname: triage\ntoolsets: [middle, releaser]\napprovals: { agent: needs_approval }\n---\nGo.\n",
        encoding="utf-8",
    )
    (deputy / "workers/middle.worker").write_text(
        "---\nname: middle\ntoolsets: [releaser]\n---\nGo.\n", encoding="utf-8"
    )
    done = llmdo("why", "triage", "releaser", "--all")
    assert done.out == (
        "agent.delegate:releaser: needs approval; assurance: enforced\n"
        "  triage\n  > releaser (needs approval)  workers/triage.worker:3:20\n"
        '  because "agent" = "needs_approval" (worker `triage`)\n\n'
        "all 2 paths, shortest first:\n\n"
        "needs approval:\n  triage\n  > releaser  workers/triage.worker:3:20\n\n"
        "needs approval:\n  triage\n  > middle (needs approval)  workers/triage.worker:3:12\n"
        "  > releaser                 workers/middle.worker:3:12\n"
    )
    assert llmdo("why", "runner", "releaser").code == 1
    manifest = deputy / "llmdo.toml"
    manifest.write_text(
        f'{manifest.read_text(encoding="utf-8")}\n[entries.spare]\nworker = "triage"\n', encoding="utf-8"
    )
    assert llmdo("why", "triage", "spare").err == (
        "error: `spare` is an entry, which nothing calls\n  hint: ask for what it starts: `triage`\n"
    )


def test_why_takes_a_tool_also_one_that_another_stands_for(llmdo: Llmdo, deputy: Path) -> None:
    """`reach` names the first of the tools that do the same."""
    written = llmdo("why", "triage", "write_file").out
    assert written.startswith("fs.write:reports/**: allowed")
    assert "> filesystem (write_file)" in written
    assert "fs.read.protected:issues/**" in llmdo("why", "triage", "list_files").out
    read = llmdo("why", "triage", "read_file").out.partition("fs.read.protected:issues/**")[2]
    assert "> filesystem (read_file)" in read
    assert llmdo("why", "triage", "filesystem.write_file").out == written
    assert llmdo("why", "triage", "tool:publish").out == llmdo("why", "triage", "runner.publish").out
    assert llmdo("why", "release", "write_file").err == "`release` cannot reach `write_file`\n"


def test_why_takes_what_is_elsewhere_for_just_that(llmdo: Llmdo, deputy: Path) -> None:
    worker = deputy / "workers/triage.worker"
    header = worker.read_text(encoding="utf-8").replace('"reports/**", "out/**"', '"**"')
    worker.write_text(header, encoding="utf-8")
    assert "fs.write:** elsewhere  " in llmdo("reach", "triage").out
    done = llmdo("why", "triage", "fs.write:** elsewhere", "--all")
    assert done.out.startswith("fs.write:** elsewhere: needs approval; assurance: enforced\n  triage\n")
    assert (done.out.count("; assurance: "), done.out.count("reports/**")) == (1, 0)
    assert done.out.endswith(
        "the only path:\n\nneeds approval:\n  triage\n  > filesystem  workers/triage.worker:5:3\n"
    )
    assert llmdo("why", "triage", "fs.write:**", "elsewhere", "--all").out == done.out
    assert llmdo("why", "triage", "fs.write:reports/** elsewhere").code == 1


def test_what_why_cannot_answer_is_reported_with_what_was_meant(llmdo: Llmdo, deputy: Path) -> None:
    assert "did you mean `runner`?" in llmdo("why", "triage", "runer").err
    assert "did you mean `runner`?" in llmdo("why", "runer", "proc.exec").err
    assert "did you mean `net.connect`?" in llmdo("why", "triage", "net.conect").err
    assert "did you mean `releaser`?" in llmdo("why", "triage", "relaser").err
    assert llmdo("why", "release", "triage").err == "`release` cannot reach `triage`\n"
    assert "agent.delegate: allowed" in llmdo("why", "triage", "agent", "--all").out
    assert "> releaser" in llmdo("why", "triage", "agent", "--all").out.partition("the only path")[2]


def test_the_graph_is_drawn_once_and_readable_without_colour(llmdo: Llmdo, deputy: Path) -> None:
    assert (
        llmdo("graph").out
        == """\
entry release
`-- releaser
    `-- [runner]
            allowed: proc.exec
entry triage
`-- triage
    |-- releaser (above)
    |       allowed, as attachments: fs.read:issues/**
    |       needs approval, as attachments: fs.read.protected:issues/**
    `-- [filesystem]
            allowed: fs.write:reports/**, fs.read:issues/**, fs.list:issues/**
            needs approval: fs.write.protected:out/**, fs.write.protected:reports/**, fs.write.code:out/**, fs.write.code:reports/**, fs.write:out/**, fs.read.protected:issues/**
"""
    )


def let_only_triage_be_guarded(deputy: Path) -> None:
    manifest = (deputy / "llmdo.toml").read_text(encoding="utf-8")
    manifest = manifest.replace('worker = "triage"', 'worker = "triage"\nmay = ["fs.read", "fs.list"]')
    (deputy / "llmdo.toml").write_text(f'{manifest}\n[paths]\n"decks/" = "in/"\n', encoding="utf-8")
    worker = deputy / "workers/triage.worker"
    header = "---\nname: triage\napprovals: { agent: needs_approval }\n"
    worker.write_text(
        worker.read_text(encoding="utf-8").replace("---\nname: triage\n", header), encoding="utf-8"
    )


def test_the_ceiling_of_an_entry_and_a_gate_before_a_delegation_are_drawn(llmdo: Llmdo, deputy: Path) -> None:
    let_only_triage_be_guarded(deputy)
    assert (
        llmdo("graph", "triage").out
        == """\
entry triage
`-- triage
    |-- releaser (needs approval)
    |   |   needs approval, as attachments: fs.read:in/**, fs.read:issues/**
    |   |   blocked, as attachments: fs.read.protected:in/**, fs.read.protected:issues/**
    |   `-- [runner]
    |           blocked: proc.exec
    `-- [filesystem]
            allowed: fs.read:issues/**, fs.list:issues/**
            blocked: fs.write.protected:out/**, fs.write.protected:reports/**, fs.write.code:out/**, fs.write.code:reports/**, fs.write:out/**, fs.write:reports/**, fs.read.protected:issues/**
"""
    )
    lines = llmdo("graph", "triage", "--format", "mermaid").out.splitlines()
    assert '    w0 -.->|"blocked: proc.exec"| t1' in lines
    assert any(line.startswith('    w1 -->|"needs approval<br>needs approval, as') for line in lines)
    lines = llmdo("graph", "triage", "--format", "dot").out.splitlines()
    assert '    w0 -> t1 [label="blocked: proc.exec", style=dashed];' in lines
    # What one entry may not do, another one may: the edge says the milder of both.
    assert "allowed: proc.exec" in llmdo("graph").out


def put_another_worker_between(deputy: Path) -> None:
    (deputy / "workers/between.worker").write_text(
        "---\nname: between\ntoolsets: [releaser]\n---\nGo.\n", encoding="utf-8"
    )
    worker = deputy / "workers/triage.worker"
    worker.write_text(worker.read_text(encoding="utf-8").replace("releaser", "between"), encoding="utf-8")


@pytest.mark.parametrize("selector", ["runner", "toolset:runner", "releaser", "cap:proc.exec"])
def test_a_selection_is_drawn_with_the_way_to_it(llmdo: Llmdo, deputy: Path, selector: str) -> None:
    put_another_worker_between(deputy)
    assert (
        llmdo("graph", "triage", "--select", selector).out
        == """\
entry triage
`-- triage
    `-- between
        |   allowed, as attachments: fs.read:issues/**
        |   needs approval, as attachments: fs.read.protected:issues/**
        `-- releaser
            `-- [runner]
                    allowed: proc.exec
"""
    )


def test_only_what_leads_to_a_selection_is_drawn(llmdo: Llmdo, deputy: Path) -> None:
    put_another_worker_between(deputy)
    assert llmdo("graph", "triage", "--select", "+runner").out == llmdo("graph", "triage").out
    assert "between" not in llmdo("graph", "triage", "--select", "filesystem").out
    assert "between" not in llmdo("graph", "--select", "triage").out


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


def test_the_graph_speaks_json(llmdo: Llmdo, deputy: Path) -> None:
    document = json.loads(llmdo("graph", "--format", "json").out)
    delegation, files = document["workers"][1]["uses"]
    assert (delegation["name"], delegation["kind"], delegation["decision"]) == (
        "releaser",
        "worker",
        "allowed",
    )
    assert (files["name"], files["kind"], files["decision"]) == ("filesystem", "toolset", "allowed")
    assert {
        "capability": "fs.write",
        "scope": "out/**",
        "elsewhere": False,
        "decision": "needs_approval",
        "assurance": "enforced",
        "tool": "write_file",
        "attachment": False,
    } in files["calls"]
    assert document["entries"][0]["uses"][0]["name"] == "releaser"


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
        ("path:**/t*", ["triage"]),
        ("+releaser,path:workers/t*", ["triage"]),
        ("0+releaser", ["release", "triage"]),
        ("runner", ["release", "triage"]),
        ("toolset:filesystem", ["triage"]),
        ("filesystem,path:workers/r*", []),
        ("shell", []),
    ],
)
def test_selectors_choose_entries(llmdo: Llmdo, deputy: Path, selector: str, entries: list[str]) -> None:
    document = json.loads(llmdo("reach", "--select", selector, "--format", "json").out)
    assert [entry["name"] for entry in document["entries"]] == entries


@pytest.mark.few(11)
@pytest.mark.parametrize("command", ["check", "reach", "graph"])
@pytest.mark.parametrize(
    ("selector", "hint"),
    [
        ("trage", "did you mean `triage`?"),
        ("+trage", "did you mean `triage`?"),
        ("triage,relaeser", "did you mean `releaser`?"),
        ("cap:fs.wrte", "did you mean `fs.write`?"),
        ("cap:x.runer.any", "did you mean `x.runner.any`?"),
        ("cap:proc.exec:reports/**", "write `cap:proc.exec`"),
        ("cap:", "is not a capability"),
        ("path:worker/triage.worker", "did you mean `workers/triage.worker`?"),
        ("path:*", "matches the file of no worker"),
        ("path:nosuch/**", "matches the file of no worker"),
        ("path:", "matches the file of no worker"),
        ("state:modifed", "did you mean `state:modified`?"),
        ("runer", "did you mean `runner`?"),
        ("toolset:runer", "did you mean `runner`?"),
        ("toolset:triage", "there is no toolset `triage`"),
        ("tolset:runner", "did you mean `toolset:runner`?"),
        ("capp:fs.write", "did you mean `cap:fs.write`?"),
        ("a b", "path:GLOB"),
        ("triage,", "path:GLOB"),
        ("", "path:GLOB"),
    ],
)
def test_a_selector_that_means_nothing_is_refused(
    llmdo: Llmdo, deputy: Path, command: str, selector: str, hint: str
) -> None:
    done = llmdo(command, "--select", selector)
    assert (done.code, done.out) == (2, "")
    assert hint in done.err


def test_an_entry_that_calls_one_tool_itself_is_selected_by_it(llmdo: Llmdo, deputy: Path) -> None:
    manifest = (deputy / "llmdo.toml").read_text(encoding="utf-8")
    (deputy / "llmdo.toml").write_text(
        f'{manifest}\n[entries.publish]\ntool = "runner.publish"\n', encoding="utf-8"
    )
    for selector in ("publish", "runner", "toolset:runner", "cap:proc.exec", "publish,runner"):
        document = json.loads(llmdo("reach", "--select", selector, "--format", "json").out)
        assert "publish" in [entry["name"] for entry in document["entries"]], selector
    for selector in ("triage", "filesystem", "cap:fs.write", "publish,filesystem"):
        document = json.loads(llmdo("reach", "--select", selector, "--format", "json").out)
        assert "publish" not in [entry["name"] for entry in document["entries"]], selector
    assert llmdo("graph", "publish", "--select", "runner").out == (
        "entry publish\n`-- [runner]\n        allowed: proc.exec\n"
    )


def test_a_selector_of_another_project_that_means_nothing_is_refused(llmdo: Llmdo, deputy: Path) -> None:
    (deputy / "mcp.json").write_text('{"mcpServers": {"notes": {"command": "notes"}}}', encoding="utf-8")
    assert llmdo("reach", "--from", "mcp", ".", "--select", "cap:mcp.call").code == 0
    done = llmdo("reach", "--from", "mcp", ".", "--select", "cap:mcp.cal")
    assert (done.code, done.out) == (2, "")
    assert "did you mean `mcp.call`?" in done.err


@pytest.mark.few(7)
@pytest.mark.parametrize("selector", ["triage", "path:workers/b*", "nobody", "cap:fs.raed"])
@pytest.mark.parametrize("form", ["text", "concise", "json", "github", "gitlab", "junit", "sarif"])
def test_files_that_cannot_be_read_are_reported_whatever_is_selected(
    llmdo: Llmdo, deputy: Path, selector: str, form: str
) -> None:
    (deputy / "workers/bad.worker").write_text("no header\n", encoding="utf-8")
    done = llmdo("check", "--select", selector, "--format", form)
    assert "LDO109" in done.out
    assert done.code == (2 if selector in ("nobody", "cap:fs.raed") else 1)


def test_a_manifest_that_cannot_be_read_is_reported_whatever_is_selected(llmdo: Llmdo, deputy: Path) -> None:
    (deputy / "llmdo.toml").write_text('name = "w\n', encoding="utf-8")
    done = llmdo("check", "--select", "triage")
    assert done.code == 2
    assert "LDO101" in done.out


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
    assert llmdo("lock").code == 0
    git("commit", "-qam", "more")
    for selector, entries in (("state:modified", []), ("state:modified:HEAD~1", ["triage"])):
        document = json.loads(llmdo("reach", "--select", selector, "--format", "json").out)
        assert [entry["name"] for entry in document["entries"]] == entries
    unknown = llmdo("reach", "--select", "state:modified:nosuch")
    assert (unknown.code, "nosuch" in unknown.err) == (2, True)
    assert llmdo("reach", "--select", "state:modified:").code == 2


def test_check_tells_only_of_what_is_selected(llmdo: Llmdo, deputy: Path) -> None:
    (deputy / "workers/lonely.worker").write_text("---\nname: lonely\n---\nGo.\n", encoding="utf-8")

    def codes(*words: str) -> set[str]:
        return {
            finding["code"]
            for finding in json.loads(llmdo("check", *words, "--format", "json").out)["findings"]
        }

    assert codes() == {"LDO303", "LDO402", "LDO502"}
    assert codes("--select", "lonely") == {"LDO303"}
    assert codes("--select", "triage") == {"LDO502"}
    assert llmdo("check", "--select", "nobody").code == 2
