from streams.app import app, topic


@app.agent(topic)
async def orders(stream):
    async for order in stream:
        print(order)


@app.agent("orders", concurrency=2)
async def counted(stream):
    async for order in stream:
        print(order)
