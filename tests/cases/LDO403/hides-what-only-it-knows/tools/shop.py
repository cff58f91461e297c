from pydantic_ai.toolsets import FunctionToolset

from tools_metadata import CREATE

orders = FunctionToolset()


@orders.tool_plain(metadata=CREATE)
def create(item: str) -> str:
    return item
