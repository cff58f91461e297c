"""The hints of findings that are no flows as promises: each edit made in a copy, and the copy read again."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import LlmdoError, place
from llmdo.foreign import findings
from llmdo.foreign.building import named
from tests.support.edited_files import Edited, NotMadeError
from tests.support.finding_edits import make_finding
from tests.support.hint_changes import names_in
from tests.support.hints import FLOWS, again

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Agent

_READING = ("LDO150", "LDO151", "LDO152", "LDO153", "LDO250", "LDO251")
"""The codes of which an edit may bring no new finding."""
EXPLAINED = tuple(
    re.compile(form)
    for form in (
        r"_ means no tool",
        r"a profile is a file of a person's own, _",
        r"it reads a person's own, in _",
        r"an agent of Cursor has every tool of the session, or with _ those that read",
        r"an agent of Codex has no list of tools: _ and _ limit it",
        r"what it forbids is then allowed",
        r"give its job a variable with it in _, and ask for _",
        r"_ decides about folders outside of the project",
        r"(?:it|they) may come with (?:an extension|the extension _, which _ names), or from settings of the repository or of a person; else Copilot skips (?:it|them)",
        r"it may come from a person's own configuration",
        r"without _ an agent has the servers of its own _ alone",
        r"it may be one in Python whose name only code tells",
        r"the permissions are _(?:, _)*",
        r"the types are _(?:, _)* and _",
        r"name (?:the tools that may go unasked|its tools in _|the servers in _)",
        r"allow (?:by name what .*|the commands that .*|those that ask too often: _|whole commands)",
        r"write more of each command than _, (?:such as the (?:program|script) that it runs|at least its next word)",
        r"_ lets it change the checkout",
        r"name whole commands, without _ at their end(?:, or take the rule out)?",
        r"_ in _ counts, if that is a primary agent",
        r"_ does, but fast-agent asks only the configuration nearest to the agent",
        r"write it as an escape in double quotes",
        r"indent it, and what of that text follows, as the lines above",
        r"_ (?:in _ )?does, which [A-Z][\w ]+ does not read here",
        r"take the whole (?:chain|iterative planner|orchestrator|router) out, as fast-agent starts none without agents",
        r"install the server, or keep it in the project, where a change of it is reviewed",
        r"keep the program in the project, where a change of it is reviewed",
        r"write _, and the value on the lines below, indented(?:, or save the file with LF line ends)?",
        r"mend its header, which Claude Code ignores",
        r"write it as _(?:, in a list)?",
        r"put it into a list, between _ and _",
        r"Claude Code looks for the servers of a project in _",
        r"take the _ out(?:, which Claude Code refuses since 2\.1\.218)?",
        r"a skill lies in a folder of _ itself",
        r"a skill is the file _ of a folder of _ itself",
        r"call it _",
        r"write a rule for each of the commands",
        r"keep it in the plugin's own folder, and write its path from there",
        r"write the path of a file with servers, such as _",
        r"write _ for the folder of the marketplace itself",
        r"take one of the two out(?:, and write what should hold of it into the other)?",
        r"take _(?: and _)* out of _ in each file, so that the rules of _ hold",
        r"write _ before the rules there, or take this out",
        r"write (?:a rule|rules) for _(?:, _)*(?: (?:and|or) _)?(?:, (?:each of )?which (?:asks about|refuses) that command by itself as well)?",
        r"declare it for this agent as well, unless it comes with an extension, or from settings of the repository or of a person; else Copilot skips it",
        r"if it is the server _, write _(?: and so on)?, and declare it unless settings elsewhere do; Copilot skips (?:this name|these names)",
        r"who has to run a script needs _, which runs any command",
        r"_ is a server: write _, and declare it for this agent as well",
        r"if it is the server _, declare it, and write _(?:; if no extension and no settings elsewhere bring it either, Copilot skips it)?",
        r"(?:most of )?these are names of Copilot in VS Code",
        r"name tools in it, such as _, as (?:these are skills|this is a skill), which _ loads with the agent",
        r"write it as a text, such as _",
        r"write each as _ by its own event, and its _ under _ with _",
        r"write _ (?:in place of it, )?beside its _(?:, and the others likewise)?",
        r"write its _ under _ with _",
        r"write _ into the table _",
        r"name tools alone in _, and write what else must hold as _ of its hooks, such as _, which Claude Code heeds since 2.1.85",
        r"the mode is _ in _",
        r"give its job _, or its step a _",
        r"give its token _",
        r"give it a _",
        r"rules about tools are in _, _ and _ of _",
        r"leave the address to each person's own settings",
        r"the address is _ in _ of each person's own settings",
        r"a key is what the command in _ prints, or each person's own",
        r"write _, _ and _ at the top of the file",
        r"the last rule that matches counts: write _ before the others",
        r"if it is no agent, move it out of its folder; if it is one, write _ between two lines _ at the start of the file, and _ below it",
        r"its _ must be _ for that",
        r"move it to _, or name its folder in _ \(_\)",
        r"write its files in place of it, as _(?:, or move them into the folder _ and leave the key out)?",
    )
)
"""The forms of a hint that explains, or leaves to a person what to write: no edit is in it."""
_MORE = re.compile(r"and \d+ more|such as \d+ of|, which \d+ files name")
_OR = re.compile(r", or (?=(?:[^`]*`[^`]*`)*[^`]*$)")
_APART = "give each a file of its own first"
_IN_COPILOT = {"Read": "read", "Grep": "search", "Glob": "search"}
"""The tools of Copilot that names of Claude Code mean there."""
_COMMON = {".codex/config.toml"}
"""The files of agents that are settings of all."""
_OTHERS = re.compile(
    r"other jobs and people's own sessions|for the session and all its agents|so its agent changes as well"
)


class Tried(NamedTuple):
    """What became of the hints of a project."""

    made: int
    explained: int
    wrong: list[str]
    unmade: list[str]


def form_of(hint: str) -> str:
    """A hint without its names."""
    return re.sub(r"`[^`]*`", "_", hint)


def is_explained(hint: str) -> bool:
    """Whether a hint proposes no edit."""
    return any(each.fullmatch(form_of(hint)) for each in EXPLAINED)


def of_findings(root: Path, before: Foreign, folder: Path, *, together: bool = False) -> Tried:
    """What became of the hints of all findings but flows; one copy is edited and restored for each.

    With `together` the edits of an agent's tools in files of its own are made at once; where that is not as the hints
    say, each is made alone as well.
    """
    made, wrong, unmade = 0, [], []
    all_of_it = findings.check(before)
    hinted = [each for each in all_of_it if each.code not in (*FLOWS, "LDO154") and each.hint]
    proposed = [each for each in hinted if not is_explained(each.hint or "")]
    copy = folder / "copy"
    shutil.copytree(root, copy, symlinks=True)
    kept = _kept_together(before, all_of_it, proposed, copy) if together else []
    made += len(kept)
    apart = folder / "apart"
    if any(_APART in (each.hint or "") for each in proposed):
        shutil.copytree(root, apart)  # in which a link is a folder of its own
    for each in proposed:
        if each in kept:
            continue
        where = f"{each.code} {place(each.at)} {each.message}: {each.hint}"
        texts, reasons = [], []
        for change in _OR.split(each.hint or ""):
            files = Edited(apart if _APART in (each.hint or "") else copy)
            try:
                make_finding(files, each, change)
                texts += broken(before, all_of_it, each, files)
            except NotMadeError as error:
                reasons.append(str(error))
            except LlmdoError as error:
                texts.append(str(error))
            finally:
                files.undo()
        is_made = len(reasons) < len(_OR.split(each.hint or ""))
        made += is_made
        wrong += [f"{where}\n      {text}" for text in texts]
        unmade += [] if is_made else [f"{where}\n      {'; '.join(reasons)}"]
    shutil.rmtree(copy)
    return Tried(made, len(hinted) - len(proposed), wrong, unmade)


def _kept_together(
    before: Foreign, old: tuple[Diagnostic, ...], proposed: list[Diagnostic], copy: Path
) -> list[Diagnostic]:
    """The hints about an agent's tools that are kept when all of them are made at once, one in each file."""
    files, made = Edited(copy), {}
    for each in proposed:
        if each.code == "LDO551" and each.at.path not in made and not _is_elsewhere(each):
            try:
                make_finding(files, each, each.hint or "")
                made[each.at.path] = each
            except NotMadeError:
                continue
    try:
        after = again(before, copy)
    finally:
        files.undo()
    new = findings.check(after)
    return [each for each in made.values() if not _broken_by(before, after, old, new, each, files)]


def _is_elsewhere(each: Diagnostic) -> bool:
    """Whether the edit of a finding is not made in a file that is its agent's alone."""
    return each.at.path.endswith(".json") or "reads the same file" in (each.hint or "")


def broken(before: Foreign, old: tuple[Diagnostic, ...], each: Diagnostic, files: Edited) -> list[str]:
    """What a hint promises that is not so in the copy in which its edit is made."""
    after = again(before, files.root)
    return _broken_by(before, after, old, findings.check(after), each, files)


def _broken_by(
    before: Foreign,
    after: Foreign,
    old: tuple[Diagnostic, ...],
    new: tuple[Diagnostic, ...],
    each: Diagnostic,
    files: Edited,
) -> list[str]:
    """What a hint promises that is not so in a project after edits."""
    wrong = [f"stays: {left.message}" for left in new if is_same(each, left, files)][:1]
    wrong += [
        f"new: {more.code} {place(more.at)} {more.message}"
        for more in _more(old, new)
        if not is_announced(each, more) and not _is_next_fault(old, each, more)
    ]
    wrong += _others(before, after, each, files)
    if each.code == "LDO551" and not wrong:
        wrong += _tools_named(after, each)
    if each.code == "LDO550" and not wrong:
        wrong += _calls_left(after, each)
    return wrong


def is_same(each: Diagnostic, left: Diagnostic, files: Edited) -> bool:
    """Whether a finding after an edit is that of before, with moved lines."""
    if (each.code, each.subject, each.at.path) != (left.code, left.subject, left.at.path):
        return False
    if each.code == "LDO551":
        return True
    if each.code in ("LDO550", "LDO350", "LDO351"):
        return names_in(each.message)[:1] == names_in(left.message)[:1] and each.message == left.message
    if each.message == left.message:
        _, now = files.at(place(each.at))
        return now is None or now == Edited(files.root).at(place(left.at))[1]
    return False


def _is_next_fault(old: tuple[Diagnostic, ...], each: Diagnostic, more: Diagnostic) -> bool:
    """Whether a client refuses a header for its next fault: of several it names the first, and llmdo has named all."""
    if any(left.at == more.at and _fault_in(left) == _fault_in(more) for left in old):
        return True
    faults = {left.at for left in old if left.code == "LDO150" and left.at.path == more.at.path}
    return (
        more.code == "LDO152" and each.code in ("LDO150", "LDO152", "LDO551") and len(faults - {each.at}) > 0
    )


def _fault_in(each: Diagnostic) -> tuple[str, str]:
    """The fault in a finding about a header, without what a client does then."""
    return each.code, each.message.partition(", ")[0]


def is_announced(each: Diagnostic, more: Diagnostic) -> bool:
    """Whether a finding says that there are more like it, or its hint what has to be done as well."""
    if "each entry then needs" in (each.hint or ""):
        return True
    if "in `tools` Copilot does not know" in (each.hint or ""):
        return more.code == "LDO250"
    return more.code == each.code and bool(_MORE.search(each.message))


def _more(old: tuple[Diagnostic, ...], new: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    """The findings about the text of files that only an edited copy has; one that says less of the same is none."""
    counts = Counter((each.code, each.at.path, each.message) for each in old)
    names: dict[tuple[str, str], set[str]] = {}
    for each in old:
        for at in each.places:
            names.setdefault((each.code, at.path), set()).update(names_in(each.message))
    known, more = {*counts}, []
    for each in new:
        key = (each.code, each.at.path, each.message)
        counts[key] -= 1
        those = names.get((each.code, each.at.path), set())
        is_less = key not in known and {*names_in(each.message)} <= those
        if each.code in _READING and counts[key] < 0 and not is_less:
            more.append(each)
    return more


def _others(before: Foreign, after: Foreign, each: Diagnostic, files: Edited) -> list[str]:
    """The agents of files that were not edited whose own tools change though the hint names no other agents."""
    own = {agent.path for agent in before.team.agents} - _COMMON
    if _OTHERS.search(each.hint or "") or not files.paths <= own:
        return []
    now = named(after.team.agents)
    return [
        f"`{name}` changes as well"
        for name, agent in named(before.team.agents).items()
        if agent.path not in files.paths
        and agent.path
        and (name in now or not name.endswith(")"))  # as it is where others call it
        and (name not in now or rows(now[name]) != rows(agent))
    ]


def rows(agent: Agent) -> set[tuple[str, str, str]]:
    """The tools of an agent with what is decided about each."""
    return {(each.toolset, each.tool, each.decision) for each in agent.grants}


def _tools_named(after: Foreign, each: Diagnostic) -> list[str]:
    """The tools that an agent then has though the line of its hint does not name them."""
    agent = named(after.team.agents).get(each.subject or "")
    if agent is None:
        return [f"no agent `{each.subject}` is left"]
    hint = each.hint or ""
    if agent.inherits:
        return ["it still has every tool"]
    if hint.endswith("counts") or "readonly" in hint:
        return []
    words = {word for line in names_in(hint) for word in re.findall(r"[\w-]+", line)}
    words |= {f"fs_{word}" for word in words}
    if agent.format == "copilot":
        words |= {_IN_COPILOT[word] for word in words & _IN_COPILOT.keys()}
    if "which its `memory` brings" in hint:
        words |= set(re.findall(r"(?:Edit|Write)(?=`)", hint))
    tools = {
        re.split(r"[/( ]", each.tool)[0]
        for each in agent.grants
        if each.decision != "blocked"
        and not each.toolset.startswith("on.")
        and not ("`mcpServers`" in hint and each.server)
    }
    return [f"it then has `{tool}` as well" for tool in sorted(tools - words)]


def _calls_left(after: Foreign, each: Diagnostic) -> list[str]:
    """The calls that an agent still has though its hint says that they end."""
    agent = named(after.team.agents).get(each.subject or "")
    if agent is None:
        return [f"no agent `{each.subject}` is left"]
    if "it then calls no other agent" in (each.hint or ""):
        calls = [call for call in agent.calls if call.decision == "allowed"]  # not by the button of a handoff
        return [f"still calls `{call.name}`" for call in calls]
    gone = re.search(r"it then does not call `([^`]+)`", each.hint or "")
    return [f"still calls `{call.name}`" for call in agent.calls if gone and call.name == gone[1]]
