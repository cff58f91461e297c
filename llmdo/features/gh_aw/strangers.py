"""The ways of a stranger's words to a workflow: GitHub's server, its triggers, and the data that its steps fetch."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from llmdo.base.parts import items, table
from llmdo.foreign.lines import WRITTEN_BY_STRANGERS
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.syntax.document import Document

BY_ANYONE = WRITTEN_BY_STRANGERS | {"command", "pull_request", "slash_command"}
"""The events that a stranger can raise; pull requests of forks do not start a workflow of gh-aw by themselves."""

MEMBERS = frozenset({"merged", "approved"})
"""The levels of `min-integrity` that admit only text that members wrote, or merged."""

_ASKS_GITHUB = re.compile(r"\bgh\s+(?:api|discussion|issue|pr|search)\s|github\.(?:rest|graphql)|octokit")
_IS_TOLD = re.compile(r"\bneeds\.(?!activation\b)[\w-]+\.outputs\b")
MAX_READ = 64 * 1024  # characters of the steps of one file


def is_filtered(value: object) -> bool:
    """Whether GitHub's server returns only text of members, as its entry in `tools` says.

    By default, it is so in a public repository; into one that is not, a stranger writes nothing. With a GitHub App the
    default does not hold.
    """
    stated = table(value)
    if "min-integrity" in stated:
        return stated["min-integrity"] in MEMBERS
    return stated.get("lockdown") is not False and not {"app", "github-app"} & stated.keys()


def opened(main: Document) -> Iterator[tuple[str, Place]]:
    """The events by which anyone can start a workflow, with their places; none unless it says `roles: all`."""
    on: object = main.data.get("on")
    events = table(on)
    roles = events.get("roles", main.data.get("roles"))
    if roles != "all" and "all" not in items(roles):
        return
    for event in events:
        if event in BY_ANYONE and (event != "pull_request" or "forks" in table(events, event)):
            yield event, Place(main, ("on", event), of_key=True)


def fetched(documents: Sequence[Document], prompt: str) -> Iterator[Place]:
    """The steps that ask GitHub for text of others, in the job of the agent or in one whose outputs it gets."""
    for document in documents:
        for route in (("steps",), ("pre-steps",), ("jobs",), ("on", "steps")):
            steps: object = document.data
            for key in route:
                steps = table(steps).get(key)
            is_told = route in (("steps",), ("pre-steps",)) or _IS_TOLD.search(prompt)
            if steps and is_told and _ASKS_GITHUB.search(json.dumps(steps, default=str)[:MAX_READ]):
                yield Place(document, route, of_key=True)
