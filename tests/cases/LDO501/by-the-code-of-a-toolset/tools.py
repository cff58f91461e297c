from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset()
desk = FunctionToolset()


@calc.tool_plain(metadata={"capabilities": []})
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@desk.tool(metadata={"capabilities": []})
async def work(ctx: RunContext) -> str:
    """Does the work."""
    return str(await ctx.deps.call_tool("calc.add", {"a": 1, "b": 2}))
