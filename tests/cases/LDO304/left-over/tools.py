from pydantic_ai.toolsets import FunctionToolset

left_over = FunctionToolset()
