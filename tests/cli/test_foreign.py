"""`--from FORMAT DIR` on the command line, as a person uses it."""

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
GAIN = CASES / "LDO550" / "claude-gain"


def llmdo(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return commands.llmdo(cwd, *words)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(GAIN, tmp_path / "project")
    return tmp_path / "project"


def committed(project: Path) -> None:
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=n", "-c", "user.email=e@example", "commit", "-qm", "m"],
    ):
        subprocess.run(["git", *words], cwd=project, check=True)


def test_check_finds_what_a_delegate_adds_and_says_that_nothing_is_enforced(project: Path) -> None:
    done = llmdo("check", "--from", "claude", ".", "--format", "concise", cwd=project)
    assert done.returncode == 0
    assert "warning[LDO550]" in done.stdout
    assert done.stdout.endswith("read from claude; not enforced by llmdo\n")
    assert llmdo("check", "--from", "claude", ".", "--strict", cwd=project).returncode == 1


@pytest.mark.parametrize("form", ["json", "github", "gitlab", "junit", "sarif"])
def test_machine_formats_stay_pure_and_the_caveat_goes_to_the_other_stream(project: Path, form: str) -> None:
    done = llmdo("check", "--from", "claude", ".", "--format", form, cwd=project)
    assert done.returncode == 0
    assert done.stderr == "read from claude; not enforced by llmdo\n"
    if form == "json":
        assert json.loads(done.stdout)["read_from"] == "claude"


@pytest.mark.long
def test_check_of_another_format_loads_no_command_line_library(project: Path) -> None:
    script = (
        "import sys\nfrom llmdo.__main__ import main\n"
        "sys.argv = ['llmdo', 'check', '--from', 'claude', '.']\nmain()\n"
        "print(*({'typer', 'rich', 'pydantic', 'jsonschema', 'pydantic_ai'} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=project, capture_output=True, text=True)
    assert done.stderr.strip() == ""


def test_why_prints_file_and_line_of_every_edge(project: Path) -> None:
    done = llmdo("why", "triage", "proc.exec.unlisted", "--from", "claude", ".", cwd=project)
    assert "> releaser  .claude/agents/triage.md:4:14" in done.stdout
    assert "> Bash      .claude/agents/releaser.md:4:8" in done.stdout
    because = [line for line in done.stdout.splitlines() if line.startswith("  because")]
    assert len(because) == len(set(because)) > 0


def test_why_names_the_rule_that_alone_brings_a_strangers_words() -> None:
    project = CASES / "LDO552" / "claude-rule-brings-words"
    done = llmdo("why", "barn", "data.untrusted", "--from", "claude", ".", cwd=project)
    assert 'because "data.untrusted" = "allowed" (.claude/settings.json:3)' in done.stdout
    done = llmdo("why", "barn", "fs.read", "--from", "claude", ".", cwd=project)
    assert 'because "fs.read" = "allowed" (built in)' in done.stdout


@pytest.mark.parametrize("form", ["text", "json", "mermaid", "dot"])
def test_every_drawing_says_where_it_is_from(project: Path, form: str) -> None:
    done = llmdo("graph", "--from", "claude", ".", "--format", form, cwd=project)
    assert "claude" in "".join(done.stdout.split("\n")[:4])


def test_reach_as_json_and_as_a_page(project: Path) -> None:
    data = json.loads(llmdo("reach", "--from", "claude", ".", "--format", "json", cwd=project).stdout)
    assert (data["read_from"], data["enforced"]) == ("claude", False)
    page = llmdo("reach", "--from", "claude", ".", "--format", "markdown", cwd=project).stdout
    assert re.search(
        r"\| `proc\.exec\.unlisted` \| 3 \| 3 \| `[\w-]+ > [^`]*\(?Bash\)?` \| `\.claude/[^`]+:\d+` \|",
        page,
    )
    assert "Read from claude; not enforced by llmdo" in page


def test_reach_as_json_names_shared_steps_and_reasons_once(tmp_path: Path) -> None:
    hosts = "".join(f"    - host-{number}.example\n" for number in range(60))
    workflow = tmp_path / ".github/workflows/build.md"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(f"---\non: push\nnetwork:\n  allowed:\n{hosts}---\nBuild it.\n")
    text = llmdo("reach", "--from", "gh-aw", ".", "--format", "json", cwd=tmp_path).stdout
    data = json.loads(text)
    (entry,) = data["entries"]
    assert len(entry["rows"]) > 60
    assert len(text) < 60_000  # before, each row spelled out why, by 60 rules
    assert {data["steps"][number]["name"] for row in entry["rows"] for number in row["path"]} == {
        step["name"] for step in data["steps"]
    }
    assert all(data["reasons"][number] for row in entry["rows"] for number in row["reasons"])


def test_diff_compares_git_objects_with_the_files_and_with_each_other(project: Path) -> None:
    committed(project)
    agent = project / ".claude" / "agents" / "triage.md"
    agent.write_text(agent.read_text().replace("tools: Read,", "tools: Read, WebSearch,"))
    done = llmdo("diff", "--from", "claude", ".", "--fail-on", "widened", cwd=project)
    assert done.returncode == 1
    assert "+ net.search" in done.stdout
    assert re.search(r"triage.md:4:14 +triage uses WebSearch", done.stdout)
    assert "verdict: same" in llmdo("diff", "HEAD", "HEAD", "--from", "claude", ".", cwd=project).stdout


def test_diff_of_a_folder_that_a_revision_does_not_have_says_that_all_is_new(project: Path) -> None:
    committed(project)
    shutil.copytree(project / ".claude", project / "new" / ".claude")
    done = llmdo("diff", "--from", "claude", "new", cwd=project)
    assert "no baseline" in done.stderr
    assert "triage: widened (new)" in done.stdout.lower()


def test_explain_prints_the_table_of_a_format_with_sources(project: Path) -> None:
    done = llmdo("explain", "--from", "claude", cwd=project)
    assert done.returncode == 0
    for line in done.stdout.splitlines()[1:]:
        assert line.rpartition("  ")[2].startswith("https://")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "words",
    [
        ["check", "--from", "claud", "."],
        ["check", "--from", "claude", "missing"],
        ["reach", "--from", "docker-agent", "."],
        ["reach", "nobody", "--from", "claude", "."],
        ["diff", "--from", "claude", "."],
        ["explain", "--from", "nothing"],
        ["check", "--from", "claude"],
        ["check", "--from", "claude", ".", "--locked"],
        ["reach", "--from", "claude", ".", "--project", "."],
        ["import", "claude", ".", "--to", "."],
        ["reach", "--from", "claude", ".", "--select", "state:modified"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_answered_is_an_error_with_a_sentence(project: Path, words: list[str]) -> None:
    done = llmdo(*words, cwd=project)
    assert done.returncode == (1 if words[0] == "import" else 2)
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
