"""What calls are labelled with: under which labels one is chosen, and what it leaves behind for those after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.policy.flow import read_by, written_by
from llmdo.runtime.labels import Context
from llmdo.runtime.place import code_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.policy.authority import Capability
    from llmdo.policy.flow import Labelling
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.gate.call import Call
    from llmdo.runtime.labels import Labels


def labels_for(config: RuntimeConfig, context: Context) -> Labels:
    """The labels under which a call is chosen now in `context`."""
    return context.chosen_under if config.base.labelling.labels else {}


def context_of_code(frame: CallFrame) -> Context:
    """The context of the code of `frame` that runs now."""
    scope = code_at(frame)
    if scope is not None and scope.context is not None:
        return scope.context
    return frame.context if frame.context.is_code else Context(is_code=True, of=frame.context, is_lost=True)


def opened(config: RuntimeConfig, frame: CallFrame, call: Call) -> Context | None:
    """The context of the code of `call`, which is let through; None where nothing is labelled.

    It begins with what the call carries and with what it reads. From here on, before anything is written, files that
    it may write are labelled, and a toolset that may return later what it is called with.
    """
    labelling = config.base.labelling
    if not labelling.labels:
        return None
    context, kept = Context(is_code=True, of=frame.context), config.ledger.labels
    context.carry(call.labels)
    context.carry(_raised(labelling, call))
    context.carry(kept.read(read_by(call.raised)))
    context.carry(kept.toolsets.get(call.toolset, {}))
    kept.write(written_by(call.raised, call.declared), context.end)
    toolset = config.graph.toolsets.get(call.toolset)
    if toolset is not None and toolset.keeps:
        kept.toolsets.setdefault(call.toolset, {}).update(context.end)
    return context


def everything(labelling: Labelling, path: str) -> Labels:
    """All labels that there are: of what happened at `path`, and nobody can work out any more."""
    return dict.fromkeys(labelling.labels, path)


def declared(labelling: Labelling, capabilities: Iterable[Capability], path: str) -> Labels:
    """The labels of whatever a tool may return that declares these."""
    return dict.fromkeys(labelling.of(capabilities), path)


def _raised(labelling: Labelling, call: Call) -> Labels:
    return declared(labelling, call.raised, call.path)
