from fast_agent import FastAgent

from harbour.cards import cook, pilot, purser

fast = FastAgent("Harbour")


def first():
    @fast.agent(**pilot.model_dump())
    async def workflow(): ...

    @fast.agent(instruction="You cook.", **cook.model_dump())
    async def galley(): ...

    @fast.chain(**purser.model_dump())
    async def workflow(): ...


@fast.agent(name=pilot.name, servers=pilot.servers)
async def member(): ...


@fast.agent(name=cook.name, servers=["ferries"])
async def member(): ...


@fast.agent("lookout", "You look out.", servers=pilot.servers)
async def watch(): ...


@fast.agent()
async def idle(): ...
