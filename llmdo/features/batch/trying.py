"""The try of one item: what its model was given, for the person who wrote the template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.journal.requests import shown_requests
from llmdo.render.calls import request_lines, request_title, value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.journal.items import BatchItem
    from llmdo.journal.stored import JournalStore


def first_request(journal: JournalStore, item: BatchItem) -> Iterator[str]:
    """What the first model of an item's run was given and answered; its input if none has answered."""
    yield f"item {item.number}, {shown(item.key)}, run {item.run}"
    for request in shown_requests(journal, None)[:1]:
        yield from (request_title(request), *request_lines(request, whole=False))
        yield f"`llmdo runs show {item.run} --messages --whole` shows all of it"
        return
    begun = next((entry.data["input"] for entry in journal.entries("call")), item.input)
    yield from value("input", begun, whole=False)
