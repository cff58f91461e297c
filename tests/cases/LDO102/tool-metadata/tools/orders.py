from pydantic_ai import FunctionToolset

orders = FunctionToolset()


@orders.tool_plain(metadata={"capability": ["x.orders.refund"]})
def refund(order: str) -> str:
    """Refund."""
    return order
