"""The policies under which an approver from Python may answer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.approvals.approver import approves_all
from llmdo.workspace import personal

if TYPE_CHECKING:
    from llmdo.graph.resolved import Graph
    from llmdo.runtime import Approver
    from llmdo.workspace.personal import PersonalPolicy


def policy_for(approver: Approver | None, graph: Graph | None = None) -> PersonalPolicy:
    """The person's own policy, under which, and under those of `graph`, this approver may answer.

    Raises:
        LlmdoError: It may not, or the policy cannot be read.
    """
    person = personal.read(os.environ)
    if not approves_all(approver):
        return person
    if not person.approve_all:
        raise LlmdoError(
            "`ApproveAll` is forbidden on this machine", hint=f"by `approve-all = false` in `{person.path}`"
        )
    policies = graph.policies if graph else ()
    if forbidding := [policy.name for policy in policies if not policy.approve_all]:
        raise LlmdoError(
            "`ApproveAll` is forbidden for this workspace",
            hint=f"by `approve-all = false` in `{forbidding[0]}`",
        )
    return person
