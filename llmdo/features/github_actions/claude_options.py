"""The options of Claude Code at a step: the inputs of its action in every release, or the flags of a command."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from llmdo.base.parts import table, text
from llmdo.base.values import dataclass, field
from llmdo.features.claude.modes import BYPASSES
from llmdo.foreign.refused_options import quoted
from llmdo.foreign.scripts import EXPRESSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.permissions import PermissionRule
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

CHECKS_RUNS_SINCE = (1, 0, 185)
"""The release of the action from which on it looks at the rights of who started the run before its own."""
AUTO_SINCE = (1, 0, 273)
"""The release of the action from which on a second model decides if no rule allows."""
TRACKS_SINCE = (1, 0, 3)
"""The release of the action from which on it follows a prompt as it answers a comment if it tracks its progress."""
KEEPS_WHOLE_SINCE = (1, 0, 149)
"""The release of the action from which on it keeps rules whole that are in no quotes."""
RESTORES_SINCE = (1, 0, 74)
"""The release of the action from which on it fetches, at a pull request, the branch that this is to go into."""
SCRUBS_SINCE = (1, 0, 77)
"""The release of the action from which on it keeps keys from commands where people without write access start it."""


@dataclass(frozen=True, slots=True)
class ClientRelease:
    """A release of Claude Code, and the first of the action that installs it or a later one."""

    client: tuple[int, int, int]
    action: tuple[int, int, int]


ASKS_ABOUT_FIND = ClientRelease((2, 1, 113), (1, 0, 100))
"""From here on a rule about `find` covers no call that runs another program."""
HIDES_ENVIRONMENT = ClientRelease((2, 1, 128), (1, 0, 112))
"""From here on `Read`, which runs in Claude Code itself, opens no `/proc/self/environ`, which keeps every variable."""
IGNORES_BYPASS = ClientRelease((2, 1, 257), (1, 0, 213))
"""From here on a project cannot set mode `bypassPermissions`."""
IGNORES_RULES = ClientRelease((2, 1, 195), (1, 0, 159))
"""From here on the rules of a project allow nothing in a folder that no person has trusted, as on a fresh runner."""
HAS_WILDCARDS = ClientRelease((2, 1, 0), (1, 0, 29))
"""From here on a `*` in a rule about commands stands for any text; before, none but `:*` at its end does."""
OF_V0 = {
    "allowed_tools": "--allowedTools", "direct_prompt": "prompt", "disallowed_tools": "--disallowedTools",
    "mcp_config": "--mcp-config", "mode": None, "override_prompt": "prompt",
}  # fmt: skip
"""Inputs that were removed from the action, with their successors."""
_OF_V1 = {"claude-code-action": ("prompt", "claude_args"), "claude-code-base-action": ("claude_args",)}
"""The inputs that each action has from v1 on."""

TOOL = re.compile(r"[^,()\s\"']+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?")
_INSERTED = re.compile(r"\$\{\{[^\n]*?\}\}")
_FLAG = re.compile(r"--?[A-Za-z]")
_FLAG_OF_ACTION = re.compile(r"--[A-Za-z]")
"""A flag as the action knows it: `-C` is a value."""
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_UNQUOTED = re.compile(rf"(?:{_QUOTED.pattern}|[^\s\"'()|&;<>])+")
"""A word that ends at a blank or a sign of the shell."""
_QUOTES = str.maketrans("", "", "\"'")
_GLOB = re.compile(r"[*?\[]")
_RELEASE = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_HASH = re.compile(r"[0-9a-f]{40}")
_NAMED = re.compile(
    r"\b(?P<beta>beta)\b|\bv(?P<tag>\d+(?:\.\d+)*)"
    r"|(?<![\w.-])(?P<bare>\d{1,3}(?:\.\d+)+)(?![\w-]|\.\d)|^(?P<whole>\d)\s*$"
)
"""A release in a comment behind a commit, as `v1.0.30`, `1.0.30`, `tag=v1`, or a comment that is nothing but `1`."""
_INSTALLS = re.compile(
    r"(?:@anthropic-ai/claude-code@|claude\.ai/install\.sh[^\n]*?\bbash -s (?:-- )?)v?(\d+)\.(\d+)\.(\d+)"
)
"""A command that installs or runs a release of Claude Code."""
_V0_AGENT = ("Edit", "MultiEdit", "Write", "Glob", "Grep", "LS", "Read")
_V0_TAG = (*_V0_AGENT, "mcp__github_comment__update_claude_comment")
_V0_GIT = (
    "Bash(git add:*)", "Bash(git commit:*)", "Bash(git push:*)", "Bash(git status:*)", "Bash(git diff:*)",
    "Bash(git log:*)", "Bash(git rm:*)",
)  # fmt: skip
_V1_TAG = (
    "Bash(git add:*)",
    "Bash(git commit:*)",
    "Bash(git rm:*)",
    "mcp__github_comment__update_claude_comment",
)
_PUSHES = "Bash(git-push.sh:*)"
"""The rule about the action's own script."""
_BY_API = ("mcp__github_file_ops__commit_files", "mcp__github_file_ops__delete_files")
_OF_RUNS = (
    "mcp__github_ci__get_ci_status",
    "mcp__github_ci__get_workflow_run_details",
    "mcp__github_ci__download_job_log",
)
_OF_PULL_REQUESTS = frozenset(
    {"pull_request", "pull_request_review", "pull_request_review_comment", "pull_request_target"}
)
_ABOUT_PULL_REQUESTS = _OF_PULL_REQUESTS | {"issue_comment"}
"""The events for which the action starts its server about runs: a comment may be one at a pull request."""


@dataclass(slots=True)
class ClaudeOptions:
    """The options of Claude Code at a step, from every source."""

    allowed: list[tuple[str, Place]] = field(default_factory=list)
    denied: list[tuple[str, Place]] = field(default_factory=list)
    only: tuple[str, ...] | None = None
    """The built-in tools that there are; None for all."""
    mode: tuple[str, Place] | None = None
    servers: list[tuple[str, Place]] = field(default_factory=list)
    settings: list[tuple[str, Place]] = field(default_factory=list)
    torn: list[tuple[str, str]] = field(default_factory=list)
    """The rules that the action tears at their blanks, each with its flag: they are about nothing."""
    unknown: Place | None = None
    """The place of options known only at run time."""
    rest: Decision = "blocked"
    """The decision if no rule decides."""
    rest_by_itself: Decision = "blocked"
    """The same without a mode that flags name."""
    reads_project: bool = True


def claude_options(site: Site) -> ClaudeOptions:
    """All options of Claude Code at a step."""
    options = ClaudeOptions()
    if site.run.words:
        _from_words(options, site.run.words[1:], site.place("run"), site, is_command=True)
        return options
    if site.run.program == "claude-code-action":
        _from_action(options, site)
    own = len(options.denied)
    if (args := site.input("claude_args")) and not is_before_v1(site):
        _from_words(options, _words_of(site, args[0]), args[1], site)
    if is_v0(site):
        if tools := site.input("allowed_tools"):
            _list(options, options.allowed, *tools)
        denied: list[tuple[str, Place]] = []
        if tools := site.input("disallowed_tools"):
            _list(options, denied, *tools)
        if not is_before_v1(site):  # which of the two inputs is read, nobody knows
            both = {tool for tool, _ in options.denied[own:]}
            denied = [each for each in denied if each[0] in both]
        options.denied[own:] = denied
        if config := site.input("mcp_config"):
            options.servers.append(config)
    if settings := site.input("settings"):
        options.settings.append(settings)
    return options


def without_tool(site: Site, tool: str) -> str:
    """The line that refuses a tool with all its parts, or what a rule allows, whatever else allows it: a hint."""
    if tool == _PUSHES:
        tool = "Bash(*git-push.sh *)"  # which is called by its path
    if site.run.words:
        return f"`--disallowedTools {quoted(tool)}` behind `{site.run.words[0]}`"
    args, option = site.input("claude_args"), f"--disallowedTools {quoted(tool)}"
    has_key = site.input("disallowed_tools") is not None
    older = f"`{tool}` into `disallowed_tools`" if has_key else f"`disallowed_tools: {tool}`"
    if is_before_v1(site):
        return older
    if not unknown_inputs(site):
        return f"`{option}` in `claude_args`"
    # Which of the two inputs is read, nobody knows.
    newer = f"`{option}` in `claude_args`" if args else f"`claude_args: {option}`"
    return older if args and option in args[0] else f"{older} and {newer}"


def refusal_at(site: Site) -> Place | None:
    """The input for the line that refuses a tool; None if the step has none yet."""
    key = "disallowed_tools" if is_before_v1(site) else "claude_args"
    is_there = not site.run.words and site.input(key) is not None
    return site.place("with", key, of_key=True) if is_there else None


def inputs_too_new(site: Site) -> tuple[str, ...]:
    """The inputs of a step that the action does not have yet, so that nothing reads them."""
    names = _OF_V1.get(site.run.program, ()) if is_before_v1(site) else ()
    return tuple(each for each in names if site.input(each))


def prompt_of(site: Site) -> tuple[str, Place] | None:
    """The prompt that a step gives its agent, and its place."""
    older = ("direct_prompt", "override_prompt")
    return site.input(*(older if "prompt" in inputs_too_new(site) else ("prompt", *older)))


def reads_event(site: Site) -> bool:
    """Whether the action itself gives Claude the text of the event, whatever the prompt names."""
    if site.run.program != "claude-code-action":
        return False
    return (site.input("mode") or ("tag",))[0] != "agent" if is_before_v1(site) else is_in_mode_tag(site)


def is_in_mode_tag(site: Site) -> bool:
    """Whether the action surely answers a comment, or does nothing: else it may follow a prompt."""
    if (site.input("mode") or ("tag", None))[0] != "tag" and not is_v1(site):
        return False
    tracks = (site.input("track_progress") or ("", None))[0] == "true" and is_since(site, TRACKS_SINCE)
    return is_before_v1(site) or site.input("prompt") is None or (is_v1(site) and tracks)


def fetches_first(site: Site) -> bool:
    """Whether the action surely fetches a branch before it starts Claude, and so needs a checkout, in whatever mode."""
    # Of a commit that a comment calls `v1`, nobody knows which release of it that is.
    is_known = not is_commit(site) or _RELEASE.match(_version(site)) is not None
    is_new = is_v1(site) and is_known and is_since(site, RESTORES_SINCE)
    return is_new and site.trigger.starters.keys() <= _OF_PULL_REQUESTS


def is_of_action(site: Site, rule: PermissionRule) -> bool:
    """Whether the action itself gives a rule, which then is in no file."""
    return site.run.key == "uses" and rule.at.location == site.place("uses").location


def _from_action(options: ClaudeOptions, site: Site) -> None:
    """The permissions of the action itself: in mode tag, which answers comments, the editing of files and git."""
    prompt = site.input("prompt", "direct_prompt", "override_prompt")
    at = site.place("uses")
    if is_v0(site):
        options.denied += [
            (tool, at)
            for tool in ("WebFetch", "WebSearch")
            if tool not in (site.input("allowed_tools") or ("", at))[0]
        ]
        mode = (site.input("mode") or ("tag", at))[0]
        tag = (*_V0_TAG, *(_BY_API if _signs(site) else _V0_GIT))
        options.allowed += [(tool, at) for tool in (tag if mode != "agent" else _V0_AGENT)]
        return
    options.rest = options.rest_by_itself = "needs_approval" if is_since(site, AUTO_SINCE) else "blocked"
    tracks = (site.input("track_progress") or ("false", at))[0] == "true"
    if prompt is None or tracks:
        by_api = _signs(site) and not site.input("ssh_signing_key")
        tools = (*_V1_TAG[3:], *_BY_API) if by_api else (*_V1_TAG, _PUSHES)
        options.allowed += [(tool, at) for tool in (*tools, *(_OF_RUNS if _sees_runs(site) else ()))]
        options.mode = ("acceptEdits", at)


def _signs(site: Site) -> bool:
    """Whether the action surely signs commits, which it then makes by GitHub's API and not by git."""
    return (site.input("use_commit_signing") or ("false", None))[0] == "true"


def _sees_runs(site: Site) -> bool:
    """Whether the action starts its server about the runs of workflows, for which its job needs a line of its own."""
    may_read = site.permissions.scopes is not None and site.permissions.level("actions") != "none"
    return may_read and not _ABOUT_PULL_REQUESTS.isdisjoint(site.trigger.starters)


def _from_words(
    options: ClaudeOptions, words: Sequence[str], at: Place, site: Site, *, is_command: bool = False
) -> None:
    """The options in the flags of a command line."""
    lists = {"allowedtools": options.allowed, "disallowedtools": options.denied}
    for flag, values in _flags(words, _FLAG if is_command else _FLAG_OF_ACTION):
        name = flag.replace("-", "").lower()
        values = [_resolved(value, site) for value in values]
        if name in lists:
            _list(options, lists[name], " ".join(values) if is_command else _whole(options, values, flag), at)
        elif name == "permissionmode" and values:
            options.mode = (values[0], site.spot(at, values[0]))
            options.rest = "needs_approval" if values[0] == "auto" else "blocked"
        elif name == "dangerouslyskippermissions":
            options.mode = (BYPASSES, site.spot(at, flag))
            options.rest = "blocked"
        elif name == "mcpconfig":
            options.servers += [(value, at) for value in values]
        elif name == "settings" and values:
            options.settings.append((values[0], at))
        elif name == "tools":
            options.only = tuple(tool for value in values for tool in TOOL.findall(value))
            options.only = None if "default" in options.only else options.only
        elif name in ("bare", "safemode") or (name == "settingsources" and "project" not in ",".join(values)):
            options.reads_project = False
        elif not flag and not is_command and any(EXPRESSION in value or "${{" in value for value in values):
            options.unknown = at


def _flags(words: Sequence[str], form: re.Pattern[str]) -> Iterator[tuple[str, list[str]]]:
    """Each flag with the words that follow it; those before the first have none."""
    flag = ""
    values: list[str] = []
    for word in words:
        if form.match(word):
            yield flag, values
            flag, equals, value = word.partition("=")
            values = [value] if equals else []
        else:
            values.append(word)
    yield flag, values


def _whole(options: ClaudeOptions, values: Sequence[str], flag: str) -> str:
    """The values of a list but for rules in no quotes with a blank within, which are noted.

    The action hands Claude Code what it splits at blanks with commas between, so `Bash(gh pr:*)` is `Bash(gh,pr:*)`.
    """
    values = [_INSERTED.sub(EXPRESSION, value) for value in values]
    own = {*TOOL.findall(",".join(values))}
    tools = TOOL.findall(" ".join(values))
    torn = [each for each in tools if "(" in each and each not in own]
    options.torn += [(each, flag.lower()) for each in torn]
    return ",".join(each for each in tools if each not in torn)


def _list(options: ClaudeOptions, listed: list[tuple[str, Place]], value: str, at: Place) -> None:
    """Adds the tools of a list; notes those known only at run time."""
    for tool in TOOL.findall(_INSERTED.sub(EXPRESSION, value)):
        name = tool.partition("(")[0]
        if EXPRESSION in name or name.startswith("$"):
            options.unknown = at
        else:
            listed.append((tool, at))


def _resolved(value: str, site: Site) -> str:
    """A value, or that of the variable that it is."""
    named = re.fullmatch(r"\$\{?(\w+)\}?", value)
    variable = site.variables.get(named[1]) if named else None
    return variable.value if variable else value


def _split(words: str) -> list[str]:
    words = _INSERTED.sub(EXPRESSION, words)
    try:
        return shlex.split(words)
    except ValueError:
        return words.replace('"', " ").replace("'", " ").split()


def _words_of(site: Site, args: str) -> list[str]:
    lines = " ".join(line for line in args.split("\n") if not line.strip().startswith("#"))
    return _split(lines) if is_since(site, KEEPS_WHOLE_SINCE) else _torn(lines)


def _torn(words: str) -> list[str]:
    """The words as older releases take them: what is in no quotes ends at a parenthesis, and with a `*` is dropped.

    So `Bash(gh:*)` is `Bash`, which allows every command.
    """
    words = _INSERTED.sub(EXPRESSION, words)
    torn = (match[0] for match in _UNQUOTED.finditer(words))
    return [word.translate(_QUOTES) for word in torn if not _GLOB.search(_QUOTED.sub("", word))]


def tears(site: Site) -> Place | None:
    """The place of rules in no quotes that the pinned release takes for whole tools; None without any."""
    args = site.input("claude_args")
    if args is None or is_before_v1(site) or is_since(site, KEEPS_WHOLE_SINCE):
        return None
    own, whole = ClaudeOptions(), ClaudeOptions()
    _from_words(own, _words_of(site, args[0]), args[1], site)
    _from_words(whole, _split(args[0]), args[1], site)
    meant = {tool for tool, _ in whole.allowed}
    return (
        args[1]
        if any("(" not in tool and tool == "Bash" and tool not in meant for tool, _ in own.allowed)
        else None
    )


def is_v0(site: Site) -> bool:
    """Whether the action is older than v1, or may be: then the inputs that give more count."""
    return is_before_v1(site) or bool(unknown_inputs(site))


def is_before_v1(site: Site) -> bool:
    """Whether the action is surely older than v1."""
    return _version(site).startswith(("beta", "v0", "0."))


def is_v1(site: Site) -> bool:
    """Whether the action is surely v1 or later."""
    return _version(site).startswith(("main", "v1"))


def unknown_inputs(site: Site) -> list[str]:
    """The inputs that only releases before v1 have, if nothing tells the release of the action."""
    is_known = _version(site).startswith(("beta", "main", "v0", "v1", "0."))
    return [] if is_known else sorted(table(site.step.get("with")).keys() & (OF_V0.keys() - {"mode"}))


def is_commit(site: Site) -> bool:
    """Whether the action is pinned to a commit."""
    return bool(_HASH.fullmatch(site.run.version))


def _version(site: Site) -> str:
    """The release of the action; for a commit, the one that a comment at its end names, else the commit."""
    version = site.run.version
    if not is_commit(site):
        return version
    comment = re.search(rf"{version}['\"]?[ \t]+#[ \t]*([^\n]*)", site.document.source.text)
    names = [_release(named) for named in _NAMED.finditer(comment[1])] if comment else []
    # Of `v1 (v1.0.30)` the second says more.
    return max((each for each in names if f"{each}.".startswith(f"{names[0]}.")), key=len, default=version)


def _release(named: re.Match[str]) -> str:
    return named["beta"] or f"v{named['tag'] or named['bare'] or named['whole']}"


def is_since(site: Site, first: tuple[int, int, int]) -> bool:
    """Whether the release of the action is `first` or a later one, as an unknown one is taken to be."""
    release = _RELEASE.match(_version(site))
    return not is_before_v1(site) and (release is None or tuple(map(int, release.groups())) >= first)


def has_client(site: Site, release: ClientRelease) -> bool:
    """Whether Claude Code at a step is this release or a later one, as an unknown one is taken to be."""
    if not site.run.words:
        return is_since(site, release.action)
    scripts = "\n".join(text(step.get("run")) for step in (*site.before, site.step))
    installed = [match.groups() for match in _INSTALLS.finditer(scripts)]
    return not installed or tuple(map(int, installed[-1])) >= release.client


def is_exact(site: Site, pattern: str | None) -> bool:
    """Whether a rule about commands is about its own text alone, although a `*` is in it."""
    is_open = pattern is None or "*" not in pattern or pattern.endswith(":*")
    return not is_open and not has_client(site, HAS_WILDCARDS)
