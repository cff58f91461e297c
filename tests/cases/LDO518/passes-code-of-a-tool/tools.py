from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

post = FunctionToolset()


@post.tool(metadata={"capabilities": ["x.post.send"]})
def send(ctx: RunContext[object]) -> str:
    return "sent"
