from fast_agent import FastAgent

fast = FastAgent("Team")
SERVERS = ["notes"]


class Special:
    pass


@fast.agent("writer", "You write.", servers=SERVERS, shell=True)
async def writer(): ...


@fast.agent(name="reader", servers=["fetch", *SERVERS], skills=[])
async def reader(): ...


@fast.custom(Special, name="special", model="sonnet")
async def special(): ...


@fast.orchestrator(name="lead", agents=["writer", "reader", "nobody"])
async def lead(): ...


@fast.agent()
async def plain(): ...


@writer.tool
def count(text: str) -> int: ...


@fast.tool(name="now")
def now() -> str: ...


async def test_alone():
    fast = FastAgent("Other")

    @fast.agent("writer", function_tools=[count], **{"shell": True})
    async def writer(): ...
