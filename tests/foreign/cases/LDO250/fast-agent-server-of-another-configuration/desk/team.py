from fast_agent import FastAgent

fast = FastAgent("desk")


@fast.agent("writer", "You write.", servers=["notes", "scale"])
async def write():
    pass


@fast.agent("clerk", "You file.", servers=["notez", "drawer"])
async def keep():
    pass
