"""The frames of a run: the entry's, and those of worker calls below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.exceptions import ToolFailed

from llmdo.policy.composition import Layer, authority_of
from llmdo.runtime.budget import BudgetLimit
from llmdo.runtime.frame import CallFrame
from llmdo.runtime.gate.policy import DepthLimit, PolicyRefusal, spawned
from llmdo.runtime.labels import NO_LABELS, Context

if TYPE_CHECKING:
    from llmdo.graph.worker import Worker
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.labels import Labels


def entry_frame(config: RuntimeConfig, text: str) -> CallFrame:
    """The frame of the entry itself, above its worker's."""
    policies = () if config.policy is None else (config.policy,)
    context = Context(is_code=True)
    if config.is_untrusted:
        context.carry(dict.fromkeys(config.base.labelling.of_strange_input, "the input"))
    return CallFrame(
        worker=None,
        input=text,
        depth=-1,
        path=config.entry.name,
        authority=authority_of(config.base, Layer.of_entry(config.entry)),
        context=context,
        policies=(*policies, DepthLimit(longest=config.max_depth), BudgetLimit(budget=config.budget)),
    )


def frame_below(
    config: RuntimeConfig,
    frame: CallFrame,
    callee: Worker,
    *,
    input: str,  # noqa: A002
    path: str,
    labels: Labels = NO_LABELS,
) -> CallFrame:
    """The frame of a call from `frame` that is decided on; `labels` are those of its input.

    Raises:
        ToolFailed: A policy is against it.
    """
    try:
        policies = spawned(frame.policies)
    except PolicyRefusal as refusal:
        raise ToolFailed(f"`{callee.name}` is blocked: {refusal}") from refusal
    layers = (*frame.layers, Layer.of_worker(callee))
    child = CallFrame(
        worker=callee,
        input=input,
        depth=frame.depth + 1,
        path=path,
        authority=authority_of(config.base, Layer.of_entry(config.entry), layers),
        layers=layers,
        policies=policies,
    )
    child.context.carry(labels)
    return child
