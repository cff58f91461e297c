"""The steps of a workflow: the agents that one runs, its triggers, the permissions of its token, its environment."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from llmdo.base.parts import items, table, text, texts
from llmdo.base.values import dataclass, field, replace
from llmdo.features.github_actions.conditions import demands, guarded, is_about_own_commits, narrowed
from llmdo.foreign.lines import WRITTEN_BY_STRANGERS
from llmdo.foreign.scripts import commands
from llmdo.graph.start import OUTSIDERS, Start, fewer
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.features.github_actions.conditions import Starters
    from llmdo.graph.start import Starter
    from llmdo.syntax.document import Document, Route

CALLED = "workflow_call"
AFTER_A_RUN = "workflow_run"
_BY_MEMBERS = frozenset(
    {
        "assigned", "demilestoned", "labeled", "locked", "milestoned", "pinned", "transferred", "unassigned",
        "unlabeled", "unlocked", "unpinned",
    }
)  # fmt: skip
"""Events of an issue that need a role in the repository."""

SCOPES = (
    "actions", "attestations", "checks", "contents", "deployments", "discussions", "id-token", "issues", "packages",
    "pages", "pull-requests", "security-events", "statuses",
)  # fmt: skip
"""The keys of `permissions`."""
WRITABLE = tuple(scope for scope in SCOPES if scope != "id-token")
"""The scopes that a token can change on GitHub itself."""
_LEVELS = ("none", "read", "write")
_ALL = "*"

_INPUT = re.compile(r"\$\{\{\s*(?:inputs|github\.event\.inputs)\.([\w-]+)\s*\}\}")
_RESULT = re.compile(r"needs\.([\w-]+)\.result\s*(?:!=\s*'skipped'|==\s*'success')")
"""A condition that another job ran."""
_ASKS_STATE = re.compile(r"\b(?:always|cancelled|failure|success)\s*\(\s*\)", re.IGNORECASE)
"""A function in the condition of a job without which it asks for the success of all jobs before."""

_OWN = re.compile(r"(?:\$\{\{\s*github\.(?:repository|event\.repository\.full_name)\s*\}\})?")
"""The repository of a checkout that is the own one."""
_OPENED = ("discussion", "issues", "pull_request_target")
"""Events that an author causes by opening something, which nobody has written anything else into yet."""
_OF_A_CALLER = {
    "comment": "issue_comment", "discussion": "discussion", "issue": "issues", "review": "pull_request_review",
}  # fmt: skip
"""By what a text is of, the event of a caller that the author of that text causes."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """The triggers of a step."""

    events: Mapping[str, Place]
    """Every event of the workflow."""
    starters: Starters
    """The events that pass the conditions so far, with the people who may cause them then."""
    by_members: frozenset[str] = frozenset()
    """The events whose text members alone write."""
    by_authors: frozenset[str] = frozenset()
    """The events that nobody but the author of their text causes."""
    calling: Starters = field(default_factory=dict)
    """The events of unknown callers that pass the conditions so far, with the people who may cause them then."""

    def checked(self, by: Starter) -> Trigger:
        """The trigger of an agent that turns away all but these people: what its author causes is by one of them."""
        known = {
            name
            for name in self.by_authors & self.starters.keys()
            if fewer(self.starters[name], by) not in ("anyone", "perhaps anyone")
        }
        return replace(self, by_members=self.by_members | known)

    def narrowed(self, condition: object) -> Trigger:
        """The trigger behind an `if`."""
        words = written(condition) if isinstance(condition, str | bool) else ""
        is_own = AFTER_A_RUN in self.starters and is_about_own_commits(words, AFTER_A_RUN)
        return replace(
            self,
            starters=narrowed(words, self.starters),
            by_members=self.by_members | {AFTER_A_RUN} if is_own else self.by_members,
            calling=narrowed(words, self.calling),
        )

    def guarded(self, by: Starter) -> Trigger:
        """The trigger behind a check that only these people pass."""
        return replace(self, starters=guarded(self.starters, by))

    def without(self, event: str) -> Trigger:
        """The trigger without one of its events."""
        return replace(self, starters={name: by for name, by in self.starters.items() if name != event})

    def starts(self, by: Starter, unchecked: str = "") -> Iterator[Start]:
        """The starts of an agent that itself turns away all but these people, if the event is not `unchecked`."""
        for event, each in self.starters.items():
            past = "those who may write" if event == CALLED and self._is_by_members_of_callers else each
            yield Start(event, past if event == unchecked else fewer(past, by), self.events[event])

    @property
    def _is_by_members_of_callers(self) -> bool:
        """Whether conditions are about the events of unknown callers, and only members get past them."""
        return 0 < len(self.calling) < len(_OF_A_CALLER) and {*self.calling.values()}.isdisjoint(OUTSIDERS)

    def may_hand_on(self, thing: str) -> bool:
        """Whether an unknown caller hands on what a stranger wrote: a call has the event of its caller.

        Whoever comments on an issue need not be its author: a condition about comments says nothing of that one.
        """
        by = self.calling.get(_OF_A_CALLER.get(thing, ""))
        is_commented_on = thing == "issue" and by is None and "issue_comment" in self.calling
        return CALLED in self.starters and (by in OUTSIDERS or is_commented_on)

    @property
    def hands_on(self) -> bool:
        """Whether an unknown caller hands on anything that a stranger wrote."""
        return any(map(self.may_hand_on, _OF_A_CALLER))

    @property
    def untrusted_names(self) -> frozenset[str]:
        """The events with a stranger's text."""
        return frozenset(name for name, _ in self.untrusted)

    @property
    def untrusted(self) -> Iterator[tuple[str, Place]]:
        """The events with a stranger's text.

        A call is none: callers in the repository are read as such, and what others pass is a person's own choice.
        """
        for name, place in self.events.items():
            if name in self.starters and name in WRITTEN_BY_STRANGERS and name not in self.by_members:
                yield name, place


def trigger_of(document: Document) -> Trigger:
    """The events of a workflow."""
    on = document.data.get("on")
    events: dict[str, Place] = {}
    if isinstance(on, str):
        events[on] = Place(document, ("on",))
    for number, name in enumerate(items(on)):
        events[text(name)] = Place(document, ("on", number))
    for name in table(on):
        events[name] = Place(document, ("on", name), of_key=True)
    by_authors = {name for name in _OPENED if _types(table(on).get(name)) == {"opened"}}
    starters = {name: _starter(name, table(on).get(name)) for name in events}
    calling = {name: _starter(name, {}) for name in _OF_A_CALLER.values()} if CALLED in events else {}
    return Trigger(events, starters, by_authors=frozenset(by_authors), calling=calling)


def _starter(name: str, event: object) -> Starter:
    """The people who may cause an event of a workflow."""
    if name in ("schedule", CALLED):
        return "the owner"
    if name == AFTER_A_RUN:
        return "perhaps anyone"
    is_open = name in WRITTEN_BY_STRANGERS and not _only_by_members(event)
    return "anyone" if is_open else "those who may write"


def _types(event: object) -> set[str]:
    types = table(event).get("types")
    return {types} if isinstance(types, str) else set(map(text, items(types)))


def _only_by_members(event: object) -> bool:
    named = _types(event)
    return bool(named) and named <= _BY_MEMBERS


@dataclass(frozen=True, slots=True)
class TokenPermissions:
    """The permissions of a job's token; if no file names them, the repository's settings do."""

    scopes: Mapping[str, str] | None
    at: Place

    def level(self, scope: str) -> str:
        """`none`, `read` or `write`; `write` for an unknown token."""
        if self.scopes is None:
            return "write"
        return self.scopes.get(scope, self.scopes.get(_ALL, "none"))

    def within(self, caller: TokenPermissions) -> TokenPermissions:
        """The permissions in a called workflow: never more than its caller has."""
        if self.scopes is None or caller.scopes is None:
            return caller if self.scopes is None else self
        least = {scope: min(self.level(scope), caller.level(scope), key=_LEVELS.index) for scope in SCOPES}
        return TokenPermissions(least, self.at)


def permissions_at(document: Document, route: Route) -> TokenPermissions | None:
    """The `permissions` at a place, or None."""
    place = Place(document, (*route, "permissions"), of_key=True)
    value = place.data
    if value is None:
        return None
    if isinstance(value, str):
        level = value.partition("-")[0]
        return TokenPermissions({_ALL: level if level in _LEVELS else "write"}, place)
    levels = {name: text(level) for name, level in table(value).items()}
    return TokenPermissions(
        {name: level if level in _LEVELS else "write" for name, level in levels.items()}, place
    )


@dataclass(frozen=True, slots=True)
class Variable:
    """A line of `env`."""

    name: str
    value: str
    at: Place


def variables_at(document: Document, route: Route) -> Iterator[Variable]:
    """The lines of `env` at a place."""
    for name, value in table(Place(document, (*route, "env")).data).items():
        yield Variable(name, written(value), Place(document, (*route, "env", name), of_key=True))


def inputs_of(declared: object, passed: object, outer: Mapping[str, str]) -> dict[str, str]:
    """The inputs of a called workflow or action, with its defaults."""
    values = {name: each.get("default") for name, each in table(declared).items() if isinstance(each, dict)}
    values.update(table(passed))
    return {
        name: filled(written(value), outer)
        for name, value in values.items()
        if isinstance(value, str | int | bool)
    }


def written(value: object) -> str:
    """A value as an expression has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""


def texts_of_step(step: Mapping[str, object]) -> str:
    """Every text of a step, of its inputs and of its environment; nothing deeper, as aliases may have no end."""
    parts = (step, table(step.get("with")), table(step.get("env")))
    return "\n".join(value for part in parts for value in part.values() if isinstance(value, str))


def filled(words: str, inputs: Mapping[str, str]) -> str:
    """A text with the known inputs put into it."""
    return _INPUT.sub(lambda named: inputs.get(named[1], named[0]), words)


def own_checkout(step: Mapping[str, object]) -> str | None:
    """The folder into which a step checks out the own repository, `.` for the workspace; None if it does not."""
    options = table(step.get("with"))
    repository = text(options.get("repository"))
    if not text(step.get("uses")).startswith("actions/checkout@") or not _OWN.fullmatch(repository.strip()):
        return None
    return posixpath.normpath(text(options.get("path")).strip() or ".")


def in_checkout(path: str, before: Sequence[Mapping[str, object]]) -> str:
    """The path in the repository of one in the workspace, below which steps before may have checked it out."""
    path = posixpath.normpath(path)
    for folder in filter(None, map(own_checkout, reversed(before))):
        if path.startswith(f"{folder}/"):
            return path.removeprefix(f"{folder}/")
    return path


def jobs_before(jobs: Mapping[str, object], name: str) -> Iterable[str]:
    """The jobs that have to end before one can start, nearest first."""
    waiting, seen = [name], {name}
    while waiting:
        needs = table(jobs.get(waiting.pop())).get("needs")
        for other in [needs] if isinstance(needs, str) else texts(needs):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
                yield other


def required_jobs(jobs: Mapping[str, object], name: str) -> Iterable[str]:
    """The jobs without whose success another does not start.

    One that asks for the state of the others starts after those alone whose result it demands: `success()` too is asked
    of all before, but may be one choice of several.
    """
    required: dict[str, None] = {}
    waiting = [name]
    while waiting:
        job = waiting.pop()
        condition = text(table(jobs, job).get("if"))
        parts = [*demands(condition)]
        if _ASKS_STATE.search(condition) and "success()" not in parts:
            asked = [match[1] for match in map(_RESULT.fullmatch, parts) if match and match[1] in jobs]
            waiting.extend(other for other in dict.fromkeys(asked) if other not in required and other != name)
            required.update(dict.fromkeys(asked))
        else:
            required.update(dict.fromkeys(jobs_before(jobs, job)))
    return [job for job in required if job != name]


ACTIONS = {
    "anthropics/claude-code-action": "claude-code-action",
    "anthropics/claude-code-action/base-action": "claude-code-base-action",
    "anthropics/claude-code-base-action": "claude-code-base-action",
    "anomalyco/opencode/github": "opencode",
    "google-gemini/gemini-cli-action": "run-gemini-cli",
    "google-github-actions/run-gemini-cli": "run-gemini-cli",
    "openai/codex-action": "codex-action",
    "sst/opencode/github": "opencode",
}
"""The known actions, and their names here."""
OTHER = "other"

_USES = re.compile(r"(?P<name>[^@\s]+)(?:@(?P<version>\S+))?")
LIKE_AN_AGENT = re.compile(
    r"claude|codex|gemini|copilot-cli|kiro|opencode|cursor-agent|(?<![a-z])ai-agent(?:-action)?$"
)
"""A name as agents have."""
_NO_AGENT = re.compile(r"setup|install|docs?-|usage|mirror|status|version|bump|validate|\.lock\.ya?ml")
"""Names of actions about an agent that run none."""

_KEY = re.compile(
    r"(?:anthropic|claude|codex|copilot|cursor|kiro|opencode)[\w-]*(?:key|token|rule[_-]id)", re.IGNORECASE
)
_COMMON_KEY = re.compile(r"(?:gemini|openai|openrouter)[\w-]*(?:key|token)", re.IGNORECASE)
"""An input for the key of models that many actions ask for a text alone: one of an agent only by the action's name."""
_CALLED_AGENT = re.compile(r"(?:^|[_-])agent(?:$|[_-])")

PROGRAMS = {
    "@anthropic-ai/claude-code": "claude", "@github/copilot": "copilot", "@google/gemini-cli": "gemini",
    "@openai/codex": "codex", "opencode-ai": "opencode",
}  # fmt: skip
"""The programs of packages that `npx` runs."""
_NOT_A_RUN = frozenset({"--help", "--version", "-V", "-h", "-v"})
_COMMANDS_OF_GEMINI = frozenset({"extensions", "hooks", "mcp", "skills", "update"})


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One agent that a step runs."""

    program: str
    words: tuple[str, ...] = ()
    """The words of the command, the program first; none for an action."""
    version: str = ""
    """Of the action."""
    key: str = "uses"
    """The key of the step that runs it."""


def agents_in(step: Mapping[str, object], inputs: Mapping[str, str]) -> Iterator[AgentRun]:
    """The agents that a step runs; for a workflow that a job calls, judged by its name."""
    if uses := _USES.fullmatch(filled(text(step.get("uses")), inputs).strip()):
        name, version = uses["name"], uses["version"] or ""
        if known := ACTIONS.get(name.lower()):
            yield AgentRun(known, version=version)
        elif _may_be_an_agent(name, step):
            yield AgentRun(OTHER, (name,), version)
    script = step.get("run")
    if isinstance(script, str) and LIKE_AN_AGENT.search(script.replace("copilot", "copilot-cli")):
        seen = set()
        for words in commands(filled(script, inputs)):
            package = words[0].rpartition("@")[0] if words[0].rfind("@") > 0 else words[0]
            program = PROGRAMS.get(package, words[0].rpartition("/")[2])
            run = AgentRun(program, words, key="run")
            if _runs_an_agent(program, words[1:]) and run not in seen:
                seen.add(run)
                yield run


def _may_be_an_agent(name: str, step: Mapping[str, object]) -> bool:
    """Whether an unknown action is an agent by its name, or has the key of a model that agents run on."""
    called = name.rpartition("/")[2]
    if "docker://" in name or _NO_AGENT.search(called):
        return False
    if LIKE_AN_AGENT.search(called):
        return True
    inputs = table(step.get("with"))
    is_called_one = _CALLED_AGENT.search(called) is not None
    return any(_KEY.fullmatch(key) or (is_called_one and _COMMON_KEY.fullmatch(key)) for key in inputs)


def _runs_an_agent(program: str, words: tuple[str, ...]) -> bool:
    """Whether a command starts an unattended agent."""
    flags = set(words)
    if program == "claude":
        return bool(flags & {"-p", "--print"})
    if program == "codex":
        return bool({"exec", "e"} & set(words[:6])) or bool(flags & {"-q", "--quiet"})
    if program == "gemini":
        return not flags & _NOT_A_RUN and not set(words[:1]) & _COMMANDS_OF_GEMINI
    if program == "copilot":
        return bool(flags & {"-p", "--prompt", "--prompt-file"}) or any(
            word.startswith("--prompt=") for word in words
        )
    if program == "opencode":
        return words[:1] == ("run",) or words[:2] == ("github", "run")
    if program == "cursor-agent":
        return not flags & _NOT_A_RUN and words[:1] not in (
            (),
            ("login",),
            ("status",),
            ("update",),
            ("mcp",),
        )
    return False
