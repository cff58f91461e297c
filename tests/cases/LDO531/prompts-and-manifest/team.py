import llmdo

python = llmdo.Worker(name="python", description="Adds\u200b.", instructions="Adds.\u200b\u2066")
