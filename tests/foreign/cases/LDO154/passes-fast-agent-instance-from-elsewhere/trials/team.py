async def try_notes(fast_agent):
    fast = fast_agent

    @fast.agent("reader", "You read notes.")
    async def start():
        async with fast.run() as agent:
            assert await agent.send("What is new?")

    await start()
