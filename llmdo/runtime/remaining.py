"""A run's share of its conversation's limits, taken as it begins or continues."""

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
    """Lowers the run's budget to its share; returns `continues` with the conversation's use by now.

    Raises:
        LlmdoError: A limit is reached, or other runs have reserved the rest.
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
    """The limits that a conversation may have, by name."""
    return [(limit.name, getattr(limits, limit.name)) for limit in fields(ConversationLimits)]
