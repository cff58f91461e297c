async def nightly(runtime):
    return "done"
