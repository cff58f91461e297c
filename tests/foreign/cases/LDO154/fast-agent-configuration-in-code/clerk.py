from mcp_agent.core.fastagent import FastAgent

fast = FastAgent("clerks", json_config=None)


@fast.agent("clerk", "Keep the books.", servers=["tides"])
async def main():
    async with fast.run() as agent:
        await agent()
