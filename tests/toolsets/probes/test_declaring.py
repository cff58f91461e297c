"""Where a probe may be: a method of the toolset, or a function of its module; what is neither is no probe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Llmdo

from .conftest import TOOLS, killed, lines

METHOD = re.sub(r"(?m)^@bank\.tool.*\n", "", TOOLS).replace(
    'bank = FunctionToolset(id="bank")\n',
    """
class Bank(FunctionToolset):
    def __init__(self, city: str = "here") -> None:
        super().__init__(id="bank")
        self.city = city
        self.add_function(pay, metadata={"capabilities": ["x.bank.pay"], "probe": "was_paid"})

    async def was_paid(self, key, tool_args, ctx):
        note("cities.log", self.city)
        return await was_paid(key, tool_args, ctx)
""",
)


def given(llmdo: Llmdo, root: Path, tools: str) -> str:
    """What `lock` says of tools that are written so; nothing where it is content."""
    (root / "tools.py").write_text(tools)
    done = llmdo("lock", cwd=root)
    return "" if done.code == 0 else done.out + done.err


def test_a_method_of_the_toolset(llmdo: Llmdo, root: Path) -> None:
    (root / "main.worker").write_text("---\nname: main\ntoolsets: {bank: {city: Rome}}\n---\nGo.\n")
    manifest = (root / "llmdo.toml").read_text()
    (root / "llmdo.toml").write_text(manifest.replace(':bank"', ':Bank"\nprefix = "my"'))
    models = (root / "models.py").read_text()
    (root / "models.py").write_text(models.replace('f"pay:', 'f"my_pay:'))
    assert given(llmdo, root, METHOD) == ""
    killed(root, "after", "run", "main")
    assert llmdo("resume", "last", cwd=root).out == "paid ada, says the bank\n"
    assert (lines(root, "paid"), lines(root, "cities")) == (["ada"], ["Rome"])


def test_a_function_of_the_module_of_an_adopted_agent(llmdo: Llmdo, root: Path) -> None:
    agent = """
from pydantic_ai import Agent

from models import rules

clerk = Agent(rules, toolsets=[bank], name="clerk")
"""
    (root / "tools.py").write_text(re.sub(r"x\.bank\.\w+", "net.connect", TOOLS + agent))
    (root / "main.worker").unlink()
    text = (root / "llmdo.toml").read_text()
    head, _, rest = text.replace('"x.bank"', '"net.connect"').partition("[toolsets.bank]")
    (root / "llmdo.toml").write_text(
        f'{head.replace("*.worker", "none/*.worker")}[workers.clerk]\npython = "tools.py:clerk"\n'
        + rest.partition('python = "tools.py:bank"\n')[2].replace('worker = "main"', 'worker = "clerk"')
    )
    done = llmdo("lock", cwd=root)
    assert done.code == 0, done
    killed(root, "after", "run", "main")
    resumed = llmdo("resume", "last", cwd=root)
    assert resumed.out == "paid ada, says the bank\n", resumed
    assert lines(root, "paid") == ["ada"]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (
            '"was_" + "sent"',
            "its probe `was_sent` is neither a method of the toolset nor a function of its module",
        ),
        ("HERE.name", "is neither a method of the toolset nor a function of its module"),
        ("was_paid", "`probe` is of type `function`, not the name of a function"),
        ('"HERE"', "its probe `HERE` is neither a method of the toolset nor a function of its module"),
    ],
)
def test_what_only_importing_shows_is_found_by_lock(
    llmdo: Llmdo, root: Path, written: str, problem: str
) -> None:
    tools = TOOLS.replace('"probe": "was_paid"', f'"probe": {written}')
    if written == "was_paid":
        tools = tools.replace(
            'bank = FunctionToolset(id="bank")', 'bank = FunctionToolset(id="bank")\n\ndef was_paid(): ...'
        )
    assert problem in given(llmdo, root, tools)


def test_check_finds_a_name_that_is_not_there(llmdo: Llmdo, root: Path) -> None:
    (root / "tools.py").write_text(TOOLS.replace('"probe": "was_paid"', '"probe": "was_payed"'))
    checked = llmdo("check", cwd=root)
    assert checked.code == 1
    assert "error[LDO205]: `tools.py` has no `was_payed`, the probe of the tool `pay`" in checked.out
