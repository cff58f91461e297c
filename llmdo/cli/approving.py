"""Who answers the questions of a run that was started from the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.request_fields import option
from llmdo.base.values import dataclass, field
from llmdo.formats.schema import accepts_part
from llmdo.graph.toolkit import known_capabilities, tool_hint
from llmdo.policy.authority import Capability
from llmdo.services.plan import Approving
from llmdo.workspace import personal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llmdo.graph.resolved import Graph
    from llmdo.runtime import Approver


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalOptions:
    """The options of `llmdo run` about its questions. Only these flags set them: no file of a workspace can."""

    approve: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Approve this capability; may be repeated. Does not lift blocks.", metavar="CAP[:SCOPE]"
        ),
    )
    approve_all: bool = field(default=False, metadata=option("Approve every question. Does not lift blocks."))
    reject_all: bool = field(default=False, metadata=option("Reject every question, also at a terminal."))
    later: bool = False
    beside: Callable[[Approver | None], Approver] | None = None
    """Given the terminal's approver, if any: the approver that asks elsewhere as well."""


def approving(options: ApprovalOptions, graph: Graph, environ: Mapping[str, str]) -> Approving:
    """Who answers the questions of a run of `graph`: a person if there is a terminal, unless flags say otherwise.

    Raises:
        LlmdoError: The flags contradict each other or the person's policy, or name an unknown capability; or that
            policy cannot be used.
    """
    from llmdo import runtime

    policy = personal.read(environ)
    if options.approve_all and options.reject_all:
        raise LlmdoError("`--approve-all` conflicts with `--reject-all`")
    if options.approve_all and not policy.approve_all:
        raise LlmdoError(
            "`--approve-all` is forbidden on this machine",
            hint=f"`approve-all = false` is in `{policy.path}`",
        )
    if options.approve_all and (forbidding := [each.name for each in graph.policies if not each.approve_all]):
        raise LlmdoError(
            "`--approve-all` is forbidden for this workspace",
            hint=f"by `approve-all = false` in `{forbidding[0]}`",
        )
    if options.later and (options.approve_all or options.reject_all):
        raise LlmdoError("`--approvals later` conflicts with `--approve-all` and `--reject-all`")
    if options.approve_all and options.approve:
        raise LlmdoError(
            "`--approve-all` answers everything that `--approve` does", hint="give one of the two"
        )
    approved = _capabilities(options.approve, graph)
    unasked = False
    approver: Approver
    if options.approve_all:
        approver, mode, unasked = runtime.ApproveAll(), "approve-all", True  # of what only a person may allow
    elif options.reject_all:
        approver, mode = runtime.RejectAll(), "reject-all"
    elif options.later:
        approver, mode = runtime.AskLater(), "later"
    else:
        approver = runtime.approver_at(sys.stdin, sys.stderr, environ)
        unasked = isinstance(approver, runtime.RejectAll)
        mode = "reject-all" if unasked else "prompt"
        if options.beside is not None:
            approver = options.beside(None if unasked else approver)
            mode, unasked = "prompt, in the page as well", False
    if approved:
        approver = runtime.ApproveSome(approved, approver)
        mode = f"approve {' '.join(map(str, approved))}, else {mode}"
    return Approving(approver=approver, mode=mode, unasked=unasked, tightening=policy.rules)


_SUCH = "such as `fs.write:drafts/**`; `llmdo reach` shows what each entry can do, and what is asked"


def _capabilities(texts: Sequence[str], graph: Graph) -> tuple[Capability, ...]:
    known = known_capabilities(graph)
    for text in texts:
        name = Capability.parse(text).name
        if name not in known:
            raise LlmdoError(
                f"`--approve` names `{name}`, which is not a capability",
                hint=tool_hint(name, graph) or did_you_mean(name, known) or _SUCH,
            )
        if not accepts_part({"rules": {text: "allowed"}}, "manifest", "approvals"):
            raise LlmdoError(f"`--approve {text}` is not a capability, perhaps with `:path` or `:folder/**`")
    return tuple(dict.fromkeys(map(Capability.parse, texts)))
