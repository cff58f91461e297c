"""A person at a real pseudo-terminal, with a terminal emulator to see what they see."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llmdo.base.diagnostic import shown
from llmdo.journal import Runs
from llmdo.runtime import AskOnTerminal, RunOutcome
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.telemetry.events import Asked, Decided, Event
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support import forking
from tests.support.building import go, graph, script, toolset, use, worker
from tests.support.locks import locked
from tests.support.ptys import PATIENCE, PROMPT, Person, Reaction, wait_for
from tests.support.waiting import until, waited_for

from .test_drawing import HIDING, sections

TOOLS = """
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

DONE = Path(__file__).with_name("done.txt")
calc = FunctionToolset(id="calc")

@calc.tool_plain
def note(text: str, times: int = 1) -> str:
    with DONE.open("a") as file:  # one write: tools that block run beside each other
        file.write(text * times + ";")
    return text
"""
CALC = toolset("calc", "tools.py:calc", note=["x.calc.note"])


@pytest.fixture(autouse=True)
def _tools(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)


def done(root: Path) -> str:
    file = root / "done.txt"
    return file.read_text() if file.exists() else ""


def ask(
    root: Path,
    calls: list[dict[str, Any]],
    *answers: Reaction,
    environ: dict[str, str] | None = None,
    columns: int = 80,
    events: list[Event] | None = None,
    team_graph: Any = None,
) -> tuple[RunOutcome, Person]:
    """The run of one worker that makes `calls` of `note`, one after the other, and what the person saw."""
    script(root, main=[*[[("note", call)] for call in calls], "{results}"])
    seen: list[Event] = [] if events is None else events
    with Person(*answers, columns=columns) as person:
        approver = AskOnTerminal(person.source, person.display, environ)
        outcome = go(
            team_graph or graph(worker("main", "calc"), CALC), root, approver=approver, on_event=seen.append
        )
    return outcome, person


def test_a_person_is_asked_about_the_call_and_allows_it_once(tmp_path: Path) -> None:
    outcome, person = ask(tmp_path, [{"text": "a"}, {"text": "a"}], "once\n", "no\n")
    assert done(tmp_path) == "a;"
    assert len(person.prompts) == 2
    assert [call.path for call in outcome.denied] == ["main/note#2"]
    assert person.prompts[0][0] == "approval needed"
    assert 'args   | text: "a"' in person.prompts[0]


def test_always_means_this_very_call_and_no_other(tmp_path: Path) -> None:
    calls = [
        {"text": "a"},
        {"text": "a"},
        {"text": "a", "times": 1},
        {"text": "a", "times": 2},
        {"text": "b"},
    ]
    events: list[Event] = []
    outcome, person = ask(tmp_path, calls, "always\n", "no\n", "no\n", events=events)
    assert done(tmp_path) == "a;a;a;"
    assert len(person.prompts) == 3
    by = [event.call.by for event in events if isinstance(event, Decided) and event.call.allowed]
    assert by[0] == "a person at the terminal"
    assert by[1:] == ["a person at the terminal, who allowed this very call before"] * 2
    assert len(outcome.denied) == 2


def test_always_lasts_for_one_run_and_one_worker(tmp_path: Path) -> None:
    script(
        tmp_path,
        main=[[("note", {"text": "a"})], [("helper", {"input": "x"})], "{results}"],
        helper=[[("note", {"text": "a"})], "{results}"],
    )
    team_graph = graph(worker("main", "calc", "helper"), worker("helper", "calc"), CALC)
    with Person("always\n", "no\n", "no\n", "no\n") as person:
        approver = AskOnTerminal(person.source, person.display)
        first = go(team_graph, tmp_path, approver=approver)
        second = go(team_graph, tmp_path, approver=approver)
    assert [call.path for call in first.denied] == ["main/helper#1/note#1"]
    assert len(second.denied) == 2
    assert len(person.prompts) == 4


@pytest.mark.long
def test_always_at_a_terminal_holds_in_the_process_that_goes_on(tmp_path: Path) -> None:
    team_graph = graph(worker("main", "calc"), CALC)
    for number, answers in enumerate((["always\n"], [])):
        script(tmp_path, main=[*[[("note", {"text": "a"})]] * (number + 1), *["done"] * number])
        with Person(*answers) as person, getattr(Runs(tmp_path), ("create", "open")[number])("r") as journal:
            approver = AskOnTerminal(person.source, person.display)
            recorder = Recorder(journal, Redaction.of({}))
            outcome = go(team_graph, tmp_path, run="r", approver=approver, recorder=recorder)
        assert len(person.prompts) == len(answers)
    assert (outcome.status, done(tmp_path)) == ("completed", "a;a;")


def test_a_no_is_not_remembered(tmp_path: Path) -> None:
    ask(tmp_path, [{"text": "a"}, {"text": "a"}], "no\n", "once\n")
    assert done(tmp_path) == "a;"


def test_the_reason_of_a_no_is_told_to_the_model(tmp_path: Path) -> None:
    outcome, _ = ask(tmp_path, [{"text": "a"}], "no  write it shorter\n")
    assert "the person who was asked says: write it shorter]" in (outcome.output or "")
    assert outcome.denied[0].why[-1] == "the answer was no: write it shorter"


def test_a_person_can_end_the_run(tmp_path: Path) -> None:
    outcome, _ = ask(tmp_path, [{"text": "a"}, {"text": "b"}], "stop\n")
    assert outcome.status == "interrupted"
    assert outcome.error == "a person at the terminal ended the run at `main/note#1`"
    assert outcome.usage.requests == 1
    assert done(tmp_path) == ""


def test_ending_the_run_ends_every_delegate_and_leaves_the_caller_alone(tmp_path: Path) -> None:
    from llmdo.runtime import RunOptions, run
    from tests.support.building import prompts, with_code

    helpers = [f"helper{number}" for number in range(4)]
    script(
        tmp_path,
        main=[[(name, {"input": "x"}) for name in helpers], "{results}"],
        **{name: [[("note", {"text": name})], "done"] for name in helpers},
    )
    team_graph = graph(worker("main", *helpers), *(worker(name, "calc") for name in helpers), CALC)

    async def scenario(person: Person) -> tuple[str, int]:
        options = RunOptions(approver=AskOnTerminal(person.source, person.display))
        outcome = await run(
            with_code(team_graph, tmp_path),
            root=tmp_path,
            prompts=prompts(team_graph),
            entry="go",
            options=options,
        )
        await asyncio.sleep(0)  # would raise if the caller's own task were still cancelled
        task = asyncio.current_task()
        return outcome.status, task.cancelling() if task else -1

    def stop_after_the_first(person: Person) -> None:
        waited_for(lambda: done(tmp_path), PATIENCE)
        person.type("stop\n")

    with Person("once\n", stop_after_the_first) as person:
        assert asyncio.run(scenario(person)) == ("interrupted", 0)
    assert len(person.prompts) == 2
    assert done(tmp_path).count(";") == 1


def test_parallel_delegates_wait_for_one_another_to_be_asked(tmp_path: Path) -> None:
    helpers = [f"helper{number}" for number in range(6)]
    script(
        tmp_path,
        main=[[(name, {"input": "x"}) for name in helpers], "{results}"],
        **{name: [[("note", {"text": name})], "done"] for name in helpers},
    )
    team_graph = graph(worker("main", *helpers), *(worker(name, "calc") for name in helpers), CALC)
    with Person(*["once\n"] * 6) as person:
        outcome = go(team_graph, tmp_path, approver=AskOnTerminal(person.source, person.display))
    assert outcome.status == "completed"
    for number, lines in enumerate(person.prompts, 1):
        assert lines.count("approval needed") == number
        assert sum(line.startswith(PROMPT) for line in lines) == number
    assert sorted(done(tmp_path).split(";"))[1:] == helpers


def test_show_shows_all_that_was_folded(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(200)) + "rm -rf everything\n" + "end\n" * 3
    _, person = ask(tmp_path, [{"text": text}], "show\n", "no\n")
    before, after = ("\n".join(lines) for lines in person.prompts)
    assert "rm -rf" not in before
    assert "... more is left out; `show` shows all of it" in before
    assert "|   rm -rf everything" in after


@pytest.mark.parametrize("word", ["once", "always"])
def test_what_was_not_shown_cannot_be_allowed(tmp_path: Path, word: str) -> None:
    text = "".join(f"line {number}\n" for number in range(100))
    outcome, person = ask(tmp_path, [{"text": text}], f"{word}\n", "no\n")
    assert done(tmp_path) == ""
    assert "parts of this call are left out: type show first" in person.lines()
    outcome, person = ask(tmp_path, [{"text": text}], f"{word}\n", "show\n", f"{word}\n")
    assert done(tmp_path) == f"{text};"
    assert outcome.denied == ()


@pytest.mark.few(2)
@pytest.mark.parametrize("typed", ["maybe", "onc", "once or not", "yes", "\x1b[A", "once,"])
def test_an_unknown_answer_counts_as_nothing_and_is_asked_for_again(tmp_path: Path, typed: str) -> None:
    events: list[Event] = []
    _, person = ask(tmp_path, [{"text": "a"}], f"{typed}\n", "once\n", events=events)
    assert len(person.prompts) == 2
    lines = person.lines()
    start = lines.index(f"`{shown(typed)}` is not an answer; type one of these words:")
    assert [line.split()[0] for line in lines[start + 1 : start + 7]] == [
        "once",
        "always",
        "edit",
        "show",
        "no",
        "stop",
    ]
    assert [event.call.allowed for event in events if isinstance(event, Decided)] == [True]
    assert done(tmp_path) == "a;"


def test_typed_arguments_make_a_new_call_that_is_asked_about_again(tmp_path: Path) -> None:
    events: list[Event] = []
    outcome, person = ask(
        tmp_path, [{"text": "a"}], 'edit\n{"text": "b",\n "times": 3}\n\n', "once\n", events=events
    )
    assert done(tmp_path) == "bbb;"
    assert '  |   "text": "a",' in person.prompts[1]
    assert 'args   | text: "b"' in person.prompts[1]
    assert "       | a person changed its arguments" in person.prompts[1]
    first, second = (event.call for event in events if isinstance(event, Decided))
    assert (first.allowed, first.changed) == (False, {"text": "b", "times": 3})
    assert (second.allowed, second.arguments) == (True, {"text": "b", "times": 3})
    assert outcome.denied == ()


def test_arguments_are_edited_in_the_persons_own_editor(tmp_path: Path) -> None:
    editor = tmp_path / "my editor.py"
    editor.write_text(
        "import json, sys\nfrom pathlib import Path\nfile = Path(sys.argv[-1])\nsaid = json.loads(file.read_text())\n"
        "assert file.stat().st_mode & 0o077 == 0 or file.parent.stat().st_mode & 0o077 == 0\n"
        "said['text'] = said['text'].upper()\nfile.write_text(json.dumps(said))\n"
    )
    environ = {"EDITOR": "false", "VISUAL": f"{sys.executable} '{editor}'"}
    ask(tmp_path, [{"text": "a"}], "edit\n", "once\n", environ=environ)
    assert done(tmp_path) == "A;"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("answer", "environ", "problem"),
    [
        ("edit\n{\n\n", {}, "this is not JSON"),
        ("edit\n[1]\n\n", {}, "the arguments are a JSON object"),
        ('edit\n{"text": "a", "text": "b"}\n\n', {}, "a key is given twice"),
        ('edit\n{"text": 1}\n\n', {}, "the tool does not take this: text: Input should be a valid string"),
        ('edit\n{"txt": "a"}\n\n', {}, "the tool does not take this"),
        ("edit\n\n", {}, "nothing was changed"),
        ("edit\n", {"EDITOR": "true"}, "nothing was changed"),
        ("edit\n", {"EDITOR": "false"}, "`false` ended with status 1"),
        ("edit\n", {"EDITOR": "no-such-editor"}, "cannot start `no-such-editor`"),
        ("edit\n", {"EDITOR": "rm"}, "the edited file cannot be read"),
    ],
)
def test_what_is_no_other_call_is_reported_and_asked_again(
    tmp_path: Path, answer: str, environ: dict[str, str], problem: str
) -> None:
    outcome, person = ask(tmp_path, [{"text": "a"}], answer, "no\n", environ=environ)
    assert problem in "\n".join(person.prompts[1])
    assert len(outcome.denied) == 1
    assert done(tmp_path) == ""


def test_an_edited_call_meets_the_rules_again(tmp_path: Path) -> None:
    script(tmp_path, main=[[("write_file", {"path": "a.txt", "content": "x"})], "{results}"])
    team_graph = graph(
        worker("main", use("filesystem", write=["**"])), approvals={"fs.write:b.txt": "blocked"}
    )
    with Person('edit\n{"path": "b.txt", "content": "x"}\n\n') as person:
        outcome = go(team_graph, tmp_path, approver=AskOnTerminal(person.source, person.display))
    assert "`write_file` is blocked" in (outcome.output or "")
    assert not (tmp_path / "b.txt").exists()


@pytest.mark.few(5)
@pytest.mark.parametrize("character", [hiding for hiding in HIDING if not "\ud800" <= hiding[0] <= "\udfff"])
def test_no_character_hides_a_payload_from_a_terminal(tmp_path: Path, character: str) -> None:
    text = f"echo hello{character}rm -rf x{character}"
    _, person = ask(tmp_path, [{"text": text}, {"text": f"first\n{text}\nlast"}], "no\n", "no\n")
    for lines in person.prompts:
        row = next(line for line in lines if "echo hello" in line)
        assert "| " in row[:9]
        assert "rm -rf x" in row
    assert done(tmp_path) == ""


FORGERIES = [
    "x\n\x1b[2J\x1b[H",
    f"x\r\n{PROMPT} once\n",
    "\x1b[1A\x1b[2K\x1b[G",
    "x" * 76 + f"{PROMPT} once",
    "x" * 15 + "raises | nothing",
    "天" * 37 + PROMPT,
]


@pytest.mark.few(5)
@pytest.mark.parametrize("columns", [20, 31, 80])
@pytest.mark.parametrize("forgery", FORGERIES)
def test_no_payload_imitates_the_frame(tmp_path: Path, forgery: str, columns: int) -> None:
    _, person = ask(tmp_path, [{"text": forgery}], "no\n", columns=columns)
    lines = person.prompts[0]
    assert [line for line in lines if line.startswith(PROMPT)] == [PROMPT]
    asked = lines[: next(at for at, line in enumerate(lines) if line.startswith("once"))]
    rows = sections([f"{line} " if line.endswith("|") else line for line in asked], columns)
    assert rows["raises"] == ["x.calc.note"]
    assert len(rows["args"]) > 1 or columns > 31 or len(forgery) < 20


@pytest.mark.parametrize(
    ("more", "colours"), [({}, {"brown"}), ({"NO_COLOR": "1"}, set()), ({"TERM": "dumb"}, set())]
)
def test_a_question_has_colour_where_it_is_wanted(
    tmp_path: Path, more: dict[str, str], colours: set[str]
) -> None:
    _, person = ask(tmp_path, [{"text": "a"}], "no\n", environ={"TERM": "xterm", **more})
    cells = person.screen.buffer[0]
    assert {cells[column].fg for column in range(len("approval needed"))} - {"default"} == colours
    assert person.prompts[0][0] == "approval needed"


def test_a_window_that_is_too_narrow_is_a_no(tmp_path: Path) -> None:
    outcome, _ = ask(tmp_path, [{"text": "a"}], columns=19)
    assert outcome.denied[0].why[-1] == "the terminal has fewer than 20 columns, too few to show the call"


MANIFEST = """
schema = 1
[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["tools.py"]
model = "python:models.py:main"

[approvals.rules]
"x.calc" = "needs_approval"
"""


def workspace(root: Path) -> None:
    (root / "llmdo.toml").write_text(MANIFEST)
    (root / "main.worker").write_text("---\nname: main\nentry: true\ntoolsets: [calc]\n---\nGo.\n")
    script(root, main=[[("note", {"text": "a"})], "{results}"])
    locked(root)


def play(
    root: Path, *answers: Reaction, columns: int = 80, flags: tuple[str, ...] = ()
) -> tuple[int, Person]:
    workspace(root)
    environ = {name: value for name, value in os.environ.items() if name not in ("CI", "COLUMNS", "LINES")}
    environ |= {"TERM": "xterm", "XDG_CONFIG_HOME": str(root / "config")}
    with Person(*answers, columns=columns) as person:
        child = person.start([sys.executable, "-m", "llmdo", "run", "main", "go", *flags], root, environ)
        code = wait_for(child)
    return code, person


def test_the_program_asks_and_names_the_rule_and_its_place(tmp_path: Path) -> None:
    code, person = play(tmp_path, "once\n", columns=100)
    assert code == 0
    assert 'why    | `x.calc.any`: "x.calc" = "needs_approval" (llmdo.toml:10)' in person.prompts[0]
    assert done(tmp_path) == "a;"
    assert "[success: a]" in person.text()


@pytest.mark.long
@pytest.mark.parametrize(("typed", "code"), [("\x03", 130), ("\x04", 0), ("stop\n", 130), ("\n", 0)])
def test_ctrl_c_ends_the_run_and_the_end_of_input_is_a_no(tmp_path: Path, typed: str, code: int) -> None:
    exit_code, person = play(tmp_path, typed)
    assert exit_code == code
    assert done(tmp_path) == ""
    assert "Traceback" not in person.text()
    assert "used: 1 request" in person.text() or code == 0


@pytest.mark.long
def test_what_was_asked_and_answered_stays_on_the_screen(tmp_path: Path) -> None:
    _, person = play(tmp_path, "huh\n", "no too long\n", columns=90)
    lines = person.lines()
    question = lines.index("approval needed")
    assert lines[question + 1] == "caller | main/note#1"
    assert f"{PROMPT} huh" in lines
    assert f"{PROMPT} no too long" in lines
    assert any(line.startswith("main/note#1: denied: ") for line in lines)
    assert "pydantic" not in person.text().lower()


def test_a_hang_up_during_a_question_is_no_yes(tmp_path: Path) -> None:
    workspace(tmp_path)
    environ = {**os.environ, "TERM": "dumb"}
    environ.pop("CI", None)
    with Person(lambda person: None) as person:
        child = person.start([sys.executable, "-m", "llmdo", "run", "main", "go"], tmp_path, environ)
        until(lambda: person.prompts or child.poll() is not None)
        assert child.poll() is None
        child.terminate()
        assert wait_for(child) != 0
    assert done(tmp_path) == ""


def test_asked_comes_before_the_answer(tmp_path: Path) -> None:
    events: list[Event] = []
    ask(tmp_path, [{"text": "a"}], "once\n", events=events)
    kinds = [event.kind for event in events if isinstance(event, Asked | Decided)]
    assert kinds == ["asked", "decided"]


@pytest.mark.long
def test_the_flags_answer_instead_of_the_person(tmp_path: Path) -> None:
    code, person = play(tmp_path, "no\n", flags=("--approve", "x.calc"))
    assert (code, person.prompts, done(tmp_path)) == (0, [], "a;")


@pytest.mark.long
def test_what_no_flag_answers_is_still_asked(tmp_path: Path) -> None:
    code, person = play(tmp_path, "once\n", flags=("--approve", "fs.write:reports/**"))
    assert (code, len(person.prompts), done(tmp_path)) == (0, 1, "a;")


def run_headless(root: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    workspace(root)
    words = [sys.executable, "-m", "llmdo", "run", "main", "go", *flags]
    environ = {name: value for name, value in os.environ.items() if name != "CI"}
    return forking.run(
        words, cwd=root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@pytest.mark.long
def test_without_a_terminal_the_flag_that_would_allow_it_is_named(tmp_path: Path) -> None:
    refused = run_headless(tmp_path)
    assert refused.returncode == 1
    assert "run with --approve x.calc.any" in refused.stderr
    allowed = run_headless(tmp_path, "--approve", "x.calc.any")
    assert (allowed.returncode, done(tmp_path)) == (0, "a;")
