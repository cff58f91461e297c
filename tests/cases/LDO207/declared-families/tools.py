from pydantic_ai.toolsets import FunctionToolset

reader = FunctionToolset()


@reader.tool_plain
def read_file(path: str) -> str:
    return path
