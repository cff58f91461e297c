"""An extension that a workspace uses: its part of the lock, and its capabilities in a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.values import dataclass, field
from llmdo.extensions.spec import CapabilityFamily
from llmdo.policy.authority import STRICTNESS, Capability, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.values import Json
    from llmdo.syntax.document import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedExtension:
    """An installed distribution that extends llmdo for one workspace."""

    name: str
    """As the manifest has it."""
    version: str
    digest: str
    """Of its files: those of its record, and all others in its packages."""
    capabilities: Mapping[str, CapabilityFamily] = field(default_factory=dict)
    """In name order."""
    at: Place | None = field(default=None, compare=False)
    """Its place in the manifest."""

    @property
    def rules(self) -> Iterator[Rule]:
        """The default decisions about its capabilities."""
        for name, family in self.capabilities.items():
            yield Rule(Capability(name), family.decision, f"extension `{self.name}`")

    def encoded(self) -> dict[str, Json]:
        """Its table in a lock."""
        table: dict[str, Json] = {"version": self.version, "digest": self.digest}
        families: dict[str, Json] = {
            name: {
                "meaning": family.meaning,
                "decision": family.decision,
                **({"reads": True} if family.reads else {}),
            }
            for name, family in self.capabilities.items()
        }
        return {**table, "capability": families} if families else table

    @classmethod
    def decoded(cls, name: str, table: Mapping[str, Json], at: Place) -> UsedExtension:
        """The extension that a table of a lock describes."""
        return cls(
            name=name,
            version=parts.text(table["version"]),
            digest=parts.text(table["digest"]),
            capabilities={
                family: CapabilityFamily(
                    parts.text(stated["meaning"]),
                    next((known for known in STRICTNESS if known == stated["decision"]), "blocked"),
                    stated.get("reads") is True,
                )
                for family, stated in sorted(parts.tables(table, "capability").items())
            },
            at=at,
        )
