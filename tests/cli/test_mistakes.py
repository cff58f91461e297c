"""What a mistake at the command line is answered with: what is wrong, where, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.cli.misuse import MEANT
from llmdo.cli.tables import COMMANDS
from tests.support.commands import llmdo


def refusal_of(root: Path, *words: str) -> str:
    """What a command that cannot go on says, with `HERE` for its folder."""
    done = llmdo(root, *words)
    assert done.returncode == 2, done.stdout
    return done.stderr.replace(str(root), "HERE")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["run", "main", "hi", "--env-file", "env"],
            "error: `--env-file env`: there is no file `env` in `HERE`\n  hint: did you mean `.env`?\n",
        ),
        (
            ["run", "main", "hi", "--env-file", "secrets/.env"],
            "error: `--env-file secrets/.env`: there is no folder `secrets` in `HERE`\n  hint: its path is relative",
        ),
        (
            ["batch", "main", "--inputs", "in/a.md", "in/c.md"],
            "error: `--inputs in/c.md`: there is no file `c.md` in `HERE/in`\n",
        ),
        (
            ["batch", "main", "--inputs", "inn/deck.md"],
            "error: `--inputs inn/deck.md`: there is no folder `inn` in `HERE`\n  hint: did you mean `in`?\n",
        ),
        (
            ["batch", "main", "--inputs", "in/decks.md"],
            "error: `--inputs in/decks.md`: there is no file `decks.md` in `HERE/in`\n  hint: did you mean `in/deck.md`?\n",
        ),
        (
            ["audit", "lines.jsonl"],
            "error: there is no file `lines.jsonl` in `HERE`\n",
        ),
        (
            ["diff", "--locks", "a.lock", "b.lock"],
            "error: there is no file `a.lock` in `HERE`\n",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_file_that_is_not_there_is_named_with_its_folder_and_what_is_like_it(
    words: list[str], message: str, folder: Path
) -> None:
    assert message in refusal_of(folder, *words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["main", "hi", "--attach", "nope.pdf"],
            "error: `--attach nope.pdf`: there is no file `nope.pdf` in `HERE`\n  hint: its path is relative to this",
        ),
        (
            ["main", "hi", "--attach", "llmdo.toml"],
            "error: `main` does not take `llmdo.toml`: it accepts .md\n  hint: what `main` takes is in `attachments` of",
        ),
        (
            ["main", "hi", "--attach", "in/a.md", "--attach", "in/deck.md"],
            "error: `main` takes at most 1 attachments, not 2\n",
        ),
        (["closed", "hi", "--attach", "in/a.md"], "error: `closed` takes no attachments\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_attachment_that_its_worker_does_not_take_is_refused_before_anything_runs(
    words: list[str], message: str, folder: Path
) -> None:
    takes = "attachments: {max: 1, suffixes: [.md]}"
    (folder / "main.worker").write_text(f"---\nname: main\n{takes}\n---\nGo.\n", encoding="utf-8")
    (folder / "closed.worker").write_text(
        "---\nname: closed\nentry: true\nattachments: {max: 0}\n---\nGo.\n", encoding="utf-8"
    )
    assert message in refusal_of(folder, "run", *words)
    assert not (folder / ".llmdo").exists()


@pytest.mark.parametrize("text", ["", " \n"], ids=repr)
def test_an_empty_input_is_refused_where_an_entry_starts_a_worker(text: str, folder: Path) -> None:
    assert refusal_of(folder, "run", "main", text) == (
        "error: the input of entry `main` is empty\n"
        '  hint: say what it is to do: `llmdo run main "..."`, or leave the input out: the entry has its own\n'
    )
    manifest = (folder / "llmdo.toml").read_text(encoding="utf-8")
    (folder / "llmdo.toml").write_text(manifest.replace('"go"', '" "'), encoding="utf-8")
    assert refusal_of(folder, "run").startswith("error: the own input of entry `main` is empty\n")
    assert llmdo(folder, "run", "main", text, "--attach", "in/a.md").returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["main.workr"],
            "error: there is no file `main.workr` in `HERE`\n  hint: did you mean `main.worker`?\n",
        ),
        (
            ["main.workr", "hi"],
            "error: there is no file `main.workr` in `HERE`\n  hint: did you mean `main.worker`",
        ),
        (
            ["main.worker", "tool.pyy", "hi"],
            "there is no file `tool.pyy` in `HERE`\n  hint: did you mean `tool.py`?",
        ),
        (
            ["main.worker", "tols.py", "hi"],
            "there is no file `tols.py` in `HERE`\n  hint: did you mean `tool.py`?",
        ),
        (["./mian.worker", "hi"], "no file `mian.worker` in `HERE`\n  hint: did you mean `./main.worker`?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("has_manifest", [True, False], ids=["a workspace", "files alone"])
def test_a_misspelt_file_to_run_is_neither_an_entry_nor_an_input(
    words: list[str], message: str, folder: Path, *, has_manifest: bool
) -> None:
    (folder / "tool.py").write_text("", encoding="utf-8")
    if not has_manifest:
        (folder / "llmdo.toml").unlink()
    assert message in refusal_of(folder, "run", *words)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("valdiate", "there is no command `llmdo valdiate`", "did you mean `llmdo check`?"),
        ("validate", "there is no command `llmdo validate`", "did you mean `llmdo check`?"),
        ("verify", "there is no command `llmdo verify`", "did you mean `llmdo check` or `llmdo runs audit`?"),
        ("plan", "there is no command `llmdo plan`", "did you mean `llmdo diff` or `llmdo reach`?"),
        ("compile", "there is no command `llmdo compile`", "did you mean `llmdo lock`?"),
        ("chekc", "there is no command `llmdo chekc`", "did you mean `llmdo check`?"),
        ("export", "there is no command `llmdo export`", "did you mean `llmdo runs export`?"),
        ("xyzzy", "there is no command `llmdo xyzzy`", "`llmdo --help` lists the commands"),
        ("runs --format json shwo", "there is no command `llmdo runs shwo`", "did you mean `show`?"),
        ("serve mpc", "there is no command `llmdo serve mpc`", "there are `commands`, `mcp`"),
        ("run --modle x", "`llmdo run` has no option `--modle`", "did you mean `--model`?"),
        (
            "audit",
            "`llmdo runs audit` needs RUN|SESSION|FILE",
            "`llmdo runs` lists them; `llmdo runs audit last` is about the newest",
        ),
        (
            "runs show",
            "`llmdo runs show` needs RUN",
            "`llmdo runs` lists them; `llmdo runs show last` is about the newest",
        ),
        ("add path", "`llmdo add path` needs ALIAS", "`llmdo add path --help` says what it takes"),
        ("run --model", "Option '--model' requires an argument", "`llmdo run --help` says what it takes"),
        ("check in", "Got unexpected extra argument(s) (in)", "did you mean `--project in`?"),
    ],
)
def test_a_command_line_that_cannot_be_read_leads_on(
    words: str, message: str, hint: str, folder: Path
) -> None:
    assert refusal_of(folder, *words.split()) == f"error: {message}\n  hint: {hint}\n"


def test_the_words_of_other_tools_lead_to_commands_that_are_there() -> None:
    groups = {*COMMANDS, *(name.split(" ")[0] for name in COMMANDS)}
    for word, meant in MEANT.items():
        assert word not in groups
        assert all(name in groups or name.startswith("--") for name in meant), word


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("ceiling", "LDO501 outside-ceiling: "),
        ("private data", "LDO510 private-data-way-out: "),
        ("Hidden characters", "LDO531 hidden-text"),
        ("", "LDO101 invalid-syntax: "),
        ("unknown-key", "LDO102 unknown-key (error)\n"),
        ("ldo51", "LDO510 private-data-way-out: "),
        ("clear text server", "LDO536 clear-text-server"),
    ],
)
def test_explain_looks_for_words_in_names_and_explanations(words: str, first: str, folder: Path) -> None:
    done = llmdo(folder, "explain", *words.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(first), done.stdout


def test_explain_says_a_line_of_each_of_several_and_how_one_is_read(folder: Path) -> None:
    lines = llmdo(folder, "explain", "ceilings").stdout.splitlines()
    assert (
        lines[0] == "LDO501 outside-ceiling: An entry or a worker can reach what its ceiling does not admit."
    )
    assert lines[-1] == "`llmdo explain LDO501` says how it is fixed."
    assert len(lines) > 4


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            "LDO999",
            "`llmdo explain` lists all, and `llmdo explain WORDS` those whose explanation holds the words",
        ),
        (
            "LDO5011",
            "`llmdo explain` lists all, and `llmdo explain WORDS` those whose explanation holds the words",
        ),
        ("unknown-kye", "did you mean `unknown-key`?"),
        (
            "zebra",
            "`llmdo explain` lists all, and `llmdo explain WORDS` those whose explanation holds the words",
        ),
    ],
)
def test_explain_says_how_to_find_what_it_does_not_know(words: str, hint: str, folder: Path) -> None:
    message = f"error: no check is called `{words}`, and no explanation holds it\n  hint: {hint}\n"
    assert refusal_of(folder, "explain", words) == message


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("--approve refund", "`refund` is a tool: name what it raises, `x.shop.refund`"),
        (
            "--approve write_file",
            "`write_file` is a tool: name what it raises, `fs.write` or `fs.write.code` or `fs.write.protected`",
        ),
        ("--approve fs.wrte", "did you mean `fs.write`?"),
        (
            "--approve zebra",
            "such as `fs.write:drafts/**`; `llmdo reach` shows what each entry can do, and what is asked",
        ),
        ("--model gpt-5", "did you mean `openai:gpt-5`?"),
        ("--model claude-opus-5", "did you mean `anthropic:claude-opus-5`?"),
        ("--model opnai:gpt-5", "did you mean `openai:gpt-5`?"),
        ("--model zebra", "name its provider as well, such as `openai:gpt-5-mini`"),
    ],
)
def test_an_unknown_capability_or_model_leads_to_the_one_that_is_meant(
    words: str, hint: str, folder: Path
) -> None:
    (folder / "shop.py").write_text(SHOP, encoding="utf-8")
    manifest = (folder / "llmdo.toml").read_text(encoding="utf-8")
    listed = manifest.replace("[workspace]", '[workspace]\ntoolset-modules = ["shop.py"]')
    (folder / "llmdo.toml").write_text(listed, encoding="utf-8")
    assert refusal_of(folder, "run", "main", "hi", "--trust", *words.split()).endswith(f"\n  hint: {hint}\n")


@pytest.mark.parametrize(
    ("file", "tool"),
    [
        (".claude/agents/reviewer.md", "Claude Code"),
        (".claude/settings.json", "Claude Code"),
        (".codex/config.toml", "Codex"),
        (".github/workflows/triage.md", "GitHub Agentic Workflows"),
        (".mcp.json", "MCP clients"),
        ("opencode.json", "opencode"),
        ("main.worker", "llm-do"),
    ],
)
@pytest.mark.parametrize("command", ["check", "lock", "reach"])
def test_a_command_beside_agents_of_another_tool_leads_to_scan(
    command: str, file: str, tool: str, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("{}\n", encoding="utf-8")
    assert refusal_of(tmp_path, command) == (
        "error: no `llmdo.toml` in this folder or in any above it\n"
        f"  hint: `llmdo scan` shows what the agents of {tool} in `{file}` can reach; `llmdo init` starts a workspace\n"
    )


@pytest.mark.parametrize("command", ["audit", "replay", "resume", "approve", "runs show"])
def test_before_the_first_run_a_command_about_one_says_how_it_starts(command: str, folder: Path) -> None:
    assert refusal_of(folder, *command.split(), "last") == (
        "error: there is no run here yet\n  hint: `llmdo run` starts one\n"
    )


SHOP = """
from pydantic_ai.toolsets import FunctionToolset

shop = FunctionToolset()


@shop.tool_plain(metadata={"capabilities": ["x.shop.refund"]})
def refund(order: str) -> str:
    return order
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "desk"\nworkers = ["*.worker"]\nmodel = "test"\n'
        '[entries.main]\nworker = "main"\ninput = "go"\n',
        encoding="utf-8",
    )
    (tmp_path / "main.worker").write_text("---\nname: main\n---\nGo.\n", encoding="utf-8")
    (tmp_path / ".env").write_text("A=1\n", encoding="utf-8")
    (tmp_path / "in").mkdir()
    for name in ("a.md", "deck.md"):
        (tmp_path / "in" / name).write_text("Hi.\n", encoding="utf-8")
    return tmp_path


def test_a_word_too_long_for_a_path_is_no_file(folder: Path) -> None:
    long = f"{'9' * 5_000}.md"
    assert "there is no file" in refusal_of(folder, "run", long)
    assert "`llmdo check --help` says what it takes" in refusal_of(folder, "check", long)


LONG = "9" * 5_000


@pytest.mark.parametrize(
    "words",
    [
        ["run", "main", "--attach", LONG],
        ["check", "--project", f"{LONG}.yaml"],
        ["check", "--from", "claude", LONG],
        ["init", LONG],
        ["init", "x", "--from", f"{LONG}.yaml"],
        ["new", LONG, "--yes"],
        ["scan", LONG],
        ["batch", "main", "--inputs", LONG],
        ["import", "claude", LONG],
        ["reach", "--from", "claude", ".", "--with", LONG],
    ],
    ids=lambda words: " ".join(word for word in words if LONG not in word),
)
def test_a_path_that_is_too_long_is_a_mistake_and_no_failure(folder: Path, words: list[str]) -> None:
    assert refusal_of(folder, *words).endswith("...` is too long for a path\n")
