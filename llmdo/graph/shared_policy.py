"""The policies that a manifest extends: the restrictions of an organisation, for every run of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.graph.keys import encoded_rules

if TYPE_CHECKING:
    from llmdo.base.values import Json
    from llmdo.policy.authority import Rule

PACKAGE = "package:"
"""The prefix of a policy's name from an installed package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPolicy:
    """One policy file. It only tightens."""

    name: str
    """Its path in the workspace, or `package:NAME/PATH`."""
    digest: str
    """Of its text."""
    rules: tuple[Rule, ...] = ()
    approve_all: bool = True
    """Whether `--approve-all` may be used."""
    requires_trust: bool = False
    """Whether nothing unapproved is executed when nobody can be asked."""

    @property
    def path(self) -> str | None:
        """Its path in the workspace; None if it comes from a package."""
        return None if self.name.startswith(PACKAGE) else self.name

    def encoded(self) -> dict[str, Json]:
        """Its table in a lock."""
        table: dict[str, Json] = {"digest": self.digest}
        if not self.approve_all:
            table["approve-all"] = False
        if self.requires_trust:
            table["requires-trust"] = True
        return {**table, "rules": encoded_rules(self.rules)} if self.rules else table
