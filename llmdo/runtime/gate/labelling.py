"""What calls are labelled with: under which labels one is chosen, and what it leaves behind for those after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.policy.flow import read_by, written_by
from llmdo.runtime.labels import Context
from llmdo.runtime.place import code_at
from llmdo.runtime.seals import Seal, SealedText
from llmdo.runtime.signatures import Output

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
    if not config.is_labelled:
        return None
    labelling = config.base.labelling
    context, kept = Context(is_code=True, of=frame.context), config.ledger.labels
    context.carry(call.labels)
    context.carry(call.brought)
    context.carry(_raised(labelling, call))
    context.carry(kept.read(read_by(call.raised)))
    context.carry(kept.toolsets.get(call.toolset, {}))
    kept.write(written_by(call.raised, call.declared), context.end)
    toolset = config.graph.toolsets.get(call.toolset)
    if toolset is not None and toolset.keeps:
        kept.toolsets.setdefault(call.toolset, {}).update(context.end)
    return context


def handed_over(
    config: RuntimeConfig, caller: CallFrame, callee: CallFrame, context: Context | None, output: Output
) -> Output:
    """The answer of `callee` as its caller gets it in a call with `context`, which has what comes with it from then on.

    A sealed one is a name and a size. A closed one no stranger has written, whatever he wrote there: it carries what is
    private. So what strangers wrote of what `callee` was given stays with it.
    """
    worker = callee.worker
    if context is None or worker is None:
        return output
    if worker.output == "sealed" or _is_closed(config, callee):
        context.leave(config.base.labelling.of_strangers)
    if worker.output == "sealed":
        name = callee.path.removeprefix(f"{caller.path}/")
        seal = Seal(name, output.text, {**callee.context.end})
        context.seals[name] = seal
        return Output(SealedText.of(seal, context.carry), str(seal))
    context.carry(_without_strangers(config, callee) if _is_closed(config, callee) else callee.context.end)
    return output


def told_of_failure(
    config: RuntimeConfig, callee: CallFrame, context: Context | None, why: str, *, limit: bool
) -> str:
    """Why `callee` failed, as its caller is told; of a closed or sealed one, only what kind of failure it is."""
    if context is None:
        return why
    if callee.worker is None or not (callee.worker.output == "sealed" or _is_closed(config, callee)):
        context.carry(callee.context.end)
        return why
    context.leave(config.base.labelling.of_strangers)
    context.carry(_without_strangers(config, callee))
    return "a limit of the run was reached; finish with what you have" if limit else "it gave no answer"


def _is_closed(config: RuntimeConfig, callee: CallFrame) -> bool:
    return config.signatures[callee.name].is_closed


def _without_strangers(config: RuntimeConfig, callee: CallFrame) -> Labels:
    strangers = config.base.labelling.of_strangers
    return {label: path for label, path in callee.context.end.items() if label not in strangers}


def everything(labelling: Labelling, path: str) -> Labels:
    """All labels that there are: of what happened at `path`, and nobody can work out any more."""
    return dict.fromkeys(labelling.labels, path)


def declared(labelling: Labelling, capabilities: Iterable[Capability], path: str) -> Labels:
    """The labels of whatever a tool may return that declares these."""
    return dict.fromkeys(labelling.of(capabilities), path)


def _raised(labelling: Labelling, call: Call) -> Labels:
    return declared(labelling, call.raised, call.path)
