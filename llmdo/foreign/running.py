"""The listed commands that run files of the project, and what puts files there for them to run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.policy.authority import Capability
from llmdo.policy.shell.programs import is_launcher

if TYPE_CHECKING:
    from llmdo.foreign.team import Grant

_CHECKING_OUT = re.compile(
    r"\s*gh\s+(?:pr\s*:?(?:\*|\s+\*|\s+(?:c|ch|che|chec|check|checko|checkou)\*|\s+(?:checkout|co)\b)|co\b)"
)
"""The beginning of a rule that covers `gh pr checkout`, whose short form is `gh co`."""


def runs_files(grant: Grant) -> bool:
    """Whether a listed command runs files of the project: an interpreter, a builder, or a script by its path.

    One that fetches from hosts, such as `curl`, runs its arguments' programs alone.
    """
    names = {each.name for each in grant.capabilities}
    if "proc.exec" not in names or any(Capability("net").covers_name(each) for each in names):
        return False
    program = _words(grant).split(" ")[0].rstrip(":*)")
    return "/" in program or is_launcher(program)


def changes_files(grant: Grant) -> bool:
    """Whether a tool changes files of the project, or checks out those of a pull request, which anybody may send."""
    return Capability("fs.write") in grant.capabilities or checks_out(grant)


def checks_out(grant: Grant) -> bool:
    """Whether a listed command may be the one of `gh` by which the files of a pull request come into the work tree."""
    return _CHECKING_OUT.match(_words(grant)) is not None


def _words(grant: Grant) -> str:
    """The commands that a rule lists, as it is written."""
    text = grant.tool if "(" in grant.tool or grant.rule_at is None else str(grant.rule_at.data)
    return text.partition("(")[2]
