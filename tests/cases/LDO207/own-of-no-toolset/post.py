from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset()
office = FunctionToolset()


@office.tool_plain(metadata={"capabilities": ["x.post.send"]})
def send() -> str:
    return "sent"
