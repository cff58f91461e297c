"""The command line, called in this process: what it prints and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from llmdo.__main__ import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Llmdo = Callable[..., Done]


@pytest.fixture
def llmdo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Llmdo:
    """Runs a command in `cwd`, by default the test's own folder."""

    def run(*words: str, cwd: Path = tmp_path) -> Done:
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["llmdo", *words])
        capsys.readouterr()
        code = main()
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


RULES = """\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def answer(messages, info):
    returns = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    text = messages[0].parts[-1].content
    text = text if isinstance(text, str) else str(text[0])
    if returns or ":" not in text:
        return ModelResponse(parts=[TextPart(" | ".join(str(one.content) for one in returns) or f"echo {text}")])
    calls = [call.split(":", 2) for call in text.split(";")]
    parts = [
        ToolCallPart(tool, {key: value} if tool != "write_file" else {"path": key, "content": value})
        for tool, key, value in calls
    ]
    return ModelResponse(parts=parts)


rules = FunctionModel(answer)
"""
"""A model that calls what its input says, `tool:key:value;...`, and answers with the results."""

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[entries.main]
worker = "main"
input = "hello"
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace whose `main` reads everything and writes below out/."""
    root = tmp_path / "w"
    root.mkdir()
    (root / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (root / "models.py").write_text(RULES, encoding="utf-8")
    (root / "main.worker").write_text(
        '---\nname: main\ntoolsets:\n  filesystem: { write: ["out/**"] }\n---\nGo.\n', encoding="utf-8"
    )
    return root
