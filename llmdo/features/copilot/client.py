"""What Copilot runs by itself in a project: hooks in files of their own and in settings, and extensions in code."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table, text, texts
from llmdo.base.values import replace
from llmdo.features.copilot import EXTENSIONS, HOOKS, LANGUAGE_SERVERS, SETTINGS, SHARED
from llmdo.features.copilot.tools import COMMAND_LINE, EDITOR
from llmdo.foreign.events import OWN_HOOK, ClientEvents, hooks_in, may_allow, note_unheeded
from llmdo.foreign.team import MAX_NAME
from llmdo.syntax.document import Document, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Agent, Grant
    from llmdo.policy.vocabulary import Decision

_READS = frozenset(
    {
        "SessionStart", "SubagentStart", "UserPromptSubmit", "sessionStart", "subagentStart", "userPromptSubmit",
        "userPromptSubmitted",
    }
)  # fmt: skip
"""The events whose hooks may add to the conversation, as the command line and VS Code write them."""
_SWITCH = "disableAllHooks"
_BEFORE_A_TOOL = ("PreToolUse", "preToolUse")
_ON_A_QUESTION = ("PermissionRequest", "permissionRequest")
"""The events of the command line whose hooks may answer it in place of a person."""
_MATCHES_ALL = frozenset({"", "*", ".*"})


def hook_events(files: Files, *tables: Place) -> tuple[Grant, ...]:
    """The hooks in tables."""
    return tuple(ClientEvents(files).hooks(tables, reads=_READS))


def session_events(files: Files, *, has_agents: bool) -> tuple[tuple[Grant, ...], Place | None]:
    """What runs in a session, and the first place that is about one; None without any.

    Settings of Claude Code count where the project has others for the command line, or `has_agents` for it.
    """
    own, settings = _declared(files, has_agents=has_agents)
    tables, switch = _tables(own, settings), _switch(settings)
    note_unheeded(files, tables, switch)
    for document in own if switch is None else ():
        at = Place(document, (_SWITCH,))
        note_unheeded(files, [Place(document, ("hooks",))], at if at.data is True else None)
    started = (*_extensions(files), *_plugins(files, settings), *_language_servers(files))
    events = (*(() if switch else hook_events(files, *tables)), *started)
    asked = (hook.at for place in tables for hook in hooks_in(place) if OWN_HOOK.fullmatch(hook.command))
    return events, next(iter([*(event.at for event in events), *asked]), None)


def _declared(files: Files, *, has_agents: bool) -> tuple[list[Document], list[Document]]:
    """The files of hooks, and those of settings."""
    own = [each for path in files.named([HOOKS]) if (each := files.json(path))]
    settings = [each for path in files.named(SETTINGS) if (each := files.json(path))]
    if (own or settings or has_agents) and not files.tree.only:
        settings = [*(each for path in SHARED if (each := files.json(path))), *settings]
    return own, settings


def _tables(own: Iterable[Document], settings: Iterable[Document]) -> list[Place]:
    return [Place(document, ("hooks",), of_key=True) for document in (*own, *settings)]


def _switch(settings: Sequence[Document]) -> Place | None:
    """The line that switches all hooks off, or None."""
    switches = [at for each in reversed(settings) if isinstance((at := Place(each, (_SWITCH,))).data, bool)]
    return switches[0] if switches and switches[0].data is True else None


def answering(files: Files, *, has_agents: bool) -> dict[str, Place]:
    """By the client whose questions they answer, the first hook that says `allow` in place of a person; all are noted.

    The command line heeds matchers (watched with 1.0.102), VS Code does not:
    https://code.visualstudio.com/docs/copilot/customization/agent-plugins.
    """
    answers: dict[str, Place] = {}
    own, settings = _declared(files, has_agents=has_agents)
    if _switch(settings) is not None:
        return answers
    for hook in (hook for place in _tables(own, settings) for hook in hooks_in(place)):
        is_before = hook.event in _BEFORE_A_TOOL
        if hook.is_address or not (is_before or hook.event in _ON_A_QUESTION):
            continue
        if may_allow(files, hook.command) is True and Place(hook.at.document, (_SWITCH,)).data is not True:
            files.note("LDO554", hook.at, "this hook may answer `allow` in place of a person")
            if is_before:
                answers.setdefault(EDITOR, hook.at)
            if hook.matcher in _MATCHES_ALL:
                answers.setdefault(COMMAND_LINE, hook.at)
    return answers


def answered(agent: Agent, answers: Mapping[str, Place]) -> Agent:
    """An agent, with what hooks answer in place of a person unasked."""
    grants = tuple(
        replace(each, decision="allowed", origin=f"{at.document.source.path}: a hook", rule_at=at)
        if each.decision == "needs_approval" and (at := answers.get(each.runs_in))
        else each
        for each in agent.grants
    )
    return replace(agent, grants=grants)


def _plugins(files: Files, settings: Iterable[Document]) -> Iterator[Grant]:
    """The plugins that settings enable, which come from elsewhere."""
    for document in settings:
        for name, is_on in table(document.data, "enabledPlugins").items():
            if is_on is True and document.source.path in SETTINGS:
                shown = excerpt(name.partition("@")[0], MAX_NAME)
                at = Place(document, ("enabledPlugins", name), of_key=True)
                yield ClientEvents(files).module(f"plugin {shown}", excerpt(name, MAX_NAME), at, None)


def _language_servers(files: Files) -> Iterator[Grant]:
    for path in files.named([LANGUAGE_SERVERS]):
        if document := files.json(path):
            for name, server in table(document.data, "lspServers").items():
                command = " ".join([text(table(server).get("command")), *texts(table(server).get("args"))])
                at = Place(document, ("lspServers", name, "command"))
                if command.strip():
                    yield ClientEvents(files).command(
                        f"language server {excerpt(name, MAX_NAME)}", command, at
                    )


def _extensions(files: Files) -> Iterator[Grant]:
    """The extensions of its command line, each of which is a program that it starts with the session."""
    for path in files.named([EXTENSIONS]):
        if source := files.source(path):
            name = f"extension {PurePosixPath(path).parent.name}"
            yield ClientEvents(files).module(name, path, Place(Document(source, {}, dict), ()), path)


def server_start(agent: Agent) -> Decision:
    """The decision about starting its servers: the mildest about a tool of theirs."""
    decisions = (grant.decision for grant in agent.grants if grant.server is not None)
    return "allowed" if "allowed" in decisions else "needs_approval"
