"""Records of calls against reach: a decision is never milder, and on the path that reach names it is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmdo.policy.authority import STRICTNESS, Capability
from llmdo.reach import Analysis
from llmdo.workspace import project

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.reach.rows import Row


class Reach:
    """What reach says of the calls of a project."""

    def __init__(self, root: Path) -> None:
        graph = project.read(root).graph
        analysis = Analysis(graph)
        self._rows = {
            entry.worker.name: analysis.of(entry) for entry in graph.entries.values() if entry.worker
        }

    def compared(self, record: Mapping[str, Any]) -> str:
        """How a record compares with what reach says of it."""
        agents = str(record["path"]).removesuffix(f"/{record['tool']}").split("/")
        if agents[0] not in self._rows:
            return "of an entry that reach does not know"
        rows = [self._narrowest(agents[0], Capability.parse(each)) for each in record["capabilities"]]
        least = max((STRICTNESS["blocked" if row is None else row.decision] for row in rows), default=0)
        seen = STRICTNESS[record["decision"]]
        if record["left"] and least > 0:
            return "left to the client, as reach says"
        if seen < least:
            return "WRONG, milder than reach says"
        if seen == least:
            return "as reach says"
        is_same = all(row is not None and _agents(row) == agents for row in rows)
        return (
            "WRONG, stricter than reach says on this path"
            if is_same
            else "stricter, on another path than reach says"
        )

    def _narrowest(self, entry: str, capability: Capability) -> Row | None:
        """The narrowest row of an entry that is about a capability."""
        about = [row for row in self._rows[entry] if row.capability.grants(capability)]
        return max(
            about, key=lambda row: (len(row.capability.name), row.capability.scope is not None), default=None
        )


def _agents(row: Row) -> list[str]:
    """The agents on the way to a row."""
    return [hop.name for hop in row.path[:-1] if not hop.name.startswith("every agent")]
