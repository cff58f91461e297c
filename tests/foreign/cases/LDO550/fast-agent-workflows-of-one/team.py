from fast_agent import FastAgent

fast = FastAgent("Team")


@fast.agent("keeper", "You keep.", shell=True)
@fast.router(name="desk", agents=["keeper"])
async def main(): ...
