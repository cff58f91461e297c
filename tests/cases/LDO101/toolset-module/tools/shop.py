from pydantic_ai.toolsets import FunctionToolset

orders = FunctionToolset()


@orders.tool_plain(metadata={"capabilities": ["x.orders.create"]})
def create(item: str -> str:
    return item
