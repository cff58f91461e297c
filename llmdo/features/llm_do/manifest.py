"""The files of a project of llm-do: `project.json`, and the headers of its agents."""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, finding
from llmdo.base.parts import items
from llmdo.base.values import dataclass
from llmdo.foreign import reading
from llmdo.foreign.team import Remark
from llmdo.graph.models import problem_of
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.foreign.tree import Tree
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

KEYS = frozenset(
    {
        "attachments", "compatible_models", "description", "entry", "input_model_ref", "model", "name",
        "schema_in_ref", "schema_out_ref", "server_side_tools", "tools", "toolsets",
    }
)  # fmt: skip

CLASS_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*[.:][A-Za-z][A-Za-z0-9_]{0,63}")
"""A toolset in a header, by the path of its class."""
_APPROVALS = "_approval_config"
"""The part of a toolset's configuration that names the calls without a question."""


def is_hosted(model: str) -> bool:
    """Whether a provider runs it: a file of the workspace is never meant, however the text looks."""
    return ":" in model and not model.startswith(("python:", "replay:")) and problem_of(model) is None


def toolsets(document: Document) -> Iterator[tuple[str, Place]]:
    """The names in `toolsets` and `tools`, lists or tables, each with its place."""
    seen: set[str] = set()
    for key in ("toolsets", "tools"):
        listed = document.data.get(key)
        for number, name in enumerate(listed if isinstance(listed, list | dict) else ()):
            if isinstance(name, str) and name not in seen:
                seen.add(name)
                yield (
                    name,
                    Place(document, (key, name) if isinstance(listed, dict) else (key, number), of_key=True),
                )


def own_name(path: str, document: Document) -> str:
    """The name of an agent in its project: by its header, or after its file."""
    name = document.data.get("name")
    return name if isinstance(name, str) and name else PurePosixPath(path).stem


def configuration(name: str, place: Place) -> tuple[dict[str, object], tuple[Remark, ...]]:
    """The configuration of a toolset's class in a header, and remarks on omitted parts: rules say who is asked."""
    config = place.data if isinstance(place.data, dict) else {}
    message = f"`{_APPROVALS}` of `{name}` is not carried over: rules decide which calls ask"
    remarks = (Remark(place.location, message),) if _APPROVALS in config else ()
    return {key: value for key, value in config.items() if key != _APPROVALS}, remarks


PROJECTS = ("**/project.json",)
AGENT_FILES = ("agent_files", "worker_files")
DEFAULT_MAX_DEPTH = 5

_MODES: dict[str, Decision] = {
    "approve_all": "allowed", "prompt": "needs_approval", "reject_all": "blocked",
}  # fmt: skip
_CALLED = ("agent", "worker")
"""The words for an agent, in later and in earlier versions."""
_ASKED = {"calls_require_approval": "agent.delegate", "attachments_require_approval": "fs.read"}
_READ = frozenset(
    {
        "approval_mode", "max_depth",
        *(f"{called}_{key}" for called in _CALLED for key in (*_ASKED, "approval_overrides")),
    }
)  # fmt: skip
"""The keys of `runtime` that an import expresses in another way."""


@dataclass(frozen=True, slots=True)
class LlmDoManifest:
    """The `project.json` of one folder."""

    folder: str
    document: Document

    @property
    def _runtime(self) -> Mapping[str, Json]:
        return self._table("runtime")

    @property
    def entry(self) -> Mapping[str, Json]:
        """The start of a run."""
        return self._table("entry")

    def _table(self, key: str) -> Mapping[str, Json]:
        table = self.document.data.get(key)
        return table if isinstance(table, dict) else {}

    def files(self, *keys: str) -> Iterator[tuple[str, Place]]:
        """The paths of files that it names, each from the folder of the whole tree, and its place."""
        for key in keys:
            for number, path in enumerate(items(self.document.data.get(key))):
                if isinstance(path, str) and path:
                    yield within(self.folder, path), Place(self.document, (key, number))

    @property
    def max_depth(self) -> int:
        """How many calls deep its agents may nest: llm-do counts the first agent as well."""
        depth = self._runtime.get("max_depth", DEFAULT_MAX_DEPTH)
        if isinstance(depth, bool) or not isinstance(depth, int) or not 0 < depth < 100:
            depth = DEFAULT_MAX_DEPTH
        return depth - 1

    def mode(self) -> tuple[Decision, tuple[Diagnostic, ...]]:
        """The decision in place of llm-do's questions, and the findings about that."""
        mode = self._runtime.get("approval_mode", "prompt")
        at = self.document.value("runtime", "approval_mode")
        if not (isinstance(mode, str) and mode in _MODES):
            message = f"llm-do does not know the mode `{mode}`"
            return "needs_approval", (finding("LDO151", at, message, hint=did_you_mean(str(mode), _MODES)),)
        problems = (finding("LDO554", at, "mode `approve_all` never asks for approval"),)
        return _MODES[mode], problems if mode == "approve_all" else ()

    def asked_for(self, callee: str) -> Iterator[str]:
        """The capabilities that a call of the agent `callee` is asked about: the call itself, the files it is given."""
        for key, capability in _ASKED.items():
            asks = any(self._runtime.get(f"{called}_{key}", False) is not False for called in _CALLED)
            for called in _CALLED:
                overrides = self._runtime.get(f"{called}_approval_overrides")
                override = overrides.get(callee) if isinstance(overrides, dict) else None
                if isinstance(override, dict) and override.get(key) is not None:
                    asks = override[key] is not False
            if asks:
                yield capability

    def input(self) -> tuple[str | None, tuple[Remark, ...]]:
        """The default input of a run, and remarks on its parts that cannot be expressed."""
        key = "args" if "args" in self.entry else "input"
        value = self.entry.get(key)
        if not isinstance(value, dict):
            return value if isinstance(value, str) else None, ()
        at = self.document.key("entry", key)
        if not isinstance(value.get("input"), str) or value.keys() - {"input", "attachments"}:
            return json.dumps(value, ensure_ascii=False, default=str), ()
        message = "the attachments of the default input are not carried over"
        return value["input"], (Remark(at, message),) if value.get("attachments") else ()

    def remarks(self, modules: Container[str]) -> Iterator[Remark]:
        """The parts that an import leaves out of it; `modules` are the existing Python files."""
        document = self.document
        if self._runtime.get("approval_mode") == "approve_all":
            message = "mode `approve_all` never asks for approval, and neither do these rules: read and tighten them"
            yield Remark(document.value("runtime", "approval_mode"), message)
        for key in sorted(self._runtime.keys() - _READ):
            yield Remark(document.key("runtime", key), f"`{key}` is not carried over")
        for path, at in self.files("python_files"):
            if path not in modules:
                yield Remark(at.location, f"there is no file `{path}` to be copied")
        known = {"version", "runtime", "entry", "python_files", *AGENT_FILES}
        for key in sorted(document.data.keys() - known):
            yield Remark(document.key(key), f"`{key}` is not carried over")
        for key in sorted(self.entry.keys() - {"agent", "function", "args", "input"}):
            yield Remark(document.key("entry", key), f"`{key}` of the entry is not carried over")


def manifests(tree: Tree, problems: list[Diagnostic]) -> dict[str, LlmDoManifest]:
    """Folder to its `project.json`, if that is one of llm-do."""
    listed = {}
    for path in tree.find(PROJECTS)[0]:
        source, unread = tree.read(path) or (None, ())
        if source is not None and not unread:
            document = reading.json_with_comments(source)
            if any(key in document.data for key in AGENT_FILES) or document.problems:
                problems.extend(document.problems)
                folder = path.rpartition("/")[0]
                listed[folder] = LlmDoManifest(folder, document)
    return listed


def within(folder: str, path: str) -> str:
    """The path that a file of `folder` means by `path`, from the folder of the whole tree."""
    return posixpath.normpath(posixpath.join(folder, path))
