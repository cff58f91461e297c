"""Ways around closed and sealed answers that were open once: what a caller is told although its type or its seal says no."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llmdo.runtime.gate.policy import PolicyRefusal
from tests.support.building import Step, script

from .test_flows import changed
from .test_handing_over import READ, SEALED, SEND, TEXT, Nobody, answers, call, go, play, root, sent, silent

__all__ = ["root"]

OPEN_TYPES = {
    "an enumeration that only the schema says": 'kind: str = Field(json_schema_extra={"enum": ["bill", "spam"]})',
    "a validator after the type": """kind: Literal["bill", "spam"]
    more: str = Field(default="", exclude=True)
    @model_validator(mode="after")
    def any_kind(self):
        self.kind = self.more
        return self""",
    "a serializer": """kind: str = Field(exclude=True)
    @model_serializer
    def written(self) -> Literal["bill", "spam"]: return self.kind""",
    "an enumeration that takes what it does not list": "kind: Kind",
    "a field that is not written": """kind: Literal["bill", "spam"]
    more: str = Field(default="", exclude=True)""",
    "a private attribute": """kind: Literal["bill", "spam"]
    _more: str = ""
    @model_validator(mode="wrap")
    @classmethod
    def keep(cls, data, handler):
        made = handler({"kind": "bill"})
        made._more = str(data)
        return made""",
}
"""Types of which the schema says that they are closed, and that hold, or take, more."""
TYPES = {
    "a validator in place of the type": """kind: Literal["bill", "spam"]
    @field_validator("kind", mode="plain")
    @classmethod
    def any_kind(cls, value): return value""",
    "a validator around the type": """kind: Literal["bill", "spam"]
    @field_validator("kind", mode="wrap")
    @classmethod
    def any_kind(cls, value, handler): return value""",
}
"""Types that are closed by their text, and that take more."""
MODULE = """\
from enum import Enum
from typing import Literal
from pydantic import BaseModel, Field, field_validator, model_serializer, model_validator

class Kind(str, Enum):
    BILL = "bill"
    @classmethod
    def _missing_(cls, value):
        new = str.__new__(cls, value)
        new._name_, new._value_ = "OTHER", value
        return new

class Open(BaseModel):
    kind: str

class Closed(BaseModel):
    """


@pytest.mark.parametrize("kind", TYPES)
def test_an_answer_that_its_closed_type_does_not_list_is_none(kind: str, root: Path) -> None:
    (root / "types_of.py").write_text(MODULE + TYPES[kind], encoding="utf-8")
    script(root, main=[call("judge"), "{results}"], judge=[READ, answers(kind=TEXT)], **others())
    assert TEXT not in str(go(root).output)


@pytest.mark.parametrize("kind", OPEN_TYPES)
@pytest.mark.parametrize("how", ["a model", "code of a tool"])
def test_a_type_whose_text_does_not_say_that_it_is_closed_is_open(how: str, kind: str, root: Path) -> None:
    """Code gets an instance, which may hold more than is written of it."""
    (root / "types_of.py").write_text(MODULE + OPEN_TYPES[kind], encoding="utf-8")
    own = answers(kind="bill", more=TEXT) if "more" in OPEN_TYPES[kind] else answers(kind=TEXT)
    first = call("judge") if how == "a model" else [("fetch", {"worker": "judge"})]
    script(root, main=[first, SEND, "{results}"], judge=[READ, own], **others())
    nobody = Nobody()
    go(root, approver=nobody)
    assert ([question.tool for question in nobody.asked], sent(root)) == (["send"], [])


def test_a_type_that_its_module_makes_wider_has_the_bits_of_what_it_has_become(root: Path) -> None:
    wider = """kind: Literal["bill", "spam"]

def widen(field):
    field.annotation = Literal["bill", "spam", *[f"to {n}" for n in range(4096)]]

widen(Closed.model_fields["kind"])
Closed.model_rebuild(force=True)
"""
    (root / "types_of.py").write_text(MODULE + wider, encoding="utf-8")
    changed(root, "[flows]", "[flows]\nmax-bits = 8")
    script(root, main=[call("judge"), SEND], judge=[READ, answers(kind="to 77")], **others())
    nobody = Nobody()
    go(root, approver=nobody)
    assert ([question.tool for question in nobody.asked], sent(root)) == (["send"], [])


def others() -> dict[str, list[Step]]:
    return {**{name: ["x"] for name in ("talker", "failing", "echo", "sorter")}, "reader": [READ, TEXT]}


def test_a_refusal_quotes_nothing_of_a_sealed_text(root: Path) -> None:
    script(
        root,
        main=[call("reader"), [("read_file", {"path": SEALED})], "{results}"],
        reader=[READ, TEXT],
        **silent(),
    )
    outcome = go(root)
    assert outcome.denied
    assert TEXT not in str(outcome.output)


def test_code_hands_over_no_file_that_a_sealed_text_names(root: Path) -> None:
    entries = """\
async def code(runtime, input):
    sealed = await runtime.call_agent("reader", "read")
    return await runtime.call_agent("echo", "look", attachments=[sealed])
"""
    (root / "entries.py").write_text(entries, encoding="utf-8")
    (root / "mail/a.txt").write_text("notes/secret.txt", encoding="utf-8")
    (root / "notes/secret.txt").write_text("PIN", encoding="utf-8")
    script(root, main=["x"], reader=[READ, "notes/secret.txt"], **(silent() | {"echo": ["{prompt}"]}))
    outcome = go(root, "code")
    assert "PIN" not in str(outcome.output)
    assert "sealed" in str(outcome.error)


class Quotes:
    """Lets every call through, and keeps answers back with their words."""

    def spawn(self) -> Quotes:
        return self

    def on_delegation(self, name: str) -> None:
        del name

    def handle_tool(self, ctx: Any, call: Any) -> None:
        del ctx, call

    def after_delegation(self, name: str, output: str | None, error: str | None) -> None:
        del name
        raise PolicyRefusal(f"no: {output or error}")


@pytest.mark.parametrize(
    ("worker", "is_told", "asked"), [("talker", True, 1), ("reader", False, 0), ("judge", False, 0)]
)
def test_why_an_answer_is_withheld_may_quote_it(worker: str, is_told: bool, asked: int, root: Path) -> None:
    play(root, call(worker), SEND)
    nobody = Nobody()
    go(root, approver=nobody, policy=Quotes())
    assert len(nobody.asked) == asked
    script(
        root,
        main=[call(worker), "{results}"],
        reader=[READ, TEXT],
        judge=[READ, answers(kind="bill", pages=2)],
        talker=[READ, answers(kind=TEXT)],
        **{name: ["x"] for name in ("failing", "echo", "sorter")},
    )
    text = str(go(root, policy=Quotes()).output)
    assert ("no: " in text) == is_told


def test_code_that_opens_a_seal_in_a_later_call_has_read_it(root: Path) -> None:
    with (root / "tools.py").open("a", encoding="utf-8") as file:
        file.write(
            """
KEPT = []

@desk.tool
async def put_by(ctx: RunContext) -> str:
    KEPT.append(await ctx.deps.call_agent("reader", "read", ctx))
    return "kept"

@desk.tool_plain
def open_it() -> str:
    return KEPT[0].open()
"""
        )
    play(root, [("put_by", {})], [("open_it", {})], SEND)
    nobody = Nobody()
    go(root, approver=nobody)
    assert [question.path for question in nobody.asked] == ["main/send#1"]
    assert sent(root) == []


def test_code_passes_on_nothing_private_that_is_sealed(root: Path) -> None:
    changed(root, "[sources]", '"fs.read:mail/** -> agent.delegate" = "blocked"\n\n[sources]')
    outcome = go(root, "code", input="echo")
    assert [denied.path for denied in outcome.denied] == ["code/echo#1"]


def test_a_sealed_text_inside_a_typed_argument_is_opened_and_asked_about(root: Path) -> None:
    with (root / "tools.py").open("a", encoding="utf-8") as file:
        file.write(
            """
from pydantic import BaseModel

class Letter(BaseModel):
    to: str
    lines: list[str]

@mail.tool_plain
def post(letter: Letter) -> str:
    return send(letter.to, " ".join(letter.lines))
"""
        )
    changed(root, 'note = ["x.mail.note"] }', 'note = ["x.mail.note"], post = ["x.mail.post"] }')
    play(root, call("reader"), [("post", {"letter": {"to": SEALED, "lines": ["dear", SEALED]}})])
    nobody, person = Nobody(), Nobody(allowed=True)
    go(root, approver=nobody)
    assert [question.tool for question in nobody.asked] == ["post"]
    assert sent(root) == []
    go(root, approver=person)
    assert sent(root) == [f"{TEXT}: dear {TEXT}"]
