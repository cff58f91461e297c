"""llm-do: `.agent` and `.worker` files and `project.json`."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

FILES = ("**/*.worker", "**/*.agent")

EXTENSION = Extension(
    name="llm-do",
    formats={"llm-do": ForeignFormat(FILES, "llmdo.features.llm_do", "llm-do")},
)
