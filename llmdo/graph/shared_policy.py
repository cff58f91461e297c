"""The policies that a manifest extends: what an organisation allows less of, for every run of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.graph.keys import encoded_rules

if TYPE_CHECKING:
    from llmdo.base.values import Json
    from llmdo.policy.authority import Rule

PACKAGE = "package:"
"""How the name of a policy begins that an installed package brings."""


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
    """Whether nothing is executed that nobody has answered for, where nobody can be asked."""

    @property
    def path(self) -> str | None:
        """Its path in the workspace; None where a package brings it."""
        return None if self.name.startswith(PACKAGE) else self.name

    def encoded(self) -> dict[str, Json]:
        """Its table in a lock."""
        table: dict[str, Json] = {"digest": self.digest}
        if not self.approve_all:
            table["approve-all"] = False
        if self.requires_trust:
            table["requires-trust"] = True
        return {**table, "rules": encoded_rules(self.rules)} if self.rules else table
