"""A script: the steps of workers in a YAML file, which `script:FILE.yaml` takes in place of a model's answers.

A step is chosen by the worker's input and the results so far, never by memory, so a resumed run goes on at its place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llmdo.base import digest, parts
from llmdo.base.diagnostic import LlmdoError, finding
from llmdo.base.values import dataclass, field
from llmdo.formats.schema import judge
from llmdo.syntax import discovery, yaml_file
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.base.values import Json
    from llmdo.syntax.document import Document, Route

MAX_SCRIPT = 4 * 1024 * 1024  # bytes

_BLANK = re.compile(r"\{(\{*)(input|result)(\}*)\}")
"""`{input}` or `{result}`; with more braces around it, the text itself with one pair less."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """One call of a step."""

    tool: str
    arguments: Mapping[str, Json]
    place: Place


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One answer of a script's worker."""

    place: Place
    when: str = ""
    exactly: str | None = None
    """The key `input`."""
    after: str = ""
    calls: tuple[WrittenCall, ...] = ()
    answer: Json = None
    has_answer: bool = False

    def fits(self, given: str, result: str) -> bool:
        """Whether its conditions hold for the worker's input and the results of its last calls."""
        return (
            self.when.casefold() in given.casefold()
            and self.exactly in (None, given)
            and self.after.casefold() in result.casefold()
        )


@dataclass(frozen=True, slots=True)
class ModelScript:
    """A script as its file has it."""

    document: Document
    steps: Mapping[str, tuple[ScriptStep, ...]] = field(default_factory=dict)
    """Worker to its steps, in the order in which they are taken."""
    problems: tuple[Diagnostic, ...] = ()

    @property
    def path(self) -> str:
        """Its file, as a path of the workspace."""
        return self.document.source.path

    @property
    def digest(self) -> str:
        """Its digest, as that of a Python file which imports nothing."""
        return digest.of_data({self.path: self.document.source.text})

    def step(self, worker: str, given: str, results: Sequence[str]) -> ScriptStep | None:
        """The step of the next request; `results` of the calls in each answer so far. None if no step is left."""
        left = iter(self.steps.get(worker, ()))
        step = None
        for result in ("", *results):
            step = next((each for each in left if each.fits(given, result)), None)
        return step

    def end_of(self, worker: str) -> str:
        """The last line of a worker's steps, as FILE:LINE; the file if it has none."""
        spans = [span for route, (_, span) in self.document.index().items() if route[:1] == (worker,)]
        return f"{self.path}:{max(span.line for span in spans)}" if spans else self.path


def parse(source: Source) -> ModelScript:
    """The script in `source`, as far as it can be used, with its problems."""
    document = yaml_file.parse(source)
    judged = judge(document, "script")
    steps = {
        worker: tuple(
            _step(Place(judged.document, (worker, number)), parts.table(table))
            for number, table in enumerate(parts.items(tables))
        )
        for worker, tables in (judged.data or {}).items()
    }
    problems = (*document.problems, *judged.problems, *_faults(judged.document, steps))
    return ModelScript(judged.document, steps, problems)


def read(root: Path, file: str) -> ModelScript:
    """The script in a file of the workspace at `root`.

    Raises:
        LlmdoError: It cannot be read, or has a fault.
    """
    source, problems = discovery.read_source(root, file, limit=MAX_SCRIPT)
    script = ModelScript(yaml_file.parse(source), problems=problems) if problems else parse(source)
    if script.problems:
        first = min(script.problems, key=lambda each: each.order)
        at = f":{first.at.span.line}" if first.at.span else ""
        raise LlmdoError(
            f"the script `{file}` cannot be used: {first.message}", hint=first.hint or f"{file}{at}"
        )
    return script


def filled(value: Any, blanks: Mapping[str, str]) -> Any:
    """The value with `{input}` and `{result}` in its texts replaced."""
    if isinstance(value, str):
        return _BLANK.sub(lambda each: _filled(each, blanks), value)
    if isinstance(value, list):
        return [filled(each, blanks) for each in value]
    if isinstance(value, dict):
        return {key: filled(each, blanks) for key, each in value.items()}
    return value


def escaped(value: Any) -> Any:
    """The value that `filled` makes into this one."""
    if isinstance(value, str):
        return _BLANK.sub(lambda each: f"{{{each[0]}}}", value)
    if isinstance(value, list):
        return [escaped(each) for each in value]
    if isinstance(value, dict):
        return {key: escaped(each) for key, each in value.items()}
    return value


def _filled(blank: re.Match[str], blanks: Mapping[str, str]) -> str:
    before, name, after = blank.groups()
    return f"{before}{name}{after}" if before or after else blanks[name]


def _step(place: Place, table: Mapping[str, Json]) -> ScriptStep:
    exactly = table.get("input")
    return ScriptStep(
        place,
        when=parts.text(table.get("when")),
        exactly=exactly if isinstance(exactly, str) else None,
        after=parts.text(table.get("after")),
        calls=tuple(_calls(table.get("call"), place.document, (*place.route, "call"))),
        answer=table.get("answer"),
        has_answer="answer" in table,
    )


def _calls(value: Json, document: Document, route: Route) -> Iterator[WrittenCall]:
    """The calls in the value of a key `call`: a tool's name, tools to their arguments, or a list of these."""
    if isinstance(value, str):
        yield WrittenCall(value, {}, Place(document, route))
    for number, each in enumerate(parts.items(value)):
        yield from _calls(each, document, (*route, number))
    for tool, arguments in parts.tables(value).items():
        yield WrittenCall(tool, arguments, Place(document, (*route, tool), of_key=True))


def _faults(document: Document, steps: Mapping[str, tuple[ScriptStep, ...]]) -> Iterator[Diagnostic]:
    """Findings about steps that do nothing, and about `{result}` without quotes, which YAML takes for a mapping."""
    for step in (each for known in steps.values() for each in known):
        if not (step.calls or step.has_answer):
            message = "this step has neither an `answer` nor a `call`"
            yield finding("LDO104", step.place.location, message, hint="write `answer: TEXT` in it")
        for route, name in _unquoted(step.place.route, step.place.data):
            yield finding(
                "LDO103",
                document.value(*route),
                f"`{{{name}}}` without quotes is a mapping in YAML",
                hint=f'write "{{{name}}}"',
            )


def _unquoted(route: Route, value: Json) -> Iterator[tuple[Route, str]]:
    for name in ("input", "result"):
        if value == {name: None}:
            yield route, name
            return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _unquoted((*route, key), each)
