"""The fleet of a command: that of the database it names, or of the one that `LLMDO_STORE` names."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.journal.opening import STORE, require_store

if TYPE_CHECKING:
    from collections.abc import Mapping


def require(address: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """The address of the fleet.

    Raises:
        LlmdoError: None is named, it is no database, or a library is lacking.
    """
    named = address or environ.get(STORE)
    if not named:
        raise LlmdoError("no fleet is named", hint=f"the address of its database does, or `{STORE}`")
    require_store(named)
    if find_spec("dbos") is None:
        raise LlmdoError("a fleet needs the library `dbos`", hint=installing("fleet"))
    return named
