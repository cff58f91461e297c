"""The model of this example: rules, not a language model. They see no picture.

As the reader they return the transcript that `draw_board.py` puts into a PNG as a text chunk, and say that they do.
"""

from __future__ import annotations

import re
import struct
import sys
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL_NAME = "rules (not a language model)"
KEY = b"Transcript"
SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_CHARACTERS = 20_000  # of a transcript
MOST_NOTES = 200  # of a plan
PICTURES = {".png", ".jpg", ".jpeg", ".webp"}
NAMED = re.compile(r"\w\.(?:png|jpe?g|webp)\b", re.IGNORECASE)
OWNER = re.compile(r"^(?P<task>.*\S)\s*\((?P<who>[^()]{1,60})\)$")


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next step of the planner where a reader is offered as a tool, else the reader's answer."""
    announce()
    if any(tool.name == "reader" for tool in info.function_tools):
        return plan(messages)
    return say(read(messages))


def read(messages: list[ModelMessage]) -> str:
    """What the picture's own file says stands on it."""
    pictures = [
        item
        for part in prompts(messages)
        if not isinstance(part.content, str)
        for item in part.content
        if isinstance(item, BinaryContent)
    ]
    if not pictures:
        return "read: nothing, no picture was attached"
    text = transcript(pictures[0].data)
    if text is None:
        return "read: nothing, these rules see no picture, and the file has no transcript in it"
    return f"read: the transcript in the file, by {MODEL_NAME}, which see no picture\n{text}"


def transcript(png: bytes) -> str | None:
    """The text chunk that `draw_board.py` writes; None where the file has none, or is no PNG."""
    for kind, content in chunks(png):
        key, _, rest = content.partition(b"\0")
        if kind == b"iTXt" and key == KEY and rest[:1] == b"\0":  # a 1 would say that it is compressed
            text = rest[2:].split(b"\0", 2)[-1].decode("utf-8", "replace")
            return text[:MOST_CHARACTERS]
    return None


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The kind and content of each chunk, as far as the file goes."""
    at = len(SIGNATURE) if png.startswith(SIGNATURE) else len(png)
    while at + 12 <= len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def plan(messages: list[ModelMessage]) -> ModelResponse:
    """The planner's next step: list the boards, have each read, write the plans, tell."""
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolCallPart)]
    answers = {
        part.tool_call_id: part
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    if "list" not in answers:
        return step(ToolCallPart("list_files", {"path": "boards"}, tool_call_id="list"))
    if answers["list"].outcome != "success":
        return say(f"No plan: {answers['list'].content}")
    boards = wanted(str(answers["list"].content).splitlines(), messages)
    if not boards:
        return say("No plan: there is no such picture in boards/.")
    if len(answers) == 1:
        return step(*readings(boards))
    read_by_board = {
        call.args_as_dict()["attachments"][0]: answers[call.tool_call_id]
        for call in calls
        if call.tool_name == "reader"
    }
    plans = {board: written(board, reading) for board, reading in read_by_board.items()}
    paths = dict(zip(plans, plan_paths(list(plans)), strict=True))
    writing = [
        ToolCallPart("write_file", {"path": paths[board], "content": text}, tool_call_id=f"write {board}")
        for board, text in plans.items()
        if text
    ]
    if writing and not any(call.tool_name == "write_file" for call in calls):
        return step(*writing)
    return say(
        "\n".join(
            summary(board, plans[board], paths[board], read_by_board[board], answers) for board in plans
        )
    )


def wanted(listed: list[str], messages: list[ModelMessage]) -> list[str]:
    """The pictures among the listed files; only those that the request names, where it names any."""
    pictures = [
        path
        for path in listed
        if PurePosixPath(path).suffix.lower() in PICTURES and path.startswith("boards/")
    ]
    request = " ".join(str(part.content) for part in prompts(messages))
    named = [path for path in pictures if PurePosixPath(path).name in request]
    return named if named or NAMED.search(request) else pictures


def readings(boards: list[str]) -> Iterator[ToolCallPart]:
    """A call of the reader for each board."""
    for board in boards:
        arguments = {"input": f"Read the whiteboard {board}.", "attachments": [board]}
        yield ToolCallPart("reader", arguments, tool_call_id=f"read {board}")


def plan_paths(boards: list[str]) -> list[str]:
    """Where the plan of each board goes; boards of one name keep their folder and ending in it."""
    stems = [PurePosixPath(board).stem for board in boards]
    return [
        f"plans/{stem if stems.count(stem) == 1 else board.removeprefix('boards/').replace('/', '-')}.md"
        for stem, board in zip(stems, boards, strict=True)
    ]


def written(board: str, reading: ToolReturnPart) -> str:
    """The plan of a board; empty where nothing could be read."""
    lines = [line.strip() for line in str(reading.content).splitlines() if line.strip()]
    if reading.outcome != "success" or not any(line.startswith("- ") for line in lines):
        return ""
    how = next((line[5:].strip() for line in lines if line.startswith("read:")), "not said")
    title = next((line[6:].strip() for line in lines if line.startswith("title:")), "untitled")
    rows, questions, unreadable = notes(lines)
    sections = [
        [f"# Plan: {cell(title)}", "", f"- Board: {cell(board)}", f"- Read by: {cell(how)}"],
        ["| # | When | Task | Who |", "| --- | --- | --- | --- |"]
        + [f"| {number} | {' | '.join(map(cell, row))} |" for number, row in enumerate(rows, 1)],
        ["## Open questions", "", *([f"- {cell(each)}" for each in questions] or ["None."])],
    ]
    if unreadable:
        sections.append(["## Not readable", "", *(f"- {cell(each)}" for each in unreadable)])
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def notes(lines: list[str]) -> tuple[list[tuple[str, str, str]], list[str], list[str]]:
    """When, task and owner of each task; the open questions; what could not be read."""
    rows: list[tuple[str, str, str]] = []
    questions: list[str] = []
    unreadable: list[str] = []
    column = ""
    for line in lines:
        if line.startswith("## "):
            column = line[3:]
        elif not line.startswith("- ") or len(rows) == MOST_NOTES:
            continue
        elif "[unreadable]" in line:
            unreadable.append(f"a note under {column or 'no heading'}")
        elif line.endswith("?"):
            questions.append(line[2:])
        else:
            owned = OWNER.match(line[2:])
            rows.append((column, owned["task"], owned["who"]) if owned else (column, line[2:], ""))
    return rows, questions, unreadable


def cell(text: str) -> str:
    """`text` as a cell of a table, in which nothing is markup."""
    visible = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", visible)


def summary(
    board: str, text: str, path: str, reading: ToolReturnPart, answers: dict[str, ToolReturnPart]
) -> str:
    """One line about a board."""
    writing = answers.get(f"write {board}")
    if not text:
        return f"{board}: no plan, {str(reading.content).removeprefix('read: nothing, ')}"
    if writing is None or writing.outcome != "success":
        return f"{board}: no plan, {writing.content if writing else 'it was not written'}"
    tasks = len(re.findall(r"^\| \d", text, re.MULTILINE))
    questions = len(
        re.findall(r"^- ", text.partition("## Open questions")[2].partition("##")[0], re.MULTILINE)
    )
    return f"{board} -> {path}: tasks {tasks}, open questions {questions}"


def prompts(messages: list[ModelMessage]) -> list[UserPromptPart]:
    """What was asked of the worker."""
    return [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]


def step(*calls: ToolCallPart) -> ModelResponse:
    """A response that calls tools."""
    return ModelResponse(parts=list(calls))


def say(text: str) -> ModelResponse:
    """A response that ends the run."""
    return ModelResponse(parts=[TextPart(text)])


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("whiteboard_planner: rules, not a language model; they see no picture", file=sys.stderr)


rules = FunctionModel(answer, model_name=MODEL_NAME)
