"""The keys of an entry and of an acceptance in a manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.formats.flows import Flows
from llmdo.formats.tables import table
from llmdo.formats.worker import CodeToolsets
from llmdo.graph import limits, resolved, settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json

    Limits = Mapping[str, Json]
    ConversationLimits = Mapping[str, Json]
    EntryTable = Mapping[str, Json]
    KNOWN: Mapping[str, object]
    Acceptance = Mapping[str, Json]
else:
    Limits = table("Limits", limits.Limits, "lock", {})

    ConversationLimits = table("ConversationLimits", limits.ConversationLimits, "lock", {})

    KNOWN = {
        "Limits": Limits,
        "ConversationLimits": ConversationLimits,
        "CodeToolsets": CodeToolsets,
        "Flows": Flows,
    }
    """The types that an entry's keys may name."""

    EntryTable = table("EntryTable", resolved.Entry, "file", KNOWN)

    Acceptance = table("Acceptance", settings.Acceptance, "lock", {})
