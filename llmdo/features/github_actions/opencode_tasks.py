"""The agents that opencode calls by `task` in a job: what their caller's own rules deny does not bind them.

Watched with 1.18.33, for `edit` as for other tools: only rules of the settings hold for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table
from llmdo.base.values import dataclass, replace
from llmdo.features.github_actions.opencode_settings import Denial, denial_above, denial_of, of_everybody
from llmdo.features.opencode import AGENTS, SETTINGS
from llmdo.features.opencode.permissions import TASK, about_call, rules_of_agent
from llmdo.features.opencode.reader import BUILT_IN, HIDDEN, KEYS, agent_name, built_in_rules
from llmdo.foreign.instead import in_permission, permission_of
from llmdo.foreign.team import MAX_NAME
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.permissions import PermissionRule
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Document


@dataclass(frozen=True, slots=True)
class CalledAgent:
    """An agent that the one of a step may call, with its rules."""

    name: str
    tables: tuple[Place, ...]
    """Its files and tables, the uppermost last."""
    rules: tuple[PermissionRule, ...]
    written: frozenset[int]
    """The rules that a file has, by identity: the others are built in."""
    by: PermissionRule | None = None
    """The rule of the settings by which it may be called."""

    def rule(self, rule: PermissionRule | None) -> PermissionRule | None:
        """A rule as one of a file; None for one that is built in."""
        return rule if rule is not None and id(rule) in self.written else None


def tables_of(name: str, files: Files, tables: Sequence[Place]) -> Iterator[Place]:
    """The tables of an agent by its name, the uppermost last."""
    places = (Place(each.document, ("agent", name)) for each in tables)
    yield from (each for each in places if isinstance(each.data, dict))
    for path in files.find(AGENTS):
        content = files.text_or_prompt(path, KEYS)
        if content and agent_name(path, content.document) == name:
            yield Place(content.document, ())


def called_agents(
    files: Files,
    tables: Sequence[Place],
    common: Sequence[PermissionRule],
    caller: Sequence[PermissionRule],
    at: Place,
) -> Iterator[CalledAgent]:
    """The agents that one with all the rules of a caller may call at a place; `common` are those of the settings."""
    for name in _names(files, tables):
        last = about_call(caller, name)
        own = tuple(tables_of(name, files, tables))
        if (last and last.decision != "allowed") or not _is_called(name, own):
            continue
        below = built_in_rules(name, at)
        written = [*common, *rules_of_agent(files, own)]
        rules = (*below, *written)
        by = last if any(each is last for each in common) else None
        yield CalledAgent(excerpt(name, MAX_NAME), own, rules, frozenset(map(id, written)), by)


def of_called(
    given: Grant, called: CalledAgent, chosen: Sequence[Place], documents: Sequence[Document]
) -> Grant:
    """A tool of an agent that is called, with the edit by which none is called any more.

    Rules of the caller's own tables, which are `chosen`, are above those of all settings.
    """
    settings = [Place(each, ()) for each in documents if each.source.path in SETTINGS]
    tables = [*settings[:1], *chosen]
    denial = denial_of(TASK, documents)
    if called.by is not None and not chosen:
        denial = denial_above(called.by, TASK, documents)
    elif tables:
        instead = in_permission(tables[-1], permission_of(tables[-1]), TASK, "deny")
        denial = Denial(instead.change, instead.at or tables[-1])
    path = denial.at.location.path if denial.at else SETTINGS[0]
    given = replace(given, toolset=TASK, tool=f"{called.name}: {given.tool}")
    return denial.given_to(given, loss="it then calls no other agent", also=of_everybody(path))


def _names(files: Files, tables: Sequence[Place]) -> Iterator[str]:
    names = [*BUILT_IN]
    names += [name for each in tables for name in table(each.data, "agent")]
    for path in files.find(AGENTS):
        if content := files.text_or_prompt(path, KEYS):
            names.append(agent_name(path, content.document))
    yield from dict.fromkeys(names)


def _is_called(name: str, tables: Sequence[Place]) -> bool:
    """Whether others may call an agent: any that is not switched off, also a primary one (watched with 1.18.33)."""
    header = {key: value for each in tables for key, value in table(each.data).items()}
    return name not in HIDDEN and header.get("disable") is not True
