"""Agents of other tools beside workers of ours: rules, ceilings and flows hold for both, and the lock says both."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError
from llmdo.checks import adopted
from llmdo.foreign import findings
from llmdo.graph.inventory import Inventory
from llmdo.graph.offers import require_ours
from llmdo.policy.authority import Capability, decide
from llmdo.policy.composition import Base, Layer, authority_of
from llmdo.reach.flows import after_strangers
from llmdo.workspace import lock, project
from tests.support import commands
from tests.support.waiting import aged

WRITE = Capability("fs.write", "src/a.py")

MANIFEST = """schema = 1
[workspace]
name = "shop"
workers = ["workers/*.worker"]
from = ["claude"]

[entries.desk]
worker = "desk"

[entries.fixer]

[entries.triage]
may = ["fs.read", "fs.list", "agent.delegate"]
"""

FILES = {
    "llmdo.toml": MANIFEST,
    "workers/desk.worker": "---\nname: desk\ntoolsets: { filesystem: { read: ['**'], write: ['out/**'] } }\n---\nSort.\n",
    ".claude/agents/triage.md": "---\nname: triage\ndescription: Triages.\ntools: Read, Grep\n---\nTriage.\n",
    ".claude/agents/fixer.md": "---\nname: fixer\ndescription: Fixes.\ntools: Read, Edit, Bash\n---\nFix.\n",
    ".claude/settings.json": '{"permissions": {"allow": ["Edit", "Bash"], "deny": ["WebFetch"]},'
    ' "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./done.sh"}]}]}}',
    "done.sh": "echo done\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def edit(root: Path, path: str, before: str, after: str) -> None:
    text = (root / path).read_text(encoding="utf-8")
    assert before in text
    (root / path).write_text(text.replace(before, after, 1), encoding="utf-8")


def decisions(root: Path, entry: str) -> dict[str, str]:
    read = project.read(root)
    return {str(row.capability): row.decision for row in read.analysis.of(read.graph.entries[entry])}


def messages(root: Path, code: str) -> list[str]:
    return [each.message for each in checks.check(project.read(root), locked=True) if each.code == code]


def test_the_settings_of_a_tool_give_workers_of_ours_nothing(shop: Path) -> None:
    assert decisions(shop, "fixer")["fs.write"] == "allowed"
    assert decisions(shop, "fixer")["proc.exec.unlisted"] == "allowed"
    assert decisions(shop, "desk")["fs.write:out/**"] == "needs_approval"


def test_a_tool_that_settings_deny_is_no_way_to_what_another_asks_about(shop: Path) -> None:
    (shop / ".claude/settings.json").write_text(
        '{"permissions": {"ask": ["Read"], "deny": ["Edit"], "defaultMode": "default"}}'
    )
    (shop / ".claude/agents/writer.md").write_text("---\nname: writer\ndescription: Writes.\n---\nWrite.\n")
    read = project.read(shop)
    row = next(
        each
        for each in read.analysis.of(read.graph.entries["writer"])
        if str(each.capability) == "fs.write.protected"
    )
    assert (row.decision, row.tool) == ("needs_approval", "NotebookEdit")


def test_a_rule_of_the_manifest_only_tightens_them(shop: Path) -> None:
    (shop / "llmdo.toml").write_text(
        MANIFEST + '[approvals.rules]\n"fs.write" = "allowed"\n"proc.exec" = "blocked"\n"net" = "allowed"\n',
        encoding="utf-8",
    )
    assert decisions(shop, "desk")["fs.write:out/**"] == "allowed"
    assert decisions(shop, "fixer")["fs.write"] == "allowed"
    assert decisions(shop, "fixer")["proc.exec.unlisted"] == "blocked"
    edit(shop, ".claude/settings.json", '"Edit", "Bash"', '"Bash"')
    edit(shop, ".claude/settings.json", '"deny"', '"ask": ["Edit"], "deny"')
    assert decisions(shop, "fixer")["fs.write"] == "needs_approval"


def test_the_default_of_the_manifest_only_tightens_what_they_leave_open(shop: Path) -> None:
    edit(shop, ".claude/settings.json", '"allow": ["Edit", "Bash"]', '"ask": ["Bash"]')
    edit(shop, ".claude/agents/fixer.md", "Bash", "Bash, mcp__tickets")
    (shop / "llmdo.toml").write_text(MANIFEST + '[approvals]\ndefault = "allowed"\n', encoding="utf-8")
    assert decisions(shop, "desk")["fs.write:out/**"] == "allowed"
    assert decisions(shop, "fixer")["proc.exec.unlisted"] == "needs_approval"
    graph = project.read(shop).graph
    layers = [Layer.of_worker(graph.workers[name]) for name in ("desk", "fixer")]
    base, entry = Base.of(graph), Layer.of_entry(graph.entries["desk"])
    assert [authority_of(base, entry, [layer]).default for layer in layers] == ["allowed", "needs_approval"]


def test_a_flow_rule_of_the_manifest_holds_for_them(shop: Path) -> None:
    edit(shop, ".claude/agents/fixer.md", "Bash", "Bash, mcp__tickets")
    flow = '[flows]\n"data.untrusted -> proc.exec" = "blocked"\n'
    (shop / "llmdo.toml").write_text(MANIFEST + flow, encoding="utf-8")
    read = project.read(shop)
    rows = {
        str(row.capability): row.decision
        for row in after_strangers(read.analysis, read.graph.entries["fixer"])
    }
    assert rows["proc.exec.unlisted"] == "blocked"
    assert rows["fs.write"] == "allowed"


def test_a_file_that_a_scoped_ceiling_admits_is_allowed_and_another_is_not(shop: Path) -> None:
    edit(shop, "llmdo.toml", "[entries.fixer]\n", '[entries.fixer]\nmay = ["fs.read", "fs.write:src/**"]\n')
    reached = decisions(shop, "fixer")
    assert reached["fs.write:src/**"] == "allowed"
    assert reached["fs.write"] == "blocked"
    assert reached["proc.exec.unlisted"] == "blocked"


def test_what_reach_says_of_a_file_is_what_decide_says_of_the_call(shop: Path) -> None:
    edit(shop, "llmdo.toml", "[entries.fixer]\n", '[entries.fixer]\nmay = ["fs.read", "fs.write:src/**"]\n')
    graph = project.read(shop).graph
    layers = [Layer.of_worker(graph.workers["fixer"])]
    authority = authority_of(Base.of(graph), Layer.of_entry(graph.entries["fixer"]), layers)
    declared = graph.toolsets["Edit"].tools["Edit"].capabilities

    def decided(path: str) -> str:
        return decide([Capability("fs.write", path)], declared, authority).decision

    assert (decided("src/a.py"), decided("README.md")) == ("allowed", "blocked")


def test_the_manifest_of_the_docs_says_what_they_say(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/adopt.md").read_text(encoding="utf-8")
    writer = "---\nname: writer\ndescription: Writes.\ntools: Read, Edit\n---\nWrite.\n"
    (tmp_path / ".claude/agents").mkdir(parents=True)
    (tmp_path / ".claude/agents/writer.md").write_text(writer, encoding="utf-8")
    (tmp_path / "llmdo.toml").write_text(text.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    assert not [each for each in checks.check(project.read(tmp_path)) if each.severity != "note"]
    done = commands.llmdo(tmp_path, "reach", "main-session", "fs.write")
    assert done.stdout.startswith(text.split("$ llmdo reach main-session fs.write\n")[1].split("```")[0])
    graph = project.read(tmp_path).graph
    held = [
        decide(
            [WRITE], [WRITE], authority_of(Base.of(graph), Layer.of_entry(entry), [Layer.of_worker(worker)])
        )
        for entry in [graph.entries["main-session"]]
        for worker in (
            graph.workers["main-session"],
            graph.workers["general-purpose"],
            graph.workers["writer"],
        )
    ]
    assert [verdict.decision for verdict in held] == ["blocked", "blocked", "allowed"]


def test_a_changed_agent_makes_the_lock_stale_and_what_it_gains_is_named(shop: Path) -> None:
    assert commands.llmdo(shop, "lock").returncode == 0
    assert commands.llmdo(shop, "check", "--locked").returncode == 0
    edit(shop, ".claude/agents/triage.md", "Read, Grep", "Read, Grep, WebSearch")
    (message,) = messages(shop, "LDO401")
    assert "worker `triage`" in message
    assert "`toolsets` +`WebSearch`" in message
    edit(shop, ".claude/agents/fixer.md", "Bash", "Bash, WebSearch")
    message = " ".join(messages(shop, "LDO401"))
    assert "entry `fixer` gains `net.search`" in message
    assert commands.llmdo(shop, "check", "--locked").returncode == 1


@pytest.mark.parametrize("path", sorted(FILES.keys() - {"llmdo.toml", "workers/desk.worker"}))
def test_every_file_that_was_read_governs_and_is_locked(shop: Path, path: str) -> None:
    lock.write(shop, project.read(shop).graph)
    assert project.read(shop).is_current
    assert path in Inventory.of(project.read(shop).graph).governing
    text = (shop / path).read_text(encoding="utf-8")
    (shop / path).write_text(f"{text}\n", encoding="utf-8")
    assert not project.read(shop).is_current
    assert messages(shop, "LDO401")


def test_a_remembered_answer_of_check_sees_a_changed_agent(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LLMDO_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(shop.parent / "cache"))
    assert commands.llmdo(shop, "lock").returncode == 0
    aged(shop)
    for _ in range(2):
        assert commands.llmdo(shop, "check").returncode == 0
    edit(shop, ".claude/agents/triage.md", "Read, Grep", "Read, Grep, Edit")
    done = commands.llmdo(shop, "check")
    assert done.returncode == 1
    assert "the entry `triage` can reach `fs.write` by triage > Edit" in done.stdout


def test_diff_says_what_a_changed_agent_gains_with_the_line(shop: Path) -> None:
    assert commands.llmdo(shop, "lock").returncode == 0
    git = ["git", "-c", "user.email=a@example.org", "-c", "user.name=a"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=shop, check=True)
    edit(shop, ".claude/agents/fixer.md", "Bash", "Bash, WebSearch")
    done = commands.llmdo(shop, "diff")
    assert "fixer: WIDENED" in done.stdout
    assert ".claude/agents/fixer.md:4:" in done.stdout
    assert "is not what its sources say" not in done.stderr


def test_nothing_of_another_tool_is_run(shop: Path) -> None:
    done = commands.llmdo(shop, "run", "fixer", "Fix it.")
    assert done.returncode == 2
    assert "is an agent of claude, which runs it, not llmdo" in done.stderr
    graph = project.read(shop).graph
    require_ours(graph.entries["desk"])
    with pytest.raises(LlmdoError, match="is an agent of claude"):
        require_ours(graph.entries["main-session"])


def test_an_agent_is_an_entry_whether_the_manifest_names_it_or_not(shop: Path) -> None:
    entries = project.read(shop).graph.entries
    assert {name: entry.declared for name, entry in entries.items()} == {
        "desk": True,
        "fixer": True,
        "triage": True,
        "main-session": False,
    }
    assert [event.name for event in entries["main-session"].events] == ["events of main-session"]


def test_the_agent_that_a_client_names_is_found_whatever_else_is_adopted(shop: Path) -> None:
    adoption = project.read(shop).workspace.adoption
    assert adoption is not None
    assert adoption.name_of("claude", "fixer") == "fixer"
    assert adoption.name_of("codex", "fixer") is None
    (shop / ".opencode/agent").mkdir(parents=True)
    (shop / ".opencode/agent/fixer.md").write_text("---\ndescription: Fixes.\n---\nFix.\n", encoding="utf-8")
    edit(shop, "llmdo.toml", 'from = ["claude"]', 'from = ["claude", "opencode"]')
    read = project.read(shop)
    adoption = read.workspace.adoption
    assert adoption is not None
    names = [adoption.name_of(form, "fixer") for form in ("claude", "opencode")]
    assert names == ["claude/fixer", "opencode/fixer"]
    assert [read.graph.workers[name or ""].format for name in names] == ["claude", "opencode"]
    assert [each.code for each in checks.check(read) if each.severity == "error"] == ["LDO203", "LDO203"]


def test_a_secret_in_the_files_of_a_tool_is_not_in_the_lock(shop: Path) -> None:
    token = "ghp_" + "a1B2" * 10
    (shop / ".mcp.json").write_text(
        f'{{"mcpServers": {{"tickets": {{"command": "tickets", "args": ["--token", "{token}"],'
        f' "env": {{"TOKEN": "{token}"}}}}}}}}',
        encoding="utf-8",
    )
    edit(shop, ".claude/settings.json", '"Bash"]', f'"Bash", "Bash(curl -H {token})"]')
    edit(shop, ".claude/agents/fixer.md", "Bash", "Bash, mcp__tickets")
    assert commands.llmdo(shop, "lock").returncode == 0
    text = (shop / "llmdo.lock").read_text(encoding="utf-8")
    assert "mcp__tickets" in text
    assert token not in text


def two_formats(shop: Path) -> None:
    (shop / ".opencode/agent").mkdir(parents=True)
    header = '---\ndescription: Fixes.\npermission: {"*": deny, edit: allow}\n---\n'
    (shop / ".opencode/agent/fixer.md").write_text(f"{header}Fix.\n", encoding="utf-8")
    edit(shop, "llmdo.toml", 'from = ["claude"]', 'from = ["claude", "opencode"]')
    edit(shop, "llmdo.toml", "[entries.fixer]\n", '[entries.fixer]\nworker = "claude/fixer"\n')
    edit(shop, "llmdo.toml", "[entries.triage]\n", '[entries.triage]\nworker = "claude/triage"\n')


def test_agents_of_one_name_are_limited_each_by_its_format(shop: Path) -> None:
    two_formats(shop)
    with (shop / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('\n[workers."opencode/fixer"]\napprovals = { "fs.write" = "blocked" }\n')
    read = project.read(shop)
    assert not [each for each in checks.check(read) if each.severity == "error"]
    blocked = {
        name
        for name in ("claude/fixer", "opencode/fixer")
        for rule in read.graph.workers[name].approvals
        if str(rule.capability) == "fs.write" and rule.decision == "blocked"
    }
    assert blocked == {"opencode/fixer"}
    (shop / "llmdo.lock").unlink(missing_ok=True)
    assert commands.llmdo(shop, "lock").returncode == 0
    assert commands.llmdo(shop, "lock", "--check").returncode == 0


def test_an_agent_of_one_format_may_be_limited_with_its_format(shop: Path) -> None:
    with (shop / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('\n[workers."claude/fixer"]\nmay = ["fs.read"]\n')
    read = project.read(shop)
    assert read.graph.workers["fixer"].may == (Capability("fs.read"),)
    with (shop / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('\n[workers.fixer]\nmay = ["fs.list"]\n')
    read = project.read(shop)
    assert read.graph.workers["fixer"].may == (Capability("fs.list"),)
    problems = [each.message for each in checks.check(read) if each.code == "LDO103"]
    assert problems == ["`[workers.fixer]` is about the same agent, so nothing obeys this table"]


def test_a_table_without_the_format_says_which_agents_there_are(shop: Path) -> None:
    two_formats(shop)
    with (shop / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('\n[workers.fixer]\nmay = []\n\n[workers."claude/x"]\npython = "x.py:agent"\n')
    hints = {each.code: each.hint for each in checks.check(project.read(shop)) if each.severity == "error"}
    assert hints["LDO104"] == "agents of this name are `claude/fixer`, `opencode/fixer`"
    assert hints["LDO103"] == "FORMAT/NAME is an agent of another tool"


HELPER = "---\nname: helper\ndescription: Helps.\n---\nHelp.\n"


def codes(shop: Path) -> list[str]:
    return [each.code for each in checks.check(project.read(shop)) if each.code.startswith(("LDO5", "LDO35"))]


def test_a_finding_of_a_format_is_accepted_in_the_manifest(shop: Path) -> None:
    (shop / ".claude/agents/helper.md").write_text(HELPER, encoding="utf-8")
    before = codes(shop)
    assert "LDO551" in before
    accept = '\n[[check.accept]]\ncode = "LDO551"\nentry = "{}"\nreason = "x"\n'
    with (shop / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(accept.format("helper"))
    assert sorted(codes(shop)) == sorted(code for code in before if code != "LDO551")
    edit(shop, ".claude/agents/helper.md", "description: Helps.\n", "description: Helps.\ntools: Read\n")
    assert "LDO511" in codes(shop)  # it accepts nothing any more


def test_a_finding_of_a_format_is_accepted_by_the_name_of_the_entry(shop: Path) -> None:
    (shop / ".claude/agents/helper.md").write_text(HELPER, encoding="utf-8")
    with (shop / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('\n[entries.front]\nworker = "helper"\n')
        manifest.write('\n[[check.accept]]\ncode = "LDO551"\nentry = "fixer"\nreason = "x"\n')
    assert {"LDO511", "LDO551"} <= {*codes(shop)}
    edit(shop, "llmdo.toml", 'entry = "fixer"', 'entry = "front"')
    assert {"LDO511", "LDO551"}.isdisjoint(codes(shop))


def test_what_an_acceptance_of_a_format_can_silence_is_said_where_it_is_found() -> None:
    assert {each.code for each in findings.ALL if each.acceptable} == adopted.OF_FORMATS.keys()
