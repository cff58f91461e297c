"""opencode: agents in Markdown and in `opencode.json`; of their permissions the last rule that matches wins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt
from llmdo.base.values import dataclass
from llmdo.features.opencode import AGENTS, SETTINGS
from llmdo.features.opencode.permissions import RULES, TASK, grants_by, matches, rules_of
from llmdo.foreign import reading, servers
from llmdo.foreign.files import Files
from llmdo.foreign.permissions import PermissionRule
from llmdo.foreign.team import MAX_NAME, Agent, AgentCall, Team
from llmdo.syntax.document import Document, Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from llmdo.foreign.tree import Tree
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Route

KEYS = frozenset(
    {
        "color", "description", "disable", "hidden", "maxSteps", "mode", "model", "name", "options", "permission",
        "prompt", "reasoningEffort", "steps", "temperature", "tools", "top_p", "topP", "variant",
    }
)  # fmt: skip
BUILT_IN: Mapping[str, tuple[str, ...]] = {
    "explore": ("bash", "codesearch", "glob", "grep", "list", "read", "webfetch", "websearch"),
    "general": (),
}
"""The built-in agents of opencode for others to call, and their tools; none is all that the project allows."""
EVERY_TOOL = "every tool"


def read(tree: Tree) -> Team:
    """The agents of a project of opencode."""
    files = Files(tree, "opencode")
    documents = [read for path in _settings(tree) if (read := files.json(path))]
    declared: list[tuple[str, _Declaration]] = []
    for document in documents:
        tables = document.data.get("agent", document.data.get("agents"))
        key = "agent" if "agent" in document.data else "agents"
        for name, table in tables.items() if isinstance(tables, dict) else ():
            if isinstance(table, dict):
                declared.append(
                    (name, _Declaration(document, (key, name), table, str(table.get("prompt") or "")))
                )
    for path in files.find(AGENTS):
        if text := files.text_or_prompt(path, KEYS):
            name = re.sub(r"^\.opencode/agents?/|\.md$", "", path)
            declared.append((name, _Declaration(text.document, (), text.document.data, text.prompt)))
    project = _OpencodeProject(
        files,
        documents,
        [pair for pair in declared if not _is_off(pair[1])],
        frozenset(name for name, _ in declared),
    )
    return Team(
        format="opencode",
        agents=tuple(project.agents()),
        files=files.paths,
        problems=tuple(files.problems),
    )


def _settings(tree: Tree) -> Sequence[str]:
    return tree.find(SETTINGS)[0] if tree.only else SETTINGS


@dataclass(frozen=True, slots=True)
class _Declaration:
    """An agent in a file of its own, or in a table of the settings."""

    document: Document
    route: Route
    table: Mapping[str, object]
    prompt: str

    def place(self, *route: str | int, of_key: bool = False) -> Place:
        """The place of a value in it."""
        return Place(self.document, (*self.route, *route), of_key)


def _is_off(declaration: _Declaration) -> bool:
    return declaration.table.get("disable") is True


@dataclass(frozen=True, slots=True)
class _OpencodeProject:
    """The common data of all agents of a project."""

    files: Files
    documents: Sequence[Document]
    declared: Sequence[tuple[str, _Declaration]]
    names: AbstractSet[str]
    """Of all agents in its files, those that are switched off included."""

    def agents(self) -> Iterator[Agent]:
        """Every agent that is not switched off."""
        common = [rule for document in self.documents for rule in rules_of(self.files, Place(document, ()))]
        known: dict[str, tuple[Server, Place]] = {}
        for document in self.documents:
            known.update(servers.servers_in(document, "mcp"))
        servers.judge(self.files, known)
        callable_ = [
            name for name, declaration in self.declared if declaration.table.get("mode") != "primary"
        ]
        callable_ += sorted(BUILT_IN.keys() - self.names)
        agents = [
            self._agent(name, declaration, common, known, callable_) for name, declaration in self.declared
        ]
        yield from agents
        yield from self._built_in(agents, common, known)

    def _built_in(
        self,
        agents: Sequence[Agent],
        common: Sequence[PermissionRule],
        known: Mapping[str, tuple[Server, Place]],
    ) -> Iterator[Agent]:
        """The built-in agents, if one of `agents` may call them: they call nobody."""
        for name in sorted(BUILT_IN.keys() - self.names):
            callers = [
                agent for agent in agents if agent.everyone or any(call.name == name for call in agent.calls)
            ]
            if not callers:
                continue
            at = callers[0].at
            only = BUILT_IN[name]
            own = [
                PermissionRule("*", "*", "blocked", at),
                *(PermissionRule(tool, "*", "allowed", at) for tool in only),
            ]
            rules = [*(own if only else ()), *common]
            yield Agent(
                name=name,
                at=at,
                description="Built into opencode.",
                grants=tuple(grants_by(rules, at, known, None)),
                is_entry=False,
            )

    def _agent(
        self,
        name: str,
        agent: _Declaration,
        common: Sequence[PermissionRule],
        known: Mapping[str, tuple[Server, Place]],
        callable_: Sequence[str],
    ) -> Agent:
        for key in agent.table:
            if reading.misspelt(key, KEYS):
                self.files.unknown_key(agent.place(key, of_key=True), key, KEYS)
        own = list(rules_of(self.files, agent.place()))
        rules = [*common, *own]
        at = (
            agent.place("description", of_key=True)
            if "description" in agent.table
            else agent.place(of_key=True)
        )
        grants = grants_by(rules, at, known, None if own else EVERY_TOOL)
        # Below another agent nobody may call a third one but who has a rule about it.
        is_leaf = agent.table.get("mode") == "subagent" and all(rule.tool != TASK for rule in rules)
        description, model = agent.table.get("description"), agent.table.get("model")
        return Agent(
            name=excerpt(name, MAX_NAME),
            at=at,
            path=agent.document.source.path,
            prompt=agent.prompt,
            header=agent.table,
            description=description if isinstance(description, str) else None,
            model=model if isinstance(model, str) else None,
            grants=tuple(grants),
            calls=() if is_leaf else tuple(self._calls(name, rules, at, callable_)),
            everyone=None if is_leaf or RULES.about(rules, TASK) else at,
            is_callable=agent.table.get("mode") != "primary",
            inherits=not rules,
        )

    def _calls(
        self, name: str, rules: Sequence[PermissionRule], at: Place, callable_: Sequence[str]
    ) -> Iterator[AgentCall]:
        """The agents that rules about `task` name; without such a rule it may call every one."""
        mine = RULES.about(rules, TASK)
        for other in callable_ if mine else ():
            last = RULES.decided(rule for rule in mine if matches(rule.pattern or "", other))
            decision = last.decision if last else "allowed"
            if other != name and decision != "blocked":
                place = last.at if last and last.tool == TASK else at
                yield AgentCall(
                    name=excerpt(other, MAX_NAME), at=place, decision=decision, origin="permission.task"
                )
        for rule in mine:
            called = rule.pattern or ""
            if not set(called) & set("*?") and called not in callable_:
                hint = did_you_mean(called, callable_)
                message = f"there is no agent `{excerpt(called)}` that could be called"
                self.files.note("LDO250", rule.at, message, hint)
