from fast_agent import FastAgent

fast = FastAgent("Harbour")


async def write_the_whole_almanac_of_tides_and_moorings():
    @fast.agent(name="editor_of_tides", instruction="Keep the tides.", servers=["shelf"])
    @fast.agent(name="editor_of_moorings", instruction="Keep the moorings.", servers=["shelf"])
    @fast.agent(name="editor_of_lights", instruction="Keep the lights.", servers=["shelf"])
    @fast.orchestrator(name="chief", agents=["editor_of_tides", "editor_of_moorings", "editor_of_lights"])
    async def run():
        async with fast.run() as app:
            await app.interactive()


async def read_it():
    @fast.agent(name="reader", instruction="Read the almanac.")
    async def run():
        async with fast.run() as app:
            await app.interactive()
