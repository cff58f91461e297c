async def nightly(runtime, input):
    return ""
