"""The model of this example: rules, not a language model. They count and search; they understand no code."""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import TYPE_CHECKING

from code_report import LANGUAGES, Findings, Hit, write_report
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MODEL_NAME = "rules (not a language model)"
MOST_FILES = 400
AT_ONCE = 20  # files of one command, so that one that is refused takes few others with it
SEARCHES = {
    "todo": r"\b(TODO|FIXME|HACK|XXX)\b",
    "risk": r"\beval\(|\bexec\(|shell=True|os\.system\(|innerHTML|except:|"
    r"(password|secret|token|api_?key)[A-Za-z_]* *[:=] *[\"'][^\"']{6}",
    "start": r"^ *(async +)?(def|class|function|fn|func) +[A-Za-z_]",
}
"""Search to the extended regular expression that `grep` is given; upper and lower case are the same."""
LEFT_OUT = {"node_modules", "vendor", "dist", "build", "__pycache__"}
FOLDER = re.compile(r"(?<![\w./-])(\w[\w-]*(?:/\w[\w-]*)*)/(?=[\s.,]|$)")
REPORT = re.compile(r"\breports/\w[\w-]*\.md\b")
LINES = re.compile(r"^ *(\d+) (.+)$")


def analyze(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """The next step: find the files, ask about them, write the report, say what matters."""
    announce()
    request = prompt(messages)
    named = [folder for folder in FOLDER.findall(request) if folder != "reports"]
    folder = named[0] if named else "project"
    report = path[0] if (path := REPORT.search(request)) else f"reports/{folder.rpartition('/')[2]}.md"
    calls = {
        part.tool_call_id: part
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCallPart)
    }
    answers = {
        part.tool_call_id: part
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    if "find" not in answers:
        return step(command("find", "find", folder, "-type", "f", "-size", "-400", "-not", "-path", "*/.*"))
    if answers["find"].outcome != "success":
        return say(f"Nothing was analyzed: {answers['find'].content}")
    files = sources(stdout(answers["find"]))
    if not files:
        return say(f"Nothing was analyzed: {folder}/ holds no source file that these rules know.")
    if len(answers) == 1:
        return step(*questions(files[:MOST_FILES]))
    findings = read(folder, files, calls, answers)
    if "write" not in answers:
        text = write_report(findings, MODEL_NAME)
        return step(ToolCallPart("write_file", {"path": report, "content": text}, tool_call_id="write"))
    written = answers["write"]
    end = f"The report is {report}." if written.outcome == "success" else f"No report: {written.content}"
    return say(f"{findings.summary}\n{end}")


def questions(files: list[str]) -> Iterator[ToolCallPart]:
    """A command for each question about each batch of files."""
    for start in range(0, len(files), AT_ONCE):
        batch, number = files[start : start + AT_ONCE], start // AT_ONCE
        yield command(f"lines-{number}", "wc", "-l", *batch)
        for name, pattern in SEARCHES.items():
            yield command(f"{name}-{number}", "grep", "-n", "-H", "-i", "-E", "-e", pattern, *batch)


def read(
    folder: str, files: list[str], calls: dict[str, ToolCallPart], answers: dict[str, ToolReturnPart]
) -> Findings:
    """What the commands answered."""
    known = frozenset(files)
    lines: dict[str, int] = {}
    hits: dict[str, list[Hit]] = {name: [] for name in SEARCHES}
    missed = [f"{len(files) - MOST_FILES} more files"] if len(files) > MOST_FILES else []
    for name, answer in answers.items():
        kind = name.partition("-")[0]
        if answer.outcome != "success" and kind in {"lines", *SEARCHES}:
            batch = [word for word in calls[name].args_as_dict()["command"] if word in known]
            missed.append(f"{kind} of {', '.join(batch)}: {answer.content}")
        elif kind == "lines":
            counted = (LINES.match(line) for line in stdout(answer))
            lines.update({match[2]: int(match[1]) for match in counted if match and match[2] in known})
        elif kind in SEARCHES:
            hits[kind].extend(hit for line in stdout(answer) if (hit := hit_in(line, known)))
    return Findings(
        folder=folder,
        lines=lines,
        todo=tuple(hits["todo"]),
        risks=tuple(hits["risk"]),
        starts=tuple(hits["start"]),
        missed=tuple(missed),
    )


def sources(listed: Sequence[str]) -> list[str]:
    """The source files among what `find` listed, sorted."""
    return sorted(
        path
        for path in listed
        if path.rpartition(".")[2].lower() in LANGUAGES and not LEFT_OUT.intersection(path.split("/"))
    )


def hit_in(line: str, files: frozenset[str]) -> Hit | None:
    """A line of grep's answer, where it is about one of the files."""
    path, _, rest = line.partition(":")
    number, _, text = rest.partition(":")
    return Hit(path, int(number), text) if path in files and number.isdecimal() else None


def stdout(answer: ToolReturnPart) -> list[str]:
    """What the command wrote, line by line."""
    _, _, text = str(answer.content).partition("\nstdout:\n")
    return text.partition("\nstderr:\n")[0].splitlines()


def prompt(messages: list[ModelMessage]) -> str:
    """What the user wrote."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    content = parts[0].content if parts else ""
    return (
        content if isinstance(content, str) else " ".join(item for item in content if isinstance(item, str))
    )


def command(name: str, *words: str) -> ToolCallPart:
    """A call of `shell`."""
    return ToolCallPart("shell", {"command": list(words)}, tool_call_id=name)


def step(*calls: ToolCallPart) -> ModelResponse:
    """A response that calls tools."""
    return ModelResponse(parts=list(calls))


def say(text: str) -> ModelResponse:
    """A response that ends the run."""
    return ModelResponse(parts=[TextPart(text)])


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("code_analyzer: rules, not a language model", file=sys.stderr)


rules = FunctionModel(analyze, model_name=MODEL_NAME)
