from fast_agent import FastAgent

fast = FastAgent("Orchard notes")


@fast.agent(name="gardener", instruction="Answer from the notes.", servers=["files", "web"])
async def main() -> None:
    async with fast.run() as agent:
        await agent.interactive()
