"""`llmdo lsp` as an editor has it: a process that speaks the protocol."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types

from tests import forking
from tests.commands import llmdo
from tests.editor.client import editor, run

MANIFEST = 'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "openai:gpt-5"\n'
MAIN = "---\nname: main\nentry: true\ntoolsets:\n  other: {}\n---\nGo on.\n"
OTHER = "---\nname: other\n---\nGo.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in {"llmdo.toml": MANIFEST, "main.worker": MAIN, "other.worker": OTHER}.items():
        (tmp_path / path).write_text(text)
    return tmp_path


def test_findings_come_and_go_while_somebody_types(root: Path) -> None:
    async def work() -> None:
        async with editor(root) as shown:
            await shown.shows("llmdo.lock", "LDO402")
            shown.open("main.worker")
            shown.type("main.worker", MAIN.replace("  other", "  othr"))
            (finding,) = await shown.shows("main.worker", "LDO202")
            assert finding.range == types.Range(types.Position(4, 2), types.Position(4, 6))
            assert finding.severity == types.DiagnosticSeverity.Error
            assert "did you mean `other`?" in finding.message
            assert finding.source == "llmdo"
            await shown.shows("other.worker", "LDO303")
            shown.type("main.worker", MAIN)
            await shown.shows("main.worker")
            await shown.shows("other.worker")
            shown.type("main.worker", "---\nname: [\n")
            await shown.shows("main.worker", "LDO109")
            shown.close("main.worker")
            await shown.shows("main.worker")

    run(work())


def test_the_disk_holds_for_what_is_not_open(root: Path) -> None:
    async def work() -> None:
        async with editor(root) as shown:
            await shown.shows("llmdo.lock", "LDO402")
            (root / "other.worker").write_text(OTHER.replace("other", "another"))
            shown.save("other.worker")
            await shown.shows("main.worker", "LDO202")
            (root / "llmdo.toml").unlink()
            shown.save("llmdo.toml")
            await shown.shows("main.worker")
            await shown.shows("llmdo.lock")

    run(work())


@pytest.mark.parametrize(
    ("encoding", "units"),
    [
        ("utf-16", 4),
        pytest.param("utf-8", 8, marks=pytest.mark.long),
        pytest.param("utf-32", 2, marks=pytest.mark.long),
    ],
)
def test_columns_are_those_of_the_editor(root: Path, encoding: str, units: int) -> None:
    before = ('toolsets: { filesystem: { read: ["', '/**"] }, ')
    text = f"---\r\nname: main\r\nentry: true\r\n{before[0]}😀😀{before[1]}nobody: {{}} }}\r\n---\r\nGo.\r\n"

    async def work() -> None:
        async with editor(root, encodings=[encoding]) as shown:
            shown.open("main.worker", text)
            (finding,) = await shown.shows("main.worker", "LDO202")
            start = sum(map(len, before)) + units
            assert finding.range == types.Range(
                types.Position(3, start), types.Position(3, start + len("nobody"))
            )

    run(work())


def test_the_command_says_what_to_install(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llmdo.services.editor.server", None)
    done = llmdo(root, "lsp")
    assert done.returncode == 2
    assert "pip install 'llmdo-workspace[lsp]'" in done.stderr


def test_ctrl_c_and_an_end_of_input_end_it_quietly(root: Path) -> None:
    words = [sys.executable, "-m", "llmdo", "lsp"]
    ended = forking.run(words, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "Traceback" not in ended.stderr
    with forking.Popen(
        words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        body = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
        server.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}")
        server.stdin.flush()
        assert server.stdout.readline().startswith("Content-Length")
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=30)
        assert "Traceback" not in errors
        assert server.returncode in (0, 130)
