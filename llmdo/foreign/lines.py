"""A line of a format's table of the abilities of its tools; `llmdo explain --from FORMAT` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach.shapes import Assurance


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


WRITES = ("fs.write", "fs.write.protected")
EDITS = ("fs.read", *WRITES)
RUNS = ("proc.exec.unlisted",)
FETCHES = ("data.untrusted", "net.connect")
SEARCHES = ("data.untrusted", "net.search")
SERVES = ("data.untrusted", "mcp.call")
RUNS_OWN = ("proc.exec",)
READS_GITHUB = ("data.untrusted", "x.github.read")
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
