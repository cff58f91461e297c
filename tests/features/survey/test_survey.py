"""`llmdo scan --many`: each project of a list is a row, whatever is in it, and everybody gets the same pages."""

from __future__ import annotations

import json
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.survey import listed as lists
from llmdo.features.survey.process import surveyed
from tests.features.survey.conftest import AGENT, MARKUP, NO_COMMIT, Listed, clone, listed
from tests.support import commands

ROWS = ["acme/asks", "acme/empty", "acme/folder", "acme/nowhere", "acme/plain", "acme/plain", "evil/huge", "evil/markup", "evil/yaml"]  # fmt: skip


@pytest.fixture(scope="session")
def report(projects: Listed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of pages about the list."""
    to = tmp_path_factory.mktemp("report") / "to"
    done = commands.llmdo(projects.folder, "scan", "--many", "list.txt", "--to", str(to))
    assert done.returncode == 2, done.stderr
    assert f"wrote 7 pages into {to}" in done.stderr
    return to


@pytest.fixture(scope="session")
def data(projects: Listed) -> Any:
    """The same as JSON."""
    done = commands.llmdo(projects.folder, "scan", "--many", "list.txt", "--format", "json")
    assert done.returncode == 2
    return json.loads(done.stdout)


def test_every_project_is_a_row_and_the_run_goes_on(data: Any) -> None:
    assert data["schema"] == "llmdo.survey/1"
    assert [each["repository"] for each in data["projects"]] == ROWS
    problems = {
        f"{each['repository']}@{each['commit'][:4]}": each["problem"]
        for each in data["projects"]
        if each["problem"]
    }
    assert problems == {
        "acme/folder@0123": "there is no clone at `acme/folder`",
        "acme/nowhere@0123": "there is no clone at `no/such folder`",
        "acme/plain@0123": f"there is no revision `{NO_COMMIT}` in this repository",
    }
    assert all(each["hint"] for each in data["projects"] if each["problem"])
    empty = next(each for each in data["projects"] if each["repository"] == "acme/empty")
    assert empty["scan"]["headline"] == ["no agent could be read"]


def test_a_scan_is_that_of_a_checkout(projects: Listed, data: Any) -> None:
    for each in data["projects"]:
        if each["scan"] and each["repository"] != "acme/empty":
            alone = commands.llmdo(projects.folder / each["repository"], "scan", "--format", "json")
            assert each["scan"] == json.loads(alone.stdout), each["repository"]


def test_the_files_on_disk_do_not_count(tmp_path: Path) -> None:
    commit = clone(tmp_path / "a/b", {".claude/agents/a.md": AGENT.format(name="a")})
    (tmp_path / "a/b/.claude/agents/a.md").write_text(AGENT.format(name="other"))
    (tmp_path / "list").write_text(f"a/b@{commit}\n")
    done = commands.llmdo(tmp_path, "scan", "--many", "list", "--format", "json")
    assert done.returncode == 0
    assert '"agent": "a"' in done.stdout
    assert "other" not in done.stdout


def test_two_reports_are_the_same_bytes_wherever_the_clones_lie(
    projects: Listed, report: Path, tmp_path: Path
) -> None:
    elsewhere = listed(tmp_path / "elsewhere")
    assert elsewhere.commits == projects.commits
    commands.llmdo(elsewhere.folder, "scan", "--many", "list.txt", "--to", "again")
    files = {path.relative_to(report): path.read_bytes() for path in report.rglob("*") if path.is_file()}
    again = elsewhere.folder / "again"
    assert {
        path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()
    } == files
    assert not [name for name, content in files.items() if str(projects.folder).encode() in content]


class Elements(HTMLParser):
    """The elements and addresses of a document, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


ELEMENTS = re.compile(
    "html|meta|link|title|style|body|main|h1|h2|p|a|code|strong|em|ul|ol|li|details|summary|span|div|table|thead|tbody"
    "|tr|th|td|dl|dt|dd|pre|script|button"
)
ATTRIBUTES = re.compile(
    "lang|charset|http-equiv|content|name|rel|href|class|id|role|tabindex|aria-label|aria-sort|scope|type|colspan"
    "|data-key|start"
)


def test_text_of_projects_is_text(report: Path) -> None:
    for path in report.rglob("*.html"):
        document = Elements(path.read_text(encoding="utf-8"))
        assert all(map(ELEMENTS.fullmatch, document.names)), path.name
        assert all(map(ATTRIBUTES.fullmatch, document.attributes)), path.name
        assert "\u202e" not in document.text
        for address in document.addresses:
            assert re.fullmatch(
                r"https://github\.com/[\w./%<>=() #@-]+|\.\./index\.html|projects/[\w.-]+\.html|list\.txt|data:,",
                address,
            ), address
    hostile = next(report.glob("projects/evil.markup.*"))
    text = Elements(hostile.read_text(encoding="utf-8")).text
    assert MARKUP in text
    assert r"</code><script>x</script>\u{202e}" in text
    assert "<script" not in hostile.read_text(encoding="utf-8")


def test_a_page_says_what_an_owner_wants_to_know(projects: Listed, report: Path) -> None:
    page = next(report.glob("projects/acme.plain.*"))
    text = Elements(page.read_text(encoding="utf-8")).text
    assert "can send private data on the word of a page that it reads" in text
    assert "It is by design where whoever can write those words is trusted" in text
    assert "To change it: " in text
    commit = projects.commits["acme/plain"]
    assert (
        f'href="https://github.com/acme/plain/blob/{commit}/.claude/agents/triage.md#L4"' in page.read_text()
    )
    assert f"git checkout {commit}\nllmdo scan" in text
    index = Elements((report / "index.html").read_text(encoding="utf-8")).text
    assert "6 repositories at fixed commits" in index
    assert "3 rows could not be read and say why." in index
    assert "There is no clone at no/such folder." in index


def test_the_list_of_a_report_repeats_it(projects: Listed, report: Path) -> None:
    assert lists.read(str(report / "list.txt"))[4].commit == NO_COMMIT
    assert len((report / "list.txt").read_text().splitlines()) == len(ROWS)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("a/b@main b", "`a/b@main b` is not `owner/name@COMMIT CLONE`"),
        ("a/b", "is not `owner/name@COMMIT CLONE`"),
        (f"../b@{NO_COMMIT}", "is not `owner/name@COMMIT CLONE`"),
        (f"a/<b>@{NO_COMMIT}", "is not `owner/name@COMMIT CLONE`"),
        (f"a/b@{NO_COMMIT} x\nA/B@{NO_COMMIT} y", "`A/B` at `012345678901` is listed twice"),
        ("# nothing\n", "names no project"),
    ],
)
def test_a_list_of_another_form_is_refused_with_its_line(lines: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(lines)
    with pytest.raises(LlmdoError, match=re.escape(message)) as error:
        lists.read(str(tmp_path / "list"))
    assert error.value.at is None or error.value.at.path == str(tmp_path / "list")


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import os; os.kill(os.getpid(), 9)", "its scan failed: its process ended with -9"),
        ("raise RecursionError('too deep')", "its scan failed: RecursionError: too deep"),
        ("import time; time.sleep(60)", "its scan did not end within 1 seconds"),
    ],
)
def test_whatever_ends_a_process_is_a_sentence(code: str, problem: str) -> None:
    project = lists.ListedProject(repository="a/b", commit=NO_COMMIT, clone="b")
    result = surveyed(project, (), [sys.executable, "-c", code], seconds=1)
    assert (result.problem, result.listed) == (problem, project)
    assert "please report it" in (result.hint or "")


def test_a_folder_with_something_in_it_is_left_alone(projects: Listed, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("text")
    done = commands.llmdo(projects.folder, "scan", "--many", "list.txt", "--to", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--many", "list.txt", "folder"], "`folder` conflicts with `--many`"),
        (["--many", "list.txt", "--format", "markdown"], "`--many` prints text or JSON"),
        (["--many", "no-list.txt"], "cannot read the list `no-list.txt`: no such file or directory"),
        (["--to", "x"], "`--to` needs `--many`"),
        (["--many", "list.txt", "--fail-on", "bad"], "`bad` is neither a severity nor a code"),
    ],
)
def test_options_that_do_not_go_together(words: list[str], message: str, projects: Listed) -> None:
    done = commands.llmdo(projects.folder, "scan", *words)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(("fail_on", "code"), [("LDO552", 1), ("error", 0)])
def test_it_fails_on_what_a_single_scan_fails_on(
    fail_on: str, code: int, projects: Listed, tmp_path: Path
) -> None:
    shutil.copytree(projects.folder / "acme/plain", tmp_path / "acme/plain")
    (tmp_path / "list").write_text(f"acme/plain@{projects.commits['acme/plain']}\n")
    assert commands.llmdo(tmp_path, "scan", "--many", "list", "--fail-on", fail_on).returncode == code
