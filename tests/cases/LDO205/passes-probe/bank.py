async def was_refunded(key, tool_args, ctx):
    return None
