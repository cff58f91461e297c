"""The limits of a conversation, as limits of one run of it: what is left of them when it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import fields, replace
from llmdo.graph.resolved import ConversationLimits
from llmdo.runtime.budget import DEFAULT_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.graph.resolved import Entry, Limits


def lowered(entry: Entry, spent: Mapping[str, float]) -> tuple[Limits, frozenset[str]]:
    """The limits of a run of `entry`, and which of them are what the conversation has left.

    `spent` is what its earlier runs used.

    Raises:
        LlmdoError: A limit of the conversation is reached.
    """
    changed: dict[str, Any] = {}
    for limit in fields(ConversationLimits):
        most = getattr(entry.conversation_limits, limit.name)
        if most is None:
            continue
        left = max(0, most - spent.get(limit.name, 0))
        if left == 0 and limit.name != "tool_calls":  # a run without them may still answer
            name = limit.name.replace("_", "-")
            raise LlmdoError(
                f"the conversation's limit `{name} = {most:g}` is reached",
                hint=f"begin another one, or raise `{name}` in the entry's `conversation-limits`",
            )
        own = getattr(entry.limits, limit.name)
        if own is None and limit.name == "requests":
            own = DEFAULT_REQUESTS
        if own is None or left < own:
            changed[limit.name] = int(left) if isinstance(most, int) else left
    return replace(entry.limits, **changed), frozenset(changed)
