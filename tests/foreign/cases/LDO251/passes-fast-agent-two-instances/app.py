import asyncio
from fast_agent import FastAgent

primary = FastAgent("Harbour")


@primary.agent(name="clerk", instruction="Keep the log.", servers=["log"])
async def run_primary():
    async with primary.run() as app:
        await app.interactive()


fallback = FastAgent("Harbour again")


@fallback.agent(name="clerk", instruction="Keep the log.", servers=["log"], model="small")
async def run_fallback():
    async with fallback.run() as app:
        await app.interactive()
