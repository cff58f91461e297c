from pydantic_ai import FunctionToolset

orders = FunctionToolset(metadata={"capabilities": ["x.orders.refund"], "probe": "was_refunded"})


@orders.tool_plain(metadata={"probe": "was_refundet"})
def refund(order: str) -> str:
    """Refund."""
    return order


@orders.tool_plain(metadata={"retry": "safe"})
def look(order: str) -> str:
    """Look."""
    return order


async def was_refund(key, tool_args, ctx):
    return None
