"""`llmdo scan`, as a person runs it who has nothing of llmdo so far."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import commands

CASES = Path(__file__).parent.parent / "foreign" / "cases"


def scan(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return commands.llmdo(cwd, "scan", *words)


SETTINGS = '`"permissions": {"defaultMode": "default"}` into `.claude/settings.json`'
ASKING = f"or write {SETTINGS}: a person is then asked each time"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(CASES / "LDO552" / "claude-readme" / ".claude", tmp_path / "project" / ".claude")
    return tmp_path / "project"


def test_it_begins_with_what_matters_and_ends_with_what_was_read(project: Path) -> None:
    done = scan(project)
    assert done.returncode == 0
    assert done.stdout.startswith(
        "1 of 2 agents can be steered by text from outside to send private data without a question\n"
    )
    assert done.stdout.index("LDO552") < done.stdout.index("claude: 2 agents in 2 files")
    assert "LDO550" not in done.stdout  # one finding, one edit
    assert scan(project.parent, "project").stdout == done.stdout


def test_it_says_how_many_agents_are_copies_of_others(project: Path) -> None:
    own = project / ".claude/agents/triage.md"
    for number, name in enumerate(("berth", "quay"), start=1):
        plugin = project / "plugins" / name
        (plugin / ".claude-plugin").mkdir(parents=True)
        (plugin / ".claude-plugin/plugin.json").write_text(f'{{"name": "{name}"}}')
        shutil.copytree(own.parent, plugin / "agents")
        (plugin / "agents/releaser.md").write_text(
            f"---\nname: releaser\ndescription: {name}\ntools: Read\n---\nx\n"
        )
        first, *_ = json.loads(scan(project, "--format=json").stdout)["headline"]
        number_of_agents = 2 + 2 * number
        verb = "is a copy of another" if number == 1 else "are copies of others"
        assert first.endswith(f"without a question; {number} of the {number_of_agents} {verb}")


def test_the_page_is_the_one_that_reach_prints(project: Path) -> None:
    page = scan(project, "--format", "markdown").stdout
    assert page == commands.llmdo(project, "reach", "--from", "auto", ".", "--format", "markdown").stdout
    assert page.startswith("## 1 of 2 agents can be steered")


def test_json_has_every_place_of_a_finding(project: Path) -> None:
    text = (project / ".claude/agents/triage.md").read_text()
    for name in "abcdefghij":
        (project / f".claude/agents/{name}.md").write_text(text.replace("name: triage", f"name: {name}"))
    data = json.loads(scan(project, "--format=json").stdout)
    assert (data["schema"], data["enforced"], data["agents"]) == ("llmdo.scan/1", False, 12)
    leak = data["findings"][0]
    assert (leak["code"], leak["number"], leak["gate"]) == ("LDO552", 11, "without a question")
    assert leak["message"].startswith(
        "11 agents: each can send private data on the word of a page that it reads"
    )
    assert [place["agent"] for place in leak["places"]] == [*"abcdefghij", "triage"]
    assert {place["line"] for place in leak["places"]} == {2}


def test_json_has_both_legs_of_a_flow_and_the_line_of_each_step(project: Path) -> None:
    (leak,) = [
        each
        for each in json.loads(scan(project, "--format=json").stdout)["findings"]
        if each["code"] == "LDO552"
    ]
    ((agent, flow),) = [(each["agent"], each["flow"]) for each in leak["flows"]]
    assert (agent, flow["capability"], flow["decision"]) == (
        "triage",
        "proc.exec.unlisted",
        "allowed",
    )
    assert (flow["source_tool"], flow["private_tool"], flow["tool"]) == ("WebFetch", "Read", "Bash")
    legs = {
        leg: [(step["name"], step["path"], step["line"]) for step in flow[leg]]
        for leg in ("source", "private", "path")
    }
    triage, releaser = ".claude/agents/triage.md", ".claude/agents/releaser.md"
    assert legs == {
        "source": [("triage", None, None), ("WebFetch", triage, 4)],
        "private": [("triage", None, None), ("Read", triage, 4)],
        "path": [("triage", None, None), ("releaser", triage, 4), ("Bash", releaser, 4)],
    }
    edit = f"write `tools: Read, WebFetch`, without `Agent(releaser)` ({triage}:4:24)"
    milder = "`WebFetch` can then still send data: write `tools: Read` instead"
    assert leak["hint"] == f"{edit}; it then calls no other agent; {milder}; {ASKING}"


def test_what_a_person_is_asked_about_is_no_flow(project: Path) -> None:
    (project / ".claude/settings.json").write_text('{"permissions": {"defaultMode": "default"}}')
    data = json.loads(scan(project, "--format=json").stdout)
    assert data["findings"] == []
    assert data["asked"] == []  # a row of the table is enough
    text = scan(project).stdout
    assert "LDO550" not in text
    assert re.search(r"\n  proc\.exec\.unlisted +3 +0  \.claude/settings\.json:1:33\n", text)


def test_a_finding_stands_among_the_first_lines(project: Path) -> None:
    (project / ".mcp.json").write_text('{"mcpServers": {"notes": {"command": "notes"}}}')
    before, _, after = scan(project).stdout.partition("findings, the worst first\n")
    assert len(before.splitlines()) + 1 <= 12
    assert after.startswith(
        " 1. `triage` can send private data on the word of a page that it reads, by any command; unless its\n"
    )


def test_each_leg_of_a_flow_stands_with_its_place_and_one_edit(project: Path) -> None:
    lines = [line.strip() for line in scan(project).stdout.splitlines()]
    start = lines.index(
        "1. `triage` can send private data on the word of a page that it reads, by any command; unless its"
    )
    assert lines[start + 1 : start + 6] == [
        "session asks: no file sets a mode",
        "a stranger's words: `triage > WebFetch` (.claude/agents/triage.md:4:14)",
        "private data: `triage > Read` (.claude/agents/triage.md:4:8)",
        "any command: `triage > releaser > Bash` (.claude/agents/releaser.md:4:8)",
        "LDO552, without a question, at .claude/agents/triage.md:2:1",
    ]
    edit = "write `tools: Read, WebFetch`, without `Agent(releaser)` (.claude/agents/triage.md:4:24)"
    milder = "`WebFetch` can then still send data: write `tools: Read` instead"
    hint = f"hint: {edit}; it then calls no other agent; {milder}; {ASKING}"
    assert " ".join(lines[start + 6 : start + 10]) == hint


def test_whoever_may_run_any_command_has_a_place(project: Path) -> None:
    assert scan(project).stdout.splitlines()[1:3] == [
        "1 of 2 agents may run any command without a question: `releaser` by `Bash`",
        "(.claude/agents/releaser.md:4:8)",
    ]


def test_what_zizmor_does_is_said_only_of_workflows(project: Path) -> None:
    assert "zizmor" not in scan(project).stdout
    (project / ".github/workflows").mkdir(parents=True)
    (project / ".github/workflows/a.yml").write_text(
        "on: push\njobs:\n  a:\n    steps:\n      - run: claude -p Hello\n"
    )
    assert scan(project).stdout.count("zizmor") == 1
    assert scan(project, "--format=markdown").stdout.count("zizmor") == 1


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 0),
        (["--fail-on", "error"], 0),
        (["--fail-on", "warning"], 1),
        (["--fail-on=note"], 1),
        (["--fail-on", "LDO552"], 1),
        (["--fail-on", "LDO551"], 0),
        (["--fail-on", "LDO551", "--fail-on", "LDO552", "."], 1),
        (["--fail-on", "grave"], 2),
        (["--fail-on"], 2),
        (["--format", "sarif"], 2),
        (["missing"], 2),
        ([".", "."], 2),
        ([".claude/agents/triage.md"], 0),
        (["--help"], 0),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else str(words),
)
def test_the_exit_code_is_what_fail_on_says(project: Path, words: list[str], code: int) -> None:
    done = scan(project, *words)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("error: ") is (code == 2)
    assert "Traceback" not in done.stderr


def test_where_nothing_is_of_a_known_format_it_cannot_go_on(tmp_path: Path) -> None:
    done = scan(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "hint: the formats are claude, " in done.stderr


def test_it_needs_no_command_line_library_no_git_and_no_home(project: Path) -> None:
    script = (
        "import sys\nfrom llmdo.__main__ import main\nsys.argv = ['llmdo', 'scan', '--format', 'json']\nmain()\n"
        "print(*({'typer', 'rich', 'pydantic', 'jsonschema', 'pydantic_ai', 'git'} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project, capture_output=True, text=True, env={"PATH": "/nowhere"}
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert json.loads(done.stdout)["agents"] == 2


def test_a_session_under_settings_alone_is_not_nothing(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash"]}}')
    (tmp_path / "notes.yaml").write_text("a: b\n")
    (tmp_path / "Dockerfile.worker").write_text("FROM scratch\n")
    done = scan(tmp_path)
    assert "the only agent may run any command without a question: `main-session` by `Bash`" in done.stdout
    assert "claude: 0 agents in 1 file\n" in done.stdout
    assert "docker-agent" not in done.stdout
    assert "llm-do" not in done.stdout


def test_who_may_start_an_agent_is_said_with_the_place_of_the_event(tmp_path: Path) -> None:
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/a.yml").write_text(
        "on:\n  schedule: []\n  issues:\njobs:\n  a:\n    if: vars.ON == '1'\n    steps:\n      - run: claude -p x\n"
    )
    starts = [
        {
            "event": "issues",
            "by": "perhaps anyone",
            "path": ".github/workflows/a.yml",
            "line": 3,
            "column": 3,
        },
        {"event": "schedule", "by": "the owner", "path": ".github/workflows/a.yml", "line": 2, "column": 3},
    ]
    assert json.loads(scan(tmp_path, "--format=json").stdout)["started"] == [
        {"agent": "a/a", "starts": starts}
    ]
    reached = commands.llmdo(tmp_path, "reach", "--from", "auto", ".", "--format", "json").stdout
    assert [entry["starts"] for entry in json.loads(reached)["entries"]] == [starts]
    text = scan(tmp_path).stdout
    assert "started by\n  perhaps anyone: a/a (issues)\n  the owner: a/a (schedule)\n" in text
    reached = commands.llmdo(tmp_path, "reach", "--from", "auto", ".").stdout
    assert "\na/a, started by perhaps anyone (issues) and the owner (schedule):\n" in reached


def test_workflows_of_another_program_are_none_of_gh_aw(tmp_path: Path) -> None:
    (tmp_path / ".claude/agents").mkdir(parents=True)
    (tmp_path / ".claude/agents/guard.md").write_text(
        "---\nname: guard\ndescription: d\ntools: Read\n---\nGuard.\n"
    )
    (tmp_path / "workflows").mkdir()
    bot = "---\nname: tides\ndescription: Says when the tide is low.\ntriggers:\n  - type: schedule\n---\nLook.\n"
    (tmp_path / "workflows/tides.workflow.md").write_text(bot)
    assert "gh-aw" not in scan(tmp_path).stdout
    (tmp_path / "workflows/part.md").write_text("---\nsafe-outputs:\n  add-comment:\n---\n")
    assert "gh-aw: 0 agents in 1 file\n" in scan(tmp_path).stdout
