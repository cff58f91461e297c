"""From workflows to the steps that run an agent, over the workflows and actions of the repository that they use."""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt_of_end, finding
from llmdo.base.parts import items, table, text, texts
from llmdo.base.values import dataclass, field, replace
from llmdo.features.github_actions.broken import as_refused
from llmdo.features.github_actions.kiro_runs import unread_run
from llmdo.features.github_actions.renamed import is_renamed, renamed_in
from llmdo.features.github_actions.script_outputs import past_scripts
from llmdo.features.github_actions.spots import spot_in
from llmdo.features.github_actions.step_checks import people_past
from llmdo.features.github_actions.unknown_programs import (
    KeysOfJobs,
    filled_in,
    key_of_model,
    unknown_note,
    unknown_program,
)
from llmdo.features.github_actions.workflow import (
    AFTER_A_RUN,
    CALLED,
    TokenPermissions,
    Trigger,
    Variable,
    agents_in,
    filled,
    in_checkout,
    inputs_of,
    jobs_before,
    permissions_at,
    required_jobs,
    trigger_of,
    variables_at,
    written,
)
from llmdo.foreign import reading
from llmdo.foreign.team import MAX_NAME
from llmdo.foreign.tree import undecoded
from llmdo.graph.start import OUTSIDERS, fewer
from llmdo.syntax.discovery import MAX_FILE, leaves
from llmdo.syntax.document import Document, Place
from llmdo.syntax.header import YamlBounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.features.github_actions.workflow import AgentRun
    from llmdo.foreign.tree import Tree
    from llmdo.graph.start import Starter
    from llmdo.syntax.document import Route

MAX_SITES = 1_000  # steps: workflows that call each other could be made to have millions
MAX_VISITS = 20_000  # jobs and steps, for the same reason
MAX_CALLS = 10  # levels: GitHub allows four of workflows and ten of actions

BOUNDS = YamlBounds(MAX_FILE, 50_000)
"""The limits on a workflow: gh-aw compiles some of more than 100 KiB."""

RUNNER = "ubuntu-latest"
_HOSTED = re.compile(r"(?:ubuntu|macos|windows)-[\w.-]+")
"""The machines of GitHub."""

_FOR_STARTERS = ("allow-users", "allowed_bots", "allowed_non_write_users", "trigger_phrase")
"""Inputs of actions by which they choose who starts them."""

_SWITCH = re.compile(
    r"(?:CLAUDE|CODEX|COPILOT|CURSOR|GEMINI|OPENCODE)_(?!.*(?:KEY|TOKEN)$)|IS_SANDBOX$|NODE_TLS_"
)
"""The names of variables by which clients are switched."""

_AGENT = re.compile(r"claude|codex|gemini|copilot|kiro|opencode|cursor-agent|[A-Z]_(?:KEY|TOKEN)\b")
_USED_HERE = re.compile(r"\buses\s*:\s*['\"]?\./([^\s'\"#,}]+)")
_PATH = re.compile(r"\bpath\s*:\s*['\"]?([^\s'\"#,}]+)")
_ON_GITHUB = re.compile(r"[\w.-]+/[\w.-]+/(?P<folder>[^@\s]+)@\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An agent that a step runs, with its surroundings."""

    name: str
    run: AgentRun
    document: Document
    route: Route
    """The route of the step."""
    step: Mapping[str, object]
    trigger: Trigger
    permissions: TokenPermissions
    variables: Mapping[str, Variable]
    before: tuple[Mapping[str, object], ...]
    """The steps before it in its job."""
    inputs: Mapping[str, str]
    conditions: tuple[str, ...] = ()
    """The `if` of each job on the way."""
    machine: str = RUNNER

    @property
    def governing(self) -> Mapping[str, object]:
        """What says who starts it and what its token may, as it is written: not all of it shows in what it reaches."""
        options = table(self.step.get("with"))
        scopes = self.permissions.scopes
        return {
            "conditions": [*self.conditions],
            "permissions": None if scopes is None else dict(scopes),
            **{key: written(options[key]) for key in _FOR_STARTERS if key in options},
            **{f"env {name}": each.value for name, each in self.variables.items() if _SWITCH.match(name)},
        }

    @property
    def is_fresh(self) -> bool:
        """Whether its machine is one of GitHub, which is new for each job."""
        return _HOSTED.fullmatch(self.machine) is not None

    @property
    def jobs_before(self) -> Mapping[str, object]:
        """The jobs of its workflow that have to end before its own starts, by name."""
        jobs, job = table(self.document.data.get("jobs")), self.route[1:2]
        return {each: jobs.get(each) for name in job for each in jobs_before(jobs, str(name))}

    def place(self, *route: str | int, of_key: bool = False) -> Place:
        """A place in the step."""
        return Place(self.document, (*self.route, *route), of_key)

    @property
    def at(self) -> Place:
        """The place of the action or the command in the step."""
        return self.spot(self.place(self.run.key), " ".join(self.run.words[:2]))

    def spot(self, at: Place, words: str | re.Pattern[str]) -> Place:
        """The place of some words in the text of a value; that of the whole value if they are not in it.

        Of a pattern it is that of its group `spot`.
        """
        return spot_in(at, words)

    def input(self, *keys: str) -> tuple[str, Place] | None:
        """The first non-empty input of its action, and its place."""
        inputs = table(self.step.get("with"))
        for key in keys:
            if (value := inputs.get(key)) not in (None, ""):
                return filled(written(value), self.inputs), self.place("with", key)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """The scope of all steps below a place."""

    names: tuple[str, ...]
    trigger: Trigger
    permissions: TokenPermissions
    variables: Mapping[str, Variable] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    before: tuple[Mapping[str, object], ...] = ()
    depth: int = 0
    conditions: tuple[str, ...] = ()
    machine: str = RUNNER
    passed: tuple[str, ...] = ()
    """The variables that a step passes to the action that it uses."""


@dataclass(slots=True)
class WorkflowWalk:
    """One walk over the workflows of a repository: collects problems, and the visited files."""

    tree: Tree
    sources: Mapping[str, Source]
    """The workflows."""
    problems: list[Diagnostic]
    files: dict[str, None] = field(default_factory=dict)
    documents: dict[str, Document | None] = field(default_factory=dict)
    _actions: dict[str, Source | None] = field(default_factory=dict)
    _keys: KeysOfJobs = field(default_factory=KeysOfJobs)
    _left: int = MAX_SITES
    _visits: int = MAX_VISITS

    def sites(self) -> Iterator[Site]:
        """Every agent that a workflow runs, once for each workflow that starts it."""
        yield from self._sites()
        for document, note in self._keys.notes():
            self._note(document)
            self.problems.append(note)

    def _sites(self) -> Iterator[Site]:
        called = {ref for source in self.sources.values() for ref in _refs(source) if ref in self.sources}
        for path in self.sources:
            if not self._may_run_agents(path) or (document := self._document(path)) is None:
                continue
            trigger = trigger_of(document)
            if path in called:
                trigger = trigger.without(CALLED)
            if AFTER_A_RUN in trigger.starters:
                by = self._after_a_run(document)
                trigger = replace(
                    trigger,
                    starters={**trigger.starters, AFTER_A_RUN: by},
                    by_members=frozenset() if by in OUTSIDERS else frozenset({AFTER_A_RUN}),
                )
            if trigger.starters:
                at = Place(document, ("jobs",), of_key=True)
                permissions = permissions_at(document, ()) or TokenPermissions(None, at)
                scope = _Scope(names=(_stem(path),), trigger=trigger, permissions=permissions)
                yield from self._workflow(document, scope)

    def _after_a_run(self, document: Document) -> Starter:
        """The people who may cause the runs of the workflows after which one starts."""
        names = set(texts(table(document.data, "on", AFTER_A_RUN).get("workflows")))
        known: dict[str, Trigger] = {}
        for path in self.sources:
            if other := self._document(path):
                known[text(other.data.get("name")) or path] = trigger_of(other)
        if not names or not names <= known.keys():
            return "perhaps anyone"
        starters = {event: by for name in names for event, by in known[name].starters.items()}
        # A pull request from a fork runs without secrets; the workflow after it has them.
        is_open = "pull_request" in starters or any(by in OUTSIDERS for by in starters.values())
        return "perhaps anyone" if is_open else "those who may write"

    def _may_run_agents(self, path: str) -> bool:
        """Whether a file, or one that it uses, contains the name of an agent: most of a repository's do not."""
        waiting, seen = [path], {path}
        while waiting:
            name = waiting.pop()
            source = self.sources.get(name) or self._action(name)
            if _AGENT.search(source.text if source else name):
                return True
            for ref in _refs(source) if source else ():
                if ref not in seen:
                    seen.add(ref)
                    waiting.append(ref)
        return False

    def _action(self, path: str) -> Source | None:
        """The file of an action in the folder `path`."""
        if path not in self._actions:
            self._actions[path] = None
            for name in ("action.yml", "action.yaml"):
                file = posixpath.normpath(f"{path}/{name}")
                if not leaves(file) and (read := self.tree.read(file)):
                    self._actions[path] = read[0]
                    self.problems.extend(undecoded(read[1]))
                    break
        return self._actions[path]

    def _own(self, uses: str) -> str | None:
        """The folder of an action that is named as one on GitHub and lies here: a repository may name itself."""
        named = _ON_GITHUB.fullmatch(uses)
        folder = posixpath.normpath(named["folder"]) if named else ""
        return folder if folder and not leaves(folder) and self._action(folder) else None

    def _document(self, path: str) -> Document | None:
        if path not in self.documents:
            source = self.sources.get(path) or self._action(path)
            document = reading.yaml(source, aliases=True, bounds=BOUNDS) if source else None
            is_refused = document and document.problems and path in self.sources
            self.documents[path] = as_refused(document) if document and is_refused else document
        return self.documents[path]

    def _workflow(self, document: Document, scope: _Scope) -> Iterator[Site]:
        jobs = table(document.data, "jobs")
        variables = {each.name: each for each in variables_at(document, ())}
        checking: dict[str, Starter] = {}
        for name in jobs:
            job = table(jobs, name)
            at: Route = ("jobs", name)
            if not self._goes_on(document, at):
                return
            trigger = scope.trigger
            for other in required_jobs(jobs, name):
                trigger = trigger.narrowed(table(jobs, other).get("if"))
                if other not in checking:
                    steps = items(table(jobs, other).get("steps"))
                    checking[other] = fewer("anyone", *map(people_past, steps))
                trigger = trigger.guarded(checking[other])
            trigger = trigger.narrowed(job.get("if"))
            trigger = past_scripts(trigger, job.get("if"), (), jobs)
            if "environment" in job:  # which may have to be approved
                trigger = trigger.guarded("perhaps anyone")
            own = permissions_at(document, at) or permissions_at(document, ())
            inner = replace(
                scope,
                names=(*scope.names, name),
                trigger=trigger,
                conditions=(*scope.conditions, written(job.get("if"))),
                machine=str(job.get("runs-on", RUNNER)),
                permissions=own.within(scope.permissions) if own and scope.depth else own or scope.permissions,
                variables={
                    **scope.variables, **variables, **{each.name: each for each in variables_at(document, at)},
                },
            )  # fmt: skip
            if isinstance(job.get("uses"), str):
                yield from self._called(document, at, job, inner)
            else:
                yield from _numbered(tuple(self._steps(document, (*at, "steps"), job.get("steps"), inner)))

    def _called(
        self, document: Document, at: Route, job: Mapping[str, object], scope: _Scope
    ) -> Iterator[Site]:
        """The agents of a workflow that a job calls."""
        uses = text(job.get("uses"))
        path = posixpath.normpath(uses) if uses.startswith("./") else None
        is_here = path is not None and path in self.sources and scope.depth < MAX_CALLS
        called = self._document(path) if path and is_here else None
        if called is None:
            yield from self._agents(document, at, job, scope)
            return
        on = table(called.data, "on", CALLED)
        inputs = inputs_of(on.get("inputs"), job.get("with"), scope.inputs)
        inner = replace(scope, inputs=inputs, variables={}, depth=scope.depth + 1)
        self._note(document)
        yield from self._workflow(called, inner)

    def _steps(self, document: Document, at: Route, steps: object, scope: _Scope) -> Iterator[Site]:
        before = scope.before
        trigger = scope.trigger
        for number, step in enumerate(items(steps)):
            if not isinstance(step, dict):
                continue
            step_route: Route = (*at, number)
            if not self._goes_on(document, step_route):
                return
            own = {each.name: each for each in variables_at(document, step_route)}
            inner = replace(
                scope,
                trigger=past_scripts(trigger.narrowed(step.get("if")), step.get("if"), before, {}),
                before=before,
                variables={**scope.variables, **own},
            )
            uses = text(step.get("uses"))
            folder = in_checkout(uses, before) if uses.startswith("./") else self._own(uses)
            action = (
                self._document(folder) if folder and scope.depth < MAX_CALLS and not leaves(folder) else None
            )
            if action is not None:
                inputs = inputs_of(action.data.get("inputs"), step.get("with"), scope.inputs)
                passed = tuple(filled_in({name: each.value for name, each in own.items()})) or scope.passed
                inner = replace(inner, inputs=inputs, depth=scope.depth + 1, passed=passed)
                self._note(document)
                yield from self._steps(
                    action, ("runs", "steps"), table(action.data, "runs").get("steps"), inner
                )
            else:
                yield from self._agents(document, step_route, step, inner)
            before = (*before, step)
            trigger = trigger.guarded(people_past(step))

    def _agents(
        self, document: Document, at: Route, step: Mapping[str, object], scope: _Scope
    ) -> Iterator[Site]:
        """The agents that a step itself runs."""
        if not scope.trigger.starters:
            return
        runs = list(agents_in(step, scope.inputs))
        renamed = renamed_in((*scope.before, step), scope.inputs) if runs else {}
        others = [run for run in runs if is_renamed(run, renamed)]
        runs = [run for run in runs if run not in others]
        if not runs and (unread := unread_run(step, scope.inputs, document.key(*at, "run"))):
            self._note(document)
            self.problems.append(unread)
        unknown = None if runs else unknown_program(step, scope.inputs, scope.passed)
        if others and (
            key := key_of_model(filled_in({name: each.value for name, each in scope.variables.items()}))
        ):
            unknown = others[0].words[0], key
        if runs or others or unknown:
            self._keys.explain(scope.variables.values())
        else:
            own = {*table(step.get("env")), *scope.passed}
            around = {name: each for name, each in scope.variables.items() if name not in own}
            self._keys.add(self.tree, document, at, scope.inputs, scope.before, around)
        if unknown:
            other = renamed.get(others[0].program) if others else None
            self._note(document)
            self.problems.append(unknown_note(document.key(*at, "run"), *unknown, other or ""))
        for run in runs:
            self._left -= 1
            if self._left < 0:
                return
            if self._left == 0:
                message = f"only the first {MAX_SITES:,} steps that run an agent are read"
                self.problems.append(finding("LDO154", document.key(*at), message))
            self._note(document)
            yield Site(
                name=excerpt_of_end("/".join(scope.names), MAX_NAME),
                run=run,
                document=document,
                route=at,
                step=step,
                trigger=scope.trigger,
                permissions=scope.permissions,
                variables=scope.variables,
                before=scope.before,
                inputs=scope.inputs,
                conditions=scope.conditions,
                machine=scope.machine,
            )

    def _goes_on(self, document: Document, at: Route) -> bool:
        """Whether a job or a step is still read; reports a problem at the limit."""
        self._visits -= 1
        if self._visits == 0:
            message = f"only the first {MAX_VISITS:,} jobs and steps are looked at"
            self.problems.append(finding("LDO154", document.key(*at), message))
        return self._visits > 0

    def _note(self, document: Document) -> None:
        path = document.source.path
        if path not in self.files:
            self.files[path] = None
            self.problems.extend(document.problems)


def _refs(source: Source) -> list[str]:
    """The folders and files that a file may use, also below the path of a checkout."""
    refs = [posixpath.normpath(ref) for ref in _USED_HERE.findall(source.text)]
    paths = [f"{posixpath.normpath(path)}/" for path in dict.fromkeys(_PATH.findall(source.text))]
    return [*refs, *(ref.removeprefix(path) for ref in refs for path in paths if ref.startswith(path))]


def _stem(path: str) -> str:
    return PurePosixPath(path).name.removesuffix(".yml").removesuffix(".yaml")


def _numbered(sites: Sequence[Site]) -> Iterator[Site]:
    """The agents of a job; if it has several, each name includes its step."""
    for number, site in enumerate(sites, start=1):
        own = text(site.step.get("id")) or str(number)
        yield replace(site, name=f"{site.name}/{own}") if len(sites) > 1 else site
