"""A line of a format's table of the abilities of its tools; `llmdo explain --from FORMAT` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.foreign.team import Grant
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.policy.vocabulary import Decision
    from llmdo.reach.shapes import Assurance
    from llmdo.syntax.document import Place


@dataclass(frozen=True, slots=True)
class Line:
    """The abilities of one tool, and its format's default decision about it."""

    tool: str
    capabilities: tuple[str, ...]
    decision: Decision
    assurance: Assurance
    """Open if it starts programs or servers that nothing limits."""
    source: str
    """Its documentation."""

    @property
    def raised(self) -> tuple[Capability, ...]:
        """Its abilities as capabilities."""
        return tuple(map(Capability.parse, self.capabilities))

    def grant(
        self,
        at: Place,
        origin: str,
        *,
        toolset: str | None = None,
        tool: str | None = None,
        capabilities: tuple[Capability, ...] | None = None,
        decision: Decision | None = None,
        rule_at: Place | None = None,
    ) -> Grant:
        """The tool as an agent has it: with its own name, abilities and decision unless others are given."""
        return Grant(
            toolset=toolset or tool or self.tool,
            tool=tool or self.tool,
            capabilities=self.raised if capabilities is None else capabilities,
            decision=decision or self.decision,
            origin=origin,
            at=at,
            rule_at=rule_at,
            is_open=self.assurance == "open",
        )


WRITES = ("fs.write", "fs.write.protected")
EDITS = ("fs.read", *WRITES)
RUNS = ("proc.exec.unlisted",)
FETCHES = ("data.untrusted", "net.connect")
SEARCHES = ("data.untrusted", "net.search")
SERVES = ("data.untrusted", "mcp.call")
RUNS_OWN = ("proc.exec",)
READS_GITHUB = ("data.untrusted", "x.github.read")
WRITES_GITHUB = ("x.github.write",)
"""Writes there with a person's own account: to any repository at which anybody may.

It is no `net.connect`: what a rule about commands allows allows no other tool to reach the host.
"""
WRITES_THERE = Capability(*WRITES_GITHUB)
ANYWHERE_ON_GITHUB = frozenset({"x.github.any", *WRITES_GITHUB})
"""The names of what may change any repository."""
PUSHES = "x.github.contents-write"
"""Changes the files, branches and releases of a repository on GitHub."""

WRITTEN_BY_STRANGERS = frozenset(
    {
        "commit_comment", "discussion", "discussion_comment", "issue_comment", "issues", "pull_request_review",
        "pull_request_review_comment", "pull_request_target", "workflow_run",
    }
)  # fmt: skip
"""Events of GitHub about text that anybody can write, at which a workflow has its secrets.

`pull_request` is not among them: from a fork it runs without secrets and with a read-only token.
"""


def changed_on_github(able: Iterable[Capability]) -> set[str]:
    """The names of what changes something there; a shell that only shows issues of it may send elsewhere."""
    names = {each.name for each in able}
    return {name for name in names - {*READS_GITHUB} if name.startswith("x.github.")}


def brings_page(able: Iterable[Capability]) -> bool:
    """Whether a call brings a page of some host; what GitHub's commands read there, somebody has sent."""
    names = {each.name for each in able}
    is_of_github = any(name.startswith("x.github.") for name in names)
    return not is_of_github and any(Capability("net").covers_name(name) for name in names)
