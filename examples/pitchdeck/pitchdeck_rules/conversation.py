"""What the rules do next in an agent run: the orchestrator's calls and summary, and the evaluator's report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from pitchdeck_rules.deck import read_deck
from pitchdeck_rules.evaluation import evaluate
from pitchdeck_rules.report import write_blank_report, write_report
from pitchdeck_rules.text import Unreadable, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.function import AgentInfo
    from pydantic_ai.tools import ToolDefinition

_LIST, _WRITE = "list_files", "write_file"
_DECKS, _REPORTS = "decks/", "reports/"
_TEXT_ONLY = (
    "These rules read text only; a language model could read it. Or export the deck as Markdown or text."
)
_VERDICT = re.compile(r"verdict:?\W{0,4}\s*(GO|WATCH|PASS|NOT JUDGED)\b", re.IGNORECASE)
_POINTS = re.compile(r"\b(\d+ of \d+) points\b")
_LABEL = re.compile(r"File `(?P<name>[^`\n]+)`(?:(?P<empty> is empty\.)|:\n?)")
"""How llmdo introduces a file that it hands over."""
_CAPTION = re.compile(r"File `[^`\n]+`:\s*")
_NAMED_TEXT = re.compile(r"File `(?P<path>[^`\n]+)`(?:(?P<empty> is empty\.)\s*$|:\n)")
_PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]+\.\w{1,8}\b|\b[\w-]+\.(?:md|markdown|txt|pdf)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attachment:
    name: str
    content: bytes | str
    media_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A tool call of this run with what came back."""

    tool: str
    args: Mapping[str, object]
    answer: str
    files: tuple[str, ...]
    """The answer as a list of files."""
    has_failed: bool


def delegate(info: AgentInfo) -> ToolDefinition | None:
    """The tool that hands a deck to the evaluator; None for a worker that has none, which is the evaluator."""
    names = {tool.name for tool in info.function_tools}
    if not {_LIST, _WRITE} <= names:
        return None
    return next(
        (
            tool
            for tool in info.function_tools
            if "attachments" in tool.parameters_json_schema.get("properties", {})
            and tool.name not in {_LIST, _WRITE}
        ),
        None,
    )


def orchestrate(messages: Sequence[ModelMessage], evaluator: str) -> ModelResponse:
    """The next step: list the decks, have each evaluated, write each report, sum up. No step is taken twice."""
    calls = _calls(messages)
    listed = [call for call in calls if call.tool == _LIST]
    evaluated = [call for call in calls if call.tool == evaluator]
    written = [call for call in calls if call.tool == _WRITE]
    if not listed:
        return _response([ToolCallPart(tool_name=_LIST, args={"path": _DECKS}, tool_call_id="list-1")])
    if listed[0].has_failed:
        return _text(f"No deck was evaluated: the decks could not be listed. {listed[0].answer}")
    named = _named(_prompt(messages))
    decks = sorted({deck for deck in listed[0].files if not named or PurePosixPath(deck).name in named})
    if not decks:
        why = f"{', '.join(sorted(named))} is not in {_DECKS}" if named else f"{_DECKS} holds no file"
        return _text(f"No deck was evaluated: {why}.")
    if not evaluated:
        return _response(list(_evaluations(decks, evaluator)))
    reports = _reports(evaluated)
    if reports and not written:
        return _response(list(_writings(reports)))
    remarks = [line for line in listed[0].answer.splitlines() if line.startswith("(")]
    return _text("\n".join((_summary(evaluated, written), *remarks)))


def evaluate_attachments(messages: Sequence[ModelMessage], model_name: str) -> ModelResponse:
    """The report on each deck that came with the prompt."""
    reports = [_report(attachment, model_name) for attachment in _attachments(messages)]
    if not reports:
        return _text("No deck was attached, so there is nothing to evaluate.")
    return _text("\n---\n\n".join(reports))


def _report(attachment: _Attachment, model_name: str) -> str:
    text = read_text(attachment.content, attachment.media_type)
    if isinstance(text, Unreadable):
        return write_blank_report(
            attachment.name, f"the file is {text.what}, not text", _TEXT_ONLY, model_name
        )
    if not text.content.strip():
        return write_blank_report(attachment.name, "the file is empty", "Ask for the deck again.", model_name)
    evaluation = evaluate(read_deck(text.content, attachment.name, text.notes))
    if evaluation is None:
        reason = "the file holds no statement about a company"
        return write_blank_report(attachment.name, reason, "Ask for the deck again.", model_name)
    return write_report(evaluation, model_name)


def _attachments(messages: Sequence[ModelMessage]) -> Iterator[_Attachment]:
    """The files after the first text of the last prompt; that text itself where it is long enough to be a deck."""
    prompt = _last_prompt(messages)
    if prompt is None:
        return
    items = [prompt.content] if isinstance(prompt.content, str) else list(prompt.content)
    told = _as_text(items[0]) if items else None
    files = items if told is None else items[1:]
    if told is not None and not files and told.count("\n") >= 2:
        files = [told]
    found = _PATH.search(told.partition("\n")[0]) if told else None
    name = found[0] if found else "deck"
    for item in files:
        text = _as_text(item)
        if isinstance(item, BinaryContent):
            yield _Attachment(name=item.identifier or name, content=item.data, media_type=item.media_type)
        elif text is not None and not _CAPTION.fullmatch(text):
            yield _text_file(text, name)


def _text_file(text: str, name: str) -> _Attachment:
    """A file that was handed over as text, without the line that names it."""
    named = _NAMED_TEXT.match(text)
    if named is None:
        return _Attachment(name=name, content=text, media_type="text/plain")
    content = "" if named["empty"] else text[named.end() :]
    return _Attachment(name=named["path"], content=content, media_type="text/plain")


def _as_text(item: object) -> str | None:
    if isinstance(item, TextContent):
        return item.content
    return item if isinstance(item, str) else None


def _last_prompt(messages: Sequence[ModelMessage]) -> UserPromptPart | None:
    prompts = [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    return prompts[-1] if prompts else None


def _prompt(messages: Sequence[ModelMessage]) -> str:
    prompt = _last_prompt(messages)
    if prompt is None:
        return ""
    items = [prompt.content] if isinstance(prompt.content, str) else prompt.content
    return "\n".join(text for item in items if (text := _as_text(item)) is not None)


def _calls(messages: Sequence[ModelMessage]) -> list[_Call]:
    """The calls since the last prompt that have an answer, in the order in which they were made."""
    parts = [part for message in messages for part in message.parts]
    prompt = _last_prompt(messages)
    since = next((index for index, part in enumerate(parts) if part is prompt), 0)
    answers = {part.tool_call_id: part for part in parts[since:] if isinstance(part, ToolReturnPart)}
    return [
        _Call(
            tool=part.tool_name,
            args=part.args_as_dict(),
            answer=(
                answer.content if isinstance(answer.content, str) else answer.model_response_str()
            ).strip(),
            files=tuple(_files(answer.content)),
            has_failed=answer.outcome != "success",
        )
        for part in parts[since:]
        if isinstance(part, ToolCallPart) and (answer := answers.get(part.tool_call_id)) is not None
    ]


def _files(content: object) -> Iterator[str]:
    """The paths in a listing: a list, or text with one on each line. Folders, hidden files and remarks are left out."""
    lines = content.splitlines() if isinstance(content, str) else content if isinstance(content, list) else []
    for line in lines:
        path = str(line).strip()
        name = PurePosixPath(path).name
        is_path = not path.startswith("(") and ("/" in path or re.search(r"\.\w{1,8}$", path))
        if is_path and not path.endswith("/") and not name.startswith("."):
            yield path


def _named(prompt: str) -> frozenset[str]:
    """The names of the decks that the prompt asks for; none where it asks for all."""
    paths = (PurePosixPath(path) for path in _PATH.findall(prompt) if not path.startswith(_REPORTS))
    return frozenset(path.name for path in paths)


def _evaluations(decks: Sequence[str], evaluator: str) -> Iterator[ToolCallPart]:
    for number, deck in enumerate(decks, start=1):
        args = {"input": f"Evaluate the pitch deck {deck}.", "attachments": [deck]}
        yield ToolCallPart(tool_name=evaluator, args=args, tool_call_id=f"evaluate-{number}")


def _deck(call: _Call) -> str:
    attachments = call.args.get("attachments")
    return str(attachments[0]) if isinstance(attachments, list) and attachments else "deck"


def _reports(evaluated: Sequence[_Call]) -> dict[str, str]:
    """The path of each report to write, and its text."""
    decks = [_deck(call) for call in evaluated]
    paths = dict(zip(decks, _report_paths(decks), strict=True))
    return {paths[_deck(call)]: call.answer for call in evaluated if not call.has_failed and call.answer}


def _report_paths(decks: Sequence[str]) -> list[str]:
    """`reports/STEM.md` for each deck; decks with one stem keep their suffix, and those with one name their folder."""
    paths = [PurePosixPath(deck.removeprefix(_DECKS)) for deck in decks]
    spellings = (
        lambda path: path.stem,
        lambda path: path.name.replace(".", "-"),
        lambda path: str(path).replace("/", "-").replace(".", "-"),
    )
    chosen: list[str] = []
    for path in paths:
        for spell in spellings:
            name = spell(path)
            if sum(spell(other).lower() == name.lower() for other in paths) == 1:
                break
        chosen.append(f"{_REPORTS}{name}.md")
    return chosen


def _writings(reports: Mapping[str, str]) -> Iterator[ToolCallPart]:
    for number, (path, content) in enumerate(reports.items(), start=1):
        args = {"path": path, "content": content if content.endswith("\n") else content + "\n"}
        yield ToolCallPart(tool_name=_WRITE, args=args, tool_call_id=f"write-{number}")


def _summary(evaluated: Sequence[_Call], written: Sequence[_Call]) -> str:
    by_path = {str(call.args.get("path")): call for call in written}
    lines: list[str] = []
    done = 0
    for call, path in zip(evaluated, _report_paths([_deck(call) for call in evaluated]), strict=True):
        writing = by_path.get(path)
        if call.has_failed or not call.answer:
            lines.append(
                f"- {_deck(call)}: not evaluated. {call.answer or 'The evaluator returned nothing.'}"
            )
        elif writing is None or writing.has_failed:
            why = writing.answer if writing else ""
            lines.append(
                f"- {_deck(call)}: {_judgement(call.answer)}; the report was not written. {why}".rstrip()
            )
        else:
            done += 1
            lines.append(f"- {_deck(call)}: {_judgement(call.answer)} -> {path}")
    decks, reports = len(evaluated), f"{done} report" + ("" if done == 1 else "s")
    return "\n".join((f"{decks} deck{'' if decks == 1 else 's'} found, {reports} written.", "", *lines))


def _judgement(report: str) -> str:
    verdict, points = _VERDICT.search(report), _POINTS.search(report)
    words = [
        verdict[1].upper() if verdict else "no verdict found",
        *([f"{points[1]} points"] if points else []),
    ]
    return ", ".join(words)


def _text(content: str) -> ModelResponse:
    return _response([TextPart(content=content)])


def _response(parts: Sequence[TextPart | ToolCallPart]) -> ModelResponse:
    return ModelResponse(parts=list(parts))
