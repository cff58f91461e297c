"""`llmdo batch retry`: a run goes on where it can, else one is begun in its place; what had effects is asked about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.journal import FileBatches, Runs
from llmdo.toolsets.call_key import key_of
from tests.cli.conftest import Llmdo

from .conftest import MODELS, TOOLS, effects, inputs, rows

START = ("batch", "main", "--inputs", "in.jsonl", "--out", "out.jsonl")


def only(llmdo: Llmdo, root: Path) -> dict[str, object]:
    (row,) = json.loads(llmdo("batch", "show", "last", "--format", "json", cwd=root).out)["rows"]
    return dict(row)


def change(root: Path, llmdo: Llmdo) -> None:
    """Changes what runs, and locks that."""
    worker = root / "main.worker"
    worker.write_text(worker.read_text().replace("Go", "Go on"))
    assert llmdo("lock", cwd=root).code == 0


@pytest.mark.long
def test_a_run_that_cannot_go_on_is_begun_anew(llmdo: Llmdo, root: Path) -> None:
    inputs(root, "wrong")
    assert llmdo(*START, cwd=root).code == 1
    first = str(only(llmdo, root)["run"])
    change(root, llmdo)
    assert llmdo("batch", "retry", "last", cwd=root).code == 1
    assert only(llmdo, root)["state"] == "refused"  # the batch is bound to what it was put in with
    (root / "mended").touch()
    assert llmdo("batch", "retry", "last", "--rebind", cwd=root).code == 0
    assert (only(llmdo, root)["run"], only(llmdo, root)["state"]) == (f"{first}.1", "completed")
    assert Runs(root).names() == [first, f"{first}.1"]
    assert [(row["run"], row["state"]) for row in rows(root)][-1] == (f"{first}.1", "completed")
    assert only(llmdo, root)["requests"] == 1
    assert (
        "2 requests" in llmdo("batch", "show", "last", cwd=root).out
    )  # those of the first run count as well
    assert FileBatches(root).of_run(f"{first}.1") == FileBatches(root).of_run(first)


@pytest.mark.few(1)
@pytest.mark.parametrize("ended", ["failed", "waiting"])
def test_a_run_whose_journal_is_gone_is_begun_anew_only_where_a_person_says_so(
    llmdo: Llmdo, root: Path, ended: str
) -> None:
    inputs(root, "wrong" if ended == "failed" else "careful a")
    llmdo(*START, cwd=root)
    first = str(only(llmdo, root)["run"])
    assert llmdo("runs", "prune", first, cwd=root).code == 0
    (root / "mended").touch()
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    assert only(llmdo, root)["state"] == "failed"
    assert llmdo("batch", "retry", "last", cwd=root).code == 1
    assert only(llmdo, root)["state"] == "unsure"
    assert "its journal is gone; it has taken effect by it is not known which" in str(
        only(llmdo, root)["error"]
    )
    assert Runs(root).names() == []
    llmdo("batch", "retry", "last", "--unsure", "again", cwd=root)
    assert Runs(root).names() == [f"{first}.1"]


KEYED = """
from pydantic_ai import RunContext


@effects.tool
async def keyed(ctx: RunContext[object], name: str) -> str:
    with HERE.joinpath("effects.log").open("a") as log:
        log.write(f"{ctx.deps.call_key}\\n")
    return f"did {name}"
"""


@pytest.fixture
def keyed(llmdo: Llmdo, root: Path) -> Path:
    """A workspace whose model pays with a key, and then fails until it is mended."""
    (root / "tools.py").write_text(TOOLS + KEYED)
    models = MODELS.replace('"careful "', '"careful ", "keyed "').replace(
        "    if returns or", '    if returns and not HERE.joinpath("mended").exists():\n'
        '        raise ValueError("after its effect")\n    if returns or'
    )  # fmt: skip
    (root / "models.py").write_text(models)
    manifest = (root / "llmdo.toml").read_text()
    (root / "llmdo.toml").write_text(
        manifest.replace("careful = [", 'keyed = ["x.effects.write"], careful = [')
    )
    assert llmdo("lock", cwd=root).code == 0
    return root


@pytest.mark.long
def test_a_run_that_had_effects_is_begun_anew_only_when_a_person_says_so(llmdo: Llmdo, keyed: Path) -> None:
    inputs(keyed, "keyed a")
    assert llmdo(*START, cwd=keyed).code == 1
    first = str(only(llmdo, keyed)["run"])
    change(keyed, llmdo)
    (keyed / "mended").touch()
    done = llmdo("batch", "retry", "last", "--rebind", cwd=keyed)
    assert done.code == 1
    asked = only(llmdo, keyed)
    assert asked["state"] == "unsure"
    assert "it has taken effect by main/keyed#1" in str(asked["error"])
    assert f"begins run `{first}.1`" in str(asked["hint"])
    assert llmdo("batch", "retry", "last", "--unsure", "give-up", cwd=keyed).code == 1
    assert only(llmdo, keyed)["state"] == "refused"
    assert len(effects(keyed)) == 1
    llmdo("batch", "retry", "last", cwd=keyed)
    assert llmdo("batch", "retry", "last", "--unsure", "again", cwd=keyed).code == 0
    assert (only(llmdo, keyed)["run"], only(llmdo, keyed)["state"]) == (f"{first}.1", "completed")
    assert effects(keyed) == [key_of(first, "main/keyed#1", 1)] * 2  # the service that is called can tell


def test_a_journal_that_is_damaged_is_asked_about_before_a_run_is_begun_anew(
    llmdo: Llmdo, root: Path
) -> None:
    inputs(root, "wrong")
    assert llmdo(*START, cwd=root).code == 1
    first = str(only(llmdo, root)["run"])
    path = Runs(root).path(first)
    path.write_bytes(path.read_bytes()[:5000])
    (root / "mended").touch()
    assert llmdo("batch", "retry", "last", cwd=root).code == 1
    assert only(llmdo, root)["state"] == "unsure"
    assert "it is not known which calls" in str(only(llmdo, root)["error"])
    assert llmdo("batch", "retry", "last", "--unsure", "again", cwd=root).code == 0
    assert only(llmdo, root)["run"] == f"{first}.1"


def test_a_run_that_does_something_else_than_before_is_begun_anew(llmdo: Llmdo, root: Path) -> None:
    (root / "entries.py").write_text(
        "from pathlib import Path\n\n\n"
        "async def go(runtime, input):\n"
        '    times = Path(__file__).with_name("times")\n'
        '    times.write_text(times.read_text() + "x" if times.exists() else "x")\n'
        '    await runtime.call_agent("main", f"echo {times.read_text()}")\n'
        '    if not Path(__file__).with_name("mended").exists():\n'
        '        raise ValueError("not yet")\n'
        '    return "done"\n'
    )
    manifest = (root / "llmdo.toml").read_text()
    (root / "llmdo.toml").write_text(
        f'{manifest}\n[entries.go]\nfunction = "entries.py:go"\ncalls = ["main"]\n'
    )
    assert llmdo("lock", cwd=root).code == 0
    inputs(root, "x")
    assert llmdo("batch", "go", *START[2:], cwd=root).code == 1
    first = str(only(llmdo, root)["run"])
    (root / "mended").touch()
    assert llmdo("batch", "retry", "last", cwd=root).code == 0
    assert (only(llmdo, root)["run"], only(llmdo, root)["output"]) == (f"{first}.1", "done")


@pytest.mark.long
def test_a_tool_that_ended_its_run_is_run_again_where_that_is_safe(llmdo: Llmdo, root: Path) -> None:
    tools = TOOLS.replace(
        '    return f"did {name}"',
        '    if not HERE.joinpath("mended").exists():\n        raise ValueError("broken")\n    return f"did {name}"',
    )
    (root / "tools.py").write_text(tools)
    assert llmdo("lock", cwd=root).code == 0
    inputs(root, "effect a")
    assert llmdo(*START, cwd=root).code == 1
    (root / "mended").touch()
    assert llmdo("batch", "retry", "last", cwd=root).code == 1  # it may have taken effect before it failed
    assert only(llmdo, root)["state"] == "unsure"
    assert "ended the run with an error" in str(only(llmdo, root)["error"])
    assert effects(root) == ["a"]
    assert llmdo("batch", "retry", "last", "--unsure", "again", cwd=root).code == 0
    assert effects(root) == ["a", "a"]
    manifest = (root / "llmdo.toml").read_text()
    (root / "llmdo.toml").write_text(
        manifest.replace("capabilities = {", 'retry = { effect = "safe" }\ncapabilities = {')
    )
    (root / "mended").unlink()
    assert llmdo("lock", cwd=root).code == 0
    assert llmdo(*START, cwd=root).code == 1
    (root / "mended").touch()
    assert llmdo("batch", "retry", "last", cwd=root).code == 0


def test_what_belongs_to_a_run_is_not_taken_for_what_belongs_to_another(llmdo: Llmdo, root: Path) -> None:
    runs = Runs(root)
    for run in ("r", "r.1", "r.12"):
        runs.create(run).close()
    runs.remove("r")
    assert runs.names() == ["r.1", "r.12"]
    runs.create("r").close()
    assert sorted(runs.names()) == ["r", "r.1", "r.12"]
    runs.remove("r.1")
    assert sorted(runs.names()) == ["r", "r.12"]
    assert llmdo("runs", "show", "r.0", cwd=root).code == 2
