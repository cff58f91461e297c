"""Recorded runs as a script: `runs export RUN FILE.yaml`, and `eval --record-script`."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Source
from llmdo.journal.opening import runs_of
from llmdo.workspace.script import escaped, parse

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pydantic_ai.messages import ModelResponse

    from llmdo.journal.stored import JournalStore

SUFFIX = ".yaml"
HEAD = "# Written by llmdo from recorded runs. Review it before you share it: it holds what was said.\n"

_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")

Steps = tuple[str, ...]
"""The steps of one call of a worker, each as YAML without its conditions."""


def export_script(root: Path, runs: Iterable[str], file: Path) -> int:
    """Writes the answers of models in `runs` to the new file `file`; returns their number.

    Raises:
        LlmdoError: A run is not there, a script cannot give its answers, or the file exists.
    """
    from llmdo.runtime.recording.encoding import Encoding  # which takes a second
    from llmdo.runtime.telemetry.redaction import Redaction

    index, redaction = runs_of(root), Redaction.of(os.environ)
    calls: dict[str, dict[str, Steps]] = {}
    for run in runs:
        with index.read(index.find(run), whole=True) as journal:
            journal.know(redaction.known)
            _add(calls, journal)
    text = HEAD + "".join(_worker(name, by_input) for name, by_input in calls.items())
    if Encoding(redaction).without_secrets(text.encode()) != text.encode():
        raise LlmdoError("what was said holds a secret, which a script would need to say as well")
    if problems := parse(Source(file.name, text)).problems:
        raise LlmdoError(f"no script can hold what was said: {problems[0].message}")
    try:
        with file.open("x", encoding="utf-8", newline="\n") as opened:
            opened.write(text)
    except OSError as error:
        raise LlmdoError(f"cannot write `{file}`: {error.strerror}") from error
    return sum(len(steps) for by_input in calls.values() for steps in by_input.values())


def _add(calls: dict[str, dict[str, Steps]], journal: JournalStore) -> None:
    """Adds the calls of one run.

    Raises:
        LlmdoError: A worker answered the same input in two ways.
    """
    from llmdo.runtime.recording.encoding import Decoding

    decoding = Decoding(journal.content)
    steps: dict[str, list[str]] = {}
    for request in journal.entries("request"):
        response = decoding.response(journal.whole(request)["response"])
        steps.setdefault(request.path, []).append(_step(response, request.path))
    for call in journal.entries("call"):
        if call.path not in steps:
            continue
        worker, given = (str(journal.whole(call)[key]) for key in ("worker", "input"))
        own = tuple(steps[call.path])
        if calls.setdefault(worker, {}).setdefault(given, own) != own:
            raise LlmdoError(
                f"{call.path}: `{worker}` answered the same input in two ways, which a script does not tell apart",
                hint="export it as FILE.sqlite, for `replay:FILE.sqlite`",
            )


def _step(response: ModelResponse, path: str) -> str:
    """An answer as a step.

    Raises:
        LlmdoError: It called a tool with what is no JSON.
    """
    step: dict[str, object] = {}
    if response.text is not None:
        step["answer"] = response.text
    try:
        made = [{part.tool_name: part.args_as_dict(raise_if_invalid=True)} for part in response.tool_calls]
    except ValueError as error:
        raise LlmdoError(f"{path}: a tool was called with what is no JSON") from error
    if made:
        step["call"] = made[0] if len(made) == 1 else made
    step = step or {"answer": ""}
    return "".join(f"    {key}: {in_flow(escaped(value))}\n" for key, value in step.items())


def _worker(name: str, by_input: dict[str, Steps]) -> str:
    """The steps of a worker; with its inputs where these decide."""
    is_alike = len(set(by_input.values())) == 1
    condition = {given: "" if is_alike else f"    input: {in_flow(given)}\n" for given in by_input}
    inputs = list(by_input)[:1] if is_alike else list(by_input)
    lines = [f"{condition[given]}{step}" for given in inputs for step in by_input[given]]
    return "".join([f"\n{in_flow(name)}:\n", *(f"  -{line[3:]}" for line in lines)])


def in_flow(value: object) -> str:
    """The value as YAML in one line: JSON, without the characters that YAML reads otherwise."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda each: f"\\u{ord(each[0]):04x}", text)
