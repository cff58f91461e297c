"""Expressions within here-documents whose quoted word keeps the shell from filling in variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.foreign.scripts import lines_with_documents

if TYPE_CHECKING:
    from collections.abc import Iterable

_QUOTED = re.compile(r"<<-?[ \t]*['\"]")


def behind_document(script: str, expressions: Iterable[str]) -> str:
    """The rest of a hint to pass expressions by variables, if some stand where a variable stays as it is written."""
    documents = [text for line, text in lines_with_documents(script) if text and _QUOTED.search(line)]
    if not any(each in text for each in expressions for text in documents):
        return ""
    return ", and print what stands in the here-document behind it, as no variable is filled in within its quotes"
