"""A workspace whose entry has writers ask for leave to write a file each, and one that asks more or worse."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import llmdo

MODELS = """\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def answer(messages, info):
    returns = [f"{p.outcome}: {p.content}" for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
    text = messages[0].parts[-1].content
    if returns:
        return ModelResponse(parts=[TextPart(" | ".join(returns))])
    if any(tool.name == "writer" for tool in info.function_tools):
        return ModelResponse(parts=[ToolCallPart("writer", {"input": f"{n}"}) for n in range(NUMBER)])
    return ModelResponse(parts=[ToolCallPart("write_file", {"path": PATH.format(text), "content": CONTENT.format(text)})])


rules = FunctionModel(answer)
"""

MANIFEST = """\
schema = 1

[workspace]
name = "asking"
workers = ["*.worker"]
model = "python:models.py:rules"

[entries.main]
worker = "main"
input = "go"
"""


def workspace(
    root: Path, *, number: int = 3, path: str = "out/{}.txt", content: str = "{}", scope: str = "out/**"
) -> Path:
    """A workspace whose `main` has so many writers at a time write a file each, which nothing allows."""
    root.mkdir(exist_ok=True)
    constants = f"NUMBER, PATH, CONTENT = {number!r}, {path!r}, {content!r}\n"
    (root / "models.py").write_text(constants + MODELS, encoding="utf-8")
    (root / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (root / "main.worker").write_text("---\nname: main\ntoolsets: [writer]\n---\nGo.\n", encoding="utf-8")
    (root / "writer.worker").write_text(
        f'---\nname: writer\ntoolsets:\n  filesystem: {{ write: ["{scope}"] }}\n---\nWrite.\n',
        encoding="utf-8",
    )
    return root


def asked(root: Path) -> None:
    """Runs it until nothing but its questions is left."""
    done = llmdo(root, "run", "main", "--approvals", "later")
    assert done.returncode == 3, done.stderr


def path_of(number: int) -> str:
    """The call path of the question of a writer, from 1."""
    return f"main/writer#{number}/write_file#1"


def files(root: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(root.glob("out/*.txt"))}
