"""Codex: the session of a project under `.codex/config.toml`, its profiles, and the agents that it spawns."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, excerpt_of_end, finding
from llmdo.base.parts import table, text
from llmdo.base.source import Source
from llmdo.base.values import dataclass, field
from llmdo.features.codex import AGENTS, CONFIG, ENVIRONMENTS, FOLDER, HOOKS, PROFILES, RULES
from llmdo.features.codex.client import events_of
from llmdo.features.codex.declared import LostFile, file_of, first_of_each, lost_file, note_keys, note_lost
from llmdo.features.codex.environments import environment_events
from llmdo.features.codex.hooks import note_faults, note_file
from llmdo.features.codex.rules import AllowedCommands, allowed_commands
from llmdo.features.codex.settings import MODELS, ConfigLayer, ConfigLayers, approvals_of, sandbox_of
from llmdo.features.codex.table import SPAWNS
from llmdo.features.codex.tools import CodexTools, judge_servers
from llmdo.features.codex.types import OF_AGENTS, as_type, is_fit, misfits
from llmdo.features.codex.unheeded import OF_SESSION, Unheeded, note_unheeded
from llmdo.foreign.files import COUNTS, Files, folder_place, renaming
from llmdo.foreign.reading import misspelt
from llmdo.foreign.team import MAX_NAME, Agent, AgentCall, Team
from llmdo.syntax import toml
from llmdo.syntax.discovery import leaves
from llmdo.syntax.document import Document, Place
from llmdo.syntax.globs import Glob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree

SESSION = "codex"
"""The name of a project's session here."""

KEYS = frozenset(
    {
        "agents", "allow_login_shell", "analytics", "approval_policy", "approvals_reviewer", "apps", "audio",
        "auto_review", "chatgpt_base_url", "check_for_update_on_startup", "compact_prompt", "debug",
        "default_permissions", "desktop", "developer_instructions", "disable_paste_burst", "features", "feedback",
        "file_opener", "history", "hooks", "include_permissions_instructions", "instructions", "log_dir",
        "marketplaces", "mcp_servers", "memories", "model", "model_context_window", "model_instructions_file",
        "model_provider", "model_providers", "model_reasoning_effort", "model_reasoning_summary", "model_verbosity",
        "notice", "notify", "openai_base_url", "oss_provider", "otel", "permissions", "personality",
        "plan_mode_reasoning_effort", "plugins", "profile", "profiles", "project_doc_fallback_filenames",
        "project_doc_max_bytes", "project_root_markers", "projects", "review_model", "sandbox_mode",
        "sandbox_workspace_write", "service_tier", "shell_environment_policy", "show_raw_agent_reasoning", "skills",
        "tool_output_token_limit", "tools", "tui", "web_search", "windows",
    }
)  # fmt: skip
AGENT_KEYS = KEYS | {"description", "name", "nickname_candidates"}
REQUIRED = ("name", "description", "developer_instructions")
"""The keys of an agent in a file that no settings name."""
_ELSEWHERE = {
    "allowed_tools": "an agent of Codex has no list of tools: `sandbox_mode` and `mcp_servers` limit it",
    "disallowed_tools": "an agent of Codex has no list of tools: `sandbox_mode` and `mcp_servers` limit it",
    "network_access": "it belongs in `[sandbox_workspace_write]`",
    "writable_roots": "it belongs in `[sandbox_workspace_write]`",
}
"""Keys without effect in their place, and the effective alternatives."""
_AT_THE_TOP = "write `name`, `description` and `developer_instructions` at the top of the file"
_SANDBOX_KEYS = frozenset({"exclude_slash_tmp", "exclude_tmpdir_env_var", "network_access", "writable_roots"})


def _table_of_others(document: Document) -> str | None:
    """A table with the name of an agent in it, which is none of Codex's settings; None without any."""
    for key in (each for each in document.data if each not in AGENT_KEYS):
        within = table(document.data, key)
        if isinstance(within.get("name") or within.get("description"), str):
            return key
    return None


def _is_refused(document: Document, key: str) -> bool:
    """Whether Codex ignores an agent's file for a key: one that it does not know there, or of another type."""
    return key in _ELSEWHERE or (key == "tools" and isinstance(document.data[key], list))


def read(tree: Tree) -> Team:
    """The sessions and the agents of a project of Codex."""
    files = Files(tree, "Codex", has_strict_json=True, may_refuse_repeated=True)
    paths = files.find((CONFIG, AGENTS, RULES, PROFILES, ENVIRONMENTS))
    project = _CodexProject(files)
    agents = tuple(project.agents(paths))
    return Team(
        format="codex",
        agents=agents,
        files=files.paths,
        problems=tuple(each for each in dict.fromkeys(files.problems) if project.is_in_force(each)),
        starts="allowed",
        max_depth=2 * project.depth
        - 1,  # each call but the first over the worker that stands for every agent
    )


@dataclass(slots=True)
class _CodexProject:
    """One reading of a project."""

    files: Files
    base: ConfigLayers = field(default_factory=lambda: ConfigLayers(()))
    rules: tuple[AllowedCommands, ...] = ()
    hooks: Document | None = None
    """The file with hooks alone, unless Codex drops it."""
    worktrees: tuple[Grant, ...] = ()
    """What the app runs in the worktrees that it makes."""
    depth: int = 1
    """How deep agents nest below the session."""
    unheeded: list[Unheeded] = field(default_factory=list)
    """The settings of agents that the session's decide."""
    refused: set[str] = field(default_factory=set)
    """The settings for which Codex does not start."""
    misnamed: set[str] = field(default_factory=set)
    """The files of agents that a declaration names by a key which Codex does not know."""

    def is_in_force(self, problem: Diagnostic) -> bool:
        """Whether a problem is none with a name in settings that are not in force."""
        return problem.code != "LDO250" or problem.at.path not in self.refused

    def agents(self, paths: Sequence[str]) -> Iterator[Agent]:
        """The session, one more for each profile, and the agents that they spawn."""
        documents = {path: read for path in paths if path.endswith(".toml") and (read := self._toml(path))}
        settings = documents.pop(CONFIG, None)
        environments = [documents.pop(path) for path in [*documents] if _is_environment(path)]
        self.worktrees = tuple(run for each in environments for run in environment_events(self.files, each))
        if settings is None and self.files.tree.only:
            settings = self._toml(CONFIG)
        config = settings or Document(Source(CONFIG, ""), {}, dict)
        self._judge(ConfigLayer(config), KEYS)
        self._note_refusal(config)
        self.base = ConfigLayers((ConfigLayer(config),))
        sources = [rule for path in paths if path.endswith(".rules") and (rule := self.files.source(path))]
        self.rules = tuple(each for source in sources for each in allowed_commands(self.files, source))
        depth = self.base.get("agents", "max_depth")[0]
        self.depth = min(max(depth, 1), 10) if isinstance(depth, int) and not isinstance(depth, bool) else 1
        profiles = {path: documents.pop(path) for path in [*documents] if path.endswith(".config.toml")}
        roles = list(self._roles(config, documents))
        note_unheeded(self.files, self.base, self.unheeded, AGENT_KEYS)
        hooks = self.files.json(HOOKS)
        self.hooks = None if hooks is None or note_file(self.files, hooks) else hooks
        if not (settings or roles or sources or profiles or hooks or environments):
            return
        calls = self._calls(roles)
        key = next(iter(config.data), None)
        own = settings or hooks or next(iter(environments), None)
        at = Place(own, ()) if own else folder_place(FOLDER.rstrip("/"))
        at = Place(config, (key,), of_key=True) if key else at
        yield self._session(SESSION, self.base, at, config, calls)
        for layer in self._profiles(config, profiles):
            name = excerpt(f"{SESSION} --profile {_profile_name(layer)}", MAX_NAME)
            yield self._session(name, self.base.over(layer), layer.place(of_key=True), layer.document, calls)
        yield from roles

    def _toml(self, path: str) -> Document | None:
        source = self.files.source(path)
        if source is None:
            return None
        document = toml.parse(source)
        for problem in document.problems:
            message = f"{problem.message}, so the file was not read"
            self.files.problems.append(finding("LDO153", problem.at, message, hint=problem.hint))
        return None if document.problems else document

    @property
    def _spawns(self) -> bool:
        """Whether a session spawns agents: a person asks for them in words, and nobody is asked then."""
        return False not in (
            self.base.get("features", "multi_agent")[0],
            self.base.get("agents", "enabled")[0],
        )

    def _calls(self, roles: Iterable[Agent]) -> tuple[AgentCall, ...]:
        """The agents of the project that a session spawns."""
        return tuple(AgentCall(name=role.name, at=role.at) for role in roles) if self._spawns else ()

    def _session(
        self, name: str, layers: ConfigLayers, at: Place, document: Document, calls: tuple[AgentCall, ...]
    ) -> Agent:
        self._note_unasked(layers)
        model = layers.text("model")[0]
        grants = list(CodexTools(self.files, layers, self.rules, at, layers).grants())
        if self._spawns and not calls:  # those that are built in, which have what the session has
            grants.append(SPAWNS.grant(at, "Codex"))
        listed = tuple(f"shell({each}:*)" for rule in self.rules for each in rule.beginnings)
        return Agent(
            name=name,
            at=at,
            path=document.source.path if document.source.text else "",
            prompt=layers.text("developer_instructions")[0] or "",
            header=document.data,
            description="The session of Codex.",
            model=model,
            grants=tuple(grants),
            calls=calls,
            events=(*events_of(self.files, layers, self.hooks), *self.worktrees),
            permissions={"allow": listed} if listed else {},
            is_callable=False,
        )

    def _profiles(self, config: Document, profiles: dict[str, Document]) -> Iterator[ConfigLayer]:
        """Those in files of their own; notes those in the settings, as Codex has no such any more."""
        if table(config.data, "profiles"):
            message = "Codex ignores `profiles` in a project from version 0.130 on, so they do nothing"
            hint = "a profile is a file of a person's own, `~/.codex/NAME.config.toml`"
            self.files.note("LDO151", Place(config, ("profiles",), of_key=True), message, hint)
        for document in profiles.values():
            layer = ConfigLayer(document)
            self._judge(layer, KEYS)
            self._note_refusal(document)
            yield layer

    def _roles(self, config: Document, documents: dict[str, Document]) -> Iterator[Agent]:
        """The agents that the settings declare, and those in files of their own; of one name the first alone."""
        taken: dict[str, Place] = {}
        declared = [*self._declared(config, documents, taken)]
        yield from first_of_each(self.files, declared, taken)
        yield from first_of_each(self.files, [*self._in_files(documents)], taken, self.misnamed)

    def _in_files(self, documents: dict[str, Document]) -> Iterator[tuple[tuple[str, ...], Agent]]:
        """The agents in files of their own, each with the parts of its path."""
        for path, document in documents.items():
            if not self._is_left_out(document):
                self._judge(ConfigLayer(document), AGENT_KEYS)
                at = _name_place(document) or Place(document, ())
                name, description = str(document.data["name"]).strip(), str(document.data["description"])
                yield PurePosixPath(path).parts, self._role(name, ConfigLayer(document), at, description)

    def _declared(
        self, config: Document, documents: dict[str, Document], taken: dict[str, Place]
    ) -> Iterator[tuple[tuple[str, ...], Agent]]:
        """The agents that the settings declare, each with its key; takes their files out of the others.

        `taken` gets the names of those without a description, which no other agent gets either.
        """
        paths, lost = [*documents], list[LostFile]()
        for key, role in table(config.data, "agents").items():
            name = key
            if key in OF_AGENTS or not isinstance(role, dict):
                continue
            at = Place(config, ("agents", key), of_key=True)
            layer = ConfigLayer(config, ("agents", key))
            if meant := note_keys(self.files, layer, role, paths):
                self.misnamed.add(meant)
            if isinstance(file := role.get("config_file"), str):
                path = file_of(file)
                document = documents.pop(path, None) or (None if leaves(path) else self._toml(path))
                if document is not None:
                    if self._is_kept_out(document, ()) or self._is_of_other_types(document):
                        continue
                    self._judge(ConfigLayer(document), AGENT_KEYS)
                    layer, at = ConfigLayer(document), _name_place(document) or at
                    name = text(document.data.get("name")).strip() or name
                elif self.files.tree.only or self.files.is_link(path):
                    message = f"`{excerpt_of_end(file)}` is not among these files, so nothing is known of its settings"
                    self.files.note("LDO250", layer.place("config_file"), message)
                else:
                    if path not in self.files.paths:  # what is wrong with it is noted already
                        lost.append(lost_file(layer.place("config_file"), file, paths))
                    continue
            is_in_force = layer.document.source.path not in self.refused
            described = text(layer.place("description").data) or text(role.get("description"))
            if is_in_force and described.strip():
                yield (key,), self._role(name, layer, at, described)
            elif is_in_force:
                if meant is None:
                    message = f"`{excerpt(name)}` has no `description`, so Codex ignores this declaration"
                    self.files.note("LDO152", at, f"{message} of an agent")
                taken.setdefault(name, at)
        note_lost(self.files, lost)

    def _is_left_out(self, document: Document) -> bool:
        """Whether Codex loads no agent from a file of its own, which is noted."""
        missing = [key for key in REQUIRED if not text(document.data.get(key)).strip()]
        if self._is_kept_out(document, missing):
            return True
        if missing:
            message = f"`{document.source.path}` has no `{missing[0]}`, so Codex loads no agent from it"
            self.files.problems.append(finding("LDO152", document.source.location(), message))
            return True
        return self._is_of_other_types(document)

    def _is_of_other_types(self, document: Document) -> bool:
        """Whether Codex loads no agent from a file for a setting that it refuses there, which is noted."""
        if misfit := next(misfits(document.data), None):
            route, wanted = misfit
            message = (
                f"Codex wants {wanted} as `{'.'.join(map(str, route))}`, so it loads no agent from this file"
            )
            at = Place(document, route, of_key=True)
            self.files.note("LDO152", at, message, as_type(document.data, route))
            return True
        if note_faults(self.files, document, "it loads no agent from this file"):
            return True
        if refused := next((key for key in document.data if _is_refused(document, key)), None):
            message = f"Codex takes no such `{refused}` in an agent's file, so it loads no agent from it"
            hint = _ELSEWHERE.get(refused, _ELSEWHERE["allowed_tools"])
            self.files.note("LDO152", Place(document, (refused,), of_key=True), message, hint)
            return True
        return False

    def _is_kept_out(self, document: Document, missing: Sequence[str]) -> bool:
        """Whether a table keeps the agent of a file from being loaded, which is noted."""
        other = _table_of_others(document)
        if other is not None:
            message = f"Codex takes no `{excerpt(other)}` in an agent's file, so it loads no agent from it"
            at = Place(document, (other,), of_key=True)
            self.files.note("LDO152", at, message, _AT_THE_TOP if missing else None)
        return other is not None

    def _role(self, name: str, layer: ConfigLayer, at: Place, description: str) -> Agent:
        layers = self.base.over(layer) if layer.document is not self.base.layers[0].document else self.base
        self._keep_unheeded(layer)
        data = table(layer.place().data)
        prompt, model = data.get("developer_instructions"), data.get("model")
        deeper = self.base.get("agents", "max_depth")[1] if self.depth > 1 else None
        return Agent(
            name=excerpt(name, MAX_NAME),
            at=at,
            path=layer.document.source.path,
            prompt=prompt if isinstance(prompt, str) else "",
            header=data,
            description=description,
            model=model if isinstance(model, str) else None,
            grants=tuple(CodexTools(self.files, layers, self.rules, at, self.base).grants()),
            everyone=deeper,
            is_entry=False,
        )

    def _judge(self, layer: ConfigLayer, known: frozenset[str]) -> None:
        plain = known - {"sandbox", *_ELSEWHERE}
        for key, value in table(layer.place().data).items():
            place = layer.place(key, of_key=True)
            meant = "sandbox_mode" if key == "sandbox" else misspelt(key, plain)
            if known is AGENT_KEYS and meant in OF_SESSION:
                self.unheeded.append(Unheeded(place, key, meant, value))
            elif key == "sandbox":
                hint = renaming(place, key, "sandbox_mode", counts=COUNTS)
                self.files.unknown_key(place, key, known, hint)
            elif key in _ELSEWHERE:
                self.files.unknown_key(place, key, known, _ELSEWHERE[key])
            elif key == "tools" and isinstance(value, list):
                self.files.unknown_key(place, key, known, _ELSEWHERE["allowed_tools"])
            elif meant:
                self.files.unknown_key(place, key, plain if is_fit(meant, value) else ())
        self.files.misspelt_keys(layer.document, _SANDBOX_KEYS, *layer.route, "sandbox_workspace_write")
        judge_servers(self.files, ConfigLayers((layer,)))

    def _note_refusal(self, document: Document) -> None:
        """Notes settings for whose type Codex does not start (watched with 0.169.0); what they say is shown."""
        follows = "it refuses the whole file and does not start, so nothing of it is in force"
        for route, wanted in misfits(document.data):
            message = f"Codex wants {wanted} as `{'.'.join(map(str, route))}`: {follows}"
            self.files.note(
                "LDO152", Place(document, route, of_key=True), message, as_type(document.data, route)
            )
            self.refused.add(document.source.path)
        if note_faults(self.files, document, follows):
            self.refused.add(document.source.path)

    def _keep_unheeded(self, layer: ConfigLayer) -> None:
        """Keeps the settings of an agent that the session's decide for it, to note them with those of the others."""
        for key in OF_SESSION:
            if layer.document is not self.base.layers[0].document and layer.place(key).data is not None:
                place = layer.place(key, of_key=True)
                self.unheeded.append(Unheeded(place, key, key, layer.place(key).data))

    def _note_unasked(self, layers: ConfigLayers) -> None:
        """Notes settings that let commands leave the sandbox, or be without one, unasked."""
        sandbox = sandbox_of(self.files, layers)
        approvals = approvals_of(self.files, layers, sandbox)
        if approvals.outside != "allowed":
            return
        at = approvals.at if layers.text("approvals_reviewer")[0] in MODELS else sandbox.at
        if at is None:
            return
        but = "" if layers.text("approval_policy")[0] == "never" else ", but such as `rm -rf`"
        message = (
            f"sandbox `{sandbox.name}` confines nothing, and no command is asked about{but}"
            if sandbox.is_off
            else "a model answers the questions in place of a person"
        )
        self.files.note("LDO554", at, message)


def _profile_name(layer: ConfigLayer) -> str:
    return PurePosixPath(layer.document.source.path).name.removesuffix(".config.toml")


def _is_environment(path: str) -> bool:
    return Glob(ENVIRONMENTS).matches(path)


def _name_place(document: Document) -> Place | None:
    return Place(document, ("name",), of_key=True) if "name" in document.data else None
