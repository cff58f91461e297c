from pydantic_ai.toolsets import FunctionToolset

post = FunctionToolset()


@post.tool_plain(metadata={"capabilities": ["x.post.send"]})
def send(to: str) -> str:
    return "sent"
