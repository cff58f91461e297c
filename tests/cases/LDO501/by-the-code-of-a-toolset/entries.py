async def nightly(runtime, input):
    return await runtime.call_tool("desk.work", {})
