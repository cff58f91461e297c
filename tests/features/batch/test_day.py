"""A newcomer's day, over files and over a database: thirty mails, seven questions, and one mistake to find.

The team exists; every command that is typed is counted.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support import commands
from tests.support.locks import locked
from tests.support.ptys import Person, wait_for

MOST = 12
"""Commands that the day may take, by the issue about it."""

MANIFEST = """\
schema = 1

[workspace]
name = "pottery"
workers = ["*.worker"]
model = "python:models.py:rules"

[toolsets.shop]
python = "tools.py:shop"
capabilities = { state = ["x.shop.read"], refund = ["x.shop.refund"] }

[approvals.rules]
"x.shop.read" = "allowed"
"x.shop.refund" = "needs_approval"

[entries.support]
worker = "support"
title = "{subject}"
may = ["x.shop.read", "x.shop.refund"]
"""

TOOLS = """\
import json
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

HERE = Path(__file__).parent
ORDERS = json.loads(HERE.joinpath("orders.json").read_text())
shop = FunctionToolset(id="shop")


@shop.tool_plain
def state(order: str) -> str:
    return ORDERS[order]


@shop.tool_plain
def refund(order: str, euros: int) -> str:
    with HERE.joinpath("paid.log").open("a") as log:
        log.write(f"{order} {euros}\\n")
    return f"{euros} euros go back"
"""

MODELS = """\
import json
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def answer(messages, info):
    mail = json.loads(messages[0].parts[-1].content)
    returns = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if returns:
        return ModelResponse(parts=[TextPart(f"Thank you. {returns[-1]}.")])
    order = mail["body"].split()[-1]
    if "broken" in mail["subject"]:
        return ModelResponse(parts=[ToolCallPart("refund", {"order": order, "euros": mail["euros"]})])
    return ModelResponse(parts=[ToolCallPart("state", {"order": order})])


rules = FunctionModel(answer)
"""

BROKEN = range(4, 30, 4)
"""The numbers of the mails that ask for money: seven of thirty."""
LOST = 17
"""That of the mail about an order that the shop does not know yet."""


def mail(number: int) -> dict[str, object]:
    subject = f"a broken pot, {number}" if number in BROKEN else f"where is parcel {number}?"
    euros = 900 if number == BROKEN[-1] else 20 + number
    return {"id": f"m{number:02}", "subject": subject, "body": f"It is order A{number}", "euros": euros}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace with its mails, locked."""
    files = {"llmdo.toml": MANIFEST, "tools.py": TOOLS, "models.py": MODELS}
    files["support.worker"] = "---\nname: support\ntoolsets: [shop]\n---\nAnswer the mail.\n"
    files["mails.jsonl"] = "".join(f"{json.dumps(mail(number))}\n" for number in range(30))
    known = {f"A{number}": "on its way" for number in range(30) if number != LOST}
    files["orders.json"] = json.dumps(known)
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return locked(tmp_path)


class Newcomer:
    """Somebody who types commands, each of which counts."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.typed: list[str] = []

    def types(self, *words: str) -> CompletedProcess[str]:
        self.typed.append(" ".join(words))
        return commands.llmdo(self._root, *words)

    def answers(self, *keys: str) -> str:
        """The whole screen of `llmdo approve`, in which these lines are typed."""
        self.typed.append("approve")
        with Person(*keys, columns=120, prompt="]") as person:
            words = [sys.executable, "-m", "llmdo", "approve"]
            assert wait_for(person.start(words, self._root, dict(os.environ))) == 0
            return person.text()


@pytest.mark.long
@pytest.mark.parametrize("kept_in", ["files", pytest.param("database", marks=pytest.mark.fleet)])
def test_the_day_takes_at_most_twelve_commands(
    root: Path, kept_in: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kept_in == "database":
        monkeypatch.setenv("LLMDO_STORE", request.getfixturevalue("store"))
    newcomer = Newcomer(root)

    begun = newcomer.types("batch", "support", "--inputs", "mails.jsonl", "--key", "id")
    assert begun.returncode == 1, begun.stderr
    assert "1 failed, 22 completed, 7 waiting" in begun.stderr

    # What asks, each with its mail, and with its amount beside the others.
    inbox = newcomer.types("inbox")
    assert inbox.stdout.count("a broken pot") == len(BROKEN)

    shown = newcomer.answers("1-6\n", "\n", "1\n", "no is that not 90?\n")
    assert re.search(r'7 \| "A28" +900 +\[m28\] a broken pot, 28', shown)
    assert "[allow 6]" in shown

    resumed = newcomer.types("batch", "resume", "last")
    assert "1 failed, 29 completed" in resumed.stderr
    paid = sorted((root / "paid.log").read_text().splitlines())
    assert paid == sorted(f"A{number} {20 + number}" for number in BROKEN[:-1])

    # The mistake: which mail, and what was wrong with it.
    failed = newcomer.types("runs", "list", "--where", "state=failed")
    assert f"where is parcel {LOST}?" in failed.stdout
    (line,) = failed.stdout.splitlines()[-1:]
    run = newcomer.types("runs", "show", line.split()[0])
    assert f"KeyError: 'A{LOST}'" in run.stdout

    orders = json.loads((root / "orders.json").read_text())
    (root / "orders.json").write_text(json.dumps({**orders, f"A{LOST}": "on its way"}))
    unsure = newcomer.types("batch", "retry", "last")
    assert "--unsure again" in unsure.stderr, "a tool that failed may have done something"
    again = newcomer.types("batch", "retry", "last", "--unsure", "again")
    assert again.returncode == 0, again.stderr

    refused = newcomer.types("runs", "list", "--where", f"title~pot, {BROKEN[-1]}")
    assert "a broken pot, 28" in refused.stdout
    assert newcomer.types("inbox").returncode == 0, "nothing waits"
    assert len(newcomer.typed) <= MOST
