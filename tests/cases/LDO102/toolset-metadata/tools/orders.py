from pydantic_ai import FunctionToolset

orders = FunctionToolset(metadata={"Capabilities": ["x.orders.refund"]})


@orders.tool_plain(metadata={"owner": "shop"})
def refund(order: str) -> str:
    """Refund."""
    return order
