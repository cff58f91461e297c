"""The bridge, with capabilities of the extension."""

from pydantic_ai.toolsets import FunctionToolset

bridge = FunctionToolset()


@bridge.tool_plain(metadata={"capabilities": ["acme.bridge.look"]})
def look() -> str:
    """Who is on the bridge."""
    return "the captain"


@bridge.tool_plain(metadata={"capabilities": ["acme.bridge.send"]})
def send(message: str) -> str:
    """Send a message to the bridge."""
    return f"sent: {message}"
