"""opencode: agents in Markdown and in `opencode.json`; of their permissions the last rule that matches wins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, nearest
from llmdo.base.parts import table, text
from llmdo.base.values import dataclass, replace
from llmdo.features.opencode import AGENTS, PLUGINS, SETTINGS, TOOLS, references, schema, settings
from llmdo.features.opencode.code import OpencodeCode, code_of
from llmdo.features.opencode.headers import as_read, unread
from llmdo.features.opencode.lifted import note_lifted, restoring
from llmdo.features.opencode.permissions import (
    RULES,
    TASK,
    about_call,
    grants_by,
    note_of_others,
    rules_of,
    rules_of_agent,
    searches,
)
from llmdo.foreign import reading, servers
from llmdo.foreign.files import COUNTS, Files, folder_place, renaming
from llmdo.foreign.permissions import PermissionRule, listed_commands
from llmdo.foreign.team import MAX_NAME, Agent, AgentCall, Team
from llmdo.graph.clients import UNLIMITED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.tree import Tree
    from llmdo.graph.described import Server
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

KEYS = frozenset(
    {
        "color", "description", "disable", "hidden", "maxSteps", "mode", "model", "name", "options", "permission",
        "prompt", "reasoningEffort", "steps", "temperature", "tools", "top_p", "topP", "variant",
    }
)  # fmt: skip
_OF_ITS_KIND = "built-in tools"
"""The toolset of a built-in agent that has few, also where a file declares it."""
_WITHIN = re.compile(r"^\.opencode/|\.md$")
_FOLDER = re.compile(r"^agents?/")
_OLD = "maxSteps"
"""The name that `steps` had before."""
BUILT_IN: Mapping[str, tuple[str, Mapping[tuple[str, str], Decision]]] = {
    "build": ("primary", {}),
    "explore": (
        "subagent",
        {
            ("*", "*"): "blocked",
            **{
                (tool, "*"): "allowed"
                for tool in ("bash", "glob", "grep", "list", "read", "webfetch", "websearch")
            },
        },
    ),
    "general": ("subagent", {}),
    "plan": ("primary", {("edit", "*"): "blocked", (TASK, "general"): "blocked"}),
}
"""The built-in agents of opencode: the mode of each, and the rules below those of the project."""
HIDDEN = frozenset({"compaction", "summary", "title"})
"""Agents by which opencode sums up a conversation: they have no tools, unless the settings for all agents give some."""
_COMPACTION = "compaction"
"""The one of them that opencode runs without tools, whatever files give it: it has those where it is called."""
EVERY_TOOL = "every tool"
_OF_CLAUDE = "inherit"
"""What stands for the caller's model in agents of Claude Code."""


def built_in_rules(name: str, at: Place) -> list[PermissionRule]:
    """The rules that opencode itself has for an agent, below those of the project, as rules at a place."""
    below: Mapping[tuple[str, str], Decision] = BUILT_IN[name][1] if name in BUILT_IN else {}
    if name in HIDDEN:
        below = {("*", "*"): "blocked"}
    return [PermissionRule(tool, pattern, decision, at) for (tool, pattern), decision in below.items()]


def read(tree: Tree) -> Team:
    """The agents of a project of opencode."""
    files = Files(tree, "opencode")
    documents = [read for path in _settings(tree) if (read := files.json(path))]
    refused = [] if tree.only else [each for read in documents if (each := references.refusal(tree, read))]
    if refused:
        problems = (*files.problems, *refused)
        return Team(format="opencode", agents=(), files=files.paths, problems=problems, starts="allowed")
    declared: dict[str, _Declaration] = {}
    for document in documents:
        agents = "agent" if "agent" in document.data else "agents"
        for key in (schema.MODES, agents):
            for name in table(document.data, key):
                if isinstance(Place(document, (key, name)).data, dict):
                    _declare(declared, name, Place(document, (key, name)), "")
    # A module that is given alone is no agent.
    modules = (*PLUGINS, *TOOLS)
    paths = () if tree.only and files.named(modules) else files.find(AGENTS)
    read_agents = [*_agents_in(files, paths)]
    if refused := [*schema.refusals(documents, [text.document for _, text in read_agents])]:
        problems = (*files.problems, *refused)
        return Team(format="opencode", agents=(), files=files.paths, problems=problems, starts="allowed")
    for name, content in read_agents:
        _declare(declared, name, Place(content.document, ()), content.prompt)
    project = _OpencodeProject(files, documents, declared, code_of(files, documents))
    loaded = tuple(project.with_events()) if documents or declared or project.code.at else ()
    return Team(
        format="opencode",
        agents=loaded,
        files=files.paths,
        problems=tuple(files.problems),
        starts="allowed",  # with the client, and nobody is asked
        max_depth=max((agent.max_depth or 0 for agent in loaded), default=1),
    )


def _agents_in(files: Files, paths: Iterable[str]) -> Iterator[tuple[str, reading.Text]]:
    """The agents in files, by name.

    opencode keeps one agent for each name, and it is not known from which file: of those with the same text, as by a
    link, the first is read, and of others each but the last has a name of its own.
    """
    contents: dict[tuple[str, str], tuple[str, str, reading.Text]] = {}
    for path in paths:
        if content := _content(files, path):
            name = agent_name(path, content.document)
            contents.setdefault((name, content.document.source.text), (name, path, content))
    left = [*contents.values()]
    for number, (name, path, content) in enumerate(left, 1):
        own = agent_name(path)
        own = _WITHIN.sub("", path) if own == name else own
        yield (own if any(name == other for other, *_ in left[number:]) else name), content


def _content(files: Files, path: str) -> reading.Text | None:
    source = files.source(path)
    seen = as_read(source) if source else None
    if seen and seen.noted:
        files.problems.append(seen.noted)
    if seen is None or seen.source is None:
        return None
    if not seen.has_header:
        return reading.prompt_alone(seen.source)
    if seen.source is source:
        return files.text_or_prompt(path, KEYS)
    return reading.text(seen.source, KEYS) or reading.prompt_alone(seen.source)


def agent_name(path: str, document: Document | None = None) -> str:
    """The name of the agent in a file: that of its header, or else of the file."""
    own = text(document.data.get("name")) if document else None
    return own or _FOLDER.sub("", _WITHIN.sub("", path))


def _declare(declared: dict[str, _Declaration], name: str, at: Place, prompt: str) -> None:
    below = declared.get(name, _Declaration(()))
    declared[name] = _Declaration(
        (*below.tables, at), prompt or below.prompt or text(table(at.data).get("prompt"))
    )


def _settings(tree: Tree) -> Sequence[str]:
    return tree.find(SETTINGS)[0] if tree.only else SETTINGS


@dataclass(frozen=True, slots=True)
class _Declaration:
    """An agent in files of its own and in tables of the settings, the uppermost last."""

    tables: tuple[Place, ...]
    prompt: str = ""

    @property
    def header(self) -> dict[str, object]:
        """All that is said besides the prompt."""
        return {key: value for at in self.tables for key, value in table(at.data).items()}

    def place(self, *keys: str) -> Place:
        """The place of the first of these keys that is there, or of the whole."""
        for key in keys:
            for at in reversed(self.tables):
                if key in table(at.data):
                    return Place(at.document, (*at.route, key), of_key=True)
        return Place(self.tables[-1].document, self.tables[-1].route, of_key=True)


@dataclass(frozen=True, slots=True)
class _OpencodeProject:
    """The common data of all agents of a project."""

    files: Files
    documents: Sequence[Document]
    declared: Mapping[str, _Declaration]
    code: OpencodeCode

    @property
    def depth(self) -> int:
        """How deep agents call each other."""
        depths = [document.data.get("subagent_depth") for document in self.documents]
        depth = next((depth for depth in reversed(depths) if isinstance(depth, int)), 1)
        return min(max(depth, 0), UNLIMITED)

    def _model(self, header: Mapping[str, object], mode: object) -> str:
        """The model of an agent; empty if no file names it: one that is called may have that of its caller."""
        if own := text(header.get("model")):
            return own
        if mode == "subagent" and (same := self._model_of_callers(is_built_in=not header)):
            return same
        named = (
            [text(each.header.get("model")) for each in self.declared.values()] if mode != "primary" else []
        )
        common = self._common_model
        is_same = searches(common) or not any(map(_may_search, named))
        return common if is_same else ""

    @property
    def _common_model(self) -> str:
        """The model of the settings; empty if none names one."""
        models = [text(document.data.get("model")) for document in reversed(self.documents)]
        return next(filter(None, models), "")

    def _model_of_callers(self, *, is_built_in: bool) -> str:
        """A model like that of each agent that calls others, none of which comes with a search; empty if one may.

        Where there are no settings, only the agents of files call one that is built in. A plugin may bring others.
        """
        if self.code.at:
            return ""
        headers = {name: each.header for name, each in self.declared.items()}
        models = [
            text(header.get("model")) or self._common_model
            for name, header in headers.items()
            if header.get("disable") is not True
            and (_mode(name, header) != "subagent" or (self.depth > 1 and header.get("model")))
        ]
        if self.documents or not is_built_in:
            is_left = any(mode == "primary" and name not in headers for name, (mode, _) in BUILT_IN.items())
            models += [self._common_model] if is_left else []
        return next(iter(models), "") if all(searches(model) is False for model in models) else ""

    def with_events(self) -> Iterator[Agent]:
        """The agents; those of which a person has a session with what opencode runs in each session."""
        events = tuple(self.code.events())
        for agent in self.agents():
            is_called = agent.header.get("mode") == "subagent"
            yield replace(agent, events=events) if agent.is_entry and not is_called else agent

    def agents(self) -> Iterator[Agent]:
        """Every agent that is not switched off: those of its files, and those that are built in."""
        settings_at = [Place(document, ()) for document in self.documents]
        common = [*rules_of(self.files, *settings_at)]
        self._judge_tools(settings_at)
        known: dict[str, tuple[Server, Place]] = {}
        for document in self.documents:
            settings.judge(self.files, document)
            known.update(settings.servers_in(document))
        servers.judge(self.files, known)
        self.code.judge(common)
        known = {name: (server, at) for name, (server, at) in known.items() if settings.is_on(at)}
        switched_on = {
            name: each for name, each in self.declared.items() if each.header.get("disable") is not True
        }
        # Without settings a person's session is no part of the project.
        built_in = [
            name
            for name, (mode, _) in BUILT_IN.items()
            if name not in self.declared and (self.documents or self.code.at or mode == "subagent")
        ]
        names = [*switched_on, *built_in]
        self._judge_default(names)
        agents = [
            self._agent(name, declaration, common, known, names) for name, declaration in switched_on.items()
        ]
        at = self._settings() or self._of_files()
        agents += [self._agent(name, _Declaration((at,)), common, known, names) for name in built_in]
        called = {
            name
            for agent in agents
            for name in (names if agent.everyone else [each.name for each in agent.calls])
        }
        needed = [agent for agent in agents if agent.is_entry or agent.name in called]
        yield from needed or (_without_tools(agent) for agent in agents if agent.name == _COMPACTION)

    def _judge_default(self, names: Sequence[str]) -> None:
        """Notes a default agent that is not there, or one with which opencode starts no session."""
        document = next(
            (each for each in reversed(self.documents) if text(each.data.get("default_agent"))), None
        )
        if document is None:
            return
        at, name = Place(document, ("default_agent",)), text(document.data["default_agent"])
        header = self.declared[name].header if name in self.declared else {}
        mode = _mode(name, header)
        if name not in {*names, *BUILT_IN, *HIDDEN} or header.get("disable") is True:
            if not (self.files.tree.only or self.code.at):  # other files, or a plugin, may bring it
                message = (
                    f"there is no agent `{excerpt(name)}`, so opencode starts no session without `--agent`"
                )
                self.files.lacking_agent(at, message, name, names)
        elif mode == "subagent" or name in HIDDEN or header.get("hidden") is True:
            what = "a subagent" if mode == "subagent" else "hidden"
            message = f"`{excerpt(name)}` is {what}, so opencode starts no session without `--agent`"
            self.files.note("LDO152", at, message, "name a primary agent, or take it out")

    def _settings(self) -> Place | None:
        """The place that gives built-in agents what they have; None if the project has no settings."""
        for key in ("permission", "tools"):
            for document in reversed(self.documents):
                if key in document.data:
                    return Place(document, (key,), of_key=True)
        for document in self.documents:
            return Place(document, (next(iter(document.data), ""),), of_key=True)
        return None

    def _of_files(self) -> Place:
        """The place of built-in agents of a project without settings: no file of another agent says what they do."""
        return folder_place(".opencode")

    def _judge_keys(self, agent: _Declaration, header: Iterable[str]) -> None:
        """Notes the keys of an agent that are certainly misspelt."""
        for key in header:
            at = agent.place(key)
            if not settings.note_next(self.files, at) and reading.misspelt(key, KEYS):
                message = (
                    f"opencode does not know `{excerpt(key)}`, and only hands it on to the model's provider"
                )
                meant = renaming(agent.place(key), key, nearest(key, KEYS - {_OLD}), counts=COUNTS)
                self.files.note("LDO151", agent.place(key), message, meant)

    def _judge_tools(self, tables: Iterable[Place]) -> None:
        """Notes the tools in tables that other clients have, and this project has not either."""
        names = [name for document in self.documents for name in table(document.data, "mcp")]
        note_of_others(
            self.files,
            tables,
            names,
            lambda tool: self.code.may_have(tool) or any(tool.startswith(f"{name}_") for name in names),
        )

    def _agent(
        self,
        name: str,
        agent: _Declaration,
        common: Sequence[PermissionRule],
        known: Mapping[str, tuple[Server, Place]],
        names: Sequence[str],
    ) -> Agent:
        is_declared = name in self.declared
        header = agent.header if is_declared else {}
        self._judge_keys(agent, header)
        at = agent.place("description") if is_declared else agent.tables[0]
        below = built_in_rules(name, at)
        mode = _mode(name, header)
        own = [*rules_of_agent(self.files, agent.tables)] if is_declared else []
        self._judge_tools(agent.tables if is_declared else ())
        rules = [*below, *common, *own]
        description, model = header.get("description"), header.get("model")
        has_few = any(rule.tool == "*" for rule in below)
        toolset = None if own or not is_declared else _OF_ITS_KIND if has_few else EVERY_TOOL
        model_of = self._model(header, mode)
        note_lifted(self.files, agent.tables, common, own, known)
        grants = [*restoring([*grants_by(rules, at, known, toolset, model_of)], agent.tables, rules, own)]
        grants += self.code.grants(rules)
        self.code.judge(own)
        is_leaf = mode == "subagent" and not self._nests((*own, *common))
        everyone = None if is_leaf or RULES.about(rules, TASK) else at
        return Agent(
            name=excerpt(name, MAX_NAME),
            at=at,
            path=agent.tables[-1].document.source.path if is_declared else "",
            prompt=agent.prompt,
            header=header,
            description=text(description) or (None if is_declared else "Built into opencode."),
            model=model if isinstance(model, str) else None,
            grants=tuple(grants),
            calls=() if is_leaf else tuple(self._calls(name, rules, at, names)),
            everyone=everyone,
            inherits=is_declared and not rules,
            unread=unread(agent.tables[-1].document.source) if is_declared and not header else None,
            permissions=listed_commands(rules, "bash"),
            condition="once its `model` names a provider" if self._lacks_provider(agent, header) else "",
            is_entry=(is_declared or mode == "primary") and name != _COMPACTION,
            # A call may be over the worker that stands for every agent, but those that nest have a rule about it.
            max_depth=self.depth + (everyone is not None) - (mode == "subagent" and self.depth > 0),
        )

    def _lacks_provider(self, agent: _Declaration, header: Mapping[str, object]) -> bool:
        """Whether the model of an agent is a name without a provider, which opencode finds nowhere; noted."""
        model = header.get("model")
        if not isinstance(model, str) or not model or not {"/", "{"}.isdisjoint(model):
            return False
        message = (
            f"opencode takes `{excerpt(model)}` for a provider without a model, so this agent does not start"
        )
        hint = f"write the provider before it: `PROVIDER/{excerpt(model)}`"
        if model.casefold() == _OF_CLAUDE:
            hint = "take it out: the agent then has the model of its caller, or of the session"
        at = agent.place("model")
        if model in schema.KINDS_OF_AGENTS:
            is_file = at.document.source.path.endswith(".md")
            written = f"write `mode: {model}` in place of this line"
            words = written if is_file else f"take it out: `{model}` is for `mode`"
            hint = renaming(at, "model", "mode", words, counts="") or hint
        self.files.note("LDO151", at, message, hint)
        return True

    def _nests(self, rules: Iterable[PermissionRule]) -> bool:
        """Whether an agent with these rules calls others below another one: by a rule about that, where they nest."""
        return self.depth > 1 and any(rule.tool == TASK for rule in rules)

    def _calls(
        self, name: str, rules: Sequence[PermissionRule], at: Place, names: Sequence[str]
    ) -> Iterator[AgentCall]:
        """The agents that rules about `task` name; without such a rule it may call every one."""
        mine = RULES.about(rules, TASK)
        for other in names if mine else ():
            last = about_call(mine, other)
            decision = last.decision if last else "allowed"
            if other != name and decision != "blocked":
                place = last.at if last and last.tool == TASK else at
                yield AgentCall(
                    name=excerpt(other, MAX_NAME), at=place, decision=decision, origin="permission.task"
                )
        for rule in mine:
            called = rule.pattern or ""
            is_built_in = rule.at == at  # nobody wrote that one
            if not is_built_in and not set(called) & set("*?") and called not in names:
                key = rule.at._replace(of_key=True)
                message = f"there is no agent `{excerpt(called)}` that could be called"
                self.files.lacking_agent(key, message, called, names)


def _without_tools(agent: Agent) -> Agent:
    """An agent as opencode itself runs one that sums up a conversation."""
    return replace(agent, grants=(), calls=(), everyone=None, inherits=False, is_entry=True)


def _may_search(model: str) -> bool:
    """Whether a model is named that may come with a search."""
    return bool(model) and searches(model) is not False


def _mode(name: str, header: Mapping[str, object]) -> object:
    """The mode of an agent, which one that is built in has of its own."""
    return header.get("mode", BUILT_IN.get(name, ("all",))[0])
