"""Many calls whose start is being kept when the run stops: none of those that were not called is asked about."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from llmdo.journal import Runs
from llmdo.journal.summary import unfinished
from tests.cli.conftest import Llmdo
from tests.support import forking
from tests.support.locks import locked

CALLS = 40
ATTEMPTS = 6

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[toolsets.effects]
python = "tools.py:effects"
capabilities = { effect = ["x.effects.write"] }

[approvals.rules]
"x.effects.write" = "allowed"

[entries.main]
worker = "main"
input = "go"
"""

TOOLS = """\
import os
import signal
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

effects = FunctionToolset(id="effects")
HERE = Path(__file__).parent


@effects.tool_plain
async def effect(number: int) -> str:
    log = os.open(HERE / "effects.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, b"%d\\n" % number)
    os.fsync(log)
    os.close(log)
    if HERE.joinpath("interrupts").exists():
        HERE.joinpath("interrupts").unlink()
        os.kill(os.getpid(), signal.SIGINT)
    return f"did {number}"
"""

MODELS = f"""\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel


async def answer(messages, info):
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("effect", {{"number": number}}) for number in range({CALLS})])


rules = FunctionModel(answer)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace whose model makes many calls at once."""
    folder = tmp_path / "w"
    folder.mkdir()
    for name, text in {"llmdo.toml": MANIFEST, "tools.py": TOOLS, "models.py": MODELS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "main.worker").write_text("---\nname: main\ntoolsets: [effects]\n---\nGo.\n", encoding="utf-8")
    return locked(folder)


def effects(root: Path) -> list[int]:
    return sorted(map(int, (root / "effects.log").read_text().split()))


def interrupted(root: Path) -> tuple[int, str]:
    (root / "interrupts").touch()
    child = forking.Popen([sys.executable, "-m", "llmdo", "run", "main"], cwd=root, stderr=PIPE, text=True)
    _, printed = child.communicate()
    return child.returncode, printed


def interrupted_midway(root: Path) -> tuple[int, str]:
    """The same of a run some of whose calls were not made: where one commit serves all, all are, and it begins again."""
    for _ in range(ATTEMPTS):
        ended = interrupted(root)
        if len(effects(root)) < CALLS:
            break
        shutil.rmtree(root / ".llmdo/runs")
        (root / "effects.log").unlink()
    return ended


def test_one_interruption_leaves_nothing_to_ask_about(llmdo: Llmdo, root: Path) -> None:
    code, printed = interrupted_midway(root)
    assert code == 130, printed
    assert "never retrieved" not in printed
    (run,) = Runs(root).names()
    with Runs(root).read(run) as journal:
        assert unfinished(journal) == {}
    assert len(effects(root)) < CALLS, "all of them were called before it was interrupted"
    resumed = llmdo("resume", run, cwd=root)
    assert resumed.code == 0, resumed.err
    assert effects(root) == [*range(CALLS)]
    assert llmdo("replay", run, cwd=root).code == 0
    assert llmdo("audit", run, cwd=root).code == 0


def test_a_store_that_fails_as_calls_start_interrupts_and_nothing_is_asked_about(
    llmdo: Llmdo, root: Path
) -> None:
    """The disk is full at the moment in which it is kept that the calls start."""
    models = (root / "models.py").read_text()
    full = (
        "import sqlite3\n"
        "def fill():\n"
        "    (path,) = HERE.glob('.llmdo/runs/*.sqlite')\n"
        "    with sqlite3.connect(path) as connection:\n"
        "        connection.execute(\"CREATE TRIGGER t BEFORE INSERT ON entry WHEN new.kind = 'started' \"\n"
        "            \"BEGIN SELECT raise(ABORT, 'disk is full'); END\")\n"
        "    connection.close()\n"
    )
    (root / "models.py").write_text(
        f"from pathlib import Path\nHERE = Path(__file__).parent\n{full}{models}".replace(
            "    return ModelResponse(parts=[ToolCallPart",
            "    HERE.joinpath('full').exists() and fill()\n    return ModelResponse(parts=[ToolCallPart",
        )
    )
    assert llmdo("lock", cwd=root).code == 0
    (root / "full").touch()
    ended = llmdo("run", "main", cwd=root)
    assert (ended.code, "the disk is full" in ended.err) == (130, True), ended
    assert not (root / "effects.log").exists()
    (root / "full").unlink()
    (run,) = Runs(root).names()
    with sqlite3.connect(Runs(root).path(run)) as connection:
        connection.execute("DROP TRIGGER t")
    connection.close()
    assert llmdo("resume", run, cwd=root).code == 0
    assert effects(root) == [*range(CALLS)]


def killed_within(root: Path) -> str:
    """A run whose process died when all of its calls had started and none had ended."""
    tools = (root / "tools.py").read_text().replace("signal.SIGINT", "signal.SIGKILL")
    (root / "tools.py").write_text(
        tools.replace("async def effect", "def effect").replace(
            "    log =", "    import time\n    time.sleep(0.3)\n    log ="
        )
    )
    locked(root)
    assert interrupted(root)[0] == -9
    (run,) = Runs(root).names()
    return run


def test_calls_that_may_have_happened_are_decided_about_by_patterns(llmdo: Llmdo, root: Path) -> None:
    run = killed_within(root)
    with Runs(root).read(run) as journal:
        assert len(unfinished(journal)) == CALLS
    asked = llmdo("resume", run, cwd=root)
    assert (asked.code, "say `--again 'main/*'`" in asked.err) == (2, True), asked.err
    for words, why in [
        (("--again", "other/*"), "started and not finished"),
        (("--again", "main/*", "--give-up", "main/effect*"), "cannot both run again and be given up"),
        (("--again", "main/effect#99"), "is not a call that was started"),
        (("--again", "main/effect#1?"), "is not a call that was started"),
    ]:
        refused = llmdo("resume", run, *words, cwd=root)
        assert (refused.code, why in refused.err) == (2, True), refused
    (root / "effects.log").unlink(missing_ok=True)
    resumed = llmdo("resume", run, "--again", "main/*", "--give-up", "main/effect#7", cwd=root)
    assert resumed.code == 0, resumed.err
    assert effects(root) == [number for number in range(CALLS) if number != 6]
