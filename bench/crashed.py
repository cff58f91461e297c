"""The workspace of `bench.crash`: code in stages, unequal delegates, tools, typed questions and shell commands."""

from __future__ import annotations

STEPS = (1, 3, 5, 8)
"""How many effects each of the four delegates has, so that none ends when another does."""

ITEMS = 4
"""For how many items the code calls `first` and then `second`."""

PAIRS = 8
"""For how many parts the code calls `draft` and then `polish`: nobody is asked, so the order is what time makes it."""

EFFECTS = {
    **{
        str(me): (*(f"{me}.{step}" for step in range(steps)), f"{me}.careful")
        for me, steps in enumerate(STEPS)
    },
    **{f"i{item}": (f"i{item}.booked", f"i{item}.shell") for item in range(ITEMS)},
    **{f"p{part}": (f"p{part}.polished",) for part in range(PAIRS)},
}
"""What has to happen once each, in this order for each caller."""

_MANIFEST = """\
schema = 1

[workspace]
name = "crash"
workers = ["*.worker"]
model = "python:models.py:scripted"

[toolsets.effects]
python = "tools.py:effects"
capabilities = { effect = ["x.effects.write"], careful = ["x.effects.careful"], look = [] }

[toolsets.booking]
python = "tools.py:booking"
capabilities = { book = ["x.booking.book"] }

[toolsets.shell]
isolation = "off"

[[toolsets.shell.rules]]
run = ["sh", "effect.sh"]
positional = "any"

[approvals.rules]
"x.effects.write" = "allowed"
"x.effects.careful" = "needs_approval"
"x.booking.book" = "needs_approval"
"proc.exec" = "allowed"
"fs.read" = "allowed"
"fs.write" = "allowed"

[entries.main]
function = "entries.py:staged"
calls = ["team", "first", "second", "draft", "polish"]
input = "go"
limits = { requests = 1000 }
"""

_MODELS = f"""\
import random
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

STEPS = {STEPS!r}

async def answer(messages, info):
    import asyncio
    said = messages[0].parts[-1].content
    is_draft = said.startswith("p") and not said.endswith("drafted")
    await asyncio.sleep(random.uniform(0.001, 0.3 if is_draft else 0.012))
    responses = [one for one in messages if isinstance(one, ModelResponse)]
    returns = [part for one in messages for part in one.parts if isinstance(part, ToolReturnPart)]
    tools = {{tool.name for tool in info.function_tools}}
    step = len(responses)
    usage = RequestUsage(input_tokens=7, output_tokens=3)
    if is_draft:
        return ModelResponse(parts=[TextPart(f"{{said}} drafted")], usage=usage)
    if said.endswith("drafted"):
        if not step:
            name = f"{{said.partition(' ')[0]}}.polished"
            return ModelResponse(parts=[ToolCallPart("effect", {{"name": name}})], usage=usage)
    elif "unit" in tools:
        if not step:
            calls = [ToolCallPart("unit", {{"input": str(number)}}) for number in range(len(STEPS))]
            return ModelResponse(parts=calls, usage=usage)
    elif "book" in tools:
        if not step:
            name = f"i{{said}}.booked"
            arguments = {{"name": name, "day": f"2026-01-0{{int(said) + 1}}", "price": f"{{said}}.10"}}
            return ModelResponse(parts=[ToolCallPart("book", arguments)], usage=usage)
    elif "shell" in tools:
        if not step:
            item = said.split()[-1].partition(".")[0]
            return ModelResponse(parts=[ToolCallPart("shell", {{"command": ["sh", "effect.sh", f"{{item}}.shell"]}})])
    else:
        me = int(said)
        if step < STEPS[me]:
            calls = [ToolCallPart("effect", {{"name": f"{{me}}.{{step}}"}}), ToolCallPart("look", {{}})]
            return ModelResponse(parts=calls, usage=usage)
        if step == STEPS[me]:
            return ModelResponse(parts=[ToolCallPart("careful", {{"name": f"{{me}}.careful"}})])
    text = " ".join(f"{{part.tool_name}}={{part.content}}" for part in returns)
    if "book" in tools:
        text = returns[0].content
    return ModelResponse(parts=[TextPart(text)], usage=RequestUsage(input_tokens=1, output_tokens=1))

scripted = FunctionModel(answer)
"""

_TOOLS = '''\
import os
import time
from datetime import date
from decimal import Decimal
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

effects = FunctionToolset(id="effects")
booking = FunctionToolset(id="booking")
LOG = Path(__file__).with_name("effects.log")

def note(name):
    time.sleep(0.02)
    descriptor = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{name}\\n".encode())
    os.close(descriptor)
    time.sleep(0.02)
    return f"did {name}"

@effects.tool_plain
def effect(name: str) -> str:
    """Has an effect."""
    return note(name)

@effects.tool_plain
def careful(name: str) -> str:
    """Has an effect that is asked about."""
    return note(name)

@effects.tool_plain
async def look() -> str:
    """Has none."""
    return "seen"

@booking.tool_plain
def book(name: str, day: date, price: Decimal) -> str:
    """Has an effect that is asked about, of arguments that are no JSON."""
    return f"{day:%d.%m.} {price:.2f} {note(name)}"
'''

_ENTRIES = f"""\
import asyncio

async def staged(runtime, text):
    async def item(number):
        booked = await runtime.call_agent("first", str(number))
        return await runtime.call_agent("second", booked)

    async def pair(number):
        drafted = await runtime.call_agent("draft", f"p{{number}}")
        return await runtime.call_agent("polish", drafted)

    said = await asyncio.gather(
        runtime.call_agent("team", text),
        *(item(number) for number in range({ITEMS})),
        *(pair(number) for number in range({PAIRS})),
    )
    return "; ".join(said)
"""

AT_WORK = "command.begun"
"""The file that says since when a command runs."""

_COMMAND = f"""\
: > {AT_WORK}
(sleep 300; echo "$1.late" >> effects.log) < /dev/null > /dev/null 2>&1 &
sleep 0.1
echo "$1" >> effects.log
sleep 0.1
echo "did $1"
"""
"""What it leaves behind outlives every kill, where nothing ends it."""

FILES = {
    "llmdo.toml": _MANIFEST,
    "models.py": _MODELS,
    "tools.py": _TOOLS,
    "entries.py": _ENTRIES,
    "effect.sh": _COMMAND,
    "team.worker": "---\nname: team\ntoolsets: [unit]\n---\nGo.\n",
    "unit.worker": "---\nname: unit\ndescription: One of four.\ntoolsets: [effects]\n---\nWork.\n",
    "first.worker": "---\nname: first\ntoolsets: [booking]\n---\nBook.\n",
    "draft.worker": "---\nname: draft\n---\nDraft.\n",
    "polish.worker": "---\nname: polish\ntoolsets: [effects]\n---\nPolish.\n",
    "second.worker": "---\nname: second\ntoolsets: [shell]\n---\nRun.\n",
}
"""Path to text."""
