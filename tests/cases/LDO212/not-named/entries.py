async def nightly(runtime, input):
    await runtime.call_agent("evalautor", input)
    return await planned(runtime, input)


async def planned(agents, text):
    async def once():
        return await agents.call_agent(name="planner", input=text)

    return await once()
