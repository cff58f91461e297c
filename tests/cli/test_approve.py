"""A run whose questions are answered later, by somebody else, in another process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from llmdo.journal import Runs
from llmdo.journal.questions import MOST_HOURS, Answers, add_answer, waiting
from tests.support import forking
from tests.support.ptys import Person, wait_for
from tests.support.waiting import until

from .conftest import Llmdo

DELEGATING = """\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pathlib import Path


def answer(messages, info):
    with Path(__file__).with_name("requests.log").open("a") as log:
        log.write("x")
    returns = [f"{p.outcome}: {p.content}" for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
    text = messages[0].parts[-1].content
    if returns:
        return ModelResponse(parts=[TextPart(" | ".join(returns))])
    if any(tool.name == "writer" for tool in info.function_tools):
        return ModelResponse(parts=[ToolCallPart("writer", {"input": f"{n}"}) for n in range(3)])
    return ModelResponse(parts=[ToolCallPart("write_file", {"path": f"out/{text}.txt", "content": text})])


rules = FunctionModel(answer)
"""


@pytest.fixture
def asking(workspace: Path) -> Path:
    """A workspace whose `main` has three writers at a time write a file each, which nothing allows."""
    (workspace / "models.py").write_text(DELEGATING)
    (workspace / "main.worker").write_text("---\nname: main\ntoolsets: [writer]\n---\nGo.\n")
    (workspace / "writer.worker").write_text(
        '---\nname: writer\ntoolsets:\n  filesystem: { write: ["out/**"] }\n---\nWrite.\n'
    )
    return workspace


def requests(root: Path) -> int:
    return len((root / "requests.log").read_text())


def files(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("out/*.txt"))


@pytest.mark.long
@pytest.mark.parametrize("how", [(), ("-v",), ("-vv",)])
def test_nothing_has_failed_where_it_waits(llmdo: Llmdo, asking: Path, how: tuple[str, ...]) -> None:
    stopped = llmdo("run", "main", "go", "--approvals", "later", *how, cwd=asking)
    assert stopped.code == 3
    assert "waiting: main/writer#" in stopped.err
    assert "interrupted" not in stopped.out + stopped.err
    assert "failed" not in stopped.out + stopped.err
    assert "done" not in stopped.err


def test_a_run_stops_at_all_its_questions_and_goes_on_with_the_answers(llmdo: Llmdo, asking: Path) -> None:
    stopped = llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    assert (stopped.code, stopped.out) == (3, "")
    assert stopped.err.count("waiting: main/writer#") == 3
    assert "3 questions wait for an answer" in stopped.err
    assert requests(asking) == 4
    assert llmdo("runs", "list", "--status", "waiting", cwd=asking).out.count("3 questions waiting") == 1
    asked = llmdo("approve", "last", cwd=asking)
    assert asked.code == 3
    assert asked.out.splitlines()[0].startswith('main/writer#1/write_file#1: write_file {"path": "out/0.txt"')
    path = "main/writer#{}/write_file#1"
    allowed = llmdo("approve", "last", "--yes", path.format(1), "--by", "ada", cwd=asking)
    assert allowed.code == 3
    again = llmdo("resume", "last", cwd=asking)
    assert again.code == 3
    assert (requests(asking), files(asking)) == (5, ["0.txt"])
    rest = llmdo(
        "approve", "last", "--yes", path.format(2), "--no", path.format(3), "--reason", "not now", cwd=asking
    )
    assert rest.code == 3 or "nothing waits any more" in rest.err
    done = llmdo("resume", "last", cwd=asking)
    assert done.code == 0, done.err
    assert "not now" in done.out
    assert (requests(asking), files(asking)) == (8, ["0.txt", "1.txt"])
    assert llmdo("replay", "last", cwd=asking).out == done.out
    tree = llmdo("runs", "show", "last", cwd=asking).out
    assert "allowed by ada" in tree


def test_a_bot_answers_in_json_and_has_to_say_what_it_answers(llmdo: Llmdo, asking: Path) -> None:
    stopped = llmdo("run", "main", "go", "--approvals", "later", "--format", "json", cwd=asking)
    assert json.loads(stopped.out)["status"] == "waiting"
    asked = json.loads(llmdo("approve", "last", "--format", "json", cwd=asking).out)
    assert asked["questions"] == json.loads(stopped.out)["questions"]
    answers = [
        {"path": question["path"], "digest": question["digest"], "allowed": True, "by": "bot"}
        for question in asked["questions"]
    ]
    (asking / "answers.json").write_text(json.dumps([{**answers[0], "digest": "sha256:0"}]))
    refused = llmdo("approve", "last", "--answers", "answers.json", cwd=asking)
    assert refused.code == 2
    assert "for another question than the one that waits" in refused.err
    (asking / "answers.json").write_text(json.dumps({"answers": answers}))
    assert llmdo("approve", "last", "--answers", "answers.json", cwd=asking).code == 0
    assert llmdo("resume", "last", cwd=asking).code == 0
    assert files(asking) == ["0.txt", "1.txt", "2.txt"]


def test_an_answer_that_has_expired_does_not_count(llmdo: Llmdo, asking: Path) -> None:
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    waiting = llmdo("approve", "last", "--yes", "main/writer#1/write_file#1", "--hours", "0", cwd=asking)
    assert waiting.code == 3
    assert llmdo("resume", "last", cwd=asking).code == 3
    assert files(asking) == []


def test_what_only_a_terminal_may_answer_nothing_else_does(llmdo: Llmdo, asking: Path) -> None:
    text = (asking / "models.py").read_text()
    (asking / "models.py").write_text(text.replace('f"out/{text}.txt"', '"llmdo.toml"'))
    (asking / "writer.worker").write_text(
        '---\nname: writer\ntoolsets:\n  filesystem: { write: ["**"] }\n---\nWrite.\n'
    )
    stopped = llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    assert stopped.code == 3
    assert "at a terminal only" in stopped.err
    refused = llmdo("approve", "last", "--yes", "main/writer#1/write_file#1", cwd=asking)
    assert refused.code == 2
    assert "only a person at a terminal may say yes" in refused.err


def test_a_forged_answer_from_elsewhere_does_not_open_a_terminal_only_call(
    llmdo: Llmdo, asking: Path
) -> None:
    text = (asking / "models.py").read_text()
    (asking / "models.py").write_text(text.replace('f"out/{text}.txt"', '"llmdo.toml"'))
    (asking / "writer.worker").write_text(
        '---\nname: writer\ntoolsets:\n  filesystem: { write: ["**"] }\n---\nWrite.\n'
    )
    before = (asking / "llmdo.toml").read_text()
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    llmdo("resume", "last", "--approve-all", cwd=asking)
    assert (asking / "llmdo.toml").read_text() == before


def test_later_needs_a_journal(llmdo: Llmdo, asking: Path) -> None:
    refused = llmdo("run", "main", "go", "--approvals", "later", "--no-journal", cwd=asking)
    assert refused.code == 2
    assert "needs a journal" in refused.err
    assert Runs(asking).names() == []


def test_no_answer_is_taken_for_what_does_not_wait(llmdo: Llmdo, asking: Path) -> None:
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    refused = llmdo("approve", "last", "--yes", "main/writer#9/write_file#1", cwd=asking)
    assert refused.code == 2
    assert "no question waits at `main/writer#9/write_file#1`" in refused.err


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "hours", ["NaN", "Infinity", "1e999", "9" * 400, str(MOST_HOURS + 1), "-1", "true", '"8"']
)
def test_hours_are_a_number_that_ends(llmdo: Llmdo, asking: Path, hours: str) -> None:
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    asked = json.loads(llmdo("approve", "last", "--format", "json", cwd=asking).out)["questions"][0]
    answer = json.dumps({"path": asked["path"], "digest": asked["digest"], "allowed": True, "hours": 0})
    (asking / "answers.json").write_text(f"[{answer.replace('0}', hours + '}')}]")
    refused = llmdo("approve", "last", "--answers", "answers.json", cwd=asking)
    assert (refused.code, refused.out) == (2, "")
    assert "`hours` of an answer is a number from 0 to 1,000,000" in refused.err
    with Runs(asking).read(Runs(asking).find("last")) as journal:
        assert journal.count(asked["path"], "answered") == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("hours", ["nan", "inf", "1e999"])
def test_hours_of_the_command_line_are_a_number_that_ends(llmdo: Llmdo, asking: Path, hours: str) -> None:
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    refused = llmdo("approve", "last", "--yes", "main/writer#1/write_file#1", "--hours", hours, cwd=asking)
    assert (refused.code, refused.out) == (2, "")
    assert "`hours` of an answer is a number" in refused.err


def test_a_question_takes_one_answer(llmdo: Llmdo, asking: Path) -> None:
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    path = "main/writer#1/write_file#1"
    (asking / "answers.json").write_text(llmdo("approve", "last", "--format", "json", cwd=asking).out)
    questions = json.loads((asking / "answers.json").read_text())["questions"]
    (asking / "answers.json").write_text(
        json.dumps([{**question, "allowed": False} for question in questions])
    )
    for words in (["--yes", path, "--no", path], ["--yes", path, "--answers", "answers.json"]):
        refused = llmdo("approve", "last", *words, cwd=asking)
        assert refused.code == 2
        assert f"`{path}` is answered twice" in refused.err
    assert llmdo("approve", "last", cwd=asking).out.count("write_file") == 2 * 3, "nothing was kept of them"


HOLDING = """\
import asyncio
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

@tools.tool_plain(metadata={"capabilities": []})
async def hold() -> str:
    while not Path(__file__).with_name("go").exists():
        await asyncio.sleep(0.02)
    return "held"
"""


@pytest.mark.long
def test_the_questions_of_a_run_that_goes_on_are_shown_and_not_answered(llmdo: Llmdo, asking: Path) -> None:
    text = (asking / "models.py").read_text()
    (asking / "models.py").write_text(
        text.replace("for n in range(3)])", 'for n in range(1)] + [ToolCallPart("hold", {})])')
    )
    manifest = (asking / "llmdo.toml").read_text()
    (asking / "llmdo.toml").write_text(f'{manifest}\n[toolsets.tools]\npython = "tools.py:tools"\n')
    (asking / "tools.py").write_text(HOLDING)
    (asking / "main.worker").write_text("---\nname: main\ntoolsets: [writer, tools]\n---\nGo.\n")
    path = "main/writer#1/write_file#1"
    with forking.Popen(
        [sys.executable, "-m", "llmdo", "run", "main", "go", "--approvals", "later"],
        cwd=asking,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as running:
        try:
            until(lambda: running.poll() is not None or llmdo("approve", "last", cwd=asking).out)
            shown = llmdo("approve", "last", cwd=asking)
            assert running.poll() is None, shown.err
            assert (shown.code, shown.out.count("\n")) == (3, 1)
            assert shown.out.startswith(f"{path}: write_file ")
            assert "goes on: its questions can be answered once it has stopped" in shown.err
            refused = llmdo("approve", "last", "--yes", path, cwd=asking)
            assert (refused.code, refused.out) == (2, "")
            assert "goes on, and can be answered once it has stopped" in refused.err
            assert json.loads(llmdo("approve", "last", "--format", "json", cwd=asking).out)["questions"]
        finally:
            (asking / "go").touch()
        assert running.wait() == 3
    assert llmdo("approve", "last", "--yes", path, cwd=asking).code == 0
    assert llmdo("resume", "last", cwd=asking).code == 0
    assert files(asking) == ["0.txt"]


def test_a_terminal_that_goes_away_under_a_question_has_not_answered_it(llmdo: Llmdo, asking: Path) -> None:
    """As under `nohup`: nobody hears the terminal hang up. Two more questions wait for their turn."""

    def leave(person: Person) -> None:
        os.dup2(os.open(os.devnull, os.O_RDWR), person.master)

    words = [
        "-c",
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from llmdo.__main__ import main; main()",
    ]
    with Person(leave) as person:
        running = person.start([sys.executable, *words, "run", "main", "go"], asking, dict(os.environ))
        wait_for(running)
    assert json.loads(llmdo("runs", "--format", "json", cwd=asking).out)["runs"][0]["status"] == "interrupted"
    shown = llmdo("runs", "show", "last", cwd=asking).out
    assert "the terminal was closed while a question waited there" in shown
    audit = json.loads(llmdo("audit", "last", "--format", "json", cwd=asking).out)["records"]
    assert "write_file" not in {record.get("tool") for record in audit}
    asked = llmdo("resume", "last", cwd=asking)
    assert (asked.code, asked.err.count("waiting: main/writer#")) == (3, 3)
    assert requests(asking) == 4


def without_waits(listed: str) -> str:
    """A list without how long each question waits."""
    return re.sub(r"^ +[0-9]+ (s|min)  |waits for [0-9]+ (s|min)", "", listed, flags=re.MULTILINE)


def test_all_that_waits_is_in_one_list(llmdo: Llmdo, asking: Path) -> None:
    assert (llmdo("inbox", cwd=asking).code, llmdo("approve", cwd=asking).code) == (0, 0)
    for text in ("first mail", "second mail"):
        llmdo("run", "main", text, "--approvals", "later", cwd=asking)
    first, second = Runs(asking).names()
    listed = llmdo("inbox", cwd=asking)
    assert listed.code == 3
    assert listed.out.startswith("write_file of filesystem, asked by `writer`\n")
    assert listed.out.count("asked by") == 1  # six like calls
    assert listed.out.index("first mail") < listed.out.index("second mail")
    assert f"run {first}, main/writer#1/write_file#1\n" in listed.out
    assert "path: out/0.txt, content: 0\n" in listed.out
    again = llmdo("approve", cwd=asking)
    assert (again.code, without_waits(again.out)) == (3, without_waits(listed.out))
    waiting = json.loads(llmdo("inbox", "--format", "json", cwd=asking).out)["waiting"]
    assert [each["run"] for each in waiting] == [first] * 3 + [second] * 3
    assert {each["title"] for each in waiting} == {"first mail", "second mail"}
    llmdo("approve", "last", "--no", "main/writer#1/write_file#1", cwd=asking)
    assert llmdo("inbox", cwd=asking).out.count("second mail") == 2


def at_terminal(asking: Path, *typed: str | Callable[[Person], None], columns: int = 120) -> str:
    """What a person sees who answers all that waits."""
    with Person(*typed, columns=columns, prompt="]") as person:
        wait_for(person.start([sys.executable, "-m", "llmdo", "approve"], asking, dict(os.environ)))
        return person.text()


def test_the_title_of_the_terminal_says_how_many_wait(llmdo: Llmdo, asking: Path) -> None:
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    titles: list[str] = []

    def look(person: Person) -> None:
        titles.append(person.screen.title)
        person.type("later\n")

    with Person(look, columns=120, prompt="]") as person:
        environ = {**os.environ, "TERM": "xterm"}
        wait_for(person.start([sys.executable, "-m", "llmdo", "approve"], asking, environ))
        assert "\x1b" not in person.text()
    assert titles == ["llmdo: 3 waiting"]
    assert person.screen.title == ""


def answered(root: Path, run: str) -> list[tuple[str, bool, str, bool]]:
    """The kept answers of a run: path, whether allowed, the digest of the call, whether given at a terminal."""
    with Runs(root).read(run) as journal:
        given = [*journal.entries("answered")]
        return [(each.path, each.data["allowed"], each.digest, each.data["at_terminal"]) for each in given]


def test_like_calls_of_all_runs_are_ticked_side_by_side_and_answered_at_once(
    llmdo: Llmdo, asking: Path
) -> None:
    for text in ("first mail", "second mail"):
        llmdo("run", "main", text, "--approvals", "later", cwd=asking)
    text = at_terminal(asking, "1 4-6\n", "\n", "1\n", "no not now\n", "\n")
    assert "     6 | like calls\n" in text
    assert "tool   | write_file of filesystem, asked by writer\n" in text
    assert "raises | fs.write:<path>\n" in text
    assert '     2 | "out/1.txt"  "1"      first mail\n' in text
    assert 'x    4 | "out/0.txt"  "0"      second mail\n' in text
    assert "Enter allows the 4 calls that are ticked [allow 4]" in text
    first, second = Runs(asking).names()
    assert f"run {second} is" not in text
    assert f"nothing waits any more: `llmdo resume {second}`" in text
    paths = [f"main/writer#{number}/write_file#1" for number in (1, 2, 3)]
    assert [(path, allowed) for path, allowed, *_ in answered(asking, first)] == [
        (paths[0], True),
        (paths[1], False),
    ]
    kept = answered(asking, second)
    assert [path for path, allowed, _, is_there in kept if allowed and is_there] == paths
    assert len({digest for *_, digest, _ in kept}) == 3, "each is for its own call"
    listed = json.loads(llmdo("inbox", "--format", "json", cwd=asking).out)
    assert [(each["run"], each["path"]) for each in listed["waiting"]] == [(first, paths[2])]
    llmdo("resume", second, cwd=asking)
    assert files(asking) == ["0.txt", "1.txt", "2.txt"]


def test_nothing_is_allowed_that_was_not_shown_whole(llmdo: Llmdo, asking: Path) -> None:
    models = (asking / "models.py").read_text()
    long = "\n".join(f"line {number}" for number in range(40))
    (asking / "models.py").write_text(models.replace('"content": text', f'"content": text + {long!r}'))
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    text = at_terminal(asking, "2\n", "\n", "\n", "later\n")
    assert "line 20" in text, "Enter shows the call that it said it shows"
    assert "not shown whole: Enter shows 2 [show]" in text
    assert text.index("line 20") < text.index("[allow 1]")
    (run,) = Runs(asking).names()
    assert [path for path, *_ in answered(asking, run)] == ["main/writer#2/write_file#1"]


def test_an_answer_to_a_call_that_changed_is_not_kept_and_the_others_are(llmdo: Llmdo, asking: Path) -> None:
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    (run,) = Runs(asking).names()

    def tick(person: Person) -> None:
        with Runs(asking).open(run) as journal:
            add_answer(
                journal,
                waiting(journal)["main/writer#2/write_file#1"],
                Answers(by="ada").as_kept({"allowed": False}),
                at_terminal=False,
            )
        person.type("all\n")

    text = at_terminal(asking, tick, "\n")
    assert "not kept: main/writer#2/write_file#1: ada answered it" in text
    given = {path: (allowed, is_there) for path, allowed, _, is_there in answered(asking, run)}
    assert given == {
        "main/writer#1/write_file#1": (True, True),
        "main/writer#2/write_file#1": (False, False),
        "main/writer#3/write_file#1": (True, True),
    }


@pytest.mark.long
def test_what_only_a_terminal_may_allow_is_asked_alone(llmdo: Llmdo, asking: Path) -> None:
    text = (asking / "models.py").read_text()
    (asking / "models.py").write_text(text.replace('f"out/{text}.txt"', '"llmdo.toml"'))
    (asking / "writer.worker").write_text(
        '---\nname: writer\ntoolsets:\n  filesystem: { write: ["**"] }\n---\nWrite.\n'
    )
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    text = at_terminal(asking, "no\n", "once\n", "stop\n")
    assert text.count("allow? [no]") == 3
    assert "like calls" not in text
    (run,) = Runs(asking).names()
    assert [allowed for _, allowed, *_ in answered(asking, run)] == [False, True]


def test_what_is_no_answer_is_explained_and_the_end_of_input_leaves_all_waiting(
    llmdo: Llmdo, asking: Path
) -> None:
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    text = at_terminal(asking, "4\n", "yes\n", "no\n", "2-1\n", "?\n", "\x04", columns=100)
    for typed in ("4", "yes", "no", "2-1"):
        assert f"`{typed}` is not an answer" in text
    assert "refuse those that are ticked" in text
    (run,) = Runs(asking).names()
    assert answered(asking, run) == []


def test_answers_without_a_run_are_for_none(llmdo: Llmdo, asking: Path) -> None:
    llmdo("run", "main", "go", "--approvals", "later", cwd=asking)
    refused = llmdo("approve", "--yes", "main/writer#1/write_file#1", cwd=asking)
    assert refused.code == 2
    assert "name the run" in refused.err
    assert llmdo("inbox", cwd=asking).out.count("write_file#1") == 3


def test_a_title_cannot_steer_the_terminal(llmdo: Llmdo, asking: Path) -> None:
    llmdo("run", "main", "a\x1b[2J\u202eb", "--approvals", "later", cwd=asking)
    for words in (["inbox"], ["runs"], ["runs", "show", "last"]):
        assert not {"\x1b", "\u202e"} & {*llmdo(*words, cwd=asking).out}
