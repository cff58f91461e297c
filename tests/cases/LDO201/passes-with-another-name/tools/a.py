from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset()
