"""What the two workers can do. Each tool declares it; the rules in llmdo.toml decide about it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pydantic_ai.toolsets import FunctionToolset


class Publishing(FunctionToolset):
    """A stand-in for a shell: as one would, it says for each call what that call does."""

    def get_capabilities(self, name: str, tool_args: object, ctx: object, config: object) -> set[str]:
        """What one call raises; never more than the tool declares."""
        return {"proc.exec"}


tracker = FunctionToolset()
publishing = Publishing()


@tracker.tool_plain(metadata={"capabilities": ["data.untrusted"]})
def read_issues() -> str:
    """The open issues, as the people who opened them wrote them."""
    files = sorted(Path(__file__).parent.glob("issues/*.md"))
    return "\n\n".join(file.read_text(encoding="utf-8") for file in files)


@publishing.tool_plain(metadata={"capabilities": ["proc.exec"]})
def publish(version: str) -> str:
    """Publish a version. This example's command only says that it did."""
    command = [sys.executable, "-c", "import sys; print('published', sys.argv[1])", version]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
