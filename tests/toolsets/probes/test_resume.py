"""A call whose process was killed: its probe says whether it took effect, and nobody is asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from llmdo.journal import Runs
from llmdo.journal.entries import JournalEntry
from llmdo.journal.summary import unfinished
from tests.cli.conftest import Llmdo
from tests.support import forking

from .conftest import killed, killed_within, lines, records

BOTH = pytest.mark.parametrize("moment", ["before", "after"])


def probed(root: Path) -> list[JournalEntry]:
    with Runs(root).read(Runs(root).find("last")) as journal:
        return [*journal.entries("probed")]


@BOTH
def test_the_effect_happens_once_and_nobody_is_asked(llmdo: Llmdo, root: Path, moment: str) -> None:
    killed(root, moment, "run", "main")
    resumed = llmdo("resume", "last", cwd=root)
    assert resumed.code == 0, resumed.err
    assert (lines(root, "paid"), lines(root, "probed")) == (["ada"], ["ada"])
    assert resumed.out == ("paid ada\n" if moment == "before" else "paid ada, says the bank\n")
    logs = [(root / f"{name}.log").read_text() for name in ("begun", "probed", "paid")]
    keys = {line.split()[0] for log in logs for line in log.splitlines()}
    assert len(keys) == 1, "a key of its own for each execution"
    assert llmdo("replay", "last", cwd=root).out == resumed.out
    assert llmdo("resume", "last", cwd=root).out == resumed.out
    assert lines(root, "probed") == ["ada"]
    assert llmdo("audit", "last", "--verify", cwd=root).code == 0


@BOTH
def test_what_a_probe_said_is_in_the_journal_and_in_the_audit(llmdo: Llmdo, root: Path, moment: str) -> None:
    killed(root, moment, "run", "main")
    assert llmdo("resume", "last", cwd=root).code == 0
    outcome = "no effect" if moment == "before" else "took effect"
    (entry,) = probed(root)
    assert (entry.path, entry.step, entry.outcome) == ("main/pay#1", 1, outcome)
    assert entry.data == {"execution": 1, "probe": "was_paid", "why": None}
    (record,) = records(llmdo, root, "probed")
    call = {"path": "main/pay#1", "tool": "pay", "answer": outcome}
    assert record.items() >= {**call, **entry.data}.items()
    words = f"its probe `was_paid` said: {outcome}"
    assert words in llmdo("runs", "show", "last", cwd=root).out
    assert words in llmdo("runs", "show", "last", "--calls", cwd=root).out
    shown = json.loads(llmdo("runs", "show", "last", "--format", "json", cwd=root).out)
    assert shown["calls"][0]["children"][0]["probes"] == [{**entry.data, "answer": outcome}]
    assert f"main/pay#1 by `was_paid`, {outcome}" in llmdo("audit", "last", cwd=root).out


UNKNOWN = {
    "does not know": "does not know",
    "raises": "raised ConnectionError: the bank is away",
    "exits": "raised SystemExit: 3",
    "returns text": "returned `str`, not `llmdo.TookEffect(result)`, `llmdo.NoEffect()` or None",
    "calls": "raised LlmdoError: a probe calls no worker and no tool, and loads no file",
    "calls a worker": "raised LlmdoError: a probe calls no worker and no tool, and loads no file",
    "loads": "raised LlmdoError: a probe calls no worker and no tool, and loads no file",
    "takes toolsets": "raised LlmdoError: a probe calls no worker and no tool, and loads no file",
}


@pytest.mark.few(2)
@pytest.mark.parametrize("how", UNKNOWN)
def test_a_person_is_asked_where_a_probe_does_not_know(llmdo: Llmdo, root: Path, how: str) -> None:
    killed(root, "after", "run", "main")
    (root / "probe").write_text(how)
    asked = llmdo("resume", "last", cwd=root)
    why = f"its probe `was_paid` {UNKNOWN[how]}"
    assert (asked.code, asked.out) == (130, "")
    assert (
        f"`pay` at main/pay#1 was started and did not finish: it may have taken effect, and {why}"
        in asked.err
    )
    assert "--again main/pay#1" in asked.err
    assert lines(root, "paid") == ["ada"]
    assert not (root / "looked.log").exists()
    (entry,) = probed(root)
    assert (entry.outcome, entry.data["why"]) == ("not known", why)
    replayed = llmdo("replay", "last", cwd=root)
    assert (replayed.code, why in replayed.err) == (130, True), replayed
    (root / "probe").unlink()
    assert llmdo("resume", "last", cwd=root).out == "paid ada, says the bank\n"
    assert (lines(root, "paid"), len(probed(root))) == (["ada"], 2)
    assert llmdo("replay", "last", cwd=root).code == 0


def test_a_result_that_is_no_data_is_no_answer(llmdo: Llmdo, root: Path) -> None:
    killed(root, "after", "run", "main")
    (root / "probe").write_text("returns no data")
    asked = llmdo("resume", "last", cwd=root)
    assert (asked.code, "the result of its probe cannot be written as JSON" in asked.err) == (130, True)
    assert lines(root, "paid") == ["ada"]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["async", "in a thread"])
def test_a_probe_that_hangs_does_not_know(llmdo: Llmdo, root: Path, kind: str) -> None:
    tools = (
        (root / "tools.py").read_text().replace('"probe": "was_paid"}', '"probe": "was_paid"}, timeout=0.3')
    )
    if kind == "in a thread":
        tools = tools.replace("async def was_paid", "def was_paid").replace(
            "await asyncio.sleep(3600)", "time.sleep(3600)"
        )
        tools = (
            "\n".join(line for line in tools.splitlines() if "await ctx" not in line or "def" in line) + "\n"
        )
        tools = tools.replace('    if how == "calls":\n', "").replace('    if how == "calls a worker":\n', "")
        tools = tools.replace('    if how == "loads":\n', "")
    (root / "tools.py").write_text(tools)
    assert llmdo("lock", cwd=root).code == 0
    killed(root, "before", "run", "main")
    (root / "probe").write_text("hangs")
    process = forking.Popen(
        [sys.executable, "-m", "llmdo", "resume", "last"], cwd=root, stdout=PIPE, stderr=PIPE, text=True
    )
    _, printed = process.communicate(timeout=60)
    assert (process.returncode, "its probe `was_paid` gave no answer in 0.3 seconds" in printed) == (
        130,
        True,
    ), printed
    (root / "probe").unlink()
    assert llmdo("resume", "last", cwd=root).code == 0
    assert lines(root, "paid") == ["ada"]


def test_probes_that_are_being_asked_answer_before_the_run_stops(llmdo: Llmdo, root: Path) -> None:
    tools = (root / "tools.py").read_text()
    slow = '    if how == "ada is not known":\n        if tool_args["to"] == "ada":\n            return None\n        await asyncio.sleep(0.3)\n'
    (root / "tools.py").write_text(
        tools.replace('    if how == "raises":\n', f'{slow}    if how == "raises":\n')
    )
    assert llmdo("lock", cwd=root).code == 0
    killed_within(root, 2, "run", "main", "pay ada bob")
    (root / "probe").write_text("ada is not known")
    assert llmdo("resume", "last", cwd=root).code == 130
    answers = {entry.path: entry.outcome for entry in probed(root)}
    assert answers == {"main/pay#1": "not known", "main/pay#2": "no effect"}


def test_what_a_person_says_goes_before_the_probe(llmdo: Llmdo, root: Path) -> None:
    killed(root, "after", "run", "main")
    given_up = llmdo("resume", "last", "--give-up", "main/*", cwd=root)
    assert "nobody knows whether it took effect" in given_up.out
    killed(root, "after", "run", "main")
    assert llmdo("resume", "last", "--again", "main/pay#1", cwd=root).out == "paid ada\n"
    assert (lines(root, "paid"), lines(root, "probed")) == (["ada"] * 3, [])


def test_a_probe_is_asked_again_about_a_call_that_ran_again(llmdo: Llmdo, root: Path) -> None:
    killed(root, "before", "run", "main")
    killed(root, "after", "resume", "last")
    assert llmdo("resume", "last", cwd=root).out == "paid ada, says the bank\n"
    assert (lines(root, "paid"), [entry.outcome for entry in probed(root)]) == (
        ["ada"],
        ["no effect", "took effect"],
    )


def test_a_process_that_is_killed_as_it_probes_changes_nothing(llmdo: Llmdo, root: Path) -> None:
    killed(root, "after", "run", "main")
    killed(root, "probing", "resume", "last")
    assert llmdo("resume", "last", cwd=root).code == 0
    assert (lines(root, "paid"), len(probed(root))) == (["ada"], 1)


def test_calls_without_a_probe_are_asked_about_and_the_others_are_not(llmdo: Llmdo, root: Path) -> None:
    killed_within(root, 4, "run", "main", "pay ada give:eve bob give:kim")
    asked = llmdo("resume", "last", cwd=root)
    assert (asked.code, "pay" in asked.err) == (2, False), asked
    assert "`give` at main/give#1, `give` at main/give#2: started and not finished" in asked.err
    assert "say `--again '*/give#*'`" in asked.err, "which is not about those with a probe"
    assert llmdo("resume", "last", "--again", "*/give#*", cwd=root).code == 0
    assert (lines(root, "paid"), lines(root, "given")) == (["ada", "bob"], ["eve", "eve", "kim", "kim"])
    assert lines(root, "probed") == ["ada", "bob"]


def test_the_probe_of_a_call_that_the_gate_does_not_let_through_is_not_asked(
    llmdo: Llmdo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(root, "after", "run", "main")
    policy = root.parent / "config" / "llmdo" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('schema = 1\n[approvals.rules]\n"x.bank" = "needs_approval"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(policy.parent.parent))
    assert llmdo("resume", "last", cwd=root).code == 3
    assert lines(root, "probed") == []
    assert "needs approval, which was not given" in llmdo("resume", "last", "--reject-all", cwd=root).out
    assert lines(root, "probed") == []


def test_once_it_is_let_through_its_probe_is(
    llmdo: Llmdo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(root, "after", "run", "main")
    policy = root.parent / "config" / "llmdo" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('schema = 1\n[approvals.rules]\n"x.bank" = "needs_approval"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(policy.parent.parent))
    assert llmdo("resume", "last", cwd=root).code == 3
    assert llmdo("approve", "last", "--yes", "main/pay#1", cwd=root).code == 0
    assert llmdo("resume", "last", cwd=root).out == "paid ada, says the bank\n"
    assert (lines(root, "paid"), lines(root, "probed")) == (["ada"], ["ada"])


def test_a_code_that_changed_is_no_probe(llmdo: Llmdo, root: Path) -> None:
    killed(root, "after", "run", "main")
    (root / "tools.py").write_text((root / "tools.py").read_text() + "# later\n")
    refused = llmdo("resume", "last", cwd=root)
    assert (refused.code, "what runs is not what ran when the run began" in refused.err) == (2, True)
    assert lines(root, "probed") == []


def test_a_probe_that_is_gone_leaves_it_to_a_person(llmdo: Llmdo, root: Path) -> None:
    killed(root, "after", "run", "main")
    (root / "tools.py").write_text((root / "tools.py").read_text().replace(', "probe": "was_paid"', ""))
    assert llmdo("lock", cwd=root).code == 0
    asked = llmdo("resume", "last", "--allow-drift", "bank", cwd=root)
    assert "it offers no probe any more" in asked.err, asked
    assert lines(root, "paid") == ["ada"]


def test_an_answer_may_be_of_a_class_of_the_author(llmdo: Llmdo, root: Path) -> None:
    killed(root, "after", "run", "main")
    (root / "probe").write_text("returns its own")
    assert llmdo("resume", "last", cwd=root).out == "paid, by a class of its own\n"
    assert [entry.outcome for entry in probed(root)] == ["took effect"]


def test_what_a_probe_does_to_its_arguments_changes_no_call(llmdo: Llmdo, root: Path) -> None:
    killed(root, "before", "run", "main")
    (root / "probe").write_text("spoils its arguments")
    assert llmdo("resume", "last", cwd=root).out == "paid ada\n"
    assert lines(root, "paid") == ["ada"]


def test_what_workers_below_it_used_counts_where_its_effect_took_place(llmdo: Llmdo, root: Path) -> None:
    tools = (root / "tools.py").read_text()
    (root / "tools.py").write_text(
        tools.replace(
            '    dies("before")\n',
            '    await ctx.deps.call_agent("helper", "look", ctx)\n    dies("before")\n',
        )
    )
    (root / "main.worker").write_text("---\nname: main\ntoolsets: [bank, helper]\n---\nGo.\n")
    (root / "helper.worker").write_text("---\nname: helper\ndescription: d\n---\nGo.\n")
    assert llmdo("lock", cwd=root).code == 0
    killed(root, "after", "run", "main")
    resumed = json.loads(llmdo("resume", "last", "--format", "json", cwd=root).out)
    assert (resumed["output"], resumed["usage"]["requests"]) == ("paid ada, says the bank", 3)


def test_the_manifest_has_the_last_word(llmdo: Llmdo, root: Path) -> None:
    manifest = (root / "llmdo.toml").read_text()
    (root / "llmdo.toml").write_text(manifest.replace(':bank"\n', ':bank"\nretry = { pay = "ask" }\n'))
    assert llmdo("lock", cwd=root).code == 0
    killed(root, "after", "run", "main")
    asked = llmdo("resume", "last", cwd=root)
    assert (asked.code, "`pay` at main/pay#1: started and not finished" in asked.err) == (2, True)
    assert lines(root, "probed") == []


NESTED = """

@bank.tool(metadata={"capabilities": ["x.bank.pay"], "probe": "was_paid"})
async def settle(ctx: RunContext[object], to: str) -> str:
    note("settled.log", f"{ctx.deps.call_key} {to}")
    return await ctx.deps.call_tool("bank.pay", {"to": to})


async def was_settled(key, tool_args, ctx):
    return llmdo.TookEffect("settled, says the bank")
"""


@pytest.mark.parametrize("word", ["", "--give-up"])
def test_a_call_below_one_that_is_over_is_not_asked_about(llmdo: Llmdo, root: Path, word: str) -> None:
    """The call of a tool by another tool's code, which does not come to it any more."""
    nested = NESTED.replace('"probe": "was_paid"', '"probe": "was_settled"')
    (root / "tools.py").write_text((root / "tools.py").read_text() + nested)
    manifest = (root / "llmdo.toml").read_text()
    (root / "llmdo.toml").write_text(manifest.replace(':bank"\n', ':bank"\ncalls = ["bank.pay"]\n'))
    assert llmdo("lock", cwd=root).code == 0
    killed(root, "after", "run", "main", "pay settle:ada")
    with Runs(root).read(Runs(root).find("last")) as journal:
        assert len(unfinished(journal)) == 2
    resumed = llmdo("resume", "last", *([word, "main/*"] if word else []), cwd=root)
    assert (resumed.code, lines(root, "probed")) == (0, []), resumed
    with Runs(root).read(Runs(root).find("last")) as journal:
        assert unfinished(journal) == {}
    assert llmdo("run", "main", "next", "--continue", "last", cwd=root).code == 0


def test_a_person_is_asked_where_a_probe_is_not_there(llmdo: Llmdo, root: Path) -> None:
    tools = root / "tools.py"
    tools.write_text(f"{tools.read_text()}\nif HERE.joinpath('gone').exists():\n    del was_paid\n")
    assert llmdo("lock", cwd=root).code == 0
    killed(root, "after", "run", "main")
    (root / "gone").touch()
    asked = llmdo("resume", "last", cwd=root)
    assert (asked.code, asked.out) == (130, "")
    assert "its probe `was_paid` is neither a method of the toolset nor a function of its module" in asked.err
