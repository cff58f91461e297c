async def nightly(runtime, input, *, tries=3):
    return "done"
