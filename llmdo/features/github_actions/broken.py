"""Workflows that are no YAML, which GitHub refuses as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.syntax.header import is_yaml

if TYPE_CHECKING:
    from llmdo.syntax.document import Document


def as_refused(document: Document) -> Document:
    """A workflow with problems; of one that is no YAML they say that GitHub refuses it, and not a part of it."""
    # What GitHub's parser does with a character that is not allowed was not tried.
    if is_yaml(document.source.text) or document.problems[0].message.startswith("the character"):
        return document
    problems = tuple(
        replace(
            each,
            message=each.message.replace(
                ", so part of it", ", so GitHub refuses this workflow, and part of it"
            ),
        )
        for each in document.problems
    )
    return replace(document, problems=problems)
