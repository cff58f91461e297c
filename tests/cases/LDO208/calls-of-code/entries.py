async def nightly(runtime, input):
    return await runtime.call_tool("calc.add", {"a": 1, "b": 2})
