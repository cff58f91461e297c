"""A model that people wrote: `script:FILE.yaml` takes the steps of each worker as its answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.runtime.models.of_file import ModelOfFile, responses_since
from llmdo.workspace import script as scripts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage, ModelResponsePart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from llmdo.runtime.frame import CallFrame
    from llmdo.workspace.script import ScriptStep


class ScriptedModel(ModelOfFile):
    """A model with the steps of a script."""

    kind = "script"

    def __init__(self, file: str, root: Path) -> None:
        """`file` lies in the workspace at `root`.

        Raises:
            LlmdoError: It cannot be read, or has a fault.
        """
        super().__init__(file, root)
        self._script = scripts.read(root, file)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,  # noqa: ARG002  # which change no answer
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The next step of the worker.

        Raises:
            LlmdoError: It has none left; says where to write it.
        """
        _, frame = self.call
        places = responses_since(frame, messages)
        results = [
            _results(messages[place + 1 : end])
            for place, end in zip(places, [*places[1:], None], strict=False)
        ]
        step = self._script.step(frame.name, frame.input, results)
        if step is None:
            raise self._ended(frame, len(places) + 1)
        blanks = {"input": frame.input, "result": results[-1] if results else ""}
        parts = list(_parts(step, blanks, model_request_parameters, len(places) + 1))
        return ModelResponse(parts=parts, model_name=self._file, provider_name=self.kind)

    def _ended(self, frame: CallFrame, number: int) -> LlmdoError:
        """The error of a worker without another step."""
        script, name = self._script, frame.name
        if script.steps.get(name):
            return LlmdoError(
                f"{frame.path}: the script `{self._file}` has no step of `{name}` left for request {number}",
                hint=f"add one below {script.end_of(name)}, such as `- answer: done`",
            )
        return LlmdoError(
            f"{frame.path}: the script `{self._file}` has no steps of `{name}`",
            hint=did_you_mean(name, script.steps)
            or f"write `{name}:` in {self._file}, below it `- answer: done`",
        )


def _results(messages: Iterable[ModelMessage]) -> str:
    """The texts that the calls before these messages returned."""
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return "\n".join(_text(part) for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart))


def _text(part: ToolReturnPart | RetryPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    return part.model_response_str() if isinstance(part, ToolReturnPart) else part.model_response()


def _parts(
    step: ScriptStep, blanks: Mapping[str, str], parameters: ModelRequestParameters, number: int
) -> Iterator[ModelResponsePart]:
    """The parts of an answer; calls have ids of their own, equal in each repetition."""
    answer = scripts.filled(step.answer, blanks)
    output = next(iter(parameters.output_tools), None)
    if step.has_answer and output and not step.calls:
        key = output.outer_typed_dict_key
        arguments = {key: answer} if key else answer
        yield ToolCallPart(output.name, _as_arguments(arguments), tool_call_id=f"step {number}")
    elif step.has_answer:
        yield TextPart(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
    for place, call in enumerate(step.calls, 1):
        arguments = dict(scripts.filled(call.arguments, blanks))
        yield ToolCallPart(call.tool, arguments, tool_call_id=f"step {number}.{place}")


def _as_arguments(value: object) -> dict[str, object] | str:
    """The arguments of a typed output, which refuses what cannot be any, such as a text that is no JSON."""
    return value if isinstance(value, dict | str) else json.dumps(value)
