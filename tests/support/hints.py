"""The hint of a flow as a promise: its edits made in a copy, and what it says of them held against a second reading."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, NamedTuple

from llmdo import foreign
from llmdo.base.diagnostic import LlmdoError, excerpt
from llmdo.foreign import findings
from llmdo.foreign.building import named
from llmdo.foreign.flows import worst_flows
from llmdo.policy.authority import Capability
from tests.support.edited_files import Edited, NotMadeError
from tests.support.hint_changes import make, names_in

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.foreign.flows import Flow
    from llmdo.foreign.team import Agent, Grant

FLOWS = ("LDO552", "LDO555")
_BETWEEN = re.compile(r"; (?=(?:[^`]*`[^`]*`)*[^`]*$)")
_CHANGE = re.compile(
    r"(?P<change>.*?)(?: \((?P<place>[^`]*)\))?(?P<also>, also (?:from other agents|in other agents without a rule about it|in other jobs and in people's own sessions))?"
)
_STILL = re.compile(
    r"(?P<names>`(?:(?! of `).)*`)(?: of `.*)?(?: and \d+ more)? (?:still brings?|may still bring) (?:words|words if its model has it)"
)
_SECOND = re.compile(r"(?P<names>`.*`) can then still send data: (?P<change>.*)")
_MILDER = re.compile(r"a milder flow stays, by (?P<names>.*)")
_UNSURE = re.compile(r"a flow that is less sure stays, by (?P<names>.*)")
_SAME = re.compile(r"the same with (?P<what>.*)")
_OTHERS = re.compile(
    r"also in other agents|lose them as well|loses them as well|also from other agents|people's own sessions"
    r"|nor does any without a rule|so its agent changes as well"
)
"""The words by which a hint says that other agents change as well."""
_SETTINGS = re.compile(
    r"\((?:\S*(?:\.claude/settings\S*\.json|\.codex/config\.toml|\.gemini/settings\.json|\.codex/rules/\S+\.rules))(?::\d+:\d+)?\)"
)
"""A place in settings that are those of all agents, as whoever reads it sees."""
_ALIKE = re.compile(r", which \d+ files name$")
"""The end of a finding about several files, of which an edit leaves fewer."""
_LOST = {
    re.compile(r"it then sends nothing to other hosts(?! by that)"): (Capability("net"),),
    re.compile(r"it then runs no commands(?! by)"): (Capability("proc.exec"),),
    re.compile(r"reads no local files"): (Capability("fs.read"), Capability("proc.exec")),
}
"""The words for what an agent does no more by any tool, with the capabilities that none has then."""
_GONE = re.compile(r"\bhas no (?:tools of )?`([^`]+)`")
_ASKED = ": a person is then asked each time"


class Promise(NamedTuple):
    """What a hint says, part by part."""

    changes: tuple[str, ...]
    """The changes that end the worst flow, all of which have to be made."""
    same: str
    """Further tools to which the same has to be done."""
    then: str
    """The change that ends the milder flow as well."""
    milder: tuple[str, ...]
    """The ways out that are left."""
    unsure: tuple[str, ...]
    """What may still bring words, or the ways out of a flow that is less sure."""
    instead: str
    """Another change, in place of all others, after which a person is asked."""
    lost: tuple[str, ...]
    """The parts that say what is lost."""


def promise(hint: str) -> Promise:
    """The parts of a hint."""
    first, *parts = _BETWEEN.split(hint)
    changes, lost, milder, unsure = [first], [], (), []
    same = then = instead = ""
    for part in parts:
        if match := _SECOND.fullmatch(part):
            milder, then = tuple(names_in(match["names"])), match["change"]
        elif match := _MILDER.fullmatch(part):
            milder = tuple(names_in(match["names"]))
        elif match := _STILL.fullmatch(part) or _UNSURE.fullmatch(part):
            unsure += names_in(match["names"])
        elif match := _SAME.fullmatch(part):
            same = match["what"]
        elif part.startswith("or ") and part.endswith(_ASKED):
            instead = part.removeprefix("or ").removesuffix(_ASKED)
        elif part.startswith("and "):
            changes.append(part.removeprefix("and "))
        elif re.fullmatch(r"\d+ more allow as much", part):
            changes.append(part)
        else:
            lost.append(part)
    return Promise(tuple(changes), same, then, milder, tuple(unsure), instead, tuple(lost))


def edited(root: Path, copy: Path, hint: str, *, then: bool = False) -> Edited:
    """A copy of a project in which the changes of a hint are made; with `then` that of the milder flow as well."""
    shutil.copytree(root, copy, symlinks=True)
    files, words = Edited(copy), promise(hint)
    where = ""
    for change in words.changes:
        where = _made(files, change, where)
    for name, place in re.findall(r"`([^`]*)`(?: \(([^()`]*)\)| of `[^`]*`)", words.same):
        first = _CHANGE.fullmatch(words.changes[0])
        if not place or first is None or not first["change"].startswith("take "):
            raise NotMadeError("the same with _")
        instead = f"take `{name}`{first['change'].partition('`')[2].partition('`')[2]}"
        _made(files, f"{instead} ({place})", "")
    if re.search(r" and \d+ more", words.same):
        raise NotMadeError("the same with _ and more")
    if then:
        list_instead = re.fullmatch(r"(write `.*`) instead", words.then)
        first = _CHANGE.fullmatch(words.changes[0])
        if list_instead and first:
            _made(files, f"{list_instead[1]}, without it ({first['place']})", where)
        else:
            _made(files, words.then, where)
    return files


def edited_instead(root: Path, copy: Path, hint: str) -> Edited:
    """A copy of a project in which the other change of a hint is made."""
    shutil.copytree(root, copy, symlinks=True)
    files = Edited(copy)
    _made(files, promise(hint).instead, "")
    return files


def _made(files: Edited, change: str, where: str) -> str:
    """Makes a change in words, and returns its place; `where` is that of the one before it."""
    parts = _CHANGE.fullmatch(change)
    assert parts is not None
    if parts["change"].endswith(" there as well"):
        text = parts["change"].removesuffix(" there as well")
        make(files, f"{text} under `permission`", where)
        return where
    make(
        files,
        parts["change"],
        where if parts["change"].endswith(" out of its header") else parts["place"] or "",
    )
    return parts["place"] or where


def tools_of(flow: Flow) -> tuple[set[str], set[str]]:
    """The names, as a hint has them, of what brings the words of the flows below an entry, and of the ways out."""
    sources = {
        excerpt(name) for legs in flow.legs for each in legs.sources for name in (each.toolset, each.tool)
    }
    ends = {excerpt(name) for legs in flow.legs for each in legs.ends for name in (each.toolset, each.tool)}
    return sources, ends


def rules_of(project: Foreign) -> set[str]:
    """The texts with a rule by which a tool goes unasked."""
    grants = (grant for agent in project.team.agents for grant in agent.grants)
    places = [grant.rule_at for grant in grants if grant.decision == "allowed" and grant.rule_at]
    marked = {each.document.source.marked(span) for each in places if (span := each.location.span)}
    return {*marked, *(str(each.data) for each in places)}


def broken(before: Foreign, root: Path, each: Diagnostic, folder: Path) -> list[str]:
    """What a hint of a flow says that is not so once its edits are made; `folder` holds the copies."""
    hint, name = each.hint or "", each.subject or ""
    wrong: list[str] = []
    words = promise(hint)
    flow = worst_flows(before)[name]
    edited(root, folder / "edited", hint)
    after = again(before, folder / "edited")
    wrong += _of_flow(flow, worst_flows(after).get(name), words, rules_of(after))
    wrong += new_findings(before, after)
    wrong += others_changed(before, after, hint, name)
    wrong += kept_although_lost(before, after, words, name)
    if words.then:
        edited(root, folder / "both", hint, then=True)
        both = again(before, folder / "both")
        left = worst_flows(both).get(name)
        if left and not (words.unsure and left.guess):
            wrong.append(f"after the second edit as well: {left.row}")
        wrong += new_findings(before, both)
    if words.instead:
        edited_instead(root, folder / "asked", hint)
        asked = again(before, folder / "asked")
        if left := worst_flows(asked).get(name):
            wrong.append(f"after `{words.instead}`: {left.row.path}")
        wrong += new_findings(before, asked)
    return wrong


def again(before: Foreign, root: Path) -> Foreign:
    """A project read again."""
    form = before.team.format if len(before.teams) < 2 else "auto"
    return foreign.read(form, root)


def _of_flow(flow: Flow, left: Flow | None, words: Promise, rules: set[str]) -> list[str]:
    if left is None:
        named = (*words.milder, *words.unsure)
        return [f"no flow is left, by {named}"] if named else []
    sources, ends = tools_of(left)
    text = f"{left.guess} {left.way.name} {'/'.join(hop.name for hop in left.row.source)} => {'/'.join(hop.name for hop in left.row.path)}"
    if words.milder:
        if left.guess != flow.guess or left.way <= flow.way:
            return [f"the flow that is left is no milder one: {text}"]
        return [
            f"no {name} among what is left: {text}"
            for name in words.milder
            if name not in ends and not any(name in rule for rule in rules)
        ]
    if words.unsure:
        if left.guess == flow.guess:
            return [f"the flow that is left is as sure: {text}"]
        return [
            f"no {name} among what is left: {text}" for name in words.unsure if name not in sources | ends
        ]
    return [f"a flow is left: {text}"]


def new_findings(before: Foreign, after: Foreign) -> list[str]:
    """The warnings that only the edited files have, but for those that a flow, or a shorter circle, stood for.

    That a list names no tool is none: without its last tool it has unknown names alone, each of which was named.
    """
    old = {(each.code, each.subject, _ALIKE.sub("", each.message)) for each in findings.check(before)}
    return [
        f"new: {each.code} {each.message}"
        for each in findings.check(after)
        if (each.code, each.subject, _ALIKE.sub("", each.message)) not in old
        and each.code not in (*FLOWS, "LDO350", "LDO550", "LDO556")
        and (each.severity != "note")
        and not each.message.startswith("`tools` names no tool of ")
    ]


def others_changed(before: Foreign, after: Foreign, hint: str, name: str) -> list[str]:
    """The agents whose own tools an edit changes though its hint names neither their files nor other agents."""
    words = promise(hint)
    if _OTHERS.search(hint) or _SETTINGS.search(words.changes[0]):
        return []
    paths = {
        file
        for change in (*words.changes, words.same)
        for file in re.findall(r"\(([^()`]+?)(?::\d+:\d+)?\)", change)
    }
    now = named(after.team.agents)
    return [
        f"`{other}` changes as well"
        for other, agent in named(before.team.agents).items()
        if other != name
        and not (agent.path and agent.path in paths)
        and (other in now or agent.path)  # one that is built in goes with the last call of it
        and (other not in now or _tools(now[other]) != _tools(agent))
    ]


def kept_although_lost(before: Foreign, after: Foreign, words: Promise, name: str) -> list[str]:
    """What the agent that an edit changes still does although its hint says that this is lost."""
    old, now = named(before.team.agents), named(after.team.agents)
    changed = [each for each in old if each in now and _tools(now[each]) != _tools(old[each])]
    lost = "; ".join(words.lost)
    gone = set(_GONE.findall(lost))
    return [
        f"`{each}` still has `{grant.tool}`: {lost}"
        for each in ([name] if name in changed else changed)
        for grant in now[each].grants
        if grant.decision != "blocked"
        and (not gone.isdisjoint(map(excerpt, (grant.toolset, grant.tool))) or _is_lost(grant, lost))
    ]


def _is_lost(grant: Grant, lost: str) -> bool:
    """Whether a tool does something that a hint says is lost by whatever tool."""
    kinds = [kind for pattern, own in _LOST.items() if pattern.search(lost) for kind in own]
    return any(kind.covers_name(each.name) for kind in kinds for each in grant.capabilities)


def _tools(agent: Agent) -> set[tuple[str, str, str]]:
    """The tools of an agent with what is decided about each."""
    return {(each.toolset, each.tool, each.decision) for each in agent.grants}


def of_project(root: Path, before: Foreign, folder: Path) -> tuple[int, list[str], list[str]]:
    """How many hints of flows were tried, those that are not kept, and those that could not be made."""
    wrong, unmade, number = [], [], 0
    for each in findings.check(before):
        if each.code not in FLOWS or not each.hint:
            continue
        number += 1
        where = f"{each.code} {each.at.path} `{each.subject}`: {each.hint}"
        own = folder / str(number)
        try:
            wrong += [f"{where}\n      {text}" for text in broken(before, root, each, own)]
        except NotMadeError as error:
            unmade.append(f"{where}\n      {error}")
        except LlmdoError as error:
            wrong.append(f"{where}\n      {error}")
        shutil.rmtree(own, ignore_errors=True)
    return number, wrong, unmade
