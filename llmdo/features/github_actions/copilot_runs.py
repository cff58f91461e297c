"""Copilot's command line in a workflow: what its flags allow, deny and leave of its tools in unattended runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, replace
from llmdo.features.github_actions.table import LINES
from llmdo.features.github_actions.tokens import by_command, by_shell, granted, token_of
from llmdo.foreign.lines import READS_GITHUB
from llmdo.foreign.permissions import STRICTEST, PermissionRule, RuleTable, form

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from llmdo.features.github_actions.walking import Site
    from llmdo.features.github_actions.workflow import TokenPermissions
    from llmdo.foreign.team import Grant
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

_EVERY_TOOL = frozenset({"--allow-all", "--allow-all-tools", "--yolo"})
_FLAGS: dict[str, Decision] = {"--allow-tool": "allowed", "--deny-tool": "blocked"}
_RULES = RuleTable(order=STRICTEST, text=form(r"[^(]+?"))
_NAMES: dict[str, tuple[str, ...]] = {
    "read": ("view", "grep", "rg", "glob"),
    "write": ("create", "edit", "apply_patch"),
    "url": ("web_fetch",),
    "shell": ("bash", "powershell"),
    "task": ("task",),
}
"""The tools that models see, by the kinds that rules are about.

https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-command-reference#tool-availability-values
"""
_OWN = ("write", "url", "shell")
"""The kinds of its own tools that a run without a person refuses unless a flag allows them."""
_GITHUB = "github-mcp-server"
_OF_FILES = {"glob": ("fs.list",), "view": ("fs.read",)}
"""What single tools of `read` raise; each of the others raises all of it."""
_SAME = {"grep": "rg", "rg": "grep"}
"""The tools that one model has in place of another's, and that both names mean."""
_PATCH = "apply_patch"
_READING = "commands that read"
_TO_ANY_HOST = "git ls-remote"
_BY_GIT = frozenset({"fs.write", "fs.write.protected", "net.connect"})
_ANY = "$"
"""What a value has in it that is only known once the command runs."""


@dataclass(frozen=True, slots=True)
class _Left:
    """What `--available-tools` and `--excluded-tools` leave, also for the agents that it starts (1.0.102)."""

    available: frozenset[str]
    """The names of all tools that are left; empty if none are named, or nobody knows which."""
    excluded: frozenset[str]
    """The names of those taken away, which count only where `available` is empty."""

    def has(self, name: str, server: str = "") -> bool:
        """Whether a tool, or one of a server, is left; the name of a server means all of its tools."""
        names = {name, _SAME.get(name, name), server}
        return bool(names & self.available) if self.available else not names & self.excluded

    def has_server(self, name: str) -> bool:
        """Whether a tool of a server may be left."""
        start = f"{name}-"
        return self.has(name) or any(each.startswith(start) for each in self.available)

    def of(self, kind: str, lacking: Collection[str]) -> tuple[str, ...]:
        """The tools of a kind that are left, of those that are there at all."""
        return tuple(name for name in _NAMES[kind] if name not in lacking and self.has(name))


def copilot_grants(site: Site) -> Iterator[Grant]:
    """Copilot CLI reads files and GitHub and starts agents; other tools need flags that allow and none that denies."""
    at, token, words = site.at, token_of(site), site.run.words
    rules = [*_rules(words, at)]
    default: Decision = "allowed" if _EVERY_TOOL & set(words) else "blocked"
    left, lacking = _left(words), _lacking(site)
    yield from _unasked(left, lacking, words, at)
    own = [kind for kind in _OWN if left.of(kind, lacking)]
    named = {rule.tool for rule in rules if rule.decision == "allowed"} - _NAMES.keys()
    for tool in (*own, *sorted(filter(left.has_server, named))):
        refusal = f"`--deny-tool {tool}` behind `{words[0]}`" if words else ""
        if tool == "shell" and default == "blocked" and not _decides(rules):
            yield replace(_commands_that_read(rules, token, at), refusal=refusal)
        line = LINES[f"copilot: {tool if tool in own else 'SERVER'}"]
        for ruling in _RULES.rulings(rules, tool, line.raised, default):
            if ruling.decision == "blocked":
                continue
            if tool != "shell":
                given = granted(tool, tool, map(str, ruling.capabilities), at, is_open=tool not in own)
                yield replace(given, refusal=refusal)
            elif ruling.rule is None or ruling.rule.pattern is None:
                for given in by_shell(site, token, tool, at):
                    yield replace(given, refusal=refusal if given.toolset == tool else "")
            else:
                yield from by_command(site, token, ruling.rule.pattern, tool, at)


def allows_every_tool(site: Site) -> str | None:
    """The flag with which nothing is refused of what asks otherwise; None without it, or if none of that is left."""
    left, lacking = _left(site.run.words), _lacking(site)
    asks = any(left.of(kind, lacking) for kind in _OWN)
    return next((word for word in site.run.words if word in _EVERY_TOOL), None) if asks else None


def _unasked(left: _Left, lacking: Collection[str], words: Iterable[str], at: Place) -> Iterator[Grant]:
    """The tools that no flag denies, but one that leaves them out (1.0.102)."""
    reading = left.of("read", lacking)
    raised = LINES["copilot: read"].capabilities
    kept = {name for tool in reading for name in _OF_FILES.get(tool, raised)}
    if reading:
        yield granted("read", "read", [name for name in raised if name in kept], at)
    if "--disable-builtin-mcps" not in words and left.has_server(_GITHUB):
        yield granted("github", "github", LINES["copilot: github"].capabilities, at)
    if left.of("task", lacking):
        yield granted("task", "task", LINES["copilot: task"].capabilities, at)


def _decides(rules: Iterable[PermissionRule]) -> bool:
    """Whether a flag is about the whole shell."""
    return any(rule.tool == "shell" and rule.pattern is None for rule in rules)


def _commands_that_read(rules: Iterable[PermissionRule], token: TokenPermissions | None, at: Place) -> Grant:
    """The commands that it takes for reading, which no flag has to allow (watched with 1.0.102).

    `git log --output=FILE` writes, `git ls-remote ADDRESS` reaches a host, `printenv` shows the environment, and
    `gh issue view` words of anybody.
    """
    denied = {rule.pattern for rule in rules if rule.tool == "shell" and rule.decision == "blocked"}
    names = [*LINES[f"copilot: shell ({_READING})"].capabilities]
    if "git:*" in denied:
        names = [name for name in names if name not in _BY_GIT]
    if "gh:*" in denied or token is None:
        names = [name for name in names if name not in READS_GITHUB]
    return replace(granted("shell", _READING, names, at), words=_TO_ANY_HOST)


def _left(words: tuple[str, ...]) -> _Left:
    available = frozenset(_values(words, "--available-tools"))
    if any(_ANY in name for name in available):
        return _Left(frozenset(), frozenset())
    return _Left(available, frozenset(_values(words, "--excluded-tools")))


def _lacking(site: Site) -> frozenset[str]:
    """The tools that are not there anyway: those of another system, and those of models of which this is none."""
    shell = "bash" if "windows" in site.machine.lower() else "powershell"
    names = [shell] if _ANY not in site.machine else []
    variable = site.variables.get("COPILOT_MODEL")
    model = next(iter(_values(site.run.words, "--model")), variable.value if variable else "")
    return frozenset((*names, _PATCH) if model.startswith("claude") else names)


def _rules(words: tuple[str, ...], at: Place) -> Iterator[PermissionRule]:
    for flag, decision in _FLAGS.items():
        for value in _values(words, flag):
            if rule := _RULES.rule(value, decision, at) or _whole_tool(value, decision, at):
                yield rule
    for url in _values(words, "--allow-url"):
        yield PermissionRule("url", url, "allowed", at)


def _whole_tool(value: str, decision: Decision, at: Place) -> PermissionRule | None:
    """The rule for a value of which the part cannot be told: one that allows is about the whole tool."""
    return (
        PermissionRule(value.partition("(")[0].strip(), None, decision, at) if decision == "allowed" else None
    )


def _values(words: tuple[str, ...], flag: str) -> list[str]:
    """The values of a flag over all its uses: the words up to the next flag, each of which may list several."""
    values: list[str] = []
    is_open = False
    for word in words:
        if word == flag or word.startswith("-"):
            is_open = word == flag
            values += [word.partition("=")[2]] if word.startswith(f"{flag}=") else []
        elif is_open:
            values.append(word)
    return [name for value in values for part in _listed(value) if (name := part.strip())]


def _listed(value: str) -> Iterator[str]:
    """The parts of a list; a comma in brackets is between none of these."""
    start = depth = 0
    for number, character in enumerate(value):
        depth = max(depth + (character == "(") - (character == ")"), 0)
        if character == "," and not depth:
            yield value[start:number]
            start = number + 1
    yield value[start:]
