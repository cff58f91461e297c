"""The capabilities of a token on GitHub, by the commands and tools of the agent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import place
from llmdo.base.parts import items, table, text
from llmdo.features.github_actions.table import SENDS
from llmdo.features.github_actions.workflow import WRITABLE, TokenPermissions, filled, written
from llmdo.foreign.commands import commands, requests, saves
from llmdo.foreign.gh import shown_by_gh
from llmdo.foreign.lines import READS_GITHUB
from llmdo.foreign.team import Grant
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from llmdo.features.github_actions.walking import Site
    from llmdo.policy.vocabulary import Decision

ORIGIN = "the workflow runs unattended"
ANYTHING = "x.github.any"
"""The capability of a token with unknown permissions."""

OF_AN_APP = {"contents": "write", "issues": "write", "pull-requests": "write"}
"""The permissions of the token of the GitHub App of Claude or of opencode, whatever the job says."""

_OF_THE_JOB = re.compile(r"\$\{\{\s*(?:secrets\.GITHUB_TOKEN|github\.token|env\.GITHUB_TOKEN)\s*\}\}")
_OF_A_STEP = re.compile(r"\$\{\{\s*steps\.(?P<id>[\w-]+)\.outputs\.token\s*\}\}")
_PUSHES = re.compile(r"\bgit\b[^\n;&|]{0,200}?\spush\b|\bgh\s+release\s+(?:create|edit|upload)\b")
_PUSHING = re.compile(
    r"/(?:action-gh-release|actions-gh-pages|add-and-commit|create-pull-request|git-auto-commit-action"
    r"|github-pages-deploy-action|github-push-action)@",
    re.IGNORECASE,
)
"""Actions that write to the repository, with the token of the job unless they get another one."""
_MAKES_TOKENS = "actions/create-github-app-token@"
_PERMISSION = "permission-"
_OF_CONTENTS = f"{_PERMISSION}contents"
_NOT_KEPT = "persist-credentials: false"
_CARRIERS = ("GH_TOKEN", "GITHUB_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN", "GH_PAT", "COPILOT_GITHUB_TOKEN")
_SECRET = re.compile(r"\bsecrets\.([\w-]+)")
_FOR_THE_MODEL = re.compile(
    r"ANTHROPIC|CLAUDE|OPENAI|CODEX|GEMINI|GOOGLE_API|CURSOR|COPILOT|OPENCODE|GITHUB_TOKEN|GH_TOKEN"
)
"""Secrets that an agent needs to run."""

_READING = frozenset(
    {
        "cat", "cut", "diff", "git blame", "git branch", "git diff", "git grep", "git log", "git ls-files",
        "git rev-parse", "git show", "git status", "grep", "head", "jq", "ls", "pwd", "rg", "tail", "tree", "wc",
    }
)  # fmt: skip
"""Commands that show files, and have no way to send them."""
_OF_GH: dict[str, tuple[str, ...]] = {
    "issue": ("issues",), "label": ("issues",), "pr": ("pull-requests", "contents"), "release": ("contents",),
    "run": ("actions",), "workflow": ("actions",), "repo": ("contents",), "cache": ("actions",),
}  # fmt: skip
_MAY_SHOW = re.compile(r"\*|\$\{?[A-Za-z_]|\$\(|`|^\s*\w+\s*$")
"""A part of a rule about `echo` by which it may show a variable; an exact text with `$?` shows none."""
_REQUESTS_OF_GH = "api"
_OF_GH_WRITES = frozenset(
    {
        "cancel", "close", "comment", "create", "delete", "disable", "edit", "enable", "lock", "merge", "pin", "ready",
        "rename", "reopen", "rerun", "review", "transfer", "unlock", "unpin", "upload",
    }
)  # fmt: skip
"""Verbs that show nothing of what others wrote."""
_OF_GH_WITHOUT_CONTENTS = frozenset(
    {"close", "comment", "create", "edit", "lock", "ready", "reopen", "review"}
)


def token_of(site: Site, *inputs: str) -> TokenPermissions | None:
    """The token that a step passes to its agent, or None."""
    if token := site.input(*inputs) if inputs else None:
        return _token(*token, site)
    for name in _CARRIERS:
        if carried := token_in(site, name):
            return carried
    for step in site.before:
        uses, options = text(step.get("uses")), table(step.get("with"))
        if (
            uses.startswith("actions/checkout@")
            and written(options.get("persist-credentials")).lower() != "false"
        ):
            if not _of_its_own(options.get("token"), site):
                return TokenPermissions({"contents": site.permissions.level("contents")}, site.permissions.at)
            at = _place_before(site, step, "token")
            return TokenPermissions({"contents": "write"}, at or site.permissions.at)
    return None


def token_in(site: Site, name: str) -> TokenPermissions | None:
    """The token in a variable of a step, or None."""
    variable = site.variables.get(name)
    return _token(variable.value, variable.at, site) if variable and variable.value.strip() else None


def without_contents(site: Site) -> str:
    """The change after which another token than that of the job no longer pushes; empty for that of the job."""
    token = token_of(site, *(("github_token",) if site.run.program == "claude-code-action" else ()))
    if token is None or token.at == site.permissions.at:
        return ""
    for step in site.before:
        options, uses = table(step.get("with")), text(step.get("uses"))
        checked_out = _place_before(site, step, "token") if uses.startswith("actions/checkout@") else None
        if checked_out and checked_out == token.at:
            return f"write `{_NOT_KEPT}` under `with` ({place(checked_out.location)})"
        at = _place_before(site, step, _OF_CONTENTS)
        is_meant = uses.startswith(_MAKES_TOKENS) and f"steps.{step.get('id')}.outputs.token" in text(
            token.at.data
        )
        if at and is_meant and options.get(_OF_CONTENTS):
            return f"write `{_OF_CONTENTS}: read` ({place(at.location)})"
    return ""


def _place_before(site: Site, step: Mapping[str, object], key: str) -> Place | None:
    """The place of an input of an earlier step of the same list; None for one elsewhere."""
    steps = Place(site.document, site.route[:-1]).data
    number = next((number for number, each in enumerate(items(steps)) if each is step), None)
    return (
        None if number is None else Place(site.document, (*site.route[:-1], number, "with", key), of_key=True)
    )


def acts_as_app(site: Site) -> bool:
    """Whether an action acts as the GitHub App of Claude or of opencode, and not by a token that its step has."""
    if site.run.program == "claude-code-action":
        return site.input("github_token") is None
    given = site.input("use_github_token") or ("false", site.at)
    return site.run.program == "opencode" and site.run.key == "uses" and given[0] != "true"


def pushes_later(site: Site) -> bool:
    """Whether a later step of the same job pushes, as far as it shows, with the token of the job."""
    if site.route[:1] != ("jobs",) or not isinstance(number := site.route[-1], int):
        return False
    for step in items(Place(site.document, site.route[:-1]).data)[number + 1 :]:
        options = table(step, "with")
        is_other = any(_of_its_own(options.get(key), site) for key in ("token", "github_token"))
        pushes = _PUSHES.search(text(table(step).get("run"))) or _PUSHING.search(
            text(table(step).get("uses"))
        )
        if pushes and not is_other:
            return True
    return False


def _of_its_own(token: object, site: Site) -> bool:
    """Whether a step is given another token than that of its job."""
    value = filled(written(token), site.inputs).strip()
    return bool(value) and not _OF_THE_JOB.fullmatch(value)


def _token(value: str, at: Place, site: Site) -> TokenPermissions:
    value = value.strip()
    if _OF_THE_JOB.fullmatch(value):
        return site.permissions
    made = _OF_A_STEP.fullmatch(value)
    for step in site.before if made else ():
        if made and step.get("id") == made["id"] and text(step.get("uses")).startswith(_MAKES_TOKENS):
            return TokenPermissions(_asked_for(table(step.get("with"))), at)
    return TokenPermissions(None, at)


def _asked_for(options: Mapping[str, object]) -> Mapping[str, str] | None:
    """The permissions that a token of an app is made with; None if it has all of the app."""
    scopes = {
        key.removeprefix(_PERMISSION): written(level)
        for key, level in options.items()
        if key.startswith(_PERMISSION)
    }
    return scopes or None


def granted(
    toolset: str,
    tool: str,
    capabilities: Iterable[str],
    at: Place,
    decision: Decision = "allowed",
    *,
    is_open: bool = False,
    narrower: str | None = None,
    loss: str = "",
) -> Grant:
    """A tool of an agent in an unattended run."""
    return Grant(
        toolset=toolset,
        tool=tool,
        capabilities=tuple(map(Capability.parse, dict.fromkeys(capabilities))),
        decision=decision,
        origin=ORIGIN,
        at=at,
        is_open=is_open,
        narrower=narrower,
        loss=loss,
    )


def writes(token: TokenPermissions | None, *scopes: str) -> tuple[str, ...]:
    """The capabilities of a call that changes one of these on GitHub; none if the token may not."""
    if token is None:
        return ()
    if token.scopes is None:
        return (SENDS, ANYTHING)
    able = [f"x.github.{scope}-write" for scope in scopes if token.level(scope) == "write"]
    return (SENDS, *able) if able else ()


def by_shell(
    site: Site, token: TokenPermissions | None, toolset: str, at: Place, decision: Decision = "allowed"
) -> Iterator[Grant]:
    """The grants of an agent that may run any command: with the token and the secrets in its environment."""
    yield granted(toolset, toolset, [str(UNLISTED)], at, decision, is_open=True)
    if token is not None:
        # A checkout keeps all of the job's token, of which git needs a part.
        token = site.permissions if token.at == site.permissions.at else token
        reached = ("x.github.read", *writes(token, *WRITABLE))
        yield granted(
            "token",
            "token",
            reached,
            token.at,
            decision,
            narrower="give the token fewer `permissions`",
            loss="it then changes less on `github.com`",
        )
    for variable in site.variables.values():
        named = _SECRET.search(variable.value)
        if named and not _FOR_THE_MODEL.search(f"{variable.name} {named[1]}"):
            yield granted("env", variable.name, ("secret.read",), variable.at, decision)


def by_command(
    site: Site,
    token: TokenPermissions | None,
    pattern: str,
    toolset: str,
    at: Place,
    decision: Decision = "allowed",
    asked: Collection[str] = (),
    *,
    is_exact: bool = False,
) -> Iterator[Grant]:
    """The grants of an agent that may run the commands that begin with `pattern`; `asked` as of `commands`.

    `is_exact`: the one command that `pattern` is, with each `*` in it.
    """
    tool = f"{toolset}({pattern.strip()})"
    if not is_exact and commands(pattern, is_prefix=not pattern.strip(), asked=asked) == UNLISTED:
        yield from by_shell(site, token, tool if pattern.strip(" *") else toolset, at, decision)
        return
    words = [word for word in re.sub(r"(?::\*|\*)\s*$", "", pattern).split() if not word.startswith("-")]
    capabilities = _of_command(words, token)
    if words[:1] in (["echo"], ["printf"]) and not _MAY_SHOW.search(pattern):
        capabilities = ("proc.exec",)
    if not is_exact and (sent := requests(pattern, is_prefix=not pattern.strip())):
        capabilities = (
            *capabilities,
            "env.read",
            *map(str, sent),
        )  # of its own process a program sends any file
    if not is_exact:
        capabilities = (*capabilities, *map(str, saves(pattern)))
    if capabilities:
        yield granted(tool, tool, capabilities, at, decision, is_open="proc.exec" in capabilities)


def _of_command(words: list[str], token: TokenPermissions | None) -> tuple[str, ...]:
    program = words[0].rpartition("/")[2] if words else ""
    if program == "gh":
        return _of_gh(words[1:], token)
    if words[:2] == ["git", "push"] or program == "git-push.sh":
        return ("proc.exec", *writes(token, "contents"))
    if program in ("echo", "printenv", "printf"):
        return ("env.read",)
    if program in _READING or " ".join(words[:2]) in _READING:
        return ("fs.read",)
    return ("proc.exec",)


def _of_gh(words: list[str], token: TokenPermissions | None) -> tuple[str, ...]:
    """The capabilities of a command of GitHub's own program: it reads, or changes the object of its noun."""
    noun, verb = (*words, "", "")[:2]
    shown = shown_by_gh(noun, verb)
    if shown and noun != _REQUESTS_OF_GH and (verb or noun not in _OF_GH):
        return shown
    if noun not in _OF_GH:
        return (*READS_GITHUB, *writes(token, *WRITABLE))
    scopes = _OF_GH[noun]
    if noun == "pr" and verb in _OF_GH_WITHOUT_CONTENTS:
        scopes = ("pull-requests", "issues")
    without = ("proc.exec",) if verb in _OF_GH_WRITES else shown_by_gh(noun)
    return (*shown, *(writes(token, *scopes) or without))


_READERS = re.compile(r"(?:get|list|search|download)_|\w+_read$")
_ABOUT = (
    ("merge_pull", ("contents", "pull-requests")), ("pull_request", ("pull-requests",)),
    ("review", ("pull-requests",)), ("issue", ("issues",)), ("label", ("issues",)), ("comment", ("issues",)),
    ("workflow", ("actions",)), ("discussion", ("discussions",)),
)  # fmt: skip
_FOR_FILES = re.compile(r"file|branch|commit|push|repository|release|fork")


def by_github_tool(tool: str, token: TokenPermissions | None) -> tuple[str, ...]:
    """The capabilities of a tool of GitHub's own MCP server, by its name; without a name, of all of them."""
    if _READERS.match(tool):
        return READS_GITHUB
    if token is None:
        return READS_GITHUB
    scopes = next((about for word, about in _ABOUT if word in tool), ())
    if not scopes and _FOR_FILES.search(tool):
        scopes = ("contents",)
    if scopes:
        return writes(token, *scopes) or READS_GITHUB
    return (*READS_GITHUB, *writes(token, *WRITABLE))
