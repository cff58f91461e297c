"""The listed commands that run files of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.policy.authority import Capability
from llmdo.policy.shell.programs import is_launcher

if TYPE_CHECKING:
    from llmdo.foreign.team import Grant


def runs_files(grant: Grant) -> bool:
    """Whether a listed command runs files of the project: an interpreter, a builder, or a script by its path.

    One that fetches from hosts, such as `curl`, runs its arguments' programs alone.
    """
    names = {each.name for each in grant.capabilities}
    if "proc.exec" not in names or any(Capability("net").covers_name(each) for each in names):
        return False
    text = grant.tool if "(" in grant.tool or grant.rule_at is None else str(grant.rule_at.data)
    program = text.partition("(")[2].split(" ")[0].rstrip(":*)")
    return "/" in program or is_launcher(program)
