"""llm-do: `.worker` files, and `.agent` files with a `project.json`; each folder is a project of its own."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import did_you_mean, excerpt, finding, nearest
from llmdo.base.values import dataclass
from llmdo.foreign import reading
from llmdo.foreign.tables import LLM_DO, Line
from llmdo.foreign.team import MAX_NAME, Agent, AgentCall, Grant, Team, capability_of
from llmdo.foreign.tree import few
from llmdo.graph.resolved import DEFAULT_MAX_DEPTH
from llmdo.policy.authority import Capability
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.tree import Tree
    from llmdo.policy.authority import Decision
    from llmdo.syntax.document import Document

FILES = ("**/*.worker", "**/*.agent")
PROJECTS = ("**/project.json",)
MODULES = ("**/*.py",)

KEYS = frozenset(
    {
        "attachments", "compatible_models", "description", "entry", "input_model_ref", "model", "name",
        "schema_in_ref", "schema_out_ref", "server_side_tools", "tools", "toolsets",
    }
)  # fmt: skip

_MODES: dict[str, Decision] = {
    "approve_all": "allowed", "prompt": "needs_approval", "reject_all": "blocked",
}  # fmt: skip
_SERVER_SIDE = "server_side."
_LINES: dict[str, list[Line]] = {}
for _line in LLM_DO:
    _LINES.setdefault(
        _line.tool.partition(".")[0] if _SERVER_SIDE not in _line.tool else _line.tool, []
    ).append(_line)


def read(tree: Tree) -> Team:
    """The agents of every project of llm-do below a folder."""
    paths, problems = few(*tree.find(FILES))
    found = list(problems)
    manifests = {} if tree.only else _manifests(tree, found)
    modules = {one.rpartition("/")[0] for one in (() if tree.only else tree.find(MODULES)[0])}
    folders: dict[str, list[tuple[str, reading.Text]]] = {}
    for path in paths:
        source, unread = tree.read(path) or (None, ())
        found.extend(unread)
        if source is None or unread:
            continue
        text = reading.text(source, KEYS)
        if text is None:
            message = f"`{path}` has no header, so it is no agent to llm-do"
            found.append(finding("LDO152", source.location(), message))
            continue
        found.extend(text.document.problems)
        folders.setdefault(path.rpartition("/")[0], []).append((path, text))
    agents: list[Agent] = []
    depths = [DEFAULT_MAX_DEPTH]
    for folder, texts in folders.items():
        project = _LlmDoProject(folder, manifests.get(folder), found, folder in modules)
        agents.extend(project.agents(texts))
        depths.append(project.max_depth)
    return Team(
        format="llm-do",
        agents=tuple(agents),
        files=tuple(sorted({*paths, *(one.source.path for one in manifests.values())})),
        problems=tuple(found),
        max_depth=max(depths),
    )


def _manifests(tree: Tree, problems: list[Diagnostic]) -> dict[str, Document]:
    """Folder to its `project.json`, where that is one of llm-do."""
    found = {}
    for path in tree.find(PROJECTS)[0]:
        source, unread = tree.read(path) or (None, ())
        if source is not None and not unread:
            document = reading.json_with_comments(source)
            if "agent_files" in document.data or document.problems:
                problems.extend(document.problems)
                found[path.rpartition("/")[0]] = document
    return found


@dataclass(frozen=True, slots=True)
class _LlmDoProject:
    """The reading of one folder."""

    folder: str
    manifest: Document | None
    problems: list[Diagnostic]
    has_modules: bool
    """Whether Python files lie beside the agents."""

    @property
    def _said(self) -> Mapping[str, Any]:
        return self.manifest.data if self.manifest else {}

    @property
    def _runtime(self) -> Mapping[str, Any]:
        runtime = self._said.get("runtime")
        return runtime if isinstance(runtime, dict) else {}

    @property
    def max_depth(self) -> int:
        """How deep its agents may nest."""
        depth = self._runtime.get("max_depth")
        return depth if isinstance(depth, int) and 0 < depth < 100 else DEFAULT_MAX_DEPTH

    def agents(self, texts: list[tuple[str, reading.Text]]) -> Iterator[Agent]:
        """Its agents, and a Python function where that is what starts them."""
        names = {_own_name(path, text.document): self._identity(path, text.document) for path, text in texts}
        asks = self._asks()
        entry = self._said.get("entry")
        entry = entry if isinstance(entry, dict) else {}
        for path, text in texts:
            yield self._agent(path, text, names, asks, entry)
        if isinstance(entry.get("function"), str) and self.manifest:
            yield self._function(self.manifest, entry["function"], names)
        elif isinstance(entry.get("agent"), str) and entry["agent"] not in names and self.manifest:
            message = f"there is no agent `{entry['agent']}` in this project"
            at = self.manifest.value("entry", "agent")
            self.problems.append(finding("LDO250", at, message, hint=did_you_mean(entry["agent"], names)))

    def _identity(self, path: str, document: Document) -> str:
        return excerpt("/".join(filter(None, (self.folder, _own_name(path, document)))), MAX_NAME)

    def _asks(self) -> Decision:
        mode = self._runtime.get("approval_mode", "prompt")
        if not (isinstance(mode, str) and mode in _MODES) and self.manifest:
            at = self.manifest.value("runtime", "approval_mode")
            message = f"llm-do does not know the mode `{mode}`"
            self.problems.append(finding("LDO151", at, message, hint=did_you_mean(str(mode), _MODES)))
        if mode == "approve_all" and self.manifest:
            at = self.manifest.value("runtime", "approval_mode")
            self.problems.append(finding("LDO554", at, "in the mode `approve_all` nothing asks"))
        return _MODES.get(mode, "needs_approval")

    def _function(self, manifest: Document, reference: str, names: Mapping[str, str]) -> Agent:
        at = Place(manifest, ("entry", "function"))
        name = "/".join(filter(None, (self.folder, reference)))
        return Agent(
            name=excerpt(name, MAX_NAME),
            at=at,
            path=manifest.source.path,
            prompt="",
            header={"function": reference},
            grants=(
                _grant(
                    Line(reference, (capability_of(reference),), "allowed", "declared", ""),
                    reference,
                    at,
                    "allowed",
                ),
            ),
            calls=tuple(AgentCall(name=one, at=at) for one in names.values()),
        )

    def _agent(
        self,
        path: str,
        text: reading.Text,
        names: Mapping[str, str],
        asks: Decision,
        entry: Mapping[str, Any],
    ) -> Agent:
        document = text.document
        header = document.data
        at = Place(document, ("name",) if "name" in header else (), of_key=True)
        for key in header:
            if key not in KEYS and (near := nearest(key, KEYS)):
                message = f"llm-do does not know `{key}`, so it does nothing"
                self.problems.append(
                    finding("LDO151", document.key(key), message, hint=f"did you mean `{near}`?")
                )
        own = _own_name(path, document)
        calls: list[AgentCall] = []
        grants: list[Grant] = []
        for name, place in _toolsets(document):
            if name in names:
                calls.append(AgentCall(name=names[name], at=place))
            else:
                grants += self._grants(name, place, asks, names)
        listed = header.get("server_side_tools")
        for number, tool in enumerate(listed if isinstance(listed, list) else ()):
            kind = tool.get("tool_type") if isinstance(tool, dict) else tool
            place = Place(document, ("server_side_tools", number))
            grants += self._server_side(str(kind), place, asks)
        description, model = header.get("description"), header.get("model")
        return Agent(
            name=names[own],
            at=at,
            path=path,
            prompt=text.prompt,
            header=header,
            description=description if isinstance(description, str) else None,
            model=model if isinstance(model, str) else None,
            grants=tuple(grants),
            calls=tuple(calls),
            is_entry=own == entry.get("agent") or header.get("entry") is True,
        )

    def _grants(self, name: str, place: Place, asks: Decision, names: Mapping[str, str]) -> Iterator[Grant]:
        if name in _LINES:
            for line in _LINES[name]:
                yield _grant(line, name, place, line.decision if line.decision == "allowed" else asks)
            return
        known = {*_LINES, *names}
        if not self._said.get("python_files") and not self.has_modules:
            message = f"`{name}` is neither an agent nor a toolset here, and no Python file is"
            self.problems.append(finding("LDO250", place.location, message, hint=did_you_mean(name, known)))
        yield _grant(Line(name, (capability_of(name),), "needs_approval", "declared", ""), name, place, asks)

    def _server_side(self, kind: str, place: Place, asks: Decision) -> Iterator[Grant]:
        lines = _LINES.get(f"{_SERVER_SIDE}{kind}")
        if lines is None:
            message = f"llm-do has no server-side tool `{kind}`"
            self.problems.append(finding("LDO250", place.location, message))
            lines = [Line(kind, (capability_of(kind),), "needs_approval", "declared", "")]
        for line in lines:
            yield _grant(line, kind, place, line.decision if line.decision == "allowed" else asks)


def _grant(line: Line, name: str, place: Place, decision: Decision) -> Grant:
    return Grant(
        toolset=excerpt(name, MAX_NAME),
        tool=excerpt(name, MAX_NAME),
        capabilities=tuple(map(Capability, line.capabilities)),
        decision=decision,
        origin="llm-do",
        at=place,
        is_open=line.assurance == "open",
    )


def _toolsets(document: Document) -> Iterator[tuple[str, Place]]:
    """The names in `toolsets`, a list or a table, each with its place."""
    toolsets = document.data.get("toolsets", document.data.get("tools"))
    key = "toolsets" if "toolsets" in document.data else "tools"
    for number, name in enumerate(toolsets if isinstance(toolsets, list | dict) else ()):
        if isinstance(name, str):
            route = (key, name) if isinstance(toolsets, dict) else (key, number)
            yield name, Place(document, route, of_key=True)


def _own_name(path: str, document: Document) -> str:
    name = document.data.get("name")
    return name if isinstance(name, str) and name else PurePosixPath(path).stem
