from pydantic_ai import FunctionToolset

from bank import was_refunded

orders = FunctionToolset(metadata={"capabilities": ["x.orders.refund"], "probe": "was_refunded"})
NAME = "was_" + "refunded"


@orders.tool_plain
def refund(order: str) -> str:
    """Refund."""
    return order


@orders.tool_plain(metadata={"probe": NAME, "retry": "safe"})
def look(order: str) -> str:
    """Look."""
    return order


class Shop(FunctionToolset):
    async def was_sold(self, key, tool_args, ctx):
        return None


shop = Shop()


@shop.tool_plain(metadata={"capabilities": ["x.shop.sell"], "probe": "was_sold"})
def sell(order: str) -> str:
    """Sell."""
    return order
