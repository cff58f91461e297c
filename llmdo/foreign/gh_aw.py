"""gh-aw: workflows of GitHub in Markdown. They run unattended, so whatever one has runs without a question."""

from __future__ import annotations

import posixpath
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt, finding
from llmdo.base.values import dataclass
from llmdo.foreign import reading, servers
from llmdo.foreign.tables import GH_AW, Line
from llmdo.foreign.team import Agent, Grant, Team, capability_of
from llmdo.foreign.tree import few
from llmdo.policy.authority import Capability
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document

FILES = (".github/workflows/*.md", "workflows/*.md")

KEYS = frozenset(
    {
        "cache", "concurrency", "container", "description", "engine", "env", "environment", "features", "github-token",
        "if", "imports", "jobs", "labels", "mcp-servers", "name", "network", "on", "permissions", "post-steps",
        "rate-limit", "run-name", "runs-on", "runtimes", "safe-inputs", "safe-outputs", "sandbox", "secret-masking",
        "secrets", "services", "source", "steps", "strict", "timeout-minutes", "timeout_minutes", "tools",
        "tracker-id",
    }
)  # fmt: skip
_LINES = {line.tool: line for line in GH_AW}
_EVERYTHING = frozenset({":*", "*"})


def read(tree: Tree) -> Team:
    """The workflows of a repository."""
    paths, problems = few(*tree.find(FILES))
    problems_so_far = list(problems)
    agents: list[Agent] = []
    for path in paths:
        source, unread = tree.read(path) or (None, ())
        problems_so_far.extend(unread)
        if source is None or unread:
            continue
        text = reading.text(source, KEYS)
        if text is None:
            message = f"`{path}` has no header, so it is no workflow"
            problems_so_far.append(finding("LDO152", source.location(), message))
            continue
        problems_so_far.extend(text.document.problems)
        documents = [text.document, *_imported(tree, text.document, problems_so_far)]
        parts = [_WorkflowReader(document, problems_so_far) for document in documents]
        grants = tuple(grant for part in parts for grant in part.grants())
        agents.append(parts[0].agent(path, text.prompt, grants))
    return Team(
        format="gh-aw",
        agents=tuple(agents),
        files=paths,
        problems=tuple(problems_so_far),
        starts="allowed",
        max_depth=1,
    )


def _imported(tree: Tree, document: Document, problems: list[Diagnostic]) -> Iterator[Document]:
    """The headers that a workflow takes its tools from besides; each once, and those that they import as well."""
    waiting = [document]
    seen = {document.source.path}
    while waiting:
        importing = waiting.pop()
        listed = importing.data.get("imports")
        for number, entry in enumerate(listed if isinstance(listed, list) else ()):
            name = entry.get("path", entry.get("uses")) if isinstance(entry, dict) else entry
            folder = importing.source.path.rpartition("/")[0]
            path = posixpath.normpath(f"{folder}/{name}")
            if path in seen:
                continue
            seen.add(path)
            source, unread = tree.read(path) or (None, ())
            text = reading.text(source, KEYS) if source is not None and not unread else None
            if text is None:
                at = Place(importing, ("imports", number)).location
                message = (
                    f"`{excerpt(str(name))}` is not among these files, so nothing is known of what it adds"
                )
                problems.append(finding("LDO250", at, message))
                continue
            problems.extend(text.document.problems)
            waiting.append(text.document)
            yield text.document


@dataclass(slots=True)
class _WorkflowReader:
    """The reading of one workflow."""

    document: Document
    problems: list[Diagnostic]

    def _place(self, *route: str | int) -> Place:
        return Place(self.document, route, of_key=True)

    def grants(self) -> tuple[Grant, ...]:
        """What this header gives."""
        self._judge()
        return (*self._tools(), *self._servers(), *self._outputs())

    def agent(self, path: str, prompt: str, grants: tuple[Grant, ...]) -> Agent:
        """The workflow as an agent that nobody is asked about."""
        data = self.document.data
        name = data.get("name")
        return Agent(
            name=PurePosixPath(path).stem,
            at=self._place("name" if isinstance(name, str) else "on"),
            path=path,
            prompt=prompt,
            header=data,
            description=next(
                (text for key in ("description", "name") if isinstance(text := data.get(key), str)), None
            ),
            grants=grants,
        )

    def _judge(self) -> None:
        tools = self.document.data.get("tools")
        for key in tools if isinstance(tools, dict) else ():
            if key not in _LINES:
                message = f"gh-aw has no tool `{key}`"
                hint = did_you_mean(key, _LINES)
                self.problems.append(
                    finding("LDO250", self._place("tools", key).location, message, hint=hint)
                )
        for key in self.document.data.keys() - KEYS:
            if reading.misspelt(key, KEYS) and (hint := did_you_mean(key, KEYS)):
                message = f"gh-aw does not know `{key}`, so it does nothing"
                self.problems.append(finding("LDO151", self._place(key).location, message, hint=hint))

    def _tools(self) -> Iterator[Grant]:
        tools: object = self.document.data.get("tools")
        for name, table in tools.items() if isinstance(tools, dict) else ():
            place = self._place("tools", name)
            if name == "bash":
                yield from _bash(table, place)
            elif table is not False and name in _LINES:
                yield from _grants(_LINES[name], name, place)
            elif table is not False:
                yield from _grants(Line(name, (capability_of(name),), "allowed", "open", ""), name, place)

    def _servers(self) -> Iterator[Grant]:
        for name, (server, place) in servers.servers_in(self.document, "mcp-servers").items():
            yield servers.grant(name, server, place, "allowed", "gh-aw")

    def _outputs(self) -> Iterator[Grant]:
        outputs: object = self.document.data.get("safe-outputs")
        line = _LINES["safe-outputs.OUTPUT"]
        for name in outputs if isinstance(outputs, dict) else ():
            yield from _grants(line, f"safe-outputs.{name}", self._place("safe-outputs", name))


def _bash(commands: object, place: Place) -> Iterator[Grant]:
    """The commands: by default some that only read, none for an empty list, else those that are named."""
    if commands is False or commands == []:
        return
    if commands is True or (
        isinstance(commands, list) and _EVERYTHING & {str(command) for command in commands}
    ):
        yield from _grants(_LINES["bash.:*"], "bash", place)
    elif isinstance(commands, list):
        yield from _grants(_LINES["bash.COMMAND"], "bash", place)
    else:
        yield from _grants(_LINES["bash"], "bash", place)


def _grants(line: Line, name: str, place: Place) -> Iterator[Grant]:
    if line.capabilities:
        yield Grant(
            toolset=name,
            tool=name,
            capabilities=tuple(map(Capability, line.capabilities)),
            decision=line.decision,
            origin="gh-aw runs unattended",
            at=place,
            is_open=line.assurance == "open",
        )
