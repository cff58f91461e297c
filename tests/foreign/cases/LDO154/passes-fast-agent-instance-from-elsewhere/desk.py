from team import desk


@desk.agent(instruction="You answer.", servers=["notes"], elicitation_handler=print)
async def answer():
    pass
