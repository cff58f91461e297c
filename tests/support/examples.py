"""Examples as strangers use them: a copy of the workspace, commands run in it, and what they print."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.commands import llmdo

EXAMPLES = Path(__file__).parents[2] / "examples"
LEFT_OVER = (
    "__pycache__",
    "reports",
    "sorted",
    "plans",
    "drafts",
    "sent",
    ".github",
    ".mypy_cache",
    ".llmdo",
    "answers.md",
)


def copied(name: str, folder: Path) -> Path:
    """The example `name`, copied into `folder` without what runs leave behind."""
    root = folder / name
    shutil.copytree(EXAMPLES / name, root, ignore=shutil.ignore_patterns(*LEFT_OVER))
    return root


def sessions(text: str) -> list[tuple[str, str]]:
    """Command and expected output of every `$ ` line in the console blocks of `text`."""
    commands: list[tuple[str, str]] = []
    for indent, indented in re.findall(r"^( *)```console\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        block = re.sub(rf"^{indent}", "", indented, flags=re.MULTILINE)
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            commands.append((command, output.rstrip("\n")))
    return commands


CALLER = '''
"""A model that makes the calls of `calls.json`, one response each, and answers with what came back."""

import json
from pathlib import Path

from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

CALLS = json.loads((Path(__file__).parent / "calls.json").read_text(encoding="utf-8"))


def call(messages, info):
    parts = [part for message in messages for part in message.parts]
    back = [part for part in parts if isinstance(part, (ToolReturnPart, RetryPromptPart))]
    if len(back) < len(CALLS):
        tool, arguments = CALLS[len(back)]
        return ModelResponse(parts=[ToolCallPart(tool, arguments)])
    told = [[getattr(one, "outcome", "retried"), str(one.content)] for one in back]
    return ModelResponse(parts=[TextPart(json.dumps(told))])


model = FunctionModel(call)
'''


def attempted(
    root: Path, entry: str, calls: Sequence[tuple[str, Mapping[str, object]]], *flags: str
) -> list[tuple[str, str]]:
    """What comes of each of `calls` when the model of the entry's worker makes them: an outcome and the words."""
    (root / "calls.json").write_text(json.dumps(calls), encoding="utf-8")
    (root / "caller.py").write_text(CALLER, encoding="utf-8")
    done = llmdo(root, "run", entry, "--model", "python:caller.py:model", *flags)
    assert "Traceback" not in done.stderr
    assert done.stdout, done.stderr
    return [(outcome, answer) for outcome, answer in json.loads(done.stdout)]
