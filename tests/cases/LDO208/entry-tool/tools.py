from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset()


@calc.tool_plain
def add(a: int, b: int) -> int:
    return a + b
