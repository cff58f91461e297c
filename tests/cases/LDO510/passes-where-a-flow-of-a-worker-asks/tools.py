from pydantic_ai.toolsets import FunctionToolset

runner = FunctionToolset()


@runner.tool_plain(metadata={"capabilities": ["proc.exec"]})
def publish(tag: str) -> str:
    return tag


issues = FunctionToolset()


@issues.tool_plain(metadata={"capabilities": ["data.untrusted"]})
def read_issues() -> str:
    return ""
