"""The share that a run has of the limits of its conversation, taken as it begins or goes on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from llmdo.base.values import fields, replace
from llmdo.graph.resolved import ConversationLimits
from llmdo.journal.spending import Claims, allot, shared_out
from llmdo.runtime.budget import DEFAULT_REQUESTS
from llmdo.runtime.recording.recorder import Recorder

if TYPE_CHECKING:
    from llmdo.journal.conversation import Earlier
    from llmdo.runtime.config import RuntimeConfig


def take_share(config: RuntimeConfig, continues: Earlier | None) -> Earlier | None:
    """Lower the budget of the run to its share, and return `continues` with what the conversation used by now.

    Raises:
        LlmdoError: A limit is reached, or other runs have reserved all that is left of it.
    """
    limits = {limit: most for limit, most in _amounts(config.entry.conversation_limits) if most is not None}
    log, wanted = config.log, dict(_amounts(config.budget.limits))
    if wanted["requests"] is None:
        wanted["requests"] = DEFAULT_REQUESTS
    if isinstance(log, Recorder) and log.mode.live:
        allotment = allot(log.journal, config.entry.name, continues, limits, wanted)
        share, continues = allotment.share, continues and replace(continues, spent=allotment.spent)
    else:  # a replay uses no more than the run did, which reserved no more than that
        used = Claims(used=continues.spent) if continues else Claims()
        share = shared_out(limits, wanted, used, is_new=not log.keeps)
    own = {name: math.inf if most is None else most for name, most in wanted.items()}
    config.budget.lower({name: most for name, most in share.items() if most < own[name]})
    return continues


def _amounts(limits: object) -> list[tuple[str, float | None]]:
    """Those of `limits` that a conversation may have, by their names."""
    return [(limit.name, getattr(limits, limit.name)) for limit in fields(ConversationLimits)]
