"""Workflows of GitHub: every step that runs an agent is an agent that nobody is asked about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.parts import table, text
from llmdo.base.source import Location
from llmdo.base.values import replace
from llmdo.features.github_actions import FILES, opencode_settings
from llmdo.features.github_actions.bare_jobs import is_bare
from llmdo.features.github_actions.checkout import checkout_at
from llmdo.features.github_actions.claude_code import (
    SECOND_MODEL,
    STARTS_ONCE,
    claude_grants,
    claude_problems,
    is_unchecked_after_a_run,
    lacks_token,
    scrubs_by_itself,
    shows_environment,
    starters_of_action,
    without_checkout,
)
from llmdo.features.github_actions.claude_options import inputs_too_new, prompt_of, reads_event
from llmdo.features.github_actions.copilot_runs import copilot_grants
from llmdo.features.github_actions.firewall import FIREWALL, behind, firewall_of, gateway_grants
from llmdo.features.github_actions.gemini_runs import (
    broken_settings,
    former_keys,
    gemini_grants,
    gemini_narrower,
    gemini_starts,
    unread_settings,
)
from llmdo.features.github_actions.gemini_trust import without_trust
from llmdo.features.github_actions.looked_up import looked_up_grants
from llmdo.features.github_actions.other_agents import (
    codex_grants,
    codex_is_free,
    cursor_grants,
    is_its_action,
    is_told_to_allow,
    opencode_grants,
    unread_agent,
    without_by_itself,
)
from llmdo.features.github_actions.quoted_documents import behind_document
from llmdo.features.github_actions.reacting import without_reaction
from llmdo.features.github_actions.refusing import refused_conditions
from llmdo.features.github_actions.removed_inputs import without_mentions, without_prompt
from llmdo.features.github_actions.table import LINES
from llmdo.features.github_actions.tokens import acts_as_app, granted, pushes_later, without_contents
from llmdo.features.github_actions.walking import WorkflowWalk
from llmdo.features.github_actions.workflow import AFTER_A_RUN, CALLED, OTHER, filled
from llmdo.foreign.compiled import is_covered
from llmdo.foreign.edits import names_text
from llmdo.foreign.events import models_addresses
from llmdo.foreign.team import MAX_NAME, Agent, Team, capability_of
from llmdo.foreign.tree import few

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.features.github_actions.checkout import Checkout
    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree
    from llmdo.graph.start import Starter
    from llmdo.syntax.document import Place

_WORKFLOW_ON_GITHUB = re.compile(r"[\w.-]+/[\w.-]+/(?P<path>\.github/workflows/[\w.-]+\.ya?ml)@\S+")

_NO_EFFECT = "whatever others write then has no effect"
_SCRUB = "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB"
"""The variable by which Claude Code keeps the keys of models and clouds from its commands."""
_TALKS = frozenset(
    {"x.github.discussions-write", "x.github.issues-write", "x.github.pull-requests-write", "x.github.read"}
)
"""What a token may do and still be no key: whoever starts the agent can have it do all of this."""
_RUNS_AN_AGENT = re.compile(
    r"uses\s*:\s*['\"]?(?:anthropics/claude-code|openai/codex-action|google-\S+/run-gemini-cli)"
    r"|\bclaude (?:-p|--print)\b|\bcodex exec\b|\bgemini (?:-\w|--\w)|\bcopilot (?:-p|--\w)|\bopencode run\b"
)
"""Signs that a file of invalid YAML runs an agent."""
_STRANGERS = re.compile(
    r"\$\{\{[^}]*github\.(?:event\.(?:issue|pull_request|comment|review|discussion)\.(?:title|body)\b"
    r"|event\.pull_request\.head\.(?:ref|label)\b|head_ref\b|event\.workflow_run\.head_branch\b)[^}]*\}\}"
)
"""An expression that puts a stranger's text into a script."""
_OF_AN_EVENT = re.compile(
    r"\$\{\{[^}]*github\.event\.(comment|discussion|issue|review)\.(?:body|title)\b[^}]*\}\}"
)
"""An expression for the text of an event at which a workflow has its secrets, whoever wrote it."""
_OF_A_PULL_REQUEST = re.compile(
    r"pull_request\.head|head_ref|refs/pull/|workflow_run\.head|head_sha|head_branch"
)
_ITS_COMMIT = re.compile(r"pull_request\.head\.sha|refs/pull/|workflow_run\.head_(?:sha|commit)|head_sha")
"""The commit of a pull request; a name of its branch is one of this repository, unless another one is named."""


def read(tree: Tree) -> Team:
    """The agents in the workflows of a repository."""
    paths, problems = few(*tree.find(FILES))
    problems_so_far = list(problems)
    sources: dict[str, Source] = {}
    compiled: list[str] = []
    for path in paths:
        source, unread = tree.read(path) or (None, ())
        problems_so_far.extend(unread)
        if source is None or unread:
            continue
        if is_covered(source, tree):
            compiled.append(path)
        else:
            sources[path] = source
    if compiled:
        problems_so_far.append(_covered(compiled))
    walk = WorkflowWalk(tree, sources, problems_so_far)
    agents: list[Agent] = []
    for site in walk.sites():
        checkout = checkout_at(site, tree)
        ends = (
            without_mentions(site)
            or without_checkout(site)
            or without_prompt(site)
            or without_reaction(site)
            or opencode_settings.refused(site, checkout)
        )
        if ends is not None:
            problems_so_far.append(ends)
        else:
            agents.append(_agent(site, checkout, problems_so_far))
    problems_so_far.extend(_unread(walk, sources))
    for path in filter(sources.__contains__, walk.files):
        if document := walk.documents.get(path):
            problems_so_far.extend(refused_conditions(document))
    return Team(
        format="github-actions",
        agents=tuple(agents),
        files=tuple(sorted(walk.files)),
        problems=tuple(dict.fromkeys(problems_so_far)),
        starts="allowed",
        max_depth=1,
    )


def _covered(paths: list[str]) -> Diagnostic:
    number = f"this workflow and {len(paths) - 1} more were" if len(paths) > 1 else "this workflow was"
    message = f"{number} compiled by gh-aw, so the `.md` of the same name is read instead"
    return finding("LDO154", Location(paths[0]), message)


def _unread(walk: WorkflowWalk, sources: dict[str, Source]) -> Iterator[Diagnostic]:
    """The errors of unreadable files that run agents."""
    for path, document in walk.documents.items():
        if document and document.problems and document.source.path not in walk.files:
            source = sources.get(path)
            if source and _RUNS_AN_AGENT.search(source.text):
                yield from document.problems


def _agent(site: Site, tree: Checkout, problems: list[Diagnostic]) -> Agent:
    problems.extend(_problems(site, tree))
    unchecked = AFTER_A_RUN if is_unchecked_after_a_run(site) else ""
    firewall = firewall_of(site)
    if firewall:
        shown = {name: each for name, each in site.variables.items() if name not in firewall.hidden}
        site = replace(site, variables=shown)
    grants, inherits, by = _reached(site, tree)
    site = replace(site, trigger=site.trigger.checked(by))
    if firewall:
        grants = (*behind(firewall, grants), *gateway_grants(site))
    prompt = prompt_of(site)
    addresses = models_addresses((each.name, each.value, each.at) for each in site.variables.values())
    return Agent(
        name=site.name,
        at=site.place(site.run.key, of_key=True),
        path=site.document.source.path,
        prompt=prompt[0] if prompt else "",
        header={
            **{key: value for key, value in site.step.items() if isinstance(value, str)},
            **site.governing,
        },
        description=text(site.step.get("name")) or text(site.document.data.get("name")) or None,
        grants=(*_of_trigger(site), *grants),
        events=(*addresses, *gemini_starts(site, tree)),
        in_checkout=True,
        hides_secrets=_hides_secrets(site, grants),
        permissions={"deny": withheld} if (withheld := tuple(_withheld(site))) else {},
        inherits=inherits,
        but=without_by_itself(site, tree) if inherits and site.run.program == "opencode" else (),
        asks=SECOND_MODEL,
        narrower=_narrower(site, tree),
        sandbox=FIREWALL if firewall else None,
        as_app=acts_as_app(site),
        without_push=without_contents(site),
        condition=STARTS_ONCE if lacks_token(site) else "",
        stops_with_it="the later step that pushes fails" if pushes_later(site) else "",
        starts=tuple(sorted(site.trigger.starts(by, unchecked), key=lambda start: start.event)),
    )


def _narrower(site: Site, tree: Checkout) -> str:
    """The hint for an agent with every tool."""
    if site.run.program in ("gemini", "run-gemini-cli"):
        return gemini_narrower(site, tree)
    return (
        opencode_settings.narrower_at(site, tree)
        if site.run.program == "opencode"
        else "name the tools that it needs"
    )


def _withheld(site: Site) -> Iterator[str]:
    """What its options keep from it, or it from starting, where no row shows that."""
    if _is_scrubbed(site):
        yield f"env {_SCRUB}"
    if lacks_token(site):
        yield "start without github_token and id-token"


def _hides_secrets(site: Site, grants: Collection[Grant]) -> bool:
    """Whether Claude Code keeps keys from its commands, the token that they get is none, and no tool shows them all.

    The same holds of a job without any.
    """
    if is_bare(site):
        return True
    if any(shows_environment(each) for each in grants):
        return False
    names = {each.name for grant in grants for each in grant.capabilities}
    return _is_scrubbed(site) and all(name in _TALKS for name in names if name.startswith("x.github."))


def _is_scrubbed(site: Site) -> bool:
    """Whether Claude Code keeps keys from its commands: told to, or by its action where strangers start it."""
    variable = site.variables.get(_SCRUB)
    if variable and variable.value.strip():
        return variable.value.strip().lower() in ("1", "true")
    return scrubs_by_itself(site)


def _reached(site: Site, tree: Checkout) -> tuple[tuple[Grant, ...], bool, Starter]:
    """The tools of an agent, whether it has them all, and the people whom its own check lets in."""
    program = site.run.program
    if program == "claude-code-action":
        return tuple(claude_grants(site, tree)), False, starters_of_action(site)
    if program in ("claude", "claude-code-base-action"):
        return tuple(claude_grants(site, tree)), False, "anyone"
    if program == "codex-action":
        users = site.input("allow-users")
        is_open = users is not None and users[0].strip() == "*"
        return tuple(codex_grants(site, tree)), False, "anyone" if is_open else "those who may write"
    if program == "codex":
        return tuple(codex_grants(site, tree)), False, "anyone"
    if program in ("gemini", "run-gemini-cli"):
        return *gemini_grants(site, tree), "anyone"
    if program == "copilot":
        return tuple(copilot_grants(site)), False, "anyone"
    if program == "opencode":
        return *opencode_grants(site, tree), "those who may write" if is_its_action(site) else "anyone"
    if program == "cursor-agent":
        return tuple(cursor_grants(site)), False, "anyone"
    name = site.run.words[0].rpartition("/")[2] if site.run.words else program
    capability = capability_of(name.partition(".")[0])
    return (granted(name, name, [capability], site.place("uses"), is_open=True),), False, "perhaps anyone"


def _of_trigger(site: Site) -> Iterator[Grant]:
    """The grants by which a stranger's text comes in."""
    for name, at in site.trigger.untrusted:
        narrower = "let an `if` say who may start it and whose text it reads"
        capabilities = LINES["on.EVENT"].capabilities
        yield granted(f"on.{name}", name, capabilities, at, narrower=narrower, loss=_NO_EFFECT)
    yield from looked_up_grants(site)
    if not site.trigger.untrusted_names:
        yield from _of_a_call(site)
        return
    script = text(site.step.get("run"))
    if expressions := list(dict.fromkeys(each[0] for each in _STRANGERS.finditer(script))):
        line = LINES["run: ${{ TEXT OF A STRANGER }}"]
        yield granted(
            f"run: {excerpt(expressions[0], 60)}",
            "run",
            line.capabilities,
            site.place("run"),
            is_open=True,
            narrower=f"pass {names_text(expressions)} by `env`{behind_document(script, expressions)}",
            loss="the text is then no part of the script",
        )
    for step in site.before:
        options = table(step.get("with"))
        pattern = _OF_A_PULL_REQUEST if "repository" in options else _ITS_COMMIT
        is_strange = pattern.search(text(options.get("ref")))
        if text(step.get("uses")).startswith("actions/checkout@") and is_strange:
            line = LINES["checkout of a pull request"]
            yield granted("checkout", "checkout", line.capabilities, site.place(site.run.key))


def _of_a_call(site: Site) -> Iterator[Grant]:
    """The text of the event of whoever calls a workflow, if the step, its environment or the action itself gives it."""
    at = _carried_at(site)
    if at is None:
        return
    narrower = "let an `if` say who may start it and whose text it reads"
    capabilities = LINES["on.workflow_call"].capabilities
    grant = granted(f"on.{CALLED}", CALLED, capabilities, at, narrower=narrower, loss=_NO_EFFECT)
    yield replace(grant, narrower_at=site.trigger.events[CALLED])


def _carried_at(site: Site) -> Place | None:
    """The place that gives an agent the text of its caller's event; None if nothing does."""
    for at, words in _lines_of(site):
        for each in _OF_AN_EVENT.finditer(filled(words, site.inputs)):
            if site.trigger.may_hand_on(each[1]):
                return site.spot(at, each[0])
    return site.place("uses") if reads_event(site) and site.trigger.hands_on else None


def _lines_of(site: Site) -> Iterator[tuple[Place, str]]:
    """The texts by which a step is told something, with their places: of its own lines, then of its environment."""
    ignored = inputs_too_new(site)
    for route in ((), ("with",), ("env",)):
        at = site.place(*route)
        for key, value in table(at.data).items():
            if isinstance(value, str) and key != "if" and not (route == ("with",) and key in ignored):
                yield site.place(*route, key), value
    for variable in site.variables.values():
        yield variable.at, variable.value


def _problems(site: Site, tree: Checkout) -> Iterator[Diagnostic]:
    program = site.run.program
    if program in ("claude", "claude-code-action", "claude-code-base-action"):
        yield from claude_problems(site, tree)
    if program in ("codex", "codex-action") and (at := codex_is_free(site, tree)):
        message = "the sandbox of Codex is switched off here, so no command is refused"
        yield finding("LDO554", at.location, message, hint="`workspace-write` lets it change the checkout")
    if at := broken_settings(site):
        yield finding("LDO153", at.location, "`settings` is no JSON, so Gemini CLI does not start")
    elif (untrusted := without_trust(site)) is not None:
        yield untrusted
    yield from former_keys(site)
    if unread := unread_settings(site, tree):
        message = f"`{unread[0]}` cannot be read here, so which tools Gemini CLI has is not known"
        yield finding("LDO154", unread[1].location, message)
    if (flag := is_told_to_allow(site)) and not firewall_of(site):  # a lock confines by its firewall instead
        at = site.place("run")
        at = site.spot(at, flag) if flag.startswith("--") else at
        yield finding("LDO554", at.location, f"`{flag}` allows every tool here, so none is refused")
    permission = site.variables.get(opencode_settings.PERMISSION) if program == "opencode" else None
    if permission and permission.value.strip() and not opencode_settings.settings_in(site, permission.name):
        message = f"`{permission.name}` is no table of JSON, so opencode skips it"
        allows = permission.value.strip().strip('"') == "allow"
        hint = None if allows else "what it forbids is then allowed"
        yield finding("LDO151", permission.at.location, message, hint=hint)
    if program == "opencode":
        yield from opencode_settings.without_effect(site, tree)
    if program == "opencode" and (at := unread_agent(site)):
        message = "opencode's action does not read which agent it is given, and runs the default one"
        hint = "`default_agent` in `opencode.json` counts, if that is a primary agent"
        yield finding("LDO151", at.location, message, hint=hint)
    if program == OTHER:
        name = excerpt(site.run.words[0], MAX_NAME)
        where = "is not among these files" if name.startswith("./") else "is fetched from GitHub"
        message = f"`{name}` {where}, so what its agent can do is not known"
        if name.startswith("./") and name.endswith((".yml", ".yaml")):
            message = f"`{name}` {where}, so GitHub refuses this workflow and none of its jobs runs"
        yield finding("LDO250", site.place("uses").location, message, hint=_own_hint(site, tree))


def _own_hint(site: Site, tree: Tree) -> str | None:
    """The hint for a workflow that is fetched from GitHub although one of its path stands here; None without one."""
    uses = text(site.step.get("uses"))
    named = _WORKFLOW_ON_GITHUB.fullmatch(uses)
    if named is None or tree.read(named["path"]) is None:
        return None
    change = f"write `./{named['path']}` in place of `{uses}`"
    return f"{change}; if this is its repository, it is then read as it stands here"
