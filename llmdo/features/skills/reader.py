"""Skills: what each lets a client do unasked, and the programs in its folder."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, excerpt_of_end, finding
from llmdo.base.parts import text
from llmdo.base.values import dataclass, replace
from llmdo.features.skills import COLLECTION, FILES, HEEDING
from llmdo.features.skills.table import HARMLESS, SAME, TABLE
from llmdo.foreign import reading, scripts, servers
from llmdo.foreign.commands import commands, through
from llmdo.foreign.events import is_script, script_abilities
from llmdo.foreign.files import Files
from llmdo.foreign.headers import yaml_fault
from llmdo.foreign.permissions import parted
from llmdo.foreign.team import MAX_NAME, Agent, Team, capability_of
from llmdo.graph.described import Server
from llmdo.policy.authority import Capability
from llmdo.policy.shell.programs import RUNNERS, WRAPPERS
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax import frontmatter
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.foreign.lines import Line
    from llmdo.foreign.reading import Text, ToolItem
    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree

SKILL = "SKILL.md"
ALLOWED = "allowed-tools"
KEYS = frozenset({
    ALLOWED, "argument-hint", "compatibility", "context", "description", "disable-model-invocation", "license",
    "metadata", "model", "name", "user-invocable", "version",
})  # fmt: skip
"""The keys of the specification, and those of clients that many skills have."""
PARTS = frozenset({"assets", "references", "scripts"})
"""The folders that the specification has in a skill."""
MANY = 100  # scripts of one skill: more are an installed package, not somebody's own

_OF_GEMINI = ".gemini"
_FOR_GEMINI = re.compile(r"---\n.*?\n---", re.DOTALL)
_LINES = {line.tool: line for line in TABLE}
_BY_NAME = {
    **{line.tool.lower(): line for line in TABLE},
    **{name: _LINES[tool] for tool, names in SAME.items() for name in names},
}
_CONNECTS = Capability("net.connect")
_OF_SERVER = re.compile(r"mcp__(?P<server>.+?)(?:__.*)?|(?P<path>[\w.-]+)/.+")
_SERVERS = (".github/mcp.json", ".mcp.json")
_ASKED_BY_CLAUDE = frozenset({"find"})
"""Programs of which Claude Code, whose folder of skills may be a link, lets no pattern run another program.

Since 2.1.113, by https://code.claude.com/docs/en/permissions; Copilot's command line 1.0.102 was watched to.
"""
_HEEDED = "`allowed-tools` of the skill"
_UNHEEDED = "up to the client, which is not known to heed `allowed-tools`"
_INSTALLED = "up to the client that it is installed for"
_OF_COPILOT = {
    "Bash": frozenset({"bash", "powershell", "shell"}),
    "WebFetch": frozenset({"url"}),
    "WebSearch": (),
}
"""The names of tools that it heeds in a skill, in small letters: that it knows those of others, no page says."""
_WHOLE = re.compile(r"[\w@%+=:,./-]+(?: [\w@%+=:,./-]+)+")
"""A command without placeholders, quotes or what a shell puts between two."""
_WHOLE_OR_NONE = "name whole commands, without `*` at their end, or take the rule out"
_RUNS = "the client, before a command that nothing allows"


def read(tree: Tree) -> Team:
    """Every skill as an agent: what it adds to the session that loads it."""
    files = Files(tree, "the client")
    paths = [path for path in files.find(FILES) if PurePosixPath(path).name == SKILL]
    paths = [path for path in paths if not _is_part(path, paths)]
    homes = {_home(path) for path in paths}
    agents = [
        _SkillReader(files, path, content).agent("" if len(homes) == 1 else f"{_home(path)}/")
        for path in paths
        if (content := _text(files, path))
    ]
    return Team(format="skills", agents=tuple(agents), files=files.paths, problems=tuple(files.problems))


def _home(path: str) -> str:
    """The folder of the client, such as `.agents`."""
    return PurePosixPath(path).parts[0]


def _is_to_install(path: str) -> bool:
    """Whether a skill lies where no client looks."""
    return _home(path) in (COLLECTION[:6], SKILL)


def _is_part(path: str, paths: Sequence[str]) -> bool:
    """Whether a file lies among the parts of another skill, in a collection that no client reads as it is."""
    folders = PurePosixPath(path).parents
    return _home(path) == COLLECTION[:6] and any(
        each.name in PARTS and str(each.parent / SKILL) in paths for each in folders
    )


def _text(files: Files, path: str) -> Text | None:
    content = files.header(path, KEYS)
    if content is None:
        if source := files.source(path):
            rest = ", without which clients other than Claude Code load no skill"
            rest += " once it is installed" if _is_to_install(path) else ""
            files.problems.append(reading.headless(source, rest))
        return None
    lost = _refusal(content.document.source, _home(path))
    if lost is None:
        files.problems.extend(content.document.problems)
        return content
    files.problems.append(lost)
    if _home(path) == _OF_GEMINI:
        return None
    # That the line is read as plain text is not so for the client that the finding names.
    files.problems.extend(each for each in content.document.problems if each.at != lost.at)
    return content


def _refusal(source: Source, home: str) -> Diagnostic | None:
    """The finding about a header for which a client loads no skill from the file; None if its folder has no such one.

    Watched with Gemini CLI 0.61.0, which wants `---` alone in the first line and reads what is no YAML plainly, and
    with Copilot's command line 1.0.102, which wants YAML. `.agents` is a folder of both, and of others.
    """
    client, problem = "Copilot's command line", yaml_fault(source) if home in HEEDING else None
    if problem is None and home in (_OF_GEMINI, ".agents") and not _FOR_GEMINI.match(source.text):
        client, problem = "Gemini CLI", next(iter(frontmatter.parse(source).document.problems), None)
    if problem is None:
        return None
    message = f"{problem.message}, so {client} loads no skill from `{source.path}`"
    return finding("LDO152", problem.at, message, hint=problem.hint)


@dataclass(frozen=True, slots=True)
class _SkillReader:
    """The reading of one skill."""

    files: Files
    path: str
    text: Text

    @property
    def is_heeded(self) -> bool:
        """Whether a client lets what `allowed-tools` names go unasked."""
        return _home(self.path) in HEEDING

    @property
    def is_to_install(self) -> bool:
        """Whether it lies where no client looks: who installs it may have one that heeds `allowed-tools`."""
        return _is_to_install(self.path)

    def agent(self, before: str) -> Agent:
        """The skill; `before` its name goes the folder that it is in, where there are several."""
        document = self.text.document
        header = document.data
        folder = PurePosixPath(self.path).parent.name
        name = text(header.get("name")).strip() or folder or SKILL
        named = next((key for key in ("name", "description") if key in header), None)
        allowed = tuple(reading.tool_items(document, ALLOWED))
        return Agent(
            name=excerpt_of_end(f"{before}{name}", MAX_NAME),
            at=Place(document, (named,) if named else (), of_key=True),
            path=self.path,
            prompt=self.text.prompt,
            header=header,
            description=text(header.get("description")) or None,
            grants=(*self._allowed(allowed), *self._scripts(allowed)),
            expressed_otherwise=frozenset({ALLOWED}),
        )

    def _allowed(self, allowed: Sequence[ToolItem]) -> Iterator[Grant]:
        declared = self._declared(allowed)
        free = [
            _written(tool, pattern)
            for tool, pattern, at in allowed
            if _line(tool) is _LINES["Bash"] and _sends(_grant(_line(tool), pattern, at))
        ]
        by_server: dict[str, list[str]] = {}
        for tool, pattern, _ in allowed:
            by_server.setdefault(_server_of(tool, declared), []).append(_written(tool, pattern))
        for tool, pattern, at in allowed:
            if tool.lower() in HARMLESS:
                continue
            if server := _server_of(tool, declared):
                grant = servers.grant(server, declared.get(server, Server()), at, "allowed", _HEEDED)
            else:
                grant = _grant(_line(tool), pattern, at)
            is_heeded = self.is_heeded and _is_known_to_copilot(tool)
            is_shell = _line(tool) is _LINES["Bash"]
            if (is_heeded or self.is_to_install) and is_shell and UNLISTED in grant.capabilities:
                self._runs_any(tool, pattern, at)
            if not is_heeded:
                origin = _INSTALLED if self.is_to_install else _UNHEEDED
                grant = replace(grant, decision="needs_approval", origin=origin)
            alike = by_server[server] if server else free if is_shell and _sends(grant) else []
            yield replace(grant, rule_at=at, unasked_by=tuple(alike) if len(alike) > 1 else ())

    def _declared(self, allowed: Sequence[ToolItem]) -> dict[str, Server]:
        """The servers that the project's files declare for Copilot's command line, if the skill may name one."""
        if all(_line(tool) in TABLE or tool.lower() in HARMLESS for tool, _, _ in allowed):
            return {}
        documents = filter(None, map(self.files.json, _SERVERS))
        known = (servers.servers_in(document, "mcpServers") for document in documents)
        return {name: server for each in known for name, (server, _) in each.items()}

    def _runs_any(self, tool: str, pattern: str | None, at: Place) -> None:
        """Notes a rule that lets every command run."""
        client = " by a client that heeds `allowed-tools`" if self.is_to_install else ""
        if pattern and commands(pattern, asked=_ASKED_BY_CLAUDE) != UNLISTED:
            client = " by Copilot's command line"
        way = through(f"{tool}({pattern})") if pattern else ""
        rule = excerpt(_written(tool, pattern))
        message = f"`{rule}` lets every command run without a question while the skill is loaded{client}{way}"
        self.files.note("LDO554", at, message, _narrower(tool, pattern, self.text.prompt))

    def _scripts(self, allowed: Sequence[ToolItem]) -> Iterator[Grant]:
        """The programs in its folder, which the client's shell runs."""
        folder = self.path.removesuffix(SKILL)
        if self.files.tree.only or not folder:
            return
        paths = [path for path in self.files.tree.find([f"{folder}**/*"])[0] if is_script(path)]
        at = Place(self.text.document, ())
        for path in paths[:MANY]:
            source = self.files.source(path) if self.files.looked_into(path) else None
            if source is None:
                continue
            own = path.removeprefix(folder)
            if scripts.runs_downloads(source.text) and not path.endswith((".py", ".rb")):
                message = f"the script `{excerpt(own)}` of the skill downloads a program and runs it"
                hint = "keep the program in the project, where a change of it is reviewed"
                self.files.problems.append(finding("LDO557", source.location(), message, hint=hint))
            rule = next((item for item in allowed if self.is_heeded and _runs(item, own)), None)
            line = _LINES["a script of its folder"]
            yield line.grant(
                rule[2] if rule else at,
                _HEEDED if rule else _RUNS,
                toolset="scripts",
                tool=excerpt(own, MAX_NAME),
                capabilities=script_abilities(path, source.text),
                decision="allowed" if rule else None,
                rule_at=rule[2] if rule else None,
            )


def _line(tool: str) -> Line:
    return _BY_NAME.get(tool.lower()) or replace(
        _LINES["SERVER"], tool=excerpt(tool, MAX_NAME), capabilities=(str(capability_of(tool)),)
    )


def _written(tool: str, pattern: str | None) -> str:
    return f"{tool}({pattern})" if pattern else tool


def _server_of(tool: str, declared: Collection[str]) -> str:
    """The server of which a tool is, by the form of its name or as a file declares it; empty for another tool."""
    if match := _OF_SERVER.fullmatch(tool):
        return match["server"] or match["path"]
    return tool if tool in declared else ""


def _is_known_to_copilot(tool: str) -> bool:
    """Whether a tool is one about which Copilot asks no more where a skill allows it.

    Watched with its command line 1.0.102: `SERVER` and `SERVER(TOOL)` allow the tools of a server, and not the names
    that other clients have for them.
    """
    name = tool.lower()
    return not _OF_SERVER.fullmatch(tool) and name in _OF_COPILOT.get(_line(tool).tool, (name,))


def _grant(line: Line, pattern: str | None, at: Place) -> Grant:
    """The tool, or the part of it in parentheses."""
    whole = pattern is None or pattern.strip() in ("", "*", ":*", "**")
    raised = line.raised if whole else parted(line.raised, pattern or "")
    return line.grant(at, _HEEDED, toolset=ALLOWED, capabilities=raised)


def _sends(given: Grant) -> bool:
    """Whether a tool runs any command, or sends something to any host."""
    return any(each in (UNLISTED, _CONNECTS) for each in given.capabilities)


def _runs(item: ToolItem, script: str) -> bool:
    """Whether an allowed tool runs this script of the skill's folder."""
    tool, pattern, _ = item
    if _line(tool) is not _LINES["Bash"]:
        return False
    if pattern is None or pattern.strip() in ("", "*", ":*"):
        return True
    return PurePosixPath(script).name in pattern or commands(pattern) == UNLISTED


def _narrower(tool: str, pattern: str | None, prompt: str) -> str:
    """The hint to allow less: with an example of the same program, if the skill's own text has one."""
    hint = "allow the commands that it needs by their first words"
    words = re.split(r"[ :*]+", (pattern or "").strip(" :*"))
    if len(words) > 1:
        return _WHOLE_OR_NONE
    program = words[0]
    if not program:
        return hint
    used = [*re.finditer(rf"(?:^|`|\$ )({re.escape(program)} ([a-z][\w:-]*)[^`\n]*)", prompt, re.MULTILINE)]
    for match in used:
        if commands(begun := f"{program} {match[2]} *") != UNLISTED:
            return f"{hint}, such as `{tool}({begun})`"
    for match in used:
        is_code = match[0] != match[1] or prompt[: match.start()].count("```") % 2
        if is_code and _WHOLE.fullmatch(whole := match[1].rstrip()) and excerpt(whole) == whole:
            return f"name whole commands, such as `{tool}({whole})`"
    if used:
        return "name whole commands, without `*` at their end"
    if commands(f"{program} x *") == UNLISTED:
        return _WHOLE_OR_NONE
    what = "program" if program in WRAPPERS else "script" if program in RUNNERS else ""
    rest = f"such as the {what} that it runs" if what else "at least its next word"
    return f"write more of each command than `{program}`, {rest}"
