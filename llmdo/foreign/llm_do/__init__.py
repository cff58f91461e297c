"""llm-do: `.agent` and `.worker` files and `project.json`."""

from __future__ import annotations

FILES = ("**/*.worker", "**/*.agent")
