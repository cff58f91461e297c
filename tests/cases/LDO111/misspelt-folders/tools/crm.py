from pydantic_ai.toolsets import FunctionToolset

crm = FunctionToolset()


@crm.tool_plain(metadata={"capabilities": ["x.crm.read"]})
def look() -> str:
    return "x"
