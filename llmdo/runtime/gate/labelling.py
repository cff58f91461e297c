"""The labels of calls: those under which one is chosen, and those that it leaves for later calls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import ToolFailed

from llmdo.policy.closed import is_one_of
from llmdo.policy.flow import read_by, written_by
from llmdo.runtime.labels import NO_LABELS, Context
from llmdo.runtime.place import code_at, running_context
from llmdo.runtime.seals import Seal, SealedText
from llmdo.runtime.signatures import Output

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.base.values import Json
    from llmdo.policy.authority import Capability
    from llmdo.policy.flow import Labelling
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.gate.call import Call
    from llmdo.runtime.labels import Labels


LEAST_WORD = 3  # characters: shorter ones stand anywhere by chance
_NO_ANSWER = "it gave no answer"


def labels_for(config: RuntimeConfig, context: Context) -> Labels:
    """The labels under which a call is chosen now in `context`."""
    return context.chosen_under if config.base.labelling.labels else NO_LABELS


def context_of_code(frame: CallFrame) -> Context:
    """The context of the code of `frame` that runs now."""
    scope = code_at(frame)
    if scope is not None and scope.context is not None:
        return scope.context
    if frame.context.is_code:
        return frame.context
    # What code gets by a runtime that it kept of another call is in its own hands as well.
    return Context(is_code=True, of=frame.context, is_lost=True, into=running_context())


def opened(config: RuntimeConfig, frame: CallFrame, call: Call) -> Context | None:
    """The context of the code of `call`, which is let through; None if nothing is labelled.

    It begins with the labels that the call carries and reads. Before anything is written, files that it may write are
    labelled, and a toolset that may return its arguments later.
    """
    if not config.is_labelled:
        return None
    context, kept = Context(is_code=True, of=frame.context), config.ledger.labels
    context.carry(call.labels)
    context.carry(call.brought)
    context.carry(_raised(config, call))
    add_kept(config, call, context)
    toolset = config.graph.toolsets.get(call.toolset)
    keeps = toolset is not None and toolset.keeps
    kept.keep(context, written_by(call.raised, call.declared), call.toolset if keeps else None)
    return context


def add_kept(config: RuntimeConfig, call: Call, context: Context) -> None:
    """Adds the labels of files and the toolset that `call` reads: once more at its end.

    For others may have written there meanwhile.
    """
    kept = config.ledger.labels
    if kept.files:
        context.carry(kept.read(read_by(call.raised)))
    context.carry(kept.toolsets.get(call.toolset, {}))


def found_in(frame: CallFrame, arguments: Mapping[str, object]) -> tuple[str, ...]:
    """The sources of the words of a call that a flow rule asks about, a sentence for each one found.

    It helps the person asked, and proves nothing: a stranger may have chosen words of the input as well.
    """
    sentences = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else str(value)
        if not isinstance(value, bool) and len(text) >= LEAST_WORD and text not in frame.input:
            path = next((path for path, words in frame.context.heard_last if text in words), None)
            if path is not None:
                sentences.append(f"`{name}` stands in what {path} returned, and not in the input")
    return tuple(sentences)


@dataclass(frozen=True, slots=True)
class Handover:
    """The end of a worker's call by another, or by code."""

    caller: CallFrame
    callee: CallFrame
    given: Labels
    """The labels of the input of `callee`."""


def handed_over(config: RuntimeConfig, handover: Handover, context: Context | None, output: Output) -> Output:
    """The answer of a callee for its caller in a call with `context`, which gets the answer's labels.

    A sealed answer is a name and a size. A closed one holds no stranger's words, so it carries only private labels;
    strangers' labels of the callee's input stay with the callee.

    Raises:
        ToolFailed: It is none of those that its closed type lists or bounds.
    """
    callee, labelling = handover.callee, config.base.labelling
    if context is None or callee.worker is None:
        return output
    if callee.worker.output == "sealed":
        context.leave(labelling.of_strangers)
        return _sealed(handover, context, output)
    closed = _closed(config, handover)
    if closed is None:
        context.carry(callee.context.end)
        return output
    context.leave(labelling.of_strangers)
    context.carry(without_strangers(config, callee.context.end))
    given = config.signatures[callee.name].given(callee.input)
    if not is_one_of(json.loads(output.text), closed, given):
        raise ToolFailed(f"`{callee.name}` failed: {_NO_ANSWER}")  # its code says what its type does not
    return output


def _sealed(handover: Handover, context: Context, output: Output) -> Output:
    callee = handover.callee
    name = callee.path.removeprefix(f"{handover.caller.path}/")
    seal = Seal(name, output.text, {**callee.context.end})
    context.seals[name] = seal

    def carry(labels: Labels) -> None:
        context.carry(labels)
        if opening := running_context():  # of another call, where the text was kept for it
            opening.carry(labels)

    return Output(SealedText.of(seal, carry), str(seal))


def told_of_failure(
    config: RuntimeConfig, handover: Handover, context: Context | None, why: str, *, limit: bool
) -> str:
    """Why a callee failed, for its caller; of a closed or sealed one, only the kind of failure."""
    callee = handover.callee
    if context is None:
        return why
    is_sealed = callee.worker is not None and callee.worker.output == "sealed"
    if not is_sealed and _closed(config, handover) is None:
        context.carry(callee.context.end)
        return why
    context.leave(config.base.labelling.of_strangers)
    context.carry(without_strangers(config, callee.context.end))
    return "a limit of the run was reached; finish with what you have" if limit else _NO_ANSWER


def _closed(config: RuntimeConfig, handover: Handover) -> Mapping[str, Json] | None:
    """The schema of a callee's answers, if that keeps its caller free of strangers' words."""
    signature, worker = config.signatures[handover.callee.name], handover.callee.worker
    # An instance of a type whose text does not say that it is closed may hold more than is written of it; and the
    # answer is held against the type as it was imported, which may be wider than its text.
    if worker is None or worker.closed is None:
        return None
    if max(worker.closed, signature.closure.bits) > handover.caller.authority.max_bits:
        return None
    is_chosen_by_strangers = (
        signature.closure.lists and without_strangers(config, handover.given) != handover.given
    )
    return None if is_chosen_by_strangers else signature.closed


def without_strangers(config: RuntimeConfig, labels: Labels) -> Labels:
    """Those of `labels` about data going out, not about who chose."""
    strangers = config.base.labelling.of_strangers
    return {label: path for label, path in labels.items() if label not in strangers}


def everything(labelling: Labelling, path: str) -> Labels:
    """All labels, for an event at `path` whose own nobody can work out any more."""
    return dict.fromkeys(labelling.labels, path)


def declared(labelling: Labelling, capabilities: Iterable[Capability], path: str) -> Labels:
    """The labels of any result of a tool that declares these."""
    return dict.fromkeys(labelling.of(capabilities), path)


def _raised(config: RuntimeConfig, call: Call) -> Labels:
    return dict.fromkeys(config.labels_of(call.raised), call.path)
