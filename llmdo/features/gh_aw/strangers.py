"""The ways of a stranger's words to a workflow: GitHub's server, its triggers, and the data that its steps fetch."""

from __future__ import annotations

import json
import posixpath
import re
from itertools import islice
from typing import TYPE_CHECKING

from llmdo.base.parts import items, table, text
from llmdo.foreign.lines import WRITTEN_BY_STRANGERS
from llmdo.graph.start import Start
from llmdo.syntax.discovery import leaves
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmdo.base.source import Source
    from llmdo.graph.start import Starter
    from llmdo.syntax.document import Document

BY_ANYONE = WRITTEN_BY_STRANGERS | {"command", "pull_request", "slash_command"}
"""The events that a stranger can raise; pull requests of forks do not start a workflow of gh-aw by themselves."""

_BY_CLOCK = frozenset({"daily", "hourly", "schedule", "weekly"})
_NO_EVENTS = frozenset({"bots", "labels", "needs", "permissions", "reaction", "roles", "steps"})
"""Keys of `on` without a dash that are settings."""

MEMBERS = frozenset({"merged", "approved"})
"""The levels of `min-integrity` that admit only text that members wrote, or merged."""

_PROGRAM = frozenset({"cli", "gh-proxy"})
"""The modes of `tools.github` in which an agent has GitHub's program."""
_POLICY = "CLI_PROXY_POLICY:"
_NO_LEVEL = re.compile(r"""min-integrity[\\"']*: *[\\"']*none""")

_ASKS_GITHUB = re.compile(r"\bgh\s+(?:api|discussion|issue|pr|search)\s|github\.(?:rest|graphql)|octokit")
_OF_THE_AGENT = (("steps",), ("pre-steps",), ("pre-agent-steps",))
"""The routes of steps in the agent's own job."""
_IS_TOLD = re.compile(r"\bneeds\.(?!activation\b)[\w-]+\.outputs\b")
_SCRIPT = re.compile(
    r"(?<![\w./@-])(?:\./)?(?:[\w-][\w.-]*/|\.[\w-][\w.-]*/)*[\w-][\w.-]*\.(?:[cm]?js|py|sh|ts)\b"
)
"""The path of a script from the repository's root, in which steps run."""
MANY = 50  # scripts of the steps of one job
MAX_READ = 64 * 1024  # characters of the steps of one file


def is_filtered(value: object) -> bool:
    """Whether GitHub's server returns only text of members, as its entry in `tools` says.

    By default, it is so in a public repository; into one that is not, a stranger writes nothing. With a GitHub App the
    default does not hold.
    """
    stated = table(value)
    if "min-integrity" in stated:
        return text(stated["min-integrity"]) in MEMBERS
    return stated.get("lockdown") is not False and not {"app", "github-app"} & stated.keys()


def is_by_program(documents: Iterable[Document]) -> bool:
    """Whether GitHub's program stands in for its server, which commands may then run beside those of a list."""
    for document in documents:
        mode = table(document.data, "tools", "github").get("mode")
        if isinstance(mode, str):
            return mode.strip().lower() in _PROGRAM
    # The older way to say so.
    return any(table(document.data, "features").get("cli-proxy") is True for document in documents)


def is_unfiltered(lock: str) -> bool:
    """Whether a compiled workflow lets what strangers write through to that program, as older versions do."""
    return any(_POLICY in line and _NO_LEVEL.search(line) for line in lock.splitlines())


def starts_of(main: Document) -> Iterator[Start]:
    """The events that start a workflow: for members, unless it says other `roles`."""
    on: object = main.data.get("on")
    events = table(on)
    roles = events.get("roles", main.data.get("roles"))
    named = {text(role) for role in (roles, *items(roles))}
    # In a public repository everyone has the role `read`.
    others: Starter = (
        "anyone" if "all" in named else "perhaps anyone" if "read" in named else "those who may write"
    )
    if isinstance(on, str):
        yield Start(on, _by_members(on), Place(main, ("on",)))
    for number, event in enumerate(items(on)):
        yield Start(text(event), _by_members(text(event)), Place(main, ("on", number)))
    for event in events:
        if event not in _NO_EVENTS and "-" not in event:
            is_open = event in BY_ANYONE and (event != "pull_request" or "forks" in table(events, event))
            by = others if is_open else _by_members(event)
            yield Start(event, by, Place(main, ("on", event), of_key=True))


def kept_out(main: Document) -> Iterator[str]:
    """The bots and roles that do not start a workflow although its events would let them."""
    events = table(main.data.get("on"))
    for key in ("skip-bots", "skip-roles"):
        names: object = events.get(key, main.data.get(key))
        for name in sorted({text(each) for each in (names, *items(names))} - {""}):
            yield f"{key}: {name}"


def _by_members(event: str) -> Starter:
    return "the owner" if event.partition(" ")[0] in _BY_CLOCK else "those who may write"


def opened(main: Document) -> Iterator[tuple[str, Place]]:
    """The events by which a stranger may start a workflow, with their places."""
    return ((start.event, start.at) for start in starts_of(main) if start.is_open)


def fetched(
    documents: Sequence[Document], prompt: str, source_of: Callable[[str], Source | None]
) -> Iterator[Place]:
    """The steps that ask GitHub for text of others, in the job of the agent or in one whose outputs it gets.

    `source_of` has the files of the project, of which some are scripts of these steps.
    """
    for document in documents:
        for route in (*_OF_THE_AGENT, ("jobs",), ("on", "steps")):
            steps: object = document.data
            for key in route:
                steps = table(steps).get(key)
            is_told = route in _OF_THE_AGENT or _IS_TOLD.search(prompt)
            if steps and is_told and _asks(json.dumps(steps, default=str)[:MAX_READ], source_of):
                yield Place(document, route, of_key=True)


def _asks(steps: str, source_of: Callable[[str], Source | None]) -> bool:
    """Whether steps, or a script of the project that they name, ask GitHub."""
    if _ASKS_GITHUB.search(steps):
        return True
    paths = map(posixpath.normpath, dict.fromkeys(_SCRIPT.findall(steps)))
    scripts = (source_of(path) for path in islice(paths, MANY) if not leaves(path))
    return any(script and _ASKS_GITHUB.search(script.text[:MAX_READ]) for script in scripts)
