"""The model of this example: a script of rules that plays both workers, not a language model. It needs no key."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pitchdeck_rules.report import write_refusal, write_report
from pydantic_ai.messages import (
    BinaryContent,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from pydantic_ai.messages import ModelMessage, UserContent
    from pydantic_ai.models.function import AgentInfo, DeltaToolCalls

MODEL_NAME = "rules (not a language model)"
EVALUATOR = "pitch_evaluator"

_DECK = re.compile(r"decks/[\w./-]*\w")
_FILE = re.compile(r"File `(?P<path>[^`\n]+)`(?: is empty\.|:\n(?P<text>.*))", re.DOTALL)
"""How llmdo hands over a file that is empty or of no media type; others come as `BinaryContent`."""
_VERDICT = re.compile(r"^\*\*Verdict: (.+?)\*\*(.*)$", re.MULTILINE)


async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next response: the orchestrator's where the evaluator is among the tools, else the evaluator's."""
    announce()
    if any(tool.name == EVALUATOR for tool in info.function_tools):
        return orchestrate(messages)
    return say(evaluate(prompt(messages)))


async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """The same response, piece by piece: calls one at a time, text line by line."""
    response = await respond(messages, info)
    for index, part in enumerate(response.parts):
        if isinstance(part, ToolCallPart):
            arguments = part.args_as_json_str()
            yield {index: DeltaToolCall(part.tool_name, arguments, tool_call_id=part.tool_call_id)}
        elif isinstance(part, TextPart):
            for line in part.content.splitlines(keepends=True):
                yield line


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print(
        "pitchdeck: rules, not a language model; they look for words and understand nothing", file=sys.stderr
    )


def evaluate(parts: Sequence[UserContent]) -> str:
    """The report on the file that came with the prompt."""
    for part in parts:
        if isinstance(part, BinaryContent):
            content = text_of(part)
            if content is None:
                return write_refusal(
                    part.identifier, f"the rules read text, not {part.media_type}", MODEL_NAME
                )
            return write_report(content, part.identifier, MODEL_NAME)
        if isinstance(part, str) and (file := _FILE.fullmatch(part)):
            return write_report(file["text"] or "", file["path"], MODEL_NAME)
    return "No deck was attached, so there is nothing to evaluate."


def text_of(part: BinaryContent) -> str | None:
    """The text of a file; None of any other: bytes of a PDF may well be ASCII."""
    if not part.media_type.startswith("text/"):
        return None
    try:
        return part.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class Result:
    """What came back from a tool call."""

    text: str
    has_failed: bool


def orchestrate(messages: Sequence[ModelMessage]) -> ModelResponse:
    """The next of four steps: list the decks, have each evaluated, write each report, sum up."""
    listings = results(messages, "list_files")
    if not listings:
        return call("list_files", [{"path": "decks/"}])
    if listings[0].has_failed:
        return say(f"No deck was evaluated: the decks could not be listed. {listings[0].text}")
    decks = decks_in(listings[0].text, "\n".join(part for part in prompt(messages) if isinstance(part, str)))
    if not decks:
        return say("No deck was evaluated: decks/ holds no such file.")
    evaluations = dict(zip(decks, results(messages, EVALUATOR), strict=False))
    if not evaluations:
        return call(
            EVALUATOR,
            [{"input": f"Evaluate the pitch deck {deck}.", "attachments": [deck]} for deck in decks],
        )
    paths = report_paths(decks)
    reports = {paths[deck]: result.text for deck, result in evaluations.items() if not result.has_failed}
    writings = dict(zip(reports, results(messages, "write_file"), strict=False))
    if reports and not writings:
        return call(
            "write_file", [{"path": path, "content": f"{report}\n"} for path, report in reports.items()]
        )
    remarks = [line for line in listings[0].text.splitlines() if line.startswith("(")]
    return say("\n".join((*summary(evaluations, paths, writings), *remarks)))


def decks_in(listing: str, request: str) -> list[str]:
    """The files of a listing, or those of them that the request names. Hidden files are no decks."""
    paths = [line for line in listing.splitlines() if line.startswith("decks/") and "/." not in line]
    named = _DECK.findall(request)
    return [path for path in paths if path in named or not named]


def report_paths(decks: Sequence[str]) -> dict[str, str]:
    """Where the report on each deck goes; decks that differ in their ending or folder alone get one each."""
    stems = Counter(PurePosixPath(deck).stem.lower() for deck in decks)
    names = {
        deck: deck.removeprefix("decks/").replace("/", "-").replace(".", "-")
        if stems[PurePosixPath(deck).stem.lower()] > 1
        else PurePosixPath(deck).stem
        for deck in decks
    }
    return {deck: f"reports/{name}.md" for deck, name in names.items()}


def summary(
    evaluations: Mapping[str, Result], paths: Mapping[str, str], writings: Mapping[str, Result]
) -> Iterator[str]:
    """How many reports there are, and a line for each deck."""
    written = sum(not result.has_failed for result in writings.values())
    yield f"{counted(len(evaluations), 'deck')} found, {counted(written, 'report')} written."
    yield ""
    for deck, evaluation in evaluations.items():
        writing = writings.get(paths[deck])
        if evaluation.has_failed or writing is None:
            yield f"- {deck}: not evaluated. {evaluation.text}"
        elif writing.has_failed:
            yield f"- {deck}: {verdict_in(evaluation.text)}; the report was not written. {writing.text}"
        else:
            yield f"- {deck}: {verdict_in(evaluation.text)} -> {paths[deck]}"


def verdict_in(report: str) -> str:
    """The verdict of a report with what it means, such as "PASS (decline as it stands), 6 of 21 points"."""
    verdict = _VERDICT.search(report)
    return verdict[1] + verdict[2] if verdict else "no verdict found"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def prompt(messages: Sequence[ModelMessage]) -> Sequence[UserContent]:
    """The parts of the last thing that the worker was asked."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    content = parts[-1].content if parts else ""
    return [content] if isinstance(content, str) else content


def results(messages: Sequence[ModelMessage], tool: str) -> list[Result]:
    """What came back from the calls of `tool` since the last prompt, in the order of the calls."""
    parts = [part for message in messages for part in message.parts]
    since = max((index for index, part in enumerate(parts) if isinstance(part, UserPromptPart)), default=0)
    back = {part.tool_call_id: part for part in parts[since:] if isinstance(part, ToolReturnPart)}
    calls = [part for part in parts[since:] if isinstance(part, ToolCallPart) and part.tool_name == tool]
    return [result(back[part.tool_call_id]) for part in calls if part.tool_call_id in back]


def result(answer: ToolReturnPart) -> Result:
    text = answer.content if isinstance(answer.content, str) else answer.model_response_str()
    return Result(text=text.strip(), has_failed=answer.outcome != "success")


def call(tool: str, inputs: Sequence[Mapping[str, object]]) -> ModelResponse:
    """Calls of one tool, all in one response, so that they run side by side."""
    parts = [
        ToolCallPart(tool, dict(arguments), tool_call_id=f"{tool}-{number}")
        for number, arguments in enumerate(inputs, start=1)
    ]
    return ModelResponse(parts=parts)


def say(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


rules = FunctionModel(respond, stream_function=stream, model_name=MODEL_NAME)
