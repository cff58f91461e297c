"""`llmdo lsp` as an editor has it: a process that speaks the protocol."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types

from tests.features.editor.client import editor, run
from tests.support import forking
from tests.support.commands import without

MANIFEST = 'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "openai:gpt-5"\n'
MAIN = "---\nname: main\nentry: true\ntoolsets:\n  other: {}\n---\nGo on.\n"
OTHER = "---\nname: other\n---\nGo.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in {"llmdo.toml": MANIFEST, "main.worker": MAIN, "other.worker": OTHER}.items():
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.mark.long
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
            assert shown.codes("other.worker") == []  # that nobody reaches it follows from the misspelt name
            shown.type("main.worker", MAIN)
            await shown.shows("main.worker")
            await shown.shows("other.worker")
            shown.type("main.worker", "---\nname: [\n")
            await shown.shows("main.worker", "LDO109")
            shown.close("main.worker")
            await shown.shows("main.worker")

    run(work())


@pytest.mark.long
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


@pytest.mark.long
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


def test_an_editor_asks_and_is_answered_and_no_code_of_the_workspace_runs(root: Path) -> None:
    (root / "llmdo.toml").write_text(
        MANIFEST + 'toolset-modules = ["kit.py"]\n\n[entries.go]\nworker = "main"\nmay = []\n'
    )
    evil = f"import pathlib\npathlib.Path({str(root / 'executed')!r}).touch()\n"
    kit = "from pydantic_ai.toolsets import FunctionToolset\nkit = FunctionToolset()\n"
    (root / "kit.py").write_text(evil + kit)
    (root / "sitecustomize.py").write_text(evil)
    (root / "other.worker").write_bytes(b"---\r\nname: other\r\ntoolsets: { kitt: {} }\r\n---\r\nGo.\r\n")

    async def work() -> None:
        async with editor(root) as shown:
            client = shown.client
            shown.open("main.worker")
            (finding,) = await shown.shows("other.worker", "LDO202")
            hover = await client.text_document_hover_async(types.HoverParams(**shown.at("main.worker", 1, 7)))
            assert hover
            assert "**worker `main`**" in hover.contents.value
            (place,) = await client.text_document_definition_async(
                types.DefinitionParams(**shown.at("main.worker", 4, 4))
            )
            assert (place.uri, place.range.start.line) == (shown.uri("other.worker"), 1)
            places = await client.text_document_references_async(
                types.ReferenceParams(context=types.ReferenceContext(True), **shown.at("main.worker", 4, 4))
            )
            assert [each.uri for each in places] == [shown.uri("main.worker"), shown.uri("other.worker")]
            shown.type("main.worker", MAIN.replace("  other", "  ot"))
            items = await client.text_document_completion_async(
                types.CompletionParams(**shown.at("main.worker", 4, 4))
            )
            (item,) = [each for each in items if each.label == "other"]
            assert item.text_edit == types.TextEdit(
                types.Range(types.Position(4, 2), types.Position(4, 4)), "other"
            )
            shown.type("main.worker", MAIN)
            edit = await client.text_document_rename_async(
                types.RenameParams(new_name="helper", **shown.at("main.worker", 4, 4))
            )
            assert {uri: [each.new_text for each in edits] for uri, edits in edit.changes.items()} == {
                shown.uri("main.worker"): ["helper"],
                shown.uri("other.worker"): ["helper"],
            }
            with pytest.raises(Exception, match="there is a worker or toolset `main` already"):
                await client.text_document_rename_async(
                    types.RenameParams(new_name="main", **shown.at("main.worker", 4, 4))
                )
            actions = await client.text_document_code_action_async(
                types.CodeActionParams(
                    types.TextDocumentIdentifier(shown.uri("other.worker")),
                    finding.range,
                    types.CodeActionContext([finding]),
                )
            )
            assert [each.title for each in actions] == ["Write `kit` for `kitt`", "Fix all that is certain"]
            (fixed,) = actions[0].edit.changes[shown.uri("other.worker")]
            assert (fixed.new_text, fixed.range) == ("kit", finding.range)
            (lens,) = await client.text_document_code_lens_async(
                types.CodeLensParams(types.TextDocumentIdentifier(shown.uri("main.worker")))
            )
            assert lens.command.title.startswith("reaches ")
            assert (
                await client.text_document_hover_async(
                    types.HoverParams(**shown.at("../elsewhere.worker", 4, 4))
                )
                is None
            )

    run(work())
    assert not (root / "executed").exists()


def test_the_command_says_what_to_install(root: Path) -> None:
    done = without(root, "pygls", "lsp")
    assert done.returncode == 2
    assert f"`pip install -e '{Path(__file__).parents[3]}[lsp]'`" in done.stderr


@pytest.mark.long
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
