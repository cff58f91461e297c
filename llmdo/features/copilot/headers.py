"""What keeps Copilot's command line from loading an agent: a header that is no YAML, or one with wrong values.

Watched with 1.0.102. VS Code reads such a header as far as it can; of GitHub's cloud its documentation says that a
description is required.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.values import replace
from llmdo.foreign import headers, reading
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic

_THERE_ALONE = "so Copilot loads the file in VS Code alone"
_NOWHERE = "so Copilot does not load the file"
_DESCRIPTION = "write `description: TEXT` in its header"
_HEADER = "write `description: TEXT` between two lines `---` at the start of the file"
_KINDS: dict[str, tuple[type, ...]] = {
    "description": (str,),
    "name": (str,),
    "model": (str, list),
    "tools": (str, list),
}
"""The keys that it checks, each with the kinds of value that it takes."""
_HINTS = {
    "description": _DESCRIPTION,
    "name": "take it out",
    "model": "take it out",
    "tools": "take it out, or write `tools: [read, search]` in its header",
}
"""The change for a key without a value."""


def fault(text: reading.Text) -> Diagnostic | None:
    """The finding about a header that keeps an agent from being loaded, or about none; None if it is loaded."""
    document = text.document
    if not document.data:
        rest = f", thus no `description`, {_THERE_ALONE}"
        headless = reading.headless(document.source, rest)
        return replace(headless, hint=headless.hint or _HEADER)
    rest = _NOWHERE if document.data.get("target") == "github-copilot" else _THERE_ALONE
    if problem := headers.yaml_fault(document.source):
        return finding("LDO152", problem.at, f"{problem.message}, {rest}", hint=problem.hint)
    for key, kinds in _KINDS.items():
        if key not in document.data:
            continue
        value = document.data[key]
        if value is None:
            at = Place(document, (key,), of_key=True).location
            return finding("LDO152", at, f"`{key}` has no value, {rest}", hint=_HINTS[key])
        if not isinstance(value, kinds):
            at = Place(document, (key,)).location
            kind = "text" if list not in kinds else "text and no list"
            hint = "put it in quotes" if isinstance(value, int | float) and list not in kinds else None
            return finding("LDO152", at, f"the value of `{key}` is no {kind}, {rest}", hint=hint)
    if "description" not in document.data:
        at = Place(document, (next(iter(document.data)),), of_key=True).location
        return finding("LDO152", at, f"this agent has no `description`, {rest}", hint=_DESCRIPTION)
    return None
