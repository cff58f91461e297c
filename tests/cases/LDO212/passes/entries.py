async def nightly(runtime, input):
    name = "planner"
    if not input:
        await runtime.call_agent(name, input)
    return await runtime.call_agent("evaluator", input)


async def of_a_tool(ctx, text):
    return await ctx.deps.call_agent("planner", text, ctx)
