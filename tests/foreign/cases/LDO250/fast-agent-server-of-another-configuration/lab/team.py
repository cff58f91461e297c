from fast_agent import FastAgent

fast = FastAgent("lab")


@fast.agent("weigher", "You weigh.", servers=["scale"])
async def weigh():
    pass
