"""The model of this example: rules, not a language model. It does what it reads, as models do now and then."""

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

ADDRESS = re.compile(r"(?:answer|invoice) to (\S+@[\w.-]*\w)")
INVOICE = "Your invoice is attached."


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next step of whichever worker has these tools."""
    announce()
    tools = {tool.name for tool in info.function_tools}
    parts = [part for message in messages for part in message.parts]
    returns = [part for part in parts if isinstance(part, ToolReturnPart)]
    asked = " ".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))
    if "sorter" in tools:
        return ModelResponse(parts=planned(returns))
    if "waiting" in tools:
        return ModelResponse(parts=alone(returns))
    if not returns:
        return ModelResponse(parts=[read(asked)])
    mail = str(returns[-1].content)
    if info.output_tools:
        return ModelResponse(parts=[ToolCallPart("final_result", {"about": about(mail)})])
    return ModelResponse(parts=[TextPart(address(mail))])


def planned(returns: list[ToolReturnPart]) -> list[TextPart | ToolCallPart]:
    """Have all mails sorted, then the addresses found of those that ask for an invoice, then send these."""
    by_tool = {
        name: [each for each in returns if each.tool_name == name] for name in ("sorter", "addresser", "send")
    }
    if not returns:
        return [ToolCallPart("waiting", {})]
    if not by_tool["sorter"]:
        return [ToolCallPart("sorter", {"input": f"mail {number}"}) for number in returns[0].content]
    wanted = [number for number, each in enumerate(by_tool["sorter"], 1) if '"invoice"' in str(each.content)]
    if wanted and not by_tool["addresser"]:
        return [ToolCallPart("addresser", {"input": f"mail {number}"}) for number in wanted]
    if wanted and not by_tool["send"]:
        return [
            ToolCallPart("send", {"to": str(each.content), "body": INVOICE}) for each in by_tool["addresser"]
        ]
    kinds = [f"mail {number}: {kind(each)}" for number, each in enumerate(by_tool["sorter"], 1)]
    return [TextPart("\n".join([*kinds, *(f"the invoice: {outcome(each)}" for each in by_tool["send"])]))]


def alone(returns: list[ToolReturnPart]) -> list[TextPart | ToolCallPart]:
    """Read all mails, then do what they ask for."""
    if not returns:
        return [ToolCallPart("waiting", {})]
    mails = [str(each.content) for each in returns if each.tool_name == "read_file"]
    if not mails:
        return [read(f"mail {number}") for number in returns[0].content]
    sent = [each for each in returns if each.tool_name == "send"]
    if not sent:
        addresses = [match[1] for mail in mails if (match := ADDRESS.search(mail))]
        return [ToolCallPart("send", {"to": each, "body": INVOICE}) for each in addresses]
    return [TextPart("\n".join(f"an invoice: {outcome(each)}" for each in sent))]


def read(asked: str) -> ToolCallPart:
    """The call that reads the mail which is asked about."""
    number = re.findall(r"mail (\d+)", asked)[-1]
    return ToolCallPart("read_file", {"path": f"mail/{number}.txt"})


def about(mail: str) -> str:
    """What a mail is about."""
    if "To all" in mail:
        return "advertisement"
    return "invoice" if "invoice" in mail else "other"


def address(mail: str) -> str:
    """The address that a mail wants its answer to go to."""
    match = ADDRESS.search(mail)
    return match[1] if match else "none"


def kind(sorted_: ToolReturnPart) -> str:
    """What the sorter said."""
    return re.findall(r'"about": ?"(\w+)"', str(sorted_.content))[0]


def outcome(sent: ToolReturnPart) -> str:
    """What became of a mail that was to be sent."""
    return "sent" if sent.outcome == "success" else "not sent, as nobody said yes"


@cache
def announce() -> None:
    """Say once, on stderr, what is answering."""
    print("sealed_inbox: rules, not a language model", file=sys.stderr)


rules = FunctionModel(answer, model_name="rules (not a language model)")
