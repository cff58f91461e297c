"""The settings of VS Code in a project that its agents depend on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.parts import texts
from llmdo.foreign import reading
from llmdo.foreign.files import json_at
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from llmdo.foreign.files import Files
    from llmdo.foreign.tree import Tree

NESTED = "chat.subagents.allowInvocationsFromSubagents"
"""The setting of VS Code without which an agent that another calls there calls none in turn."""
SETTINGS_OF_EDITOR = ".vscode/settings.json"
_OF_CONTAINER = ("customizations", "vscode", "extensions")
_EXTENSIONS = (
    (".vscode/extensions.json", ("recommendations",)),
    (".devcontainer/devcontainer.json", _OF_CONTAINER),
    (".devcontainer.json", _OF_CONTAINER),
)
"""The files that name extensions, each with the list of these."""
_APPROVING = re.compile(r"chat\.tools\.(?:\w+\.)?autoApprove")


def is_nested_in_editor(files: Files) -> bool:
    """Whether a setting of the project lets an agent that another calls in VS Code call others in turn.

    Notes the settings by which VS Code asks less, which are not read.
    """
    source = files.source(SETTINGS_OF_EDITOR)
    if source is None:
        return False
    settings = reading.json_with_comments(source)
    for key, value in settings.data.items():
        if _APPROVING.fullmatch(key) and _approves(value):
            message = f"`{key}` lets tools run in VS Code without a question; it is not read"
            files.note("LDO154", Place(settings, (key,), of_key=True), message)
    return settings.data.get(NESTED) is True


def _approves(value: object) -> bool:
    """Whether a setting lets anything go without a question; of an address that is the request, not its answer."""
    if not isinstance(value, dict):
        return bool(value)
    given = (each if isinstance(each, dict) else {"approve": each} for each in value.values())
    return any(each.get("approve") or each.get("approveRequest") for each in given)


def extensions_of(tree: Tree) -> dict[str, str]:
    """The extensions that a project names for its editor, each with the first file that does."""
    named: dict[str, str] = {}
    for path, route in _EXTENSIONS:
        document = json_at(tree, path)
        for each in texts(Place(document, route).data) if document else ():
            if not each.startswith("-"):  # which takes one out
                named.setdefault(each, path)
    return named
