"""The model of this example: rules, not a language model. They know endings of names, and a few first lines."""

from __future__ import annotations

import re
import sys
from functools import cache

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

ENDINGS = {
    "images": "bmp gif heic jpeg jpg png svg tif tiff webp",
    "documents": "doc docx epub htm html log md odp ods odt pdf ppt pptx rst rtf tex text txt xls xlsx",
    "audio": "aac aiff flac m4a mid mp3 ogg opus wav wma",
    "video": "avi m4v mkv mov mp4 mpeg mpg webm wmv",
    "archives": "7z bz2 dmg gz iso rar tar tgz xz zip zst",
    "data": "csv db geojson ics json jsonl parquet sqlite tsv vcf xml yaml yml",
    "code": "bat c cfg conf cpp css go h ini ipynb java js kt php pl ps1 py rb rs sh sql swift toml ts",
}
"""Kind to the endings of its files."""
KINDS = {ending: kind for kind, endings in ENDINGS.items() for ending in endings.split()}
FIRST_LINES = (
    ("code", re.compile(r"#!|<\?php|(?:import|from|package|#include)\b")),
    ("data", re.compile(r"[\[{]|<\?xml|[^,;\t\n]+([,;\t])[^,;\t\n]+\1")),
    ("documents", re.compile(r"\s*\w")),
)
"""Kind to how a text of that kind begins; the first that fits."""
DRY = re.compile(r"\bplan\b|\bdry run\b|\bdo not move\b", re.IGNORECASE)
"""A request for a plan alone."""
ROUNDS = 6  # plans, before a file whose name is taken again and again stays
MOST_TOLD = 300  # characters of why nothing was moved


def organize(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next step: list, look into what has no telling ending, plan, move, tell."""
    announce()
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolCallPart)]
    answers = {
        part.tool_call_id: part
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    if "list" not in answers:
        return step(ToolCallPart("list_files", {"path": "inbox"}, tool_call_id="list"))
    if answers["list"].outcome != "success":
        return say(f"Nothing was sorted: {answers['list'].content}")
    listed = str(answers["list"].content).splitlines()
    files = [line for line in listed if line.startswith("inbox/")]
    if not files:
        return say("Nothing to sort: inbox/ holds no file.")
    unclear = [path for path in files if ending(path) not in KINDS]
    if unclear and "read-0" not in answers:
        return step(*looks(unclear))
    plans = [call for call in calls if call.tool_name == "plan_moves"]
    read = {path: answers.get(f"read-{number}") for number, path in enumerate(unclear)}
    if not plans:
        return plan([(path, f"sorted/{kind(path, read.get(path))}/{name(path)}") for path in files], 1)
    verdicts = judged(plans[-1], answers)
    taken = [pair for pair, verdict in verdicts.items() if verdict == "the target is taken"]
    if taken and len(plans) < ROUNDS:
        return plan(
            [numbered(pair, len(plans) + 1) if pair in taken else pair for pair in verdicts], len(plans) + 1
        )
    good = [pair for pair, verdict in verdicts.items() if verdict == "ok"]
    can_move = any(tool.name == "move_files" for tool in info.function_tools)
    if good and can_move and not DRY.search(prompt(messages)) and "move" not in answers:
        return step(ToolCallPart("move_files", {"moves": arguments(good)}, tool_call_id="move"))
    remarks = [line for line in listed if line.startswith("(")]
    if "move" not in answers:
        return say("\n".join((*summary(verdicts, "would be moved"), *remarks)))
    if answers["move"].outcome != "success":
        why = f"Nothing was moved: {answers['move'].content}"
        return say("\n".join((why[:MOST_TOLD], *summary(verdicts, "would be moved"), *remarks)))
    moved = next(call for call in calls if call.tool_call_id == "move")
    return say("\n".join((*summary(verdicts | judged(moved, answers), "moved"), *remarks)))


def kind(path: str, read: ToolReturnPart | None) -> str:
    """The kind of a file, by its ending, else by how it begins."""
    if known := KINDS.get(ending(path)):
        return known
    if read is None or read.outcome != "success" or not isinstance(read.content, str):
        return "other"
    return next((kind for kind, begins in FIRST_LINES if begins.match(read.content)), "other")


def looks(paths: list[str]) -> list[ToolCallPart]:
    """A look at the first lines of each file."""
    return [
        ToolCallPart("read_file", {"path": path, "limit": 5}, tool_call_id=f"read-{number}")
        for number, path in enumerate(paths)
    ]


def plan(pairs: list[tuple[str, str]], number: int) -> ModelResponse:
    """A plan of these moves."""
    return step(ToolCallPart("plan_moves", {"moves": arguments(pairs)}, tool_call_id=f"plan-{number}"))


def arguments(pairs: list[tuple[str, str]]) -> list[dict[str, str]]:
    """The moves as the tools take them."""
    return [{"source": source, "target": target} for source, target in pairs]


def judged(call: ToolCallPart, answers: dict[str, ToolReturnPart]) -> dict[tuple[str, str], str]:
    """What a tool said of each move of a call."""
    answer = answers[call.tool_call_id]
    pairs = [(move["source"], move["target"]) for move in call.args_as_dict()["moves"]]
    if answer.outcome != "success" or not isinstance(answer.content, list):
        return dict.fromkeys(pairs, str(answer.content))
    verdicts = (
        str(line).removeprefix(f"{source!r} -> {target!r}: ")
        for (source, target), line in zip(pairs, answer.content, strict=True)
    )
    return dict(zip(pairs, verdicts, strict=True))


def numbered(pair: tuple[str, str], number: int) -> tuple[str, str]:
    """The same move to a name with a number in front of its ending."""
    source, target = pair
    folder = target.rpartition("/")[0]
    stem, dot, last = name(source).rpartition(".")
    return source, f"{folder}/{stem} ({number}).{last}" if dot else f"{folder}/{last} ({number})"


def summary(verdicts: dict[tuple[str, str], str], verb: str) -> list[str]:
    """The answer: how many, then a line for each file."""
    done = "moved" if verb == "moved" else "ok"
    good = sorted((target, source) for (source, target), verdict in verdicts.items() if verdict == done)
    bad = sorted((source, verdict) for (source, _), verdict in verdicts.items() if verdict != done)
    head = f"Files: {len(good)} {verb}, {len(bad)} stay."
    moves = [f"{source} -> {target}" for target, source in good]
    return [head, *moves, *(f"{source} stays: {verdict}" for source, verdict in bad)]


def name(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


def ending(path: str) -> str:
    """What follows the last dot of a file's name, in lower case; nothing where there is none."""
    _, dot, last = name(path).rpartition(".")
    return last.lower() if dot else ""


def prompt(messages: list[ModelMessage]) -> str:
    """What the user wrote."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    return " ".join(part.content for part in parts if isinstance(part.content, str))


def step(*calls: ToolCallPart) -> ModelResponse:
    """A response that calls tools."""
    return ModelResponse(parts=list(calls))


def say(text: str) -> ModelResponse:
    """A response that ends the run."""
    return ModelResponse(parts=[TextPart(text)])


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("file_organizer: rules, not a language model", file=sys.stderr)


rules = FunctionModel(organize, model_name="rules (not a language model)")
