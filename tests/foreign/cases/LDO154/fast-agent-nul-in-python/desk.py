from fast_agent import FastAgent

fast = FastAgent('desk')


@fast.agent('clerk', instruction='Sort.')
async def main():
    pass
