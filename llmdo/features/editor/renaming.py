"""Another name for a worker, wherever it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Fix, LlmdoError, place
from llmdo.features.editor.symbols import Mention, mentions
from llmdo.formats.schema import accepts_part
from llmdo.graph import builtin
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from llmdo.workspace.project import Project

_YAML_WORDS = frozenset({"null", "true", "false"})


def rename(project: Project, mention: Mention, name: str) -> list[Fix]:
    """The edits that rename a worker to `name`: all of them, or none.

    Raises:
        LlmdoError: It is no worker, the name is taken or invalid, or a place cannot surely be rewritten.
    """
    if mention.kind != "worker" or mention.name not in project.graph.workers:
        raise LlmdoError("only workers are renamed here")
    if not accepts_part(name, "worker", "name") or name in _YAML_WORDS:
        raise LlmdoError(f"`{name}` cannot be the name of a worker")
    graph = project.graph
    if name in graph.workers or name in graph.toolsets or name in builtin.NAMES:
        raise LlmdoError(f"there is a worker or toolset `{name}` already")
    if project.gaps.names:
        raise LlmdoError("files that may name it cannot be read: fix what `check` finds in them first")
    alike = [each for each in mentions(project) if each.kind == "worker" and each.name == mention.name]
    return [_respelt(each, name) for each in alike]


def _respelt(mention: Mention, name: str) -> Fix:
    at = mention.location
    is_table = isinstance(mention.at, Place) and mention.at.route[:1] == ("workers",)
    text = mention.at.document.source.marked(at.span) if at.span and isinstance(mention.at, Place) else ""
    is_bare = text == mention.name and not at.path.endswith(".py")
    if is_table or not (is_bare or text in (f'"{mention.name}"', f"'{mention.name}'")):
        raise LlmdoError(f"`{mention.name}` is written at {place(at)} in a way that only a person can change")
    return Fix(at, text, text.replace(mention.name, name), safe=True)
