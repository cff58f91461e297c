"""Claude Code in a workflow: the permissions of its action, or of `claude -p`."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding, place
from llmdo.base.parts import table, text
from llmdo.base.values import replace
from llmdo.features.claude.modes import BYPASSES, Mode
from llmdo.features.claude.rules import ASKED_PROGRAMS, RULES
from llmdo.features.claude.settings import settings_of
from llmdo.features.claude.table import TABLE
from llmdo.features.github_actions.checkout import json_of, may_be_checked_out
from llmdo.features.github_actions.claude_options import (
    ASKS_ABOUT_FIND,
    CHECKS_RUNS_SINCE,
    HIDES_ENVIRONMENT,
    IGNORES_BYPASS,
    IGNORES_RULES,
    SCRUBS_SINCE,
    TOOL,
    claude_options,
    fetches_first,
    has_client,
    is_before_v1,
    is_commit,
    is_exact,
    is_in_mode_tag,
    is_of_action,
    is_since,
    is_v1,
    prompt_of,
    refusal_at,
    tears,
    unknown_inputs,
    without_tool,
)
from llmdo.features.github_actions.claude_servers import (
    SETTINGS,
    grants_of_rule,
    grants_of_servers,
    missing_servers,
)
from llmdo.features.github_actions.removed_inputs import later_inputs, removed_inputs
from llmdo.features.github_actions.table import CLAUDE_TOOLS
from llmdo.features.github_actions.tokens import (
    OF_AN_APP,
    acts_as_app,
    by_command,
    by_shell,
    granted,
    token_of,
)
from llmdo.features.github_actions.torn_rules import torn_rules, with_its_flag
from llmdo.features.github_actions.workflow import TokenPermissions, Variable
from llmdo.foreign import reading
from llmdo.foreign.commands import commands
from llmdo.foreign.files import line_out
from llmdo.foreign.instead import LONGEST
from llmdo.foreign.permissions import PermissionRule, part
from llmdo.foreign.team import capability_of
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.discovery import leaves
from llmdo.syntax.document import Document, Place

_TRUST = "hasTrustDialogAccepted"
"""The key by which Claude Code knows that a person has trusted a folder."""

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.claude.settings import ClaudeSettings
    from llmdo.features.github_actions.checkout import Checkout
    from llmdo.features.github_actions.claude_options import ClaudeOptions
    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.team import Grant
    from llmdo.graph.start import Starter
    from llmdo.policy.vocabulary import Decision

STARTS_ONCE = "once its job has `id-token: write`, or its step a `github_token`"
"""The condition under which the action starts its agent, where it has no token yet."""
SECOND_MODEL = "a look by a second model"
"""The check in mode auto before a call that no rule allows."""

_READ = "Read"
_ENVIRONMENT = Capability("env.read")
_LINES = {line.tool: line for line in TABLE}
_REST = re.compile(r"(?::\*|\s*\*)$")
"""The end of a pattern of commands that lets anything follow."""


def claude_grants(site: Site, tree: Checkout) -> Iterator[Grant]:
    """The tools of Claude Code at a step: the allowed ones only, as nobody is there to be asked."""
    options = claude_options(site)
    # A hint takes the flag that asks about nothing out.
    is_free = options.mode is not None and options.mode[0] == BYPASSES
    rest = options.rest_by_itself if is_free else options.rest
    for grant in _all_grants(site, tree, options):
        yield replace(grant, is_looked_at=rest == "needs_approval")


def _all_grants(site: Site, tree: Checkout, options: ClaudeOptions) -> Iterator[Grant]:
    token = _token(site)
    site = replace(site, variables={**site.variables, **_variables(site, options)})
    settings = _settings(site, tree, options)
    mode = (
        settings.mode if settings.mode.at else Mode("default")
    )  # in which a session begins that nobody sees
    if options.mode:
        mode = Mode(options.mode[0], options.mode[1])
    if options.rest == "needs_approval":
        mode = Mode("acceptEdits")  # mode auto edits the checkout, and has the rest looked at
    if options.unknown:
        yield granted("arguments", "arguments", [capability_of("claude")], options.unknown, is_open=True)
    for tool in CLAUDE_TOOLS:
        if options.only is not None and tool not in options.only:
            continue
        if tool == "Bash":
            for grant in _bash(site, token, settings, mode, options):
                yield _refusable(site, grant, tool) if grant.toolset.startswith(tool) else grant
        else:
            for grant in _of_tool(site, settings, mode, tool):
                yield from _unattended(grant, options)
    for grant in grants_of_servers(site, tree, token, settings, mode, options):
        yield _refusable(site, grant, grant.tool) if grant.server is None else grant
    yield from _of_skill(site, tree, token, options)


def claude_problems(site: Site, tree: Checkout) -> Iterator[Diagnostic]:
    """Inputs that the release of the action does not have, and modes in which nothing is refused."""
    if site.run.program in ("claude-code-action", "claude-code-base-action") and is_v1(site):
        yield from removed_inputs(site)
    yield from later_inputs(site)
    if at := tears(site):
        message = "the pinned release tears rules that are in no quotes, so all of `Bash` is allowed here"
        hint = 'put each rule in quotes, as in `--allowedTools "Bash(gh:*)"`, or take v1.0.149 or later'
        yield finding("LDO554", at.location, message, hint=hint)
    for key in unknown_inputs(site):
        message = (
            f"the release of {site.run.program} is not known here, so `{key}` counts as one of its inputs"
        )
        hint = (
            "name the release in a comment behind the commit, such as `# v1.0.30`; v1 has no such input"
            if is_commit(site)
            else "pin a release, such as `v1`, which has no such input"
            if site.input("prompt") and not site.input("mode")
            else "pin a release; v1 has no such input"
        )
        yield finding("LDO154", site.place("with", key, of_key=True).location, message, hint=hint)
    if lacks_token(site):
        yield _without_token(site)
    options = claude_options(site)
    settings = _settings(site, tree, options)
    yield from torn_rules(site, options)
    yield from missing_servers(site, tree, settings, options)
    mode = options.mode
    if mode is None and options.rest == "blocked" and not has_client(site, IGNORES_BYPASS):
        obeyed = settings.mode
        if obeyed.name == BYPASSES and obeyed.at:
            message = f"the release of Claude Code in `{site.document.source.path}` obeys mode `{BYPASSES}`"
            where = "use `v1` of the action" if site.run.key == "uses" else "install 2.1.257 or later"
            hint = f"{where} there, or {line_out(obeyed.at)}, and allow by name what it needs"
            yield finding("LDO554", obeyed.at.location, message, hint=hint)
    if mode and mode[0] == BYPASSES:
        message = "Claude Code is told to skip permissions here, so no tool is refused"
        hint = "allow by name what it needs: `--allowedTools`"
        yield finding("LDO554", mode[1].location, message, hint=hint)


def _without_token(site: Site) -> Diagnostic:
    """The note that the action fails before it starts Claude, as nobody gives it a token."""
    message = (
        "claude-code-action stops before it starts Claude, as its job has no `id-token: write` and no `github_token` "
        "is given"
    )
    at = site.permissions.at
    hint = "give its job `id-token: write`, or its step a `github_token`"
    if isinstance(at.data, dict) and "id-token" not in at.data:  # a caller may withhold it
        hint = f"write `id-token: write` under `permissions` ({place(at.location)})"
    return finding("LDO152", site.place("uses").location, message, hint=hint)


def without_checkout(site: Site) -> Diagnostic | None:
    """The note that the action fails before it starts Claude, without a checkout; None if there may be one."""
    needs = is_in_mode_tag(site) or fetches_first(site)
    is_read = not site.document.problems
    if site.run.program != "claude-code-action" or not (needs and is_read and site.is_fresh):
        return None
    defers = is_before_v1(site) and site.input("use_commit_signing") is not None
    if defers or may_be_checked_out(site.before):
        return None
    why, hint = "no step before it checks the repository out", "write `- uses: actions/checkout@v6` before it"
    if lacks_token(site):
        at = place(site.permissions.at.location)
        why = f"its job has no `id-token: write` and no `github_token` is given, and {why}"
        hint = f"{hint}, and `id-token: write` under `permissions` ({at})"
    message = f"claude-code-action stops before it starts Claude, as {why}"
    return finding("LDO152", site.place("uses").location, message, hint=hint)


def starters_of_action(site: Site) -> Starter:
    """The people whom the action does not turn away."""
    users, bots = site.input("allowed_non_write_users"), site.input("allowed_bots")
    if users and "*" in users[0].split(",") and site.input("github_token") and not is_before_v1(site):
        return "anyone"
    # Any GitHub App is that of anyone, where it may write at all.
    return "perhaps anyone" if bots and "*" in bots[0].split(",") else "those who may write"


def scrubs_by_itself(site: Site) -> bool:
    """Whether the action keeps keys from commands, as it does where it lets in whom it would turn away."""
    users = site.input("allowed_non_write_users")
    is_action = site.run.program == "claude-code-action"
    return bool(is_action and users and users[0].strip()) and is_since(site, SCRUBS_SINCE)


def shows_environment(grant: Grant) -> bool:
    """Whether a grant is of the tool of an older Claude Code that opens its own environment, with every key."""
    return grant.tool == _READ and _ENVIRONMENT in grant.capabilities


def is_unchecked_after_a_run(site: Site) -> bool:
    """Whether the action looks at nobody's rights where it is started by another workflow's run."""
    return site.run.program == "claude-code-action" and not is_since(site, CHECKS_RUNS_SINCE)


def _settings(site: Site, tree: Checkout, options: ClaudeOptions) -> ClaudeSettings:
    """The permissions of the project, and those that the step adds."""
    paths = SETTINGS if options.reads_project else ()
    own = [document for path in paths if (document := tree.json(path, is_strict=True))]
    others: list[Document] = []
    if any(path in tree.written and tree.json(path) is None for path in paths):
        options.unknown = site.at
    for value, at in options.settings:
        document = json_of(value, at, tree)
        if document is None:
            options.unknown = at
        else:
            others.append(document)
    read = settings_of(
        own, others, obeys_bypass=not has_client(site, IGNORES_BYPASS), is_trusted=_may_be_trusted(site)
    )
    lists: tuple[tuple[Decision, list[tuple[str, Place]]], ...] = (
        ("allowed", options.allowed), ("blocked", options.denied),
    )  # fmt: skip
    rules = [
        RULES.rule(tool, decision, site.spot(at, tool)) for decision, listed in lists for tool, at in listed
    ]
    counting = [each for each in (*read.rules, *filter(None, rules)) if not _is_idle(site, each)]
    return replace(read, rules=tuple(counting), asks_in_plan=True)


def _is_idle(site: Site, rule: PermissionRule) -> bool:
    """Whether a rule is about a text that no command is, or denies no more than one command with a `*`."""
    is_denied = rule.decision != "allowed" or not (rule.pattern or "").strip("* ")
    return rule.tool == "Bash" and is_denied and is_exact(site, rule.pattern)


def _may_be_trusted(site: Site) -> bool:
    """Whether Claude Code may heed the rules by which a checkout allows something.

    Its release does, or somebody may have trusted the folder: a step before, or whoever owns the machine.
    """
    scripts = "\n".join(text(step.get("run")) for step in (*site.before, site.step))
    return not site.is_fresh or _TRUST in scripts or not has_client(site, IGNORES_RULES)


def _variables(site: Site, options: ClaudeOptions) -> Mapping[str, Variable]:
    """The variables that settings in the step itself set."""
    variables: dict[str, Variable] = {}
    for value, at in options.settings:
        try:
            data = json.loads(value) if value.lstrip().startswith("{") else {}
        except (ValueError, RecursionError):
            continue
        for name, set_to in table(table(data).get("env")).items():
            variables[name] = Variable(name, text(set_to), site.spot(at, name))
    return variables


def lacks_token(site: Site) -> bool:
    """Whether the action certainly gets no token of its app, and so ends before its agent starts."""
    if site.run.program != "claude-code-action" or site.input("github_token"):
        return False
    return site.permissions.scopes is not None and site.permissions.level("id-token") != "write"


def _refusable(site: Site, grant: Grant, tool: str) -> Grant:
    """A grant with the line that refuses its tool, and the place for that line."""
    return replace(grant, refusal=without_tool(site, tool), refusal_at=refusal_at(site))


def _of_tool(site: Site, settings: ClaudeSettings, mode: Mode, tool: str) -> Iterator[Grant]:
    """The grants of a tool, each at the rule that allows it."""
    line = _LINES[tool]
    rules = [each for each in RULES.about(settings.rules, tool) if each.decision == "allowed"]
    wholes = [each for each in rules if RULES.whole(each, tool)]
    is_twice = len(wholes) + (mode.decision(line) == "allowed") > 1  # then no line alone takes it away
    narrower = f"write {without_tool(site, tool)}" if is_twice else None
    is_anywhere = bool(wholes) or mode.name == BYPASSES  # a file outside of the checkout too
    shows = tool == _READ and is_anywhere and not has_client(site, HIDES_ENVIRONMENT)
    for grant in settings.grants(line, site.at, mode):
        is_ruled = grant.decision == "allowed" and grant.rule_at is not mode.at
        at = (is_ruled and grant.rule_at) or site.at
        if shows and grant.decision == "allowed":
            grant = replace(grant, capabilities=(*grant.capabilities, _ENVIRONMENT))
        yield _refusable(site, replace(grant, at=at, narrower=narrower, loss=""), tool)


def _unattended(grant: Grant, options: ClaudeOptions) -> Iterator[Grant]:
    """A grant with the decision of an unattended run."""
    if grant.decision == "needs_approval" and options.rest == "needs_approval":
        yield replace(grant, origin="mode auto: a second model decides")
    elif grant.decision == "allowed":
        yield grant


def _bash(
    site: Site, token: TokenPermissions | None, settings: ClaudeSettings, mode: Mode, options: ClaudeOptions
) -> Iterator[Grant]:
    at = site.at
    first = next(iter(settings.grants(_LINES["Bash"], at, mode)))
    rules = RULES.about(settings.rules, "Bash")
    whole = next((rule.at for rule in rules if RULES.whole(rule, "Bash")), None)
    if first.decision == "allowed":
        bypassed = options.mode[1] if options.mode and options.mode[0] == BYPASSES else None
        wholes = [rule for rule in rules if rule.decision == "allowed" and _is_any_command(site, rule)]
        is_twice = len(wholes) + bool(bypassed) > 1  # then no line alone takes it away
        for grant in by_shell(
            site, token, "Bash", bypassed or whole or (options.mode[1] if options.mode else at)
        ):
            is_bash = is_twice and grant.toolset == "Bash"
            yield replace(grant, narrower=f"write {without_tool(site, 'Bash')}") if is_bash else grant
        return
    denied = [rule for rule in rules if rule.decision == "blocked"]
    if any(RULES.whole(rule, "Bash") for rule in denied):
        return
    yield granted("read-only commands", "read-only commands", ("fs.list", "fs.read"), at)
    for rule in rules:
        if rule.decision == "allowed" and rule.tool == "Bash" and not RULES.whole(rule, "Bash"):
            command = f"{_REST.sub('', rule.pattern or '')} "
            if not any(fnmatchcase(command, _REST.sub(" *", other.pattern or "")) for other in denied):
                alike = [each for each in rules if _is_alike(site, each, rule)]
                if alike[0] is not rule:
                    continue
                narrower, its = _without(site, alike)
                for grant in _by_pattern(site, token, rule.pattern or "", rule.at):
                    is_own = narrower and grant.at == rule.at
                    yield replace(grant, narrower=narrower, narrower_at=its) if is_own else grant
    if options.rest == "needs_approval" and first.decision == "needs_approval":
        yield from by_shell(site, token, "Bash", at, "needs_approval")


def _is_any_command(site: Site, rule: PermissionRule) -> bool:
    """Whether a rule about commands is one about all of them, or about one that runs any other."""
    if RULES.whole(rule, "Bash") or rule.pattern is None or is_exact(site, rule.pattern):
        return RULES.whole(rule, "Bash")
    return commands(rule.pattern, asked=_asked(site)) == UNLISTED


def _by_pattern(site: Site, token: TokenPermissions | None, pattern: str, at: Place) -> Iterator[Grant]:
    """The grants of the commands that a rule allows; of all without a pattern."""
    exact = is_exact(site, pattern)
    yield from by_command(site, token, pattern or "*", "Bash", at, asked=_asked(site), is_exact=exact)


def _without(site: Site, rules: Sequence[PermissionRule]) -> tuple[str | None, Place | None]:
    """The edit that takes out several rules, or one with its flag, or refuses what the action itself allows.

    With the place of the flag. None for a single rule that is in a list with others, or in a file.
    """
    if own := next((each for each in rules if is_of_action(site, each)), None):
        return f"write {without_tool(site, own.text)}", None
    if len(rules) == 1:
        flagged = with_its_flag(site, rules[0])
        return (f"take `{flagged[0]}` out", flagged[1]) if flagged else (None, None)
    places = [place(each.at.location) for each in rules]
    names = [f"`{excerpt(each.text, LONGEST)}`" for each in rules]
    if len({*names}) == 1:
        return f"take {names[0]} out at {' and at '.join(places)}", None
    parts = (f"{name} at {at}" for name, at in zip(names, places, strict=True))
    return f"take out {' and '.join(parts)}", None


def _is_alike(site: Site, rule: PermissionRule, other: PermissionRule) -> bool:
    """Whether two rules allow the same commands."""
    same = _REST.sub("", rule.pattern or "") == _REST.sub("", other.pattern or "")
    same = same and is_exact(site, rule.pattern) == is_exact(site, other.pattern)
    return same and (rule.tool, rule.decision) == (other.tool, other.decision)


def _asked(site: Site) -> Collection[str]:
    """The programs of which no rule allows a call that runs another one."""
    return ASKED_PROGRAMS if has_client(site, ASKS_ABOUT_FIND) else ()


def _of_skill(
    site: Site, tree: Checkout, token: TokenPermissions | None, options: ClaudeOptions
) -> Iterator[Grant]:
    """The grants of a command or a skill that the prompt calls: its own file says which tools."""
    prompt = prompt_of(site)
    called = re.match(r"\s*/([A-Za-z][\w:.-]*)", prompt[0]) if prompt else None
    if called is None or prompt is None:
        return
    name = called[1]
    for path in (f".claude/commands/{name.replace(':', '/')}.md", f".claude/skills/{name}/SKILL.md"):
        source, unread = (None, ()) if leaves(path) else tree.read(path) or (None, ())
        parsed = reading.text(source, ("allowed-tools", "description")) if source and not unread else None
        if source is None:
            continue
        listed = parsed.document.data.get("allowed-tools") if parsed else None
        if parsed and listed:
            place = Place(parsed.document, ("allowed-tools",))
            words = ", ".join(map(str, listed)) if isinstance(listed, list) else str(listed)
            for tool in TOOL.findall(words):
                yield from _of_allowed(site, tree, token, options, tool, place)
        return
    yield granted(name, name, [capability_of(name)], prompt[1], is_open=True)


def _of_allowed(
    site: Site, tree: Checkout, token: TokenPermissions | None, options: ClaudeOptions, rule: str, at: Place
) -> Iterator[Grant]:
    tool, _, pattern = rule.partition("(")
    if tool == "Bash":
        yield from _by_pattern(site, token, pattern.rstrip(")"), at)
    elif tool.startswith("mcp__"):
        allowed = PermissionRule(tool, None, "allowed", at)
        yield from grants_of_rule(site, tree, token, options, allowed)
    elif tool in CLAUDE_TOOLS:
        line, what = _LINES[tool], pattern.rstrip(")")
        capabilities = [str(part(each, what) if what else each) for each in line.raised]
        yield granted(tool, tool, capabilities, at, is_open=line.assurance == "open")


def _token(site: Site) -> TokenPermissions | None:
    """The token of the action, by default that of Claude's GitHub App."""
    if site.run.program != "claude-code-action":
        return token_of(site)
    if acts_as_app(site):
        return TokenPermissions(OF_AN_APP, site.place("uses"))
    return token_of(site, "github_token")
