"""llm-do: `.worker` files, and `.agent` files with a `project.json`; each folder is a project of its own."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt, excerpt_of_end, finding
from llmdo.base.parts import items
from llmdo.base.values import dataclass, field
from llmdo.features.llm_do import FILES
from llmdo.features.llm_do.code import Shown, shown
from llmdo.features.llm_do.manifest import (
    AGENT_FILES,
    CLASS_PATH,
    DEFAULT_MAX_DEPTH,
    KEYS,
    LlmDoManifest,
    configuration,
    is_hosted,
    manifests,
    own_name,
    toolsets,
    within,
)
from llmdo.features.llm_do.tools import (
    CLASSES,
    COUNTERPARTS,
    DIFFERENT,
    LINES,
    grant,
    server_side,
)
from llmdo.foreign import reading
from llmdo.foreign.files import Files
from llmdo.foreign.lines import Line
from llmdo.foreign.team import (
    MAX_NAME,
    Agent,
    AgentCall,
    Code,
    Counterpart,
    Grant,
    Remark,
    Team,
    capability_of,
)
from llmdo.graph.models import with_current_provider
from llmdo.syntax.document import Place
from llmdo.workspace.references import class_path, module_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.foreign.tree import Tree
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

MODULES = ("**/*.py",)

_SCHEMAS = {
    "input_model_ref": "schema_in_ref",
    "schema_in_ref": "schema_in_ref",
    "schema_out_ref": "schema_out_ref",
}
_MODULE_PATH = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9_. -]*/)*[A-Za-z0-9_-]+\.py")


def read(tree: Tree) -> Team:
    """The agents of every project of llm-do below a folder."""
    files = Files(tree, "llm-do")
    paths = files.find(FILES)
    known = {} if tree.only else manifests(tree, files.problems)
    modules = () if tree.only else tree.find(MODULES)[0]
    owners = {path: folder for folder, manifest in known.items() for path, _ in manifest.files(*AGENT_FILES)}
    folders: dict[str, list[tuple[str, reading.Text]]] = {folder: [] for folder in known}
    others: list[Diagnostic] = []
    for path in paths:
        source = files.source(path)
        if source is None:
            continue
        text = files.header(path, KEYS)
        if text is None:
            others.append(reading.headless(source, ", so llm-do loads no agent from it"))
            continue
        files.problems.extend(text.document.problems)
        folders.setdefault(owners.get(path, path.rpartition("/")[0]), []).append((path, text))
    if folders or tree.only:
        files.problems.extend(others)
    else:
        paths = ()  # a `Dockerfile.worker` among other things is nothing to remark on
    projects = [
        _LlmDoProject(files, folder, known.get(folder), tuple(modules), texts)
        for folder, texts in folders.items()
    ]
    agents = [agent for project in projects for agent in project.agents()]
    deepest = max((project.max_depth for project in projects), default=DEFAULT_MAX_DEPTH - 1)
    remarks = [remark for project in projects for remark in project.left_out(deepest)]
    return Team(
        format="llm-do",
        agents=tuple(agents),
        files=tuple(sorted({*paths, *(manifest.document.source.path for manifest in known.values())})),
        problems=tuple(files.problems),
        remarks=tuple(remarks),
        code=tuple(code for project in projects for code in project.copied.values()),
        max_depth=deepest,
    )


@dataclass(slots=True)
class _LlmDoProject:
    """The reading of one folder."""

    files: Files
    folder: str
    manifest: LlmDoManifest | None
    modules: tuple[str, ...]
    """Every Python file of the tree."""
    texts: list[tuple[str, reading.Text]]
    copied: dict[str, Code] = field(default_factory=dict)
    """The Python files that agents use, as far as they are read."""
    shown: dict[str, tuple[Source, Shown]] = field(default_factory=dict)
    """The Python files of the project, with the declarations in their text."""
    remarks: list[Remark] = field(default_factory=list)

    @property
    def max_depth(self) -> int:
        """How deep its agents may nest."""
        return self.manifest.max_depth if self.manifest else DEFAULT_MAX_DEPTH - 1

    @property
    def names(self) -> Mapping[str, str]:
        """The names of agents in the project, to those in the whole tree."""
        return {
            own_name(path, text.document): self._identity(path, text.document) for path, text in self.texts
        }

    def agents(self) -> Iterator[Agent]:
        """Its agents, and a Python function if that starts them."""
        self._read_code()
        decision, problems = self.manifest.mode() if self.manifest else ("needs_approval", ())
        self.files.problems.extend(problems)
        entry = self.manifest.entry if self.manifest else {}
        text_input, remarks = self.manifest.input() if self.manifest else (None, ())
        self.remarks.extend(remarks)
        for path, text in self.texts:
            yield self._agent(path, text, decision, entry, text_input)
        if self.manifest is None:
            return
        self._require_files(self.manifest)
        if isinstance(reference := entry.get("function"), str):
            yield self._function(Place(self.manifest.document, ("entry", "function")), reference, text_input)
        elif isinstance(agent := entry.get("agent"), str):
            if agent not in self.names:
                at = Place(self.manifest.document, ("entry", "agent"))
                self.files.unknown_agent(at, agent, self.names)
        elif not any(text.document.data.get("entry") is True for _, text in self.texts):
            for path, (_, code) in self.shown.items():
                if code.entry:
                    reference = f"{PurePosixPath(path).relative_to(self.folder or '.')}:{code.entry}"
                    yield self._function(
                        Place(self.manifest.document, ("entry",), of_key=True), reference, text_input
                    )

    def left_out(self, deepest: int) -> Iterator[Remark]:
        """The parts that an import leaves out of the project; to be called after `agents`.

        `deepest` is how deep the agents of any project may nest.
        """
        yield from self.remarks
        for path, (source, _) in self.shown.items():
            if path not in self.copied:
                message = f"`{path}` shows neither a toolset nor what starts a run, so it is not copied"
                yield Remark(source.location(), message)
        if self.manifest is None:
            return
        yield from self.manifest.remarks(self.shown)
        if self.max_depth < deepest:
            message = (
                f"a workspace has one depth: here agents may nest {deepest} deep, and not {self.max_depth}"
            )
            yield Remark(self.manifest.document.key("runtime", "max_depth"), message)
        listed = {path for path, _ in self.manifest.files(*AGENT_FILES)}
        for path, text in self.texts:
            if path not in listed:
                message = f"`{path}` is in no `agent_files`, so llm-do leaves it out; here it is a worker"
                yield Remark(text.document.source.location(), message)

    def _read_code(self) -> None:
        paths = [path for path, _ in self.manifest.files("python_files")] if self.manifest else []
        if self.manifest is None:
            paths = [path for path in self.modules if path.rpartition("/")[0] == self.folder]
        for path in paths:
            self._read_module(path)

    def _read_module(self, path: str) -> Shown | None:
        """The declarations in the Python file at `path`; None if there is none that could be in a workspace of ours."""
        if path not in self.shown and _MODULE_PATH.fullmatch(path):
            source, unread = self.files.tree.read(path) or (None, ())
            self.files.problems.extend(unread)
            if source is not None and not unread:
                self.shown[path] = (source, shown(source))
        return self.shown[path][1] if path in self.shown else None

    def _require_files(self, manifest: LlmDoManifest) -> None:
        known = {path for path, _ in self.texts}
        for path, at in manifest.files(*AGENT_FILES):
            if path not in known:
                self.files.problems.append(
                    finding("LDO250", at.location, f"there is no file `{path}` to be read")
                )

    def _identity(self, path: str, document: Document) -> str:
        return excerpt_of_end("/".join(filter(None, (self.folder, own_name(path, document)))), MAX_NAME)

    def _function(self, at: Place, reference: str, text_input: str | None) -> Agent:
        path, _, name = reference.rpartition(":")
        path = within(self.folder, path)
        code = self._read_module(path)
        known = code is not None and name in code.functions
        if known:
            self._copy(path, functions=frozenset({name}))
            message = (
                f"what `{reference}` does itself stands before no gate: only the agents that it calls do"
            )
            self.remarks.append(Remark(at.location, message))
            if "attachments" in self.shown[path][0].text:
                message = f"which files `{reference}` may hand over has to be declared in [paths] and its entry's `may`"
                self.remarks.append(Remark(at.location, message))
        line = Line(reference, (capability_of(reference),), "allowed", "declared", "")
        return Agent(
            name=excerpt_of_end("/".join(filter(None, (self.folder, reference))), MAX_NAME),
            at=at,
            path=at.document.source.path,
            header={} if known else {"function": reference},
            grants=(grant(line, reference, at, "allowed"),),
            calls=tuple(
                AgentCall(name=callee, at=at) for callee in self._called(code) or self.names.values()
            ),
            input=text_input,
            function=f"{path}:{name}" if known else None,
        )

    def _called(self, code: Shown | None) -> list[str]:
        """The agents that the code of a file calls, as far as the text tells; else all of the project."""
        if code is None or code.calls is None:
            return list(self.names.values())
        return [self.names[name] for name in sorted(code.calls) if name in self.names]

    def _copy(
        self, path: str, *, toolsets: Mapping[str, str] | None = None, functions: Iterable[str] = ()
    ) -> None:
        before = self.copied.get(path) or Code(source=self.shown[path][0])
        self.copied[path] = Code(
            source=before.source,
            toolsets={**before.toolsets, **(toolsets or {})},
            functions=before.functions.union(functions),
            agents=self.names,
        )

    def _agent(
        self,
        path: str,
        text: reading.Text,
        asks: Decision,
        entry: Mapping[str, object],
        text_input: str | None,
    ) -> Agent:
        document = text.document
        header = document.data
        self.files.misspelt_keys(document, KEYS)
        own = own_name(path, document)
        calls: list[AgentCall] = []
        grants: list[Grant] = []
        tightened: dict[str, Decision] = {}
        for name, place in toolsets(document):
            if name in self.names:
                tools_asked = [*self.manifest.asked_for(name)] if self.manifest and asks != "allowed" else []
                tightened.update(dict.fromkeys(tools_asked, asks))
                decision = asks if "agent.delegate" in tools_asked else "allowed"
                calls.append(AgentCall(name=self.names[name], at=place, decision=decision, origin="llm-do"))
            else:
                calls += self._calls_of_code(name, place, calls)
                grants += self._grants(name, place, asks)
        grants += self._server_side(document, asks)
        description, model = header.get("description"), header.get("model")
        ours = dict(self._ours(path, header))
        is_entry = own == entry.get("agent") or header.get("entry") is True
        return Agent(
            name=self.names[own],
            at=Place(document, ("name",) if "name" in header else (), of_key=True),
            path=path,
            prompt=text.prompt,
            header=header,
            ours=ours,
            expressed_otherwise=frozenset(
                {"server_side_tools", *ours, *(key for key, value in _SCHEMAS.items() if value in ours)}
            ),
            tightened=tightened,
            input=text_input if is_entry else None,
            description=description if isinstance(description, str) else None,
            model=with_current_provider(model) if isinstance(model, str) else None,
            grants=tuple(grants),
            calls=tuple(calls),
            is_entry=is_entry,
        )

    def _server_side(self, document: Document, asks: Decision) -> Iterator[Grant]:
        """The grants of the tools that run at the provider."""
        for number, tool in enumerate(items(document.data.get("server_side_tools"))):
            place = Place(document, ("server_side_tools", number))
            native, problems, remarks = server_side(tool, place, asks)
            yield from native
            self.files.problems.extend(problems)
            self.remarks.extend(remarks)

    def _ours(self, path: str, header: Mapping[str, object]) -> Iterator[tuple[str, object]]:
        """The parts of a header with the same meaning in one of ours."""
        model = header.get("model")
        if isinstance(model, str) and is_hosted(current := with_current_provider(model)):
            yield "model", current
        patterns = header.get("compatible_models")
        if isinstance(patterns, list) and all(isinstance(pattern, str) and pattern for pattern in patterns):
            yield "compatible_models", [with_current_provider(pattern) for pattern in patterns]
        for theirs, key in _SCHEMAS.items():
            file, _, name = str(header.get(theirs, "")).rpartition(":")
            module = within(path.rpartition("/")[0], file)
            if file.endswith(".py") and name.isidentifier() and self._read_module(module) is not None:
                self._copy(module)
                yield key, f"{module}:{name}"

    def _calls_of_code(self, name: str, place: Place, before: Iterable[AgentCall]) -> Iterator[AgentCall]:
        """The agents that the code of a toolset calls: with llm-do, any of the project."""
        shown = self._code_of(name)
        if shown is None:
            return
        known = {call.name for call in before}
        for callee in self._called(self.shown[shown[0]][1]):
            if callee not in known:
                message = f"`{callee}`, which the code of `{name}` calls, is offered to the model as well"
                self.remarks.append(Remark(place.location, message))
                yield AgentCall(name=callee, at=place)

    def _code_of(self, name: str) -> tuple[str, str] | None:
        """The file whose text declares the toolset `name`, and the expression for it."""
        for path, (_, code) in self.shown.items():
            if expression := code.toolsets.get(name):
                return path, expression
            if tool := code.tools.get(name):
                return path, f"[{tool}]"
        return self._class_of(name)

    def _class_of(self, name: str) -> tuple[str, str] | None:
        """The file of the project with the class of toolsets at this path, and the class."""
        if not (CLASS_PATH.fullmatch(name) and (reference := class_path(name))):
            return None
        attribute = reference.rpartition(":")[2]
        files = module_files(reference)
        for path in (*(within(self.folder, file) for file in files), *files):
            code = self._read_module(path) if path in self.modules else None
            if code is not None and attribute in code.classes:
                return path, attribute
        return None

    def _grants(self, written: str, place: Place, asks: Decision) -> Iterator[Grant]:
        name = CLASSES.get(written.replace(":", "."), written)
        if name in LINES:
            if place.data and isinstance(place.data, dict):
                message = f"the configuration of `{name}` is not carried over"
                self.remarks.append(Remark(place.location, message))
            self.remarks.extend(Remark(place.location, difference) for difference in DIFFERENT.get(name, ()))
            for line in LINES[name]:
                decision = line.decision if line.decision == "allowed" else asks
                yield grant(line, name, place, decision, COUNTERPARTS.get(name))
            return
        counterpart = self._counterpart(name, place, asks)
        has_python = self.shown or (self.manifest and self.manifest.document.data.get("python_files"))
        if not (counterpart or has_python):
            message = f"`{name}` is neither an agent nor a toolset here, and no Python file is"
            hint = did_you_mean(name, {*LINES, *self.names})
            self.files.problems.append(finding("LDO250", place.location, message, hint=hint))
        line = Line(name, (capability_of(name),), "needs_approval", "declared", "")
        yield grant(line, name, place, asks, counterpart)

    def _counterpart(self, name: str, place: Place, asks: Decision) -> Counterpart | None:
        """The Python behind a toolset; None if neither the project nor its name shows it."""
        config, remarks = configuration(name, place)
        shown = self._code_of(name)
        if shown is None:
            if not CLASS_PATH.fullmatch(name):
                return None
            self.remarks += remarks
            return Counterpart(installed=class_path(name), config=config)
        path, expression = shown
        self._copy(path, toolsets={excerpt(name, MAX_NAME): expression})
        is_class = expression in self.shown[path][1].classes
        self.remarks += remarks
        if config and not is_class:
            message = f"the configuration of `{name}` is not carried over: it is not a class"
            self.remarks.append(Remark(place.location, message))
        if asks == "needs_approval":
            message = f"every call of `{name}` is asked about, also those that its code approves itself"
            self.remarks.append(Remark(place.location, message))
        return Counterpart(code=path, config=config if is_class else None)
