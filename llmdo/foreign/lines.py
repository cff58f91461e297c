"""A line of the table in which a format says what its tools can do; `llmdo explain --from FORMAT` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach.shapes import Assurance


@dataclass(frozen=True, slots=True)
class Line:
    """What one tool can do, and what its format decides about it where nobody says anything."""

    tool: str
    capabilities: tuple[str, ...]
    decision: Decision
    assurance: Assurance
    """Open where it starts programs or servers that nothing limits."""
    source: str
    """Where that is documented."""


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

`pull_request` is none: one from a fork runs without secrets and with a token that only reads.
"""
