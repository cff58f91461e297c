"""What tools import of `llm_do.toolsets`."""
