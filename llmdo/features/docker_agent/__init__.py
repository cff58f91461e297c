"""docker-agent: its YAML files."""

from __future__ import annotations

from llmdo.extensions.spec import OTHERS_REFUSED, Extension, ForeignFormat

FILES = (
    "**/*.yaml", "**/*.yml", ".github/agents/**/*.yaml", ".github/agents/**/*.yml", ".agents/**/*.yaml",
    ".agents/**/*.yml",
)  # fmt: skip

EXTENSION = Extension(
    name="docker-agent",
    formats={
        "docker-agent": ForeignFormat(
            FILES,
            "llmdo.features.docker_agent",
            "docker-agent",
            listed={"shell": ("shell:cmd=git log", OTHERS_REFUSED)},
        )
    },
)
