"""Runs, for tests without an event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llmdo.runtime import run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.graph.resolved import Graph
    from llmdo.runtime import RunOptions, RunOutcome


def run_sync(
    graph: Graph, *, root: Path, prompts: Mapping[str, str], entry: str, options: RunOptions | None = None
) -> RunOutcome:
    """As `run`, to its end."""
    return asyncio.run(run(graph, root=root, prompts=prompts, entry=entry, options=options))
