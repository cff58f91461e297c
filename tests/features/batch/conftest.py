"""A workspace whose entry has an effect for each input, and a model that says what is to happen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import llmdo
from tests.support.locks import locked

__all__ = ["llmdo"]

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[toolsets.effects]
python = "tools.py:effects"
capabilities = { effect = ["x.effects.write"], careful = ["x.effects.careful"] }

[approvals.rules]
"x.effects.write" = "allowed"
"x.effects.careful" = "needs_approval"

[entries.main]
worker = "main"
"""

TOOLS = """\
import asyncio
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

HERE = Path(__file__).parent
effects = FunctionToolset(id="effects")


@effects.tool_plain
async def effect(name: str) -> str:
    with HERE.joinpath("effects.log").open("a") as log:
        log.write(f"{name}\\n")
    while HERE.joinpath("hold").exists():
        await asyncio.sleep(0.01)
    return f"did {name}"


@effects.tool_plain
async def careful(name: str) -> str:
    return await effect(name)
"""

MODELS = """\
from pathlib import Path
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

HERE = Path(__file__).parent


async def answer(messages, info):
    with HERE.joinpath("requests.log").open("a") as log:
        log.write("x")
    content = messages[0].parts[-1].content
    text = content if isinstance(content, str) else " ".join(map(str, content))
    returns = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if "broke" in text and not HERE.joinpath("paid").exists():
        raise ModelHTTPError(402, "scripted", {"message": "no money left"})
    if "wrong" in text and not HERE.joinpath("mended").exists():
        raise ValueError("this input is wrong")
    if returns or not text.startswith(("effect ", "careful ")):
        return ModelResponse(parts=[TextPart(" ".join([*(str(part.content) for part in returns)] or [f"echo {text}"]))])
    tool, _, name = text.partition(" ")
    return ModelResponse(parts=[ToolCallPart(tool, {"name": name})])


rules = FunctionModel(answer)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace, locked."""
    folder = tmp_path / "w"
    folder.mkdir()
    for name, text in {"llmdo.toml": MANIFEST, "tools.py": TOOLS, "models.py": MODELS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "main.worker").write_text("---\nname: main\ntoolsets: [effects]\n---\nGo.\n", encoding="utf-8")
    return locked(folder)


def inputs(root: Path, *texts: object) -> None:
    """Writes them as `in.jsonl`, a line each."""
    (root / "in.jsonl").write_text("".join(f"{json.dumps(text)}\n" for text in texts), encoding="utf-8")


def effects(root: Path) -> list[str]:
    """What happened, in no order."""
    log = root / "effects.log"
    return sorted(log.read_text().splitlines()) if log.exists() else []


def rows(root: Path, name: str = "out.jsonl") -> list[dict[str, object]]:
    """The rows of the output in the order of their keys."""
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    return sorted(map(json.loads, lines), key=lambda row: str(row["key"]))
