from pydantic_ai import FunctionToolset

orders = FunctionToolset()


@orders.tool_plain
def refund(order: str) -> str:
    """Refund."""
    return order
