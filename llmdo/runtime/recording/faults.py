"""Arguments that do not fit their tool, noted at their call."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_ai.exceptions import ModelRetry

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import ToolsetTool

_FAULT = "llmdo:fault"
"""The key of a fault among arguments that nobody has looked at yet."""


class _LaterValidator:
    """Validates like the validator of a tool, but returns a fault in place of the arguments.

    A validator does not know its call; the function that looks at the arguments after it does.
    """

    def __init__(self, tool: ToolsetTool[object]) -> None:
        self.tool = tool
        """The tool as it was."""

    def validate_json(self, *arguments: Any, **options: Any) -> Any:
        """The arguments in a JSON text, or their fault."""
        try:
            return self.tool.args_validator.validate_json(*arguments, **options)
        except (ValidationError, ModelRetry) as error:
            return {_FAULT: error}

    def validate_python(self, *arguments: Any, **options: Any) -> object:
        """The same of a dict."""
        try:
            return self.tool.args_validator.validate_python(*arguments, **options)
        except (ValidationError, ModelRetry) as error:
            return {_FAULT: error}


def noting(
    tool: ToolsetTool[object], note: Callable[[RunContext[object], ValidationError | ModelRetry], None]
) -> ToolsetTool[object]:
    """`tool`, with a `note` of every call with unfit arguments."""

    async def judge(ctx: RunContext[object], **arguments: object) -> None:
        try:
            fault = arguments.get(_FAULT)
            if isinstance(fault, ValidationError | ModelRetry):  # a model may call an argument so, too
                raise fault
            if tool.args_validator_func is not None:
                verdict = tool.args_validator_func(ctx, **arguments)
                if inspect.isawaitable(verdict):
                    await verdict
        except (ValidationError, ModelRetry) as error:
            note(ctx, error)
            raise

    return replace(tool, args_validator=_LaterValidator(tool), args_validator_func=judge)


def without_notes(tool: ToolsetTool[object]) -> ToolsetTool[object]:
    """The tool originally given to `noting`; otherwise `tool`."""
    validator = tool.args_validator
    return validator.tool if isinstance(validator, _LaterValidator) else tool
