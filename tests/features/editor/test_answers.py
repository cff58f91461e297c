"""What an editor is told about a place: what is meant, where it is declared, who names it, what may stand there."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.editor import completing, hovering, requests, symbols
from llmdo.features.editor.server import Session
from llmdo.features.editor.symbols import Mention

FILES = {
    "llmdo.toml": """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["tools/*.py"]
model = "fast"

[models]
fast = ["openai:gpt-5-mini", "openai:gpt-5"]

[approvals.rules]
"fs.write:reports/**" = "allowed"

[paths]
"deck" = "input/deck.md"

[entries.go]
worker = "main"
may = ["fs.read", "fs.list", "x"]

[entries.tool]
tool = "kit.look"
""",
    "main.worker": """\
---
name: main
description: It *leads*.
model: fast
toolsets:
  other: {}
  filesystem: { write: ["reports/**"] }
---
Ask other for help.
""",
    "other.worker": "---\nname: other\ntoolsets: [kit]\n---\nGo.\n",
    "tools/kit.py": (
        "from pydantic_ai.toolsets import FunctionToolset\n\nkit = FunctionToolset()\n\n\n"
        '@kit.tool_plain(metadata={"capabilities": ["x.kit.read"]})\ndef look(name: str) -> str:\n    return name\n'
    ),
    "input/deck.md": "# Deck\n",
    "reports/old.md": "",
}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return Session(tmp_path)


def place(session: Session, path: str, marked: str) -> tuple[int, int]:
    """The line and column of `|` in a piece of the file's text."""
    text = "\n".join(session.text(path).lines)
    assert text.count(marked.replace("|", "")) == 1, marked
    start = text.index(marked.replace("|", "")) + marked.index("|")
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


def at(session: Session, path: str, marked: str) -> Mention:
    mention = symbols.mention_at(session.reading().project, path, *place(session, path, marked))
    assert mention
    return mention


def shown(session: Session, places: list[symbols.Location]) -> list[str]:
    return [f"{each.path}:{each.span.line if each.span else 0}" for each in places]


def offered(session: Session, path: str, text: str) -> list[str]:
    """What may stand at `|` in a text of the file that was not saved."""
    before = text[: text.index("|")]
    session.reading()
    session.edit(path, text.replace("|", "", 1))
    lines = session.text(path).lines
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    project = session.sound().project
    return [item.label for item in completing.completions(project, path, lines, line, column).items]


def test_definitions_are_found_over_manifest_workers_and_python(session: Session) -> None:
    project = session.reading().project

    def declared(path: str, marked: str) -> list[str]:
        return shown(session, symbols.declarations(project, at(session, path, marked)))

    assert declared("main.worker", "  oth|er: {}") == ["other.worker:2"]
    assert declared("llmdo.toml", 'worker = "m|ain"') == ["main.worker:2"]
    assert declared("other.worker", "[k|it]") == ["tools/kit.py:3"]
    assert declared("main.worker", "model: f|ast") == ["llmdo.toml:10"]
    assert declared("llmdo.toml", 'model = "f|ast"') == ["llmdo.toml:10"]
    assert declared("llmdo.toml", 'tool = "kit.l|ook"') == ["tools/kit.py:7"]


def test_references_are_found_from_any_of_them(session: Session) -> None:
    project = session.reading().project
    declared = at(session, "tools/kit.py", "\nk|it = ")
    assert shown(session, symbols.references(project, declared, with_declaration=True)) == [
        "other.worker:3",
        "tools/kit.py:3",
    ]
    main = at(session, "main.worker", "name: ma|in")
    assert shown(session, symbols.references(project, main, with_declaration=False)) == ["llmdo.toml:19"]
    fast = at(session, "llmdo.toml", "\nfa|st = ")
    assert shown(session, symbols.references(project, fast, with_declaration=False)) == [
        "llmdo.toml:7",
        "main.worker:4",
    ]


def test_a_worker_says_what_it_reaches_by_which_path_and_behind_which_gate(session: Session) -> None:
    project = session.reading().project
    text = hovering.about(project, at(session, "main.worker", "name: ma|in"))
    assert text
    assert "It \\*leads\\*\\." in text
    assert "| `x.kit.read` | needs approval:" in text
    assert "| main > other > kit |" in text
    assert "| `fs.write:reports/**` | allowed | main > filesystem |" in text
    assert "reaches nothing" not in text


def test_hostile_names_are_no_markup() -> None:
    assert hovering.plain("<b>[x](command:y)\u202e") == "\\<b\\>\\[x\\]\\(command:y\\)\\\\u\\{202e\\}"
    assert hovering.code("a`b|c\u200b") == "`a\u02cbb\u2223c\\u{200b}`"


def test_a_capability_says_what_it_means_and_how_it_is_decided(session: Session) -> None:
    project = session.reading().project
    text = hovering.about_capability(project, "proc.exec.unlisted")
    assert text
    assert "runs a program that no shell rule lists" in text
    assert "Everywhere: `blocked`" in text
    assert "only by its full name" in text
    own = hovering.about_capability(project, "x.kit.read")
    assert own
    assert "`look` of the toolset `kit`" in own
    assert hovering.about_capability(project, "fs.nothing") is None
    family = hovering.about_capability(project, "fs")
    assert family
    assert "`fs.delete`" in family
    assert hovering.capability_at('may = ["fs.read:input/**"]', 10) == "fs.read"


def test_keys_are_offered_where_they_may_stand(session: Session) -> None:
    assert "description" in offered(session, "main.worker", "---\nname: main\nde|\n---\n")
    assert offered(session, "main.worker", "---\nname: main\ntoolsets:\n  filesystem:\n    |\n---\n") == [
        "read",
        "write",
    ]
    assert "attachments" in offered(session, "main.worker", "---\n|")
    assert offered(session, "main.worker", "---\nname: main\n---\nde|") == []
    manifest = FILES["llmdo.toml"]
    assert "max-depth" in offered(session, "llmdo.toml", manifest.replace("[models]", "ma|\n\n[models]"))
    assert "limits" in offered(session, "llmdo.toml", manifest + "|")
    assert "requests" in offered(session, "llmdo.toml", manifest + "limits = { seconds = 1, re|")
    assert "entries" in offered(session, "llmdo.toml", manifest + "\n[en|")


def test_names_are_offered_where_they_may_stand(session: Session) -> None:
    main = FILES["main.worker"]
    assert {"other", "main", "kit", "filesystem", "shell"} <= {
        *offered(session, "main.worker", main.replace("  other: {}", "  o|"))
    }
    assert "kit" in offered(session, "other.worker", "---\nname: other\ntoolsets: [fs, k|]\n---\n")
    assert "kit" in offered(session, "other.worker", "---\nname: other\ntoolsets:\n  - k|\n---\n")
    assert "fast" in offered(session, "main.worker", main.replace("model: fast", "model: |"))
    manifest = FILES["llmdo.toml"]
    assert {"main", "other"} == {*offered(session, "llmdo.toml", manifest.replace('"main"', '"m|"'))}
    assert offered(session, "llmdo.toml", manifest.replace('"kit.look"', '"|"')) == ["kit.look"]
    assert "kit.look" in offered(session, "llmdo.toml", manifest + 'calls = [\n  "main",\n  "|\n')


def test_capabilities_scopes_and_decisions_are_offered(session: Session) -> None:
    manifest = FILES["llmdo.toml"]
    assert {"fs.write", "x.kit.read", "proc"} <= {
        *offered(session, "llmdo.toml", manifest.replace('"x"]', '"x", "|"]'))
    }
    assert {"fs.read:input/**", "fs.read:reports/**", "fs.read:input/deck.md"} <= {
        *offered(session, "llmdo.toml", manifest.replace('"x"]', '"fs.read:|"]'))
    }
    rules = manifest.replace("[paths]", '"fs.delete" = "|"\n\n[paths]')
    assert offered(session, "llmdo.toml", rules) == ["allowed", "needs_approval", "blocked"]
    assert "fs.read" in offered(session, "main.worker", "---\nname: main\nmay:\n  - fs.|\n---\n")
    assert "fs.list" in offered(session, "main.worker", "---\nname: main\napprovals:\n  f|\n---\n")
    assert offered(session, "llmdo.toml", manifest + "# may = ['|") == []


def test_nothing_is_offered_elsewhere(session: Session) -> None:
    assert offered(session, "tools/kit.py", "fs.|") == []
    assert offered(session, "main.worker", "|") == []
    assert offered(session, "main.worker", "no header\n|") == []


def test_a_worker_is_renamed_wherever_it_is_named(session: Session) -> None:
    project = session.reading().project
    edits = requests.renamed(project, at(session, "other.worker", "name: ot|her"), "helper")
    assert sorted((fix.at.path, fix.before, fix.text) for fix in edits) == [
        ("main.worker", "other", "helper"),
        ("other.worker", "other", "helper"),
    ]
    main = requests.renamed(project, at(session, "llmdo.toml", 'worker = "ma|in"'), "leader")
    assert ("llmdo.toml", '"main"', '"leader"') in [(fix.at.path, fix.before, fix.text) for fix in main]


@pytest.mark.parametrize("name", ["kit", "main", "filesystem", "no name", "null", "", "1st"])
def test_a_name_that_is_taken_or_is_none_is_refused(session: Session, name: str) -> None:
    with pytest.raises(LlmdoError):
        requests.renamed(session.reading().project, at(session, "other.worker", "name: ot|her"), name)


def test_nothing_is_renamed_while_a_file_that_may_name_it_cannot_be_read(session: Session) -> None:
    mention = at(session, "other.worker", "name: ot|her")
    session.edit("main.worker", "---\nname: [\n")
    with pytest.raises(LlmdoError, match="cannot be read"):
        requests.renamed(session.reading().project, mention, "helper")


def test_fixes_and_acceptances_are_offered_for_findings(session: Session) -> None:
    session.edit("main.worker", FILES["main.worker"].replace("  other:", "  othr:"))
    session.edit("llmdo.toml", FILES["llmdo.toml"].replace('["fs.read", "fs.list", "x"]', '["fs.read"]'))
    reading = session.reading()
    titles = [action.title for action in requests.fixes(reading.findings)]
    assert titles == ["Write `other` for `othr`"]
    accepted = [*requests.acceptances(reading.project, reading.findings)]
    (edit,) = accepted[0].edits
    assert edit.at.path == "llmdo.toml"
    assert edit.text.startswith('\n[[check.accept]]\ncode = "LDO501"\nentry = "go"\ncapability = "')
    session.edit("llmdo.toml", FILES["llmdo.toml"] + edit.text)
    assert "LDO103" in {finding.code for finding in session.reading().findings}  # until somebody says why


TEAM = """\
team: w
model: openai:gpt-5-mini
agents:
  main:
    prompt: Ask other.
    toolsets: { other: {} }
    may: ["fs.read"]
  other:
    prompt: Go.
    toolsets: { filesystem: { write: ["reports/**"] } }"""


def test_an_acceptance_is_written_into_a_team_in_one_file(tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text(TEAM, encoding="utf-8")
    session = Session(tmp_path)
    reading = session.reading()
    action, *_ = requests.acceptances(reading.project, reading.findings)
    assert action.title == "Accept LDO501 in team.yaml, with a reason"
    (edit,) = action.edits
    assert edit.at.path == "team.yaml"
    file.write_text(TEAM + edit.text.replace('reason: ""', 'reason: "it is cut off"'), encoding="utf-8")
    accepted = Session(tmp_path).reading()
    assert not [finding for finding in accepted.findings if finding.code.startswith("LDO1")]
    assert accepted.findings == tuple(each for each in reading.findings if each != action.finding)
    assert not [*requests.acceptances(accepted.project, reading.findings)]  # a person adds the next one


def test_a_ceiling_is_suggested_for_an_entry(session: Session) -> None:
    project = session.reading().project
    line, _ = place(session, "llmdo.toml", "[entries.g|o]")
    (action,) = requests.suggestions(project, "llmdo.toml", line)
    (edit,) = action.edits
    assert edit.text == '["fs.list:**", "fs.read:**", "fs.write:reports/**", "x.kit.read"]'
    assert edit.at.span
    assert edit.at.span.line == line + 2
    line, _ = place(session, "llmdo.toml", "[entries.t|ool]")
    (action,) = requests.suggestions(project, "llmdo.toml", line)
    assert action.edits[0].text == 'may = ["x.kit.read"]\n'


def test_a_lens_counts_what_is_reached_and_what_of_it_without_approval(session: Session) -> None:
    project = session.reading().project
    (lens,) = requests.lenses(project, "other.worker")
    assert lens.title == "reaches 1 capability, 0 without approval"
    assert lens.span.line == 2
    titles = [lens.title for lens in requests.lenses(project, "llmdo.toml")]
    assert len(titles) == 2
    assert titles[1] == "reaches 1 capability, 0 without approval"


def test_keys_say_what_they_mean(session: Session) -> None:
    lines = session.text("main.worker").lines
    assert "tool description" in str(completing.about_key("main.worker", lines, 3, len("description") + 1))
    lines = session.text("llmdo.toml").lines
    assert "name" in str(completing.about_key("llmdo.toml", lines, 4, len("name") + 1))
    assert completing.about_key("llmdo.toml", lines, 2, 1) is None


@pytest.mark.parametrize("path", ["llmdo.toml", "main.worker"])
def test_every_place_of_a_broken_file_has_an_answer(session: Session, path: str) -> None:
    text = FILES[path]
    for end in range(0, len(text), 7):
        cut = text[:end] + "\U0001f600" + "[\"'{"[end % 4]
        session.edit(path, cut)
        lines = session.text(path).lines
        line, column = len(lines), len(lines[-1]) + 1
        completing.completions(session.sound().project, path, lines, line, column)
        completing.about_key(path, lines, line, column)
        hovering.capability_at(lines[-1], column)


def test_an_entry_says_what_may_follow_a_strangers_words(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    manifest = tmp_path / "llmdo.toml"
    text = FILES["llmdo.toml"].replace('"fs.list", "x"]', '"fs.list", "fs.write:reports/**", "x"]')
    manifest.write_text(
        f'{text}\n[flows]\n"data.untrusted -> fs.write" = "blocked"\n'
        '[sources]\n"x.kit.read" = "data.untrusted"\n',
        encoding="utf-8",
    )
    project = Session(tmp_path).reading().project
    meaning = hovering.about(project, Mention("entry", "go", project.graph.entries["go"].at))
    assert meaning is not None
    assert "After a stranger's words:" in meaning
    assert "| `fs.write:reports/**` | blocked | main > other > kit | main > filesystem |" in meaning


def test_unsaved_texts_of_adopted_files_are_what_counts(tmp_path: Path) -> None:
    manifest = 'schema = 1\n\n[workspace]\nname = "w"\nfrom = ["claude"]\n'
    (tmp_path / "llmdo.toml").write_text(manifest, encoding="utf-8")
    path = ".claude/agents/a.md"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("---\nname: a\ndescription: x\ntools: Read\n---\nDo.\n", encoding="utf-8")
    session = Session(tmp_path, "utf-16")
    assert path not in session.reading().by_path
    session.edit(path, "---\r\nname: a\r\ndescription: x\r\ntools: Read, Bsah\r\n---\r\nDo.\r\n")
    (unknown,) = session.reading().by_path[path]
    assert (unknown.code, unknown.at.span and unknown.at.span.line) == ("LDO250", 4)
    session.edit(".claude/agents/new.md", "---\nname: new\ndescription: x\ntools: [Write]\n---\nDo.\n")
    assert "new" not in session.reading().project.graph.workers  # as with files of llmdo's own
    session.close(path)
    assert path not in session.reading().by_path
