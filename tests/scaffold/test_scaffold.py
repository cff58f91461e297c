"""`init`: what it writes, what it never touches, and that every template works as it is."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from llmdo import checks, scaffold
from llmdo.base import resources
from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime import RunOptions, RunOutcome
from llmdo.scaffold.template import workspace_name
from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.support.commands import llmdo
from tests.support.examples import EXAMPLES
from tests.support.running import run_sync

NOTICE = "rules, not a language model"


def files_of(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def run(root: Path, text: str | None = None) -> RunOutcome:
    read = project.read(root)
    prompts = {worker.header["name"]: worker.prompt for worker in read.workspace.workers}
    return run_sync(read.graph, root=root, prompts=prompts, entry="main", options=RunOptions(input=text))


@pytest.fixture
def started(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A workspace from the template that the test names, with its lock."""
    root = tmp_path / "sample"
    scaffold.init(root, request.param, force=False)
    lock.write(root, locking.derive_with_servers(project.read(root)).graph)
    return root


IN_PYTHON = ("chat", "delegation", "service")
SCRIPTED = (
    "minimal",
    "tools",
    *(pytest.param(name, marks=pytest.mark.needs_bwrap) for name in ("mcp", "shell")),
)
"""The templates with a model of each kind, but for `team`, which is tested as what `new` writes."""
EVERY_TEMPLATE = pytest.mark.parametrize("started", [*IN_PYTHON, *SCRIPTED], indirect=True)


def test_the_templates_are_these() -> None:
    names = ("chat", "delegation", "mcp", "minimal", "service", "shell", "team", "tools")
    assert scaffold.templates() == names


@pytest.mark.parametrize("name", ["chat", "service"])
def test_a_template_that_is_an_example_says_the_same(name: str, tmp_path: Path) -> None:
    for path in scaffold.init(tmp_path / name, name, force=False):
        example = EXAMPLES / name / path
        if example.suffix in (".toml", ".worker", ".py", ".md", ".txt"):
            lines = (tmp_path / name / path).read_text(encoding="utf-8").splitlines()
            expected = [line for line in lines if "schemas/llmdo-" not in line]
            assert example.read_text(encoding="utf-8").splitlines() == expected, path


@pytest.mark.few(2)
@EVERY_TEMPLATE
def test_each_template_checks_without_any_finding(started: Path) -> None:
    assert checks.check(project.read(started), locked=True) == ()


@pytest.mark.few(2)
@pytest.mark.parametrize("started", IN_PYTHON, indirect=True)
def test_each_template_in_python_runs_offline_and_says_that_it_is_no_language_model(
    started: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outcome = run(started)
    assert (outcome.status, outcome.error, outcome.denied) == ("completed", None, ())
    assert outcome.output
    assert NOTICE in outcome.output
    assert capfd.readouterr().err.count(NOTICE) == 1


@pytest.mark.few(2)
@pytest.mark.parametrize("started", SCRIPTED, indirect=True)
def test_each_template_with_a_script_passes_check_run_and_eval_offline(started: Path) -> None:
    checked = llmdo(started, "check", "--locked", "--strict")
    assert (checked.returncode, checked.stdout) == (0, "no findings\n")
    done = llmdo(started, "run", "--locked")
    assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
    assert done.stderr.count("a script, not a language model") == 1
    if (started / "evals").exists():
        judged = llmdo(started, "eval", "--fail-under", "1")
        assert judged.returncode == 0, judged.stdout + judged.stderr


@pytest.mark.parametrize("started", ["minimal"], indirect=True)
def test_the_minimal_template_sums_up_its_input(started: Path) -> None:
    assert run(started).output == "llmdo checks a team of agents before it runs."
    assert run(started, "Your text.").output.endswith("none is about this text: Your text.")


@pytest.mark.parametrize("started", ["tools"], indirect=True)
def test_the_tools_template_calculates_with_its_tools(started: Path) -> None:
    assert run(started).output == "The total is 50.5."
    assert run(started, "The factorial of 20?").output == "The factorial of 20 is 2432902008176640000."
    assert run(started, "How are you?").output.endswith("none is about this question: How are you?")


@pytest.mark.needs_bwrap
@pytest.mark.parametrize("started", ["shell"], indirect=True)
def test_the_shell_template_reads_the_repository_and_runs_nothing_else(started: Path) -> None:
    assert "welcome.md" in str(run(started).output)
    refused = run(started, "Run the tests.")
    assert "`shell` is blocked: `proc.exec.unlisted`" in str(refused.output)
    assert [call.tool for call in refused.denied] == ["shell"]
    names = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for words in (("init", "--quiet"), ("add", "--all"), (*names, "commit", "--quiet", "--message", "Hello")):
        subprocess.run(["git", *words], cwd=started, check=True)
    assert "Hello" in str(run(started, "What changed?").output)


@pytest.mark.needs_bwrap
@pytest.mark.parametrize("started", ["mcp"], indirect=True)
def test_the_mcp_template_answers_from_its_notes_by_tools_that_read(started: Path) -> None:
    assert "We decided on cedar" in str(run(started).output)
    assert run(started, "What about a boat?").output == "No note says anything about that."
    assert set(project.read(started).graph.toolsets["notes"].tools) == {"search_notes", "read_note"}
    server = started / "server/notes.py"
    server.write_text(server.read_text(encoding="utf-8").replace("Deletes a note.", "Deletes it."))
    changed = llmdo(started, "run", "--locked")
    assert (changed.returncode, "its program changed" in changed.stderr) == (1, True)


def test_init_names_the_lock_first_where_it_wrote_none(tmp_path: Path) -> None:
    for template, first in (("minimal", ""), ("mcp", "llmdo lock, "), ("tools", "llmdo lock, ")):
        done = llmdo(tmp_path, "init", template, "--template", template)
        assert f"template `{template}`; next: {first}llmdo check, llmdo run" in done.stderr


@pytest.mark.parametrize("started", ["delegation"], indirect=True)
def test_the_delegation_template_writes_one_reviewed_report_per_note(started: Path) -> None:
    outcome = run(started)
    notes = {path.name: " ".join(path.read_text().split()) for path in (started / "input").iterdir()}
    reports = {path.name: path.read_text() for path in (started / "reports").iterdir()}
    assert reports.keys() == notes.keys()
    for name, report in reports.items():
        summary, review, notice, _ = report.replace("\n\n", "\n").split("\n")
        assert summary in notes[name]
        assert (review, notice) == ("Review: approved", f"({NOTICE})")
    assert set(outcome.usage_by_worker) == {"main", "writer", "reviewer"}


@pytest.mark.parametrize("started", ["delegation"], indirect=True)
def test_the_delegation_template_stops_where_its_rules_do_not_allow_the_report(started: Path) -> None:
    scaffold.remove_rule(started, "fs.write:reports/**")
    outcome = run(started)
    assert "Stopped" in str(outcome.output)
    assert {call.tool for call in outcome.denied} == {"write_file"}
    assert not (started / "reports").exists()


@pytest.mark.few(2)
@EVERY_TEMPLATE
def test_the_editor_lines_name_files_that_init_wrote(started: Path) -> None:
    first = (started / "llmdo.toml").read_text().splitlines()[0]
    assert first == "#:schema ./schemas/llmdo-manifest.json"
    for worker in (started / "workers").iterdir():
        second = worker.read_text().splitlines()[1]
        assert second == "# yaml-language-server: $schema=../schemas/llmdo-worker.json"
    for name in ("manifest", "worker"):
        assert (started / f"schemas/llmdo-{name}.json").read_text() == resources.read(
            "schemas", f"{name}.json"
        )


@pytest.mark.few(2)
@EVERY_TEMPLATE
def test_no_placeholder_is_left(started: Path) -> None:
    assert not [path for path, content in files_of(started).items() if b"{{" in content]
    assert tomllib.loads((started / "llmdo.toml").read_text())["workspace"]["name"] == "sample"


def test_init_tells_what_it_wrote_and_writes_nothing_twice(tmp_path: Path) -> None:
    written = scaffold.init(tmp_path, "minimal", force=False)
    assert list(written) == sorted(files_of(tmp_path))
    assert scaffold.init(tmp_path, "minimal", force=False) == ()
    assert (tmp_path / ".gitattributes").read_text() == "llmdo.lock text eol=lf\n"
    assert (tmp_path / ".gitignore").read_text() == ".llmdo/\n"


def test_init_makes_the_folder_with_those_above(tmp_path: Path) -> None:
    scaffold.init(tmp_path / "a/b", "minimal", force=False)
    assert (tmp_path / "a/b/llmdo.toml").is_file()


def test_an_existing_file_refuses_all_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers/main.worker").write_text("mine")
    (tmp_path / "README.md").write_text("mine")
    before = files_of(tmp_path)
    with pytest.raises(LlmdoError, match=r"`README\.md` exists .*; `workers/main\.worker` exists") as caught:
        scaffold.init(tmp_path, "minimal", force=False)
    assert caught.value.exit_code == 1
    assert files_of(tmp_path) == before


def test_force_replaces_files_and_leaves_the_others(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / "notes.md").write_text("mine")
    assert "README.md" in scaffold.init(tmp_path, "minimal", force=True)
    assert (tmp_path / "README.md").read_text().startswith("# ")
    assert (tmp_path / "notes.md").read_text() == "mine"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("path", ["llmdo.toml", ".gitignore", "workers", "schemas"])
def test_nothing_is_written_through_a_link(tmp_path: Path, path: str, force: bool) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    root = tmp_path / "root"
    root.mkdir()
    (root / path).symlink_to(outside / "file" if "." in path else outside)
    with pytest.raises(LlmdoError, match=f"`{path}`.* is a link, which llmdo does not follow") as caught:
        scaffold.init(root, "minimal", force=force)
    assert caught.value.exit_code == 1
    assert list(root.iterdir()) == [root / path]
    assert files_of(outside) == {"file": b"mine"}


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_in_the_way_is_named(tmp_path: Path, force: bool) -> None:
    (tmp_path / "models.yaml").mkdir()
    with pytest.raises(LlmdoError, match=r"`models\.yaml` is a folder"):
        scaffold.init(tmp_path, "minimal", force=force)


def test_a_file_where_the_workspace_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(LlmdoError, match="is not a folder"):
        scaffold.init(tmp_path / "file", "minimal", force=True)
    with pytest.raises(LlmdoError, match="not a directory"):
        scaffold.init(tmp_path / "file/below", "minimal", force=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"*.pyc\n", b"*.pyc\n.llmdo/\n"),
        (b"*.pyc", b"*.pyc\n.llmdo/\n"),
        (b"*.pyc\r\n", b"*.pyc\r\n.llmdo/\r\n"),
        (b"a\r\nb", b"a\r\nb\r\n.llmdo/\r\n"),
        (b"\xff\n", b"\xff\n.llmdo/\n"),
        (b"", b".llmdo/\n"),
        (b" .llmdo/\r\nx", b" .llmdo/\r\nx"),
    ],
)
def test_an_existing_gitignore_gets_the_line_that_is_missing(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    (tmp_path / ".gitignore").write_bytes(before)
    scaffold.init(tmp_path, "minimal", force=False)
    assert (tmp_path / ".gitignore").read_bytes() == after


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("x\n")
    (tmp_path / ".gitignore").chmod(0o640)
    scaffold.init(tmp_path, "minimal", force=False)
    assert (tmp_path / ".gitignore").stat().st_mode & 0o777 == 0o640


def test_an_unknown_template_gets_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(LlmdoError, match="there is no template `minmal`") as caught:
        scaffold.init(tmp_path, "minmal", force=False)
    assert caught.value.hint == "did you mean `minimal`?"
    with pytest.raises(LlmdoError) as caught:
        scaffold.init(tmp_path, "../minimal", force=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("pitchdeck", "pitchdeck"),
        ("My Pitch.Deck!", "My-Pitch-Deck"),
        ("2026-über_uns", "uber_uns"),
        ("123", "workspace"),
        ("日本", "workspace"),
        ("a" * 80, "a" * 64),
    ],
)
def test_the_name_of_a_workspace_comes_from_its_folder(tmp_path: Path, folder: str, name: str) -> None:
    assert workspace_name(tmp_path / folder) == name
    scaffold.init(tmp_path / folder, "minimal", force=False)
    assert not [
        finding for finding in checks.check(project.read(tmp_path / folder)) if finding.severity == "error"
    ]
