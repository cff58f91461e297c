"""A team in one file as the manifest and the workers of a workspace, with all places in that file."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.parts import table, text
from llmdo.base.values import replace
from llmdo.formats.schema import judge
from llmdo.syntax import team_file
from llmdo.workspace.worker_file import WorkerFile, part_of
from llmdo.workspace.workspace import ReadManifest, lost

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source, Span
    from llmdo.base.values import Json
    from llmdo.syntax.document import Document, Route
    from llmdo.workspace.workspace import Lack

NAME, AGENTS, PROMPT = "team", "agents", "prompt"
_TABLES = frozenset(
    {"approvals", "check", "entries", "flows", "models", "paths", "policy", "sources", "toolsets"}
)
"""The tables that a manifest has as well; all other keys stand in `[workspace]` there."""

_ELSEWHERE: dict[Route, str] = {
    ("rules",): "write it below `approvals`",
    ("workspace",): "its keys stand at the top level here",
    ("workers",): "`agents` are its workers",
    **dict.fromkeys(
        [
            (key,)
            for key in ("extensions", "from", "keep-batches-days", "notify", "schedules", "shared", "store")
        ],
        "a workspace can have it: `llmdo init --from team.yaml` makes one",
    ),
}
"""Keys of a manifest that a team does not have, to hints."""


def read(source: Source) -> ReadManifest:
    """The manifest and the workers of a team, as far as they can be used."""
    document = team_file.parse(source)
    if any(problem.code != "LDO102" for problem in document.problems):
        return ReadManifest(document=document, problems=document.problems)
    judged = judge(document, "team")
    problems = (*document.problems, *(_with_hint(document, problem) for problem in judged.problems))
    if judged.data is None:
        return ReadManifest(document=document, problems=problems)
    agents = _started(table(judged.data, AGENTS), judged.data)
    manifest = _manifest(judged.data)
    return ReadManifest(
        document=replace(document, data=manifest, index=cache(lambda: _moved(judged.document))),
        manifest=manifest,
        problems=(*problems, *_empty(judged.document, agents)),
        lacks=frozenset(_lacking(document, judged.data)) if problems else frozenset(),
        workers=tuple(_worker(judged.document, name, table(agent)) for name, agent in agents.items()),
    )


def _with_hint(document: Document, problem: Diagnostic) -> Diagnostic:
    """The problem; for a key that stands elsewhere, with a hint where."""
    if problem.code != "LDO102" or problem.hint:
        return problem
    hint = next((hint for key, hint in _ELSEWHERE.items() if document.key(*key) == problem.at), None)
    return replace(problem, hint=hint)


def _manifest(data: Mapping[str, Json]) -> dict[str, Json]:
    """The keys of a team as a manifest has them, but for its agents."""
    own = {key: value for key, value in data.items() if key not in _TABLES and key not in (NAME, AGENTS)}
    tables = {key: value for key, value in data.items() if key in _TABLES}
    return {"schema": 1, "workspace": {"name": data.get(NAME), **own}, **tables}


def _moved(document: Document) -> dict[Route, tuple[Span, Span]]:
    """The places of a team's document by the routes of its manifest."""
    return {_route(route): spans for route, spans in document.index().items()}


def _route(route: Route) -> Route:
    if route[:1] == (NAME,):
        return ("workspace", "name", *route[1:])
    return route if not route or route[0] in _TABLES or route[0] == AGENTS else ("workspace", *route)


def _started(agents: Mapping[str, Json], data: Mapping[str, Json]) -> Mapping[str, Mapping[str, Json]]:
    """The agents, of which the first can be started if nothing says what can."""
    headers = {name: dict(table(agent)) for name, agent in agents.items()}
    if headers and "entries" not in data and not any("entry" in header for header in headers.values()):
        next(iter(headers.values()))["entry"] = True
    return headers


def _worker(document: Document, name: str, agent: Mapping[str, Json]) -> WorkerFile:
    header = {"name": name, **{key: value for key, value in agent.items() if key != PROMPT}}
    return WorkerFile(
        document=part_of(document, (AGENTS, name), header),
        header=header,
        instructions=text(agent[PROMPT]),
        is_inline=True,
    )


def _empty(document: Document, agents: Mapping[str, Mapping[str, Json]]) -> Iterator[Diagnostic]:
    for name, agent in agents.items():
        if not text(agent[PROMPT]).strip():
            at = document.value(AGENTS, name, PROMPT)
            yield finding("LDO103", at, f"the prompt of `{name}` is empty")


def _lacking(document: Document, used: Mapping[str, Json]) -> Iterator[Lack]:
    yield from lost(_manifest(document.data), _manifest(used))
    if table(document.data, AGENTS).keys() != table(used, AGENTS).keys():
        yield "names"
