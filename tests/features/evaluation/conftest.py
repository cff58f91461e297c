"""A workspace whose workers do what their input says, line by line, so that a case says what happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import llmdo
from tests.support.locks import locked

__all__ = ["llmdo"]

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[toolsets.shop]
python = "tools.py:shop"
capabilities = { refund = ["x.shop.refund"], look = ["x.shop.look"], burn = ["x.shop.burn"] }

[approvals.rules]
"x.shop.look" = "allowed"
"x.shop.refund" = "needs_approval"
"x.shop.burn" = "blocked"
"agent.delegate" = "allowed"

[entries.main]
worker = "main"
"""

TOOLS = """\
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

HERE = Path(__file__).parent
shop = FunctionToolset(id="shop")


def note(text):
    with HERE.joinpath("effects.log").open("a") as log:
        log.write(f"{text}\\n")
    return f"did {text}"


@shop.tool_plain
def look(item: str = "") -> str:
    return note(f"look {item}")


@shop.tool_plain
def refund(item: str = "") -> str:
    return note(f"refund {item}")


@shop.tool_plain
def burn(item: str = "") -> str:
    return note(f"burn {item}")
"""

MODELS = """\
import json
from pathlib import Path
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

HERE = Path(__file__).parent


async def answer(messages, info):
    parts = [part for message in messages for part in message.parts]
    content = next(part.content for part in parts if isinstance(part, UserPromptPart))
    text = content if isinstance(content, str) else " ".join(map(str, content))
    made = sum(isinstance(part, ToolCallPart) for part in parts)
    lines = text.splitlines()
    steps = [line for line in lines if line.startswith("call ")]
    if made < len(steps):
        _, tool, *rest = steps[made].split(" ", 2)
        return ModelResponse(parts=[ToolCallPart(tool, json.loads(rest[0]) if rest else {})])
    spoken = [line.removeprefix("say ") for line in lines if line.startswith("say ")]
    return ModelResponse(parts=[TextPart("\\n".join(spoken) or "nothing")])


async def shout(messages, info):
    response = await answer(messages, info)
    parts = [TextPart(p.content.upper()) if isinstance(p, TextPart) else p for p in response.parts]
    return ModelResponse(parts=parts)


rules = FunctionModel(answer, model_name="rules")
loud = FunctionModel(shout, model_name="loud")
"""

MAIN = "---\nname: main\ntoolsets: [shop, helper]\n---\nDo what the input says.\n"
HELPER = "---\nname: helper\ndescription: Helps.\ntoolsets: [shop]\n---\nDo what the input says.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace."""
    folder = tmp_path / "w"
    folder.mkdir()
    files = {
        "llmdo.toml": MANIFEST,
        "tools.py": TOOLS,
        "models.py": MODELS,
        "main.worker": MAIN,
        "helper.worker": HELPER,
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return locked(folder)


def write(root: Path, cases: list[dict[str, Any]], name: str = "e", **others: Any) -> None:
    """An eval of these cases."""
    (root / "evals").mkdir(exist_ok=True)
    data = {"schema": 1, "entry": "main", **others, "cases": cases}
    (root / f"evals/{name}.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")


def trials(text: str, variant: int = 0) -> dict[str, dict[str, Any]]:
    """The first trial of each case of an evaluation as JSON, by the name of its case."""
    return {trial["case"]: trial for trial in reversed(json.loads(text)["variants"][variant]["trials"])}


def judgements(trial: dict[str, Any]) -> dict[str, tuple[Any, str | None]]:
    """What each evaluator says about a trial, and why."""
    return {each["evaluator"]: (each["value"], each["reason"]) for each in trial["judgements"]}
