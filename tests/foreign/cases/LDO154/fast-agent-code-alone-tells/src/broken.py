from fast_agent import FastAgent
@fast.agent(
