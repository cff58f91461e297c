from fast_agent import FastAgent

fast = FastAgent("crew")


@fast.agent(name="writer", instruction="Write.", servers=["notes"])
async def main()
    pass
