from mcp_agent.core.fastagent import FastAgent

settings = {"mcp": {"servers": {"tides": {"command": "other-mcp"}, "harbour": {"command": "harbour-mcp"}}}}
fast = FastAgent("pilots", json_config=settings)


@fast.agent("pilot", "Find the way.", servers=["tides", "harbour"])
async def main():
    async with fast.run() as agent:
        await agent()
