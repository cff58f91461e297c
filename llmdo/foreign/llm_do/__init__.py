"""llm-do: `.agent` and `.worker` files and `project.json`."""
