"""Closed and sealed answers: what a caller may still do once a worker below it has read a stranger's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llmdo.journal import Runs
from llmdo.runtime import Answer, Question, RunOptions, RunOutcome
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.seals import Seal
from llmdo.runtime.telemetry.events import Decided, Event
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.services import locking
from llmdo.workspace import project
from tests.support.building import Step, script
from tests.support.locks import locked
from tests.support.running import run_sync

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["tools.py"]

[toolsets.mail]
capabilities = { send = ["x.mail.send"], note = ["x.mail.note"] }
targets = { send = ["to"] }
keeps = false

[toolsets.desk]
capabilities = { "*" = [] }
calls = ["mail.send"]
keeps = false

[approvals.rules]
"x" = "allowed"
"fs.write" = "allowed"

[flows]
"data.untrusted -> x.mail" = "needs_approval"
"data.untrusted -> fs.write" = "needs_approval"

[sources]
"fs.read:mail/**" = "data.untrusted"

[entries.go]
worker = "main"
input = "go"

[entries.code]
function = "entries.py:code"
input = "pass"
calls = ["reader", "echo", "mail.send"]
"""

TOOLS = """\
import pathlib
from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

mail = FunctionToolset(id="mail")
desk = FunctionToolset(id="desk")
SENT = pathlib.Path(__file__).with_name("sent.txt")

@mail.tool_plain
def send(to: str, body: str = "") -> str:
    with SENT.open("a") as file:
        file.write(f"{to}: {body}\\n")
    return "sent"

@mail.tool_plain
def note(text: str) -> str:
    with SENT.open("a") as file:
        file.write(f"note: {text}\\n")
    return "noted"

@desk.tool
async def fetch(ctx: RunContext, worker: str) -> str:
    return str(await ctx.deps.call_agent(worker, "read", ctx))

@desk.tool
async def peek(ctx: RunContext, worker: str) -> str:
    sealed = await ctx.deps.call_agent(worker, "read", ctx)
    sealed.open()
    return await ctx.deps.call_tool("mail.send", {"to": "a", "body": "peeked"})
"""

ENTRIES = """\
async def code(runtime, input):
    sealed = await runtime.call_agent("reader", "read")
    if input == "open":
        return await runtime.call_tool("mail.send", {"to": "a", "body": sealed.open()})
    if input == "echo":
        return await runtime.call_agent("echo", sealed)
    if input == "give":
        return sealed
    return await runtime.call_tool("mail.send", {"to": "a", "body": sealed})
"""

TYPES = """\
from typing import Annotated, Literal
from pydantic import BaseModel, Field

class Closed(BaseModel):
    kind: Literal["bill", "spam"]
    pages: Annotated[int, Field(ge=0, le=100)]

class Open(BaseModel):
    kind: str
"""

CHOICES = """\
from typing import Annotated
from pydantic import BaseModel, Field

class Choice(BaseModel):
    folders: list[str] = Field(max_length=4)

class Chosen(BaseModel):
    folder: Annotated[str, Field(json_schema_extra={"x-llmdo-one-of": "folders"})]
"""

HEADERS = {
    "main": "toolsets: { mail: {}, desk: {}, reader: {}, judge: {}, talker: {}, echo: {}, failing: {},"
    " sorter: {},"
    " filesystem: { read: ['notes/**'], write: ['notes/**'] } }",
    "reader": "toolsets: { filesystem: { read: ['mail/**'] } }\noutput: sealed",
    "judge": "toolsets: { filesystem: { read: ['mail/**'] } }\nschema_out_ref: types_of.py:Closed",
    "talker": "toolsets: { filesystem: { read: ['mail/**'] } }\nschema_out_ref: types_of.py:Open",
    "failing": "toolsets: { filesystem: { read: ['mail/**'] } }\nschema_out_ref: types_of.py:Closed",
    "echo": "toolsets: [mail]",
    "sorter": "toolsets: { filesystem: { read: ['mail/**'] } }\nschema_in_ref: choices.py:Choice\n"
    "schema_out_ref: choices.py:Chosen",
}
TEXT = "to@strangers.example"


class Nobody:
    """Answers as it is told, and keeps what was asked."""

    def __init__(self, *, allowed: bool = False) -> None:
        self.allowed = allowed
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(allowed=self.allowed, by="a person")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    texts = {"llmdo.toml": MANIFEST, "tools.py": TOOLS, "entries.py": ENTRIES, "types_of.py": TYPES}
    texts["choices.py"] = CHOICES
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name, header in HEADERS.items():
        (tmp_path / f"{name}.worker").write_text(
            f"---\nname: {name}\nmodel: python:models.py:{name}\n{header}\n---\nDo.\n", encoding="utf-8"
        )
    for folder in ("mail", "notes"):
        (tmp_path / folder).mkdir()
    (tmp_path / "mail/a.txt").write_text(TEXT, encoding="utf-8")
    play(tmp_path)
    return locked(tmp_path)


READ: Step = [("read_file", {"path": "mail/a.txt"})]


def answers(**values: object) -> Step:
    return [("final_result", values)]


def play(
    root: Path, *main: Step, echo: tuple[Step, ...] = (), folders: tuple[str | None, ...] = ("bills",)
) -> None:
    script(
        root,
        sorter=[READ, *[answers(folder=folder) for folder in folders]],
        main=[*main, "{results}"],
        reader=[READ, TEXT],
        judge=[READ, answers(kind="bill", pages=2)],
        talker=[READ, answers(kind=TEXT)],
        failing=[READ, answers(kind=TEXT, pages=2), answers(kind=TEXT, pages=2), *[answers(kind=TEXT)] * 5],
        echo=[*echo, "{prompt}"],
    )


def go(root: Path, entry: str = "go", **options: Any) -> RunOutcome:
    read = project.read(root)
    options.setdefault("approver", Nobody())
    return run_sync(
        locking.derive(read), root=root, prompts=read.prompts, entry=entry, options=RunOptions(**options)
    )


def sent(root: Path) -> list[str]:
    path = root / "sent.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def call(name: str) -> Step:
    return [(name, {"input": "x"})]


SEALED = "sealed:reader#1"
READ_IT: Step = [("talker", {"input": "x"})]
SEND: Step = [("send", {"to": "a", "body": "b"})]


def test_a_closed_answer_leaves_its_caller_free(root: Path) -> None:
    play(root, call("judge"), SEND)
    nobody = Nobody()
    assert go(root, approver=nobody).status == "completed"
    assert (nobody.asked, sent(root)) == ([], ["a: b"])


SORT: Step = [("sorter", {"folders": ["bills", "news"]})]


def test_an_item_of_a_list_that_the_caller_gave_leaves_it_free(root: Path) -> None:
    play(root, SORT, SEND, folders=(TEXT, "bills"))  # told once that its first answer is none of them
    nobody = Nobody()
    outcome = go(root, approver=nobody)
    assert (outcome.status, nobody.asked, sent(root)) == ("completed", [], ["a: b"])
    play(root, SORT, folders=(TEXT, "bills"))
    assert "bills" in str(go(root).output)


def test_what_is_no_item_of_the_list_is_no_answer(root: Path) -> None:
    play(root, SORT, SEND, folders=(TEXT,) * 9)
    nobody = Nobody()
    text = str(go(root, approver=nobody).output)
    assert (TEXT in text, nobody.asked, sent(root)) == (False, [], ["a: b"])
    play(root, SORT, folders=(TEXT,) * 9)
    assert "it gave no answer" in str(go(root).output)


def test_nothing_is_an_item_where_the_type_says_so(root: Path) -> None:
    (root / "choices.py").write_text(
        CHOICES.replace("Annotated[str,", "Annotated[str | None,"), encoding="utf-8"
    )
    locked(root)
    play(root, SORT, SEND, folders=(None,))
    nobody = Nobody()
    assert (go(root, approver=nobody).status, nobody.asked, sent(root)) == ("completed", [], ["a: b"])
    play(root, SORT, folders=(TEXT, None))
    text = str(go(root).output)
    assert ("null" in text, TEXT in text) == (True, False)


LONGER = """
    @field_validator("folders")
    @classmethod
    def more(cls, folders): return [*folders, *map(str, range(100))]
"""


def test_no_item_of_a_list_that_its_type_made_longer_is_closed(root: Path) -> None:
    text = CHOICES.replace("(max_length=4)", f"(max_length=4){LONGER}").replace(
        "Field\n", "Field, field_validator\n", 1
    )
    (root / "choices.py").write_text(text, encoding="utf-8")
    locked(root)
    for folder in ("77", "bills"):
        play(root, SORT, folders=(folder,) * 9)
        assert "it gave no answer" in str(go(root).output)


def test_an_item_of_a_list_that_a_stranger_may_have_written_is_labelled(root: Path) -> None:
    play(root, READ_IT, SORT, SEND)
    nobody = Nobody()
    go(root, approver=nobody)
    assert [question.tool for question in nobody.asked] == ["send"]
    sealed: Step = [("sorter", {"folders": ["bills", SEALED]})]
    for folder in ("bills", TEXT):
        play(root, call("reader"), sealed, SEND, folders=(folder,))
        nobody = Nobody()
        go(root, approver=nobody)
        assert [question.tool for question in nobody.asked] == ["send"], folder


@pytest.mark.parametrize(("most", "asked"), [(8, []), (7, ["send"])])
@pytest.mark.parametrize("where", ["[flows]", "main.worker"])
def test_an_answer_of_more_bits_than_its_caller_admits_is_labelled(
    where: str, most: int, asked: list[str], root: Path
) -> None:
    path = root / ("llmdo.toml" if where == "[flows]" else where)
    old, new = (
        (where, f"{where}\nmax-bits = {most}")
        if where == "[flows]"
        else ("\n---\nDo", f"\nflows: {{ max-bits: {most} }}\n---\nDo")
    )
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    for worker in ("judge", "failing"):
        play(root, call(worker), SEND)
        nobody = Nobody()
        go(root, approver=nobody)
        assert [question.tool for question in nobody.asked] == asked, worker


def test_an_open_answer_does_not(root: Path) -> None:
    play(root, call("talker"), SEND)
    nobody = Nobody()
    go(root, approver=nobody)
    assert ([question.tool for question in nobody.asked], sent(root)) == (["send"], [])


def test_of_a_closed_worker_that_fails_its_caller_is_told_nothing_that_a_stranger_wrote(root: Path) -> None:
    play(root, call("failing"), SEND, "{results}")
    outcome = go(root)
    assert sent(root) == ["a: b"]
    script_told = go_told(root, "failing")
    assert TEXT not in script_told
    assert "it gave no answer" in script_told
    assert outcome.status == "completed"


def go_told(root: Path, worker: str) -> str:
    """What the caller of `worker` is told."""
    play(root, call(worker))
    return str(go(root).output)


def test_a_closed_answer_never_clears_what_is_private(root: Path) -> None:
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8")
    private = manifest.replace("[sources]", '"fs.read:mail/** -> x.mail.send" = "blocked"\n\n[sources]')
    (root / "llmdo.toml").write_text(private, encoding="utf-8")
    play(root, call("judge"), SEND)
    assert [denied.decision for denied in go(root).denied] == ["blocked"]


def test_a_sealed_text_is_a_name_and_a_size_to_the_model_and_open_to_the_person(root: Path) -> None:
    play(root, call("reader"), [("note", {"text": "x"})])
    outcome = go(root)
    assert outcome.status == "completed"
    assert sent(root) == ["note: x"]  # which nobody asked about
    play(root, call("reader"), "the mail says: {results}")
    script(root, main=[call("reader"), f"It says: {SEALED}."], reader=[READ, TEXT], **silent())
    assert go(root).output == f"It says: {TEXT}."


def silent() -> dict[str, list[Step]]:
    return {name: ["x"] for name in ("judge", "talker", "failing", "echo", "sorter")}


def test_a_sealed_text_is_put_in_when_the_tool_runs(root: Path) -> None:
    play(root, call("reader"), [("send", {"to": "a", "body": f"It says {SEALED}, and sealed:reader#2."})])
    nobody, events = Nobody(), list[Event]()
    outcome = go(root, approver=nobody, on_event=events.append)
    assert outcome.status == "completed"
    assert (nobody.asked, sent(root)) == ([], [f"a: It says {TEXT}, and sealed:reader#2."])
    decided = [event.call for event in events if isinstance(event, Decided)]
    assert [call.labels for call in decided if call.tool == "send"] == [("data.untrusted",)]


@pytest.mark.parametrize("name", [SEALED, f"{SEALED} (text, up to 32 characters)"])
def test_a_sealed_target_is_asked_about_once_with_its_value(name: str, root: Path) -> None:
    play(root, call("reader"), [("send", {"to": name})])
    nobody = Nobody()
    go(root, approver=nobody)
    [question] = nobody.asked
    assert question.arguments["to"] == TEXT
    assert '"data.untrusted -> x.mail" = "needs_approval"' in question.reasons[0]
    assert sent(root) == []
    person = Nobody(allowed=True)
    go(root, approver=person)
    assert sent(root) == [f"{TEXT}: "]


def test_where_no_flow_rule_asks_about_a_target_it_is_asked_once_for_each_value_and_tool(root: Path) -> None:
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8")
    none = manifest.replace('"data.untrusted -> x.mail" = "needs_approval"\n', "")
    (root / "llmdo.toml").write_text(none, encoding="utf-8")
    play(root, call("reader"), [("send", {"to": SEALED})], [("send", {"to": SEALED, "body": "again"})])
    person = Nobody(allowed=True)
    go(root, approver=person)
    assert [question.path for question in person.asked] == ["main/send#1"]
    assert "`to` is what `reader#1` gave sealed: a stranger may have chosen it" in person.asked[0].reasons
    assert sent(root) == [f"{TEXT}: ", f"{TEXT}: again"]


def test_in_a_target_a_sealed_text_stands_alone(root: Path) -> None:
    play(root, call("reader"), [("send", {"to": f"x{SEALED}"})])
    outcome = go(root)
    assert "a sealed text stands alone in `to`" in str(outcome.output)
    assert sent(root) == []


def test_every_argument_is_a_target_of_a_tool_that_names_none(root: Path) -> None:
    play(root, call("reader"), [("note", {"text": SEALED})])
    nobody = Nobody()
    go(root, approver=nobody)
    assert [question.tool for question in nobody.asked] == ["note"]


def test_targets_are_of_tools_by_their_own_names_whatever_their_prefix(root: Path) -> None:
    manifest = root / "llmdo.toml"
    manifest.write_text(manifest.read_text().replace("[toolsets.mail]", '[toolsets.mail]\nprefix = "my"'))
    play(root, call("reader"), [("my_send", {"to": "a", "body": SEALED})])
    nobody = Nobody()
    go(root, approver=nobody)
    assert nobody.asked == []
    assert sent(root) == [f"a: {TEXT}"]


def test_a_target_that_its_tool_does_not_take_ends_the_run(root: Path) -> None:
    manifest = root / "llmdo.toml"
    manifest.write_text(manifest.read_text().replace('send = ["to"]', 'send = ["too"]'))
    play(root, call("reader"), [("send", {"to": SEALED})])
    outcome = go(root)
    assert outcome.error == "the targets of `mail` name `too`, which `send` does not take"
    assert outcome.hint == "did you mean `to`?"
    assert sent(root) == []


def test_a_seal_is_forged_by_nobody(root: Path) -> None:
    for text in (SEALED, f"{SEALED} (text, up to 32 characters)", "sealed:main/reader#1"):
        play(root, [("note", {"text": text})])
        go(root)
        assert sent(root)[-1] == f"note: {text}"


def test_what_is_put_in_is_never_searched(root: Path) -> None:
    (root / "mail/a.txt").write_text("x", encoding="utf-8")
    script(
        root,
        main=[
            [("reader", {"input": "1"}), ("reader", {"input": "2"})],
            [("send", {"to": "a", "body": "sealed:reader#1"})],
            "{results}",
        ],
        reader=[READ, "sealed:reader#2"],
        **silent(),
    )
    go(root)
    assert sent(root) == ["a: sealed:reader#2"]


def test_a_delegate_that_is_given_a_seal_reads_it_and_is_labelled(root: Path) -> None:
    play(root, call("reader"), [("echo", {"input": f"do {SEALED}"})], echo=(SEND,))
    nobody = Nobody()
    go(root, approver=nobody)
    assert [question.path for question in nobody.asked] == ["main/echo#1/send#1"]
    play(root, call("reader"), [("echo", {"input": f"do {SEALED}"})])
    assert TEXT in str(go(root).output)


@pytest.mark.parametrize(
    ("worker", "asked"), [("judge", []), ("reader", []), ("failing", []), ("talker", ["main/send#1"])]
)
def test_what_a_delegate_was_given_sealed_comes_back_by_an_open_answer_alone(
    worker: str, asked: list[str], root: Path
) -> None:
    play(root, call("reader"), [(worker, {"input": f"look at {SEALED}"})], SEND)
    nobody = Nobody()
    go(root, approver=nobody)
    assert [question.path for question in nobody.asked] == asked
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8")
    private = manifest.replace("[sources]", '"fs.read:mail/** -> x.mail.send" = "blocked"\n\n[sources]')
    (root / "llmdo.toml").write_text(private, encoding="utf-8")
    assert [denied.path for denied in go(root).denied] == ["main/send#1"]  # what is private comes with each


def test_a_tool_that_was_given_a_sealed_text_may_echo_it(root: Path) -> None:
    play(root, call("reader"), [("send", {"to": "a", "body": SEALED})], SEND)
    nobody = Nobody()
    go(root, approver=nobody)
    assert [question.path for question in nobody.asked] == ["main/send#2"]


def test_a_file_into_which_a_sealed_text_was_written_carries_its_labels(root: Path) -> None:
    play(root, call("reader"), [("write_file", {"path": "notes/a.txt", "content": SEALED})], SEND)
    nobody = Nobody()
    go(root, approver=nobody)
    assert (root / "notes/a.txt").read_text(encoding="utf-8") == TEXT
    assert [question.path for question in nobody.asked] == ["main/send#1"]


def test_what_code_writes_that_is_executed_is_a_target(root: Path) -> None:
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8")
    allowed = manifest.replace(
        '"fs.write" = "allowed"', '"fs.write" = "allowed"\n"fs.write.code" = "allowed"'
    )
    (root / "llmdo.toml").write_text(
        allowed.replace('"data.untrusted -> fs.write" = "needs_approval"', ""), encoding="utf-8"
    )
    play(root, call("reader"), [("write_file", {"path": "notes/a.py", "content": SEALED})])
    nobody = Nobody()
    go(root, approver=nobody)
    assert [question.tool for question in nobody.asked] == ["write_file"]


def test_a_tool_hands_on_what_its_code_was_given_sealed(root: Path) -> None:
    play(root, [("fetch", {"worker": "reader"})], [("send", {"to": "a", "body": "sealed:fetch#1/reader#1"})])
    nobody = Nobody()
    go(root, approver=nobody)
    assert (nobody.asked, sent(root)) == ([], [f"a: {TEXT}"])


def test_code_that_opens_a_seal_has_read_it(root: Path) -> None:
    play(root, [("peek", {"worker": "reader"})])
    nobody = Nobody()
    go(root, approver=nobody)
    assert [question.path for question in nobody.asked] == ["main/peek#1/mail.send#1"]


@pytest.mark.parametrize(
    ("text", "asked", "mails", "output"),
    [
        ("pass", [], [f"a: {TEXT}"], "sent"),
        ("open", ["code/mail.send#1"], [], None),
        ("echo", [], [], TEXT),
        ("give", [], [], TEXT),
    ],
)
def test_an_entry_in_code(
    text: str, asked: list[str], mails: list[str], output: str | None, root: Path
) -> None:
    nobody = Nobody()
    outcome = go(root, "code", input=text, approver=nobody)
    assert [question.path for question in nobody.asked] == asked
    assert (sent(root), outcome.output) == (mails, output)


def test_a_sealed_worker_that_fails_says_nothing_else(root: Path) -> None:
    reader = (root / "reader.worker").read_text(encoding="utf-8")
    (root / "reader.worker").write_text(
        reader.replace("output: sealed", "output: sealed\nschema_out_ref: types_of.py:Closed"),
        encoding="utf-8",
    )
    script(root, main=[call("reader"), "{results}"], reader=[READ, *[answers(kind=TEXT)] * 6], **silent())
    assert go(root).output == "[failed: `reader` failed: it gave no answer]"


def test_whoever_goes_on_with_a_run_has_the_same_seals(root: Path) -> None:
    class Stops(Nobody):
        async def ask(self, question: Question) -> Answer:
            self.asked.append(question)
            return Answer(allowed=False, by="a person", stops=True)

    play(root, call("reader"), [("send", {"to": SEALED})])
    runs = Runs(root)
    with runs.create("r") as journal:
        go(root, run="r", recorder=Recorder(journal, Redaction.of({})), approver=Stops())
    person = Nobody(allowed=True)
    with runs.open("r") as journal:
        go(root, run="r", recorder=Recorder(journal, Redaction.of({})), approver=person)
    assert [question.arguments["to"] for question in person.asked] == [TEXT]
    assert sent(root) == [f"{TEXT}: "]


@pytest.mark.parametrize(("length", "size"), [(0, 16), (16, 16), (17, 32), (32, 32), (33, 64)])
def test_a_seal_says_the_next_power_of_two_of_its_size_and_no_more(length: int, size: int) -> None:
    assert (
        str(Seal("main/reader#1", "x" * length, {}))
        == f"sealed:main/reader#1 (text, up to {size} characters)"
    )
