"""An import checks clean and reaches what the original reaches, for every project that there is to try."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo import foreign
from llmdo.base.diagnostic import LlmdoError
from llmdo.features.importing.workspace import import_project, reached
from llmdo.workspace import project
from tests.foreign.test_cases import ALL, format_of
from tests.support import commands
from tests.support.corpus import FOLDER, needs_corpus

DOCKER = FOLDER / "docker-agent"

UNLIKE = {
    "qwen-parts": (
        tuple(f"`writer`: `fs.{what}` is allowed, it was needs_approval" for what in ("read", "write")),
        tuple(f"`writer`: `fs.{what}:docs/**` is not reached, it was allowed" for what in ("read", "write")),
    )
}
"""The cases whose import is told to reach something else: one agent asks about a part that another does not."""


def of_prompts(root: Path) -> list[str]:
    """The findings of an import whose original has agents without a prompt, as their client brings one along."""
    return ["LDO115"] * sum(not prompt.strip() for prompt in project.read(root).prompts.values())


def holds(form: str, source: Path, target: Path) -> None:
    """Fails where the import of a project is not clean, or reaches something else than the project."""
    original = foreign.read(form, source)
    done = import_project(original, target)
    assert [finding.code for finding in done.findings] == of_prompts(target)
    assert (done.wider, done.narrower) == UNLIKE.get(source.name, ((), ()))
    read = project.read(target)
    prompts = sorted(read.prompts.values())
    assert {agent.prompt for agent in original.team.agents} <= set(prompts)


@pytest.mark.few(23)
@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_an_import_is_clean_and_reaches_what_the_original_reaches(case: Path, tmp_path: Path) -> None:
    if foreign.read(format_of(case), case).team.agents:
        holds(format_of(case), case, tmp_path / "imported")
    else:
        with pytest.raises(LlmdoError, match="there is no agent"):
            holds(format_of(case), case, tmp_path / "imported")


@needs_corpus
@pytest.mark.parametrize(
    ("form", "folder"),
    [
        pytest.param("claude", "claude-wshobson", marks=pytest.mark.long),
        ("docker-agent", "docker-agent"),
        ("llm-do", "llm-do-worker"),
        ("llm-do", "llm-do-agent"),
    ],
)
def test_so_is_the_import_of_real_projects(form: str, folder: str, tmp_path: Path) -> None:
    holds(form, FOLDER / folder, tmp_path / "imported")


@needs_corpus
@pytest.mark.parametrize("path", sorted(DOCKER.rglob("*.yaml")), ids=lambda path: path.stem)
def test_so_is_the_import_of_every_real_team(path: Path, tmp_path: Path) -> None:
    holds("docker-agent", path, tmp_path / "imported")


def agent(folder: Path, name: str, header: str, prompt: str = "Work.\n") -> None:
    path = folder / ".claude" / "agents" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: It works.\n{header}---\n{prompt}", encoding="utf-8")


def test_a_prompt_keeps_every_character(tmp_path: Path) -> None:
    prompt = "\n# Title\n\n---\nname: trap\n---\n\tTabs,  blanks  \nand no end: \u202e\u2028 \U0001f600"
    agent(tmp_path / "p", "a", "tools: Read\n", prompt)
    import_project(foreign.read("claude", tmp_path / "p"), tmp_path / "i")
    assert project.read(tmp_path / "i").prompts["a"] == prompt


def test_the_original_is_not_touched_and_the_target_has_to_be_empty(tmp_path: Path) -> None:
    agent(tmp_path / "p", "a", "tools: Read\n")
    before = sorted(path.as_posix() for path in tmp_path.rglob("*"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(LlmdoError, match="is not an empty folder"):
        import_project(foreign.read("claude", tmp_path / "p"), tmp_path / "full")
    import_project(foreign.read("claude", tmp_path / "p"), tmp_path / "new" / "i")
    after = {path.as_posix() for path in (tmp_path / "p").rglob("*")}
    assert after == {path for path in before if path.startswith((tmp_path / "p").as_posix() + "/")}


def test_files_that_are_executed_and_protected_ones_are_reached_as_before(tmp_path: Path) -> None:
    agent(tmp_path / "p", "a", "tools: Read, Grep, Glob, Write, Edit\n")
    done = import_project(foreign.read("claude", tmp_path / "p"), tmp_path / "i")
    assert (done.wider, done.narrower) == ((), ())
    rows = reached(project.read(tmp_path / "i").analysis)["a"]
    decisions = {str(capability): decision for capability, decision in rows.items()}
    for name in ("fs.write.code", "fs.write.protected", "fs.read.protected"):
        assert decisions[name] == "allowed"


def test_the_folders_of_a_file_server_come_with_its_protected_files(tmp_path: Path) -> None:
    agent(tmp_path / "p", "a", "tools: mcp__filesystem\n")
    words = ["@modelcontextprotocol/server-filesystem", "docs"]
    servers = {"mcpServers": {"filesystem": {"command": "npx", "args": words}}}
    (tmp_path / "p/.mcp.json").write_text(json.dumps(servers))
    done = import_project(foreign.read("claude", tmp_path / "p"), tmp_path / "i")
    assert (done.wider, done.narrower) == ((), ())


def test_capabilities_of_servers_are_called_after_the_servers(tmp_path: Path) -> None:
    """Those of the format may be called as one of ours, or of another server."""
    agent(tmp_path / "p", "a", "tools: mcp__data, mcp__pg, Read\n")
    commands = {"data": "slack-mcp-server", "pg": "postgres-mcp"}
    servers = {name: {"command": "npx", "args": [word]} for name, word in commands.items()}
    (tmp_path / "p/.mcp.json").write_text(json.dumps({"mcpServers": servers}))
    done = import_project(foreign.read("claude", tmp_path / "p"), tmp_path / "i")
    assert [finding.code for finding in done.findings] == of_prompts(tmp_path / "i")
    assert (done.wider, done.narrower) == ((), ())


def test_a_server_that_asks_keeps_what_another_one_does_unasked(tmp_path: Path) -> None:
    """Otherwise its calls would raise nothing that a rule of the workspace could ask about."""
    path = tmp_path / "p/.kiro/settings/mcp.json"
    path.parent.mkdir(parents=True)
    asked = {"command": "mcp-github", "autoApprove": []}
    unasked = {"command": "mcp-brave-search", "autoApprove": ["brave_web_search"]}
    path.write_text(json.dumps({"mcpServers": {"github": asked, "search": unasked}}))
    done = import_project(foreign.read("kiro", tmp_path / "p"), tmp_path / "i")
    assert (done.wider, done.narrower) == ((), ())
    manifest = (tmp_path / "i/llmdo.toml").read_text()
    asking = manifest.partition("[toolsets.github]")[2].partition("[toolsets.search]")[0]
    assert '"mcp.call"' in asking


@pytest.mark.parametrize(
    ("form", "path", "settings"),
    [
        ("gemini", ".gemini/settings.json", {"tools": {"exclude": ["web_fetch"]}}),
        ("gemini", ".gemini/settings.json", {"tools": {"allowed": ["run_shell_command(git status)"]}}),
        ("opencode", "opencode.json", {"permission": {"bash": {"*": "ask", "git log *": "allow"}}}),
        ("opencode", "opencode.json", {"permission": {"bash": {"*": "deny", "git log *": "allow"}}}),
        ("qwen", ".qwen/settings.json", {"permissions": {"allow": ["Bash(git status)"]}}),
    ],
)
def test_a_command_that_a_client_lets_by_because_it_does_not_see_it_asks(
    tmp_path: Path, form: str, path: str, settings: object
) -> None:
    (tmp_path / "theirs" / path).parent.mkdir(parents=True)
    (tmp_path / "theirs" / path).write_text(json.dumps(settings))
    done = import_project(foreign.read(form, tmp_path / "theirs"), tmp_path / "ours")
    read = project.read(tmp_path / "ours")
    unlisted = [
        {row.decision for row in read.analysis.of(entry) if row.capability.name == "proc.exec.unlisted"}
        for entry in read.graph.entries.values()
    ]
    assert {"needs_approval"} in unlisted
    assert not any("allowed" in each for each in unlisted)
    assert any("asks here" in remark.text for remark in done.remarks)


def test_what_cannot_be_carried_over_is_reported_with_its_place(tmp_path: Path) -> None:
    agent(tmp_path / "p", "my.agent", "tools: Read\nmodel: opus\nhooks: {}\n")
    done = import_project(foreign.read("claude", tmp_path / "p"), tmp_path / "i")
    remarks = [(remark.at.span.line if remark.at.span else 0, remark.text) for remark in done.remarks]
    assert [each for each in remarks if each[0]] == [
        (2, "`my.agent` is called `my-agent`"),
        (4, "`Read` has still to be written: `Read` stands in for it"),
        (5, "`model` of `my.agent` is not carried over"),
        (6, "`hooks` of `my.agent` is not carried over"),
    ]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "name", ["filesystem", "shell", "class", "1", "\u00e4", "a b", "A", "x" * 300, "../../evil"]
)
def test_any_name_becomes_one_of_ours(tmp_path: Path, name: str) -> None:
    agent(tmp_path / "p", "one", "tools: Read, Agent\n")
    other = tmp_path / "p" / ".claude" / "agents" / "other.md"
    other.write_text(
        f"---\nname: {json.dumps(name)}\ntools: Bash, mcp__a-b__c\n---\nWork.\n", encoding="utf-8"
    )
    agent(tmp_path / "p", "a", "tools: Bash\n")
    done = import_project(foreign.read("claude", tmp_path / "p"), tmp_path / "i")
    assert [finding.code for finding in done.findings] == of_prompts(tmp_path / "i")
    assert (done.wider, done.narrower) == ((), ())
    assert not (tmp_path / "evil").exists()


def test_an_import_can_be_locked_and_the_code_in_it_declares_what_the_files_say(tmp_path: Path) -> None:
    case = next(folder for folder in ALL if folder.name == "claude-gain")
    words = ["import", "claude", str(case), "--to", "imported"]
    for command in (words, ["lock", "--project", "imported"], ["check", "--project", "imported", "--locked"]):
        done = commands.llmdo(tmp_path, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    original = foreign.read("claude", case)
    locked = project.read(tmp_path / "imported")
    own = {"fs.read.protected", "fs.write.code"}  # which come beside reading and writing
    rows = [
        {capability: decision for capability, decision in each.items() if capability.name not in own}
        for each in reached(locked.analysis).values()
    ]
    assert rows == list(reached(original.analysis).values())
