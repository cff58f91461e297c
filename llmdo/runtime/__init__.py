"""The runtime: runs an entry of a resolved graph on pydantic-ai's own agent loop, every tool behind the gate.

`run` takes values and returns a value: the checked `Graph`, each worker's prompt and the caller's options go in; a
`RunOutcome` comes out, however the run ended. An `AgentRuntime` is `ctx.deps` for a tool, and the first argument of
an entry's function.
"""

from llmdo.journal.decided import DecidedCall
from llmdo.journal.naming import new_run
from llmdo.runtime.approvals.approver import (
    Answer,
    ApproveAll,
    Approver,
    ApproveSome,
    AskLater,
    GoneError,
    Question,
    RefuseSome,
    RejectAll,
)
from llmdo.runtime.approvals.terminal import AskOnTerminal, approver_at
from llmdo.runtime.attached import Attached, AttachmentResolver
from llmdo.runtime.brake import Stop
from llmdo.runtime.calls import AgentRuntime
from llmdo.runtime.config import RuntimeConfig
from llmdo.runtime.frame import CallFrame
from llmdo.runtime.gate.call import Call
from llmdo.runtime.gate.policy import DepthLimit, PolicyRefusal, RunPolicy
from llmdo.runtime.models.choice import ModelChoice
from llmdo.runtime.options import RunOptions
from llmdo.runtime.outcome import RunOutcome, Usage
from llmdo.runtime.run import consented, run

__all__ = [
    "AgentRuntime",
    "Answer",
    "ApproveAll",
    "ApproveSome",
    "Approver",
    "AskLater",
    "AskOnTerminal",
    "Attached",
    "AttachmentResolver",
    "Call",
    "CallFrame",
    "DecidedCall",
    "DepthLimit",
    "GoneError",
    "ModelChoice",
    "PolicyRefusal",
    "Question",
    "RefuseSome",
    "RejectAll",
    "RunOptions",
    "RunOutcome",
    "RunPolicy",
    "RuntimeConfig",
    "Stop",
    "Usage",
    "approver_at",
    "consented",
    "new_run",
    "run",
]
