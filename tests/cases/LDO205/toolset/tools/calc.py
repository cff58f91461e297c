from pydantic_ai.toolsets import FunctionToolset

calc_tools = FunctionToolset()
