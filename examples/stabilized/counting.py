"""What a request costs, counted by the same rule for every worker: one token a word or mark.

It is no tokenizer of any provider: theirs count somewhat more, and before and after alike.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic_ai.messages import BinaryContent, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.usage import RequestUsage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ModelResponsePart
    from pydantic_ai.models.function import AgentInfo

TOKEN = re.compile(r"\w+|[^\w\s]")


def usage(messages: list[ModelMessage], info: AgentInfo, response: ModelResponse) -> RequestUsage:
    """What was sent, the prompt and the tools included, and what came back."""
    sent = [info.instructions or ""]
    sent += [f"{tool.name} {tool.description} {tool.parameters_json_schema}" for tool in info.function_tools]
    sent += [text for message in messages for part in message.parts for text in texts(part)]
    received = [text for part in response.parts for text in texts(part)]
    return RequestUsage(input_tokens=counted(sent), output_tokens=counted(received))


def texts(part: ModelRequestPart | ModelResponsePart) -> Iterator[str]:
    """The words of a part of a message."""
    if isinstance(part, ToolCallPart):
        yield f"{part.tool_name} {part.args_as_json_str()}"
    elif isinstance(part, UserPromptPart) and not isinstance(part.content, str):
        for item in part.content:
            yield item.data.decode("utf-8", "replace") if isinstance(item, BinaryContent) else str(item)
    elif isinstance(part, TextPart) or hasattr(part, "content"):
        yield str(part.content)


def counted(parts: list[str]) -> int:
    """How many words and marks there are."""
    return sum(len(TOKEN.findall(text)) for text in parts)
