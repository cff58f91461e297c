from llmdo import Worker

silent = Worker(name="silent", entry=True, instructions=" ")
