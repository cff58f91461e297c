"""Code of a project that opencode runs: plugins, tools in code, formatters, language servers, providers of models."""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import items, table, text, texts
from llmdo.base.values import dataclass
from llmdo.features.opencode import PLUGINS, TERMINAL, TOOLS
from llmdo.features.opencode.permissions import matches
from llmdo.features.opencode.references import lacks
from llmdo.foreign.events import UNTRUSTED, ClientEvents, is_own_plugin, script_abilities
from llmdo.foreign.files import line_out
from llmdo.foreign.team import MAX_NAME, Grant, capability_of
from llmdo.policy.authority import Capability
from llmdo.syntax.document import Document, Place
from llmdo.syntax.globs import Glob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.permissions import PermissionRule

_ENDINGS = (".tsx", ".jsx", ".ts", ".mjs", ".js", ".cjs")
"""The endings that the path of a module may leave out (watched with 1.18.33); for `.js` it may have `.ts`."""
_ENTRIES = ("index.ts", "index.tsx", "index.js", "index.mjs", "index.cjs")
_BUILT = frozenset({"build", "dist", "lib", "node_modules", "out", "target"})
"""Folders whose files may be made at a person's."""
_OF_TERMINAL = ("tui.json", "tui.jsonc")
_BUNDLED = "@ai-sdk/"
"""The beginning of the packages of providers that opencode has itself."""
_EXPORTED = re.compile(
    r"^export\s+(?:(?P<default>default)\b\s*|(?:const|let|var|(?:async\s+)?function)\s+(?P<name>\w+)|(?P<other>[*{]))",
    re.MULTILINE,
)
_EXPORTS = re.compile(r"\bexports\b")
"""A sign that a file gives what it has in another way."""
_VALUE = re.compile(r"\s*(?::[^=\n]+)?=(?!>)\s*")
"""The text between a name and its value, with a type perhaps."""
_FUNCTION = re.compile(r"(?:async|function|class)\b|<|\w+\s*=>")
"""The start of a value that is a function or a class."""
_ARROW = re.compile(r"\s*(?::[^={\n]+)?=>")
"""What follows the parameters of a function."""
_IDENTIFIER = re.compile(r"(\w+)\s*;?\s*$", re.MULTILINE)
_OF_PLUGIN = re.compile(r"\bPlugin\b")
"""The name of the type of plugins."""
_GIVES_TOOLS = re.compile(
    r"\btool\s*(?:\(|:(?![^{}]{0,400}\}(?:\s*(?::[^={}\n]+)?=(?![=>])|[^(){}]{0,400}\)\s*(?:=>|\{)))\s*(?:\{|(?:await\s+)?(?!(?:String|any|string|unknown)\b)[A-Za-z_$][\w$.]*(?<!\.name)(?<!\.tool)\s*[(,}\n]))"
)
"""A sign that a plugin has tools: one that it makes, or a table of them; no type of what a hook is given.

Nor is it another name for that, as in `const { tool: name } = input` and `({ tool: name }) =>`.
"""
ORIGIN = "opencode, which asks nobody about a tool in code"


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A module that opencode loads."""

    name: str
    shown: str
    at: Place
    path: str | None
    """Its file in the project; None for one from elsewhere."""


@dataclass(frozen=True, slots=True)
class OpencodeCode:
    """All code of a project that opencode runs."""

    files: Files
    documents: Sequence[Document]
    """The settings, the uppermost last."""
    plugins: tuple[LoadedModule, ...]
    tools: tuple[LoadedModule, ...]

    @property
    def at(self) -> Place | None:
        """The place of the first module; None without any."""
        return next((each.at for each in (*self.plugins, *self.tools)), None)

    def events(self) -> Iterator[Grant]:
        """What runs in each session, whatever its model chooses."""
        client = ClientEvents(self.files)
        for plugin in self.plugins:
            yield client.module(f"plugin {plugin.name}", plugin.shown, plugin.at, plugin.path)
        for tool in self.tools:
            yield client.module(f"tool {tool.name}", tool.shown, tool.at, tool.path)
        for document in self.documents:
            for kind, route in (("formatter", ("formatter",)), ("language server", ("lsp",))):
                yield from _commands(client, document, kind, route)
            yield from _providers(client, document)

    def grants(self, rules: Sequence[PermissionRule]) -> Iterator[Grant]:
        """The tools in code that an agent with these rules has: a rule takes one away, but none asks about it."""
        for tool in self.tools:
            source = self.files.source(tool.path or "")
            for name in _names(tool.name, source.text if source else ""):
                able = script_abilities(tool.path or "", source.text) if source else ()
                yield from _grant(name, name, tool.at, (capability_of(name), *map(str, able)), rules)
        for plugin in self.plugins:
            if self._may_give_tools(plugin):
                unknown = (capability_of(plugin.name), str(UNTRUSTED))
                every = f"tools of plugin {plugin.name}"
                yield from _grant(every, every, plugin.at, unknown, rules)

    def may_have(self, name: str) -> bool:
        """Whether a tool in code may have this name."""
        return any(matches(each, name) for each in self._tool_names) or any(
            map(self._may_give_tools, self.plugins)
        )

    @property
    def _tool_names(self) -> list[str]:
        sources = ((tool.name, self.files.source(tool.path or "")) for tool in self.tools)
        return [each for name, source in sources for each in _names(name, source.text if source else "")]

    def _may_give_tools(self, plugin: LoadedModule) -> bool:
        """Whether a plugin may have tools, as those of the terminal have none."""
        if PurePosixPath(plugin.at.document.source.path).name in _OF_TERMINAL:
            return False
        source = self.files.source(plugin.path) if plugin.path else None
        return source is None or _GIVES_TOOLS.search(source.text) is not None

    def judge(self, rules: Iterable[PermissionRule]) -> None:
        """Notes the rules that ask about a tool in code, which nothing obeys."""
        names = self._tool_names
        for rule in rules:
            about = [name for name in names if matches(rule.tool, name)]
            if about and rule.tool != "*" and rule.decision == "needs_approval":
                message = (
                    f"opencode asks nobody about the tool `{excerpt(about[0])}`, which is code of the project"
                )
                self.files.note("LDO151", rule.at, message, "write `deny`, which takes it away")


def _grant(
    toolset: str, tool: str, at: Place, able: Iterable[str], rules: Iterable[PermissionRule]
) -> Iterator[Grant]:
    last = next((rule for rule in reversed([*rules]) if matches(rule.tool, toolset)), None)
    if last and last.decision == "blocked" and last.pattern == "*":
        return
    yield Grant(
        toolset=excerpt(toolset, MAX_NAME),
        tool=excerpt(tool, MAX_NAME),
        capabilities=tuple(sorted({Capability.parse(each) for each in able}, key=str)),
        decision="allowed",
        origin=ORIGIN,
        at=at,
        is_open=True,
    )


def _names(stem: str, source: str) -> list[str]:
    """The tools in a file: of its own name by default, and one for each other name that it exports.

    opencode makes a tool of an object with `args` alone, never of a function. A value that is not known here counts.
    """
    names: dict[str, None] = {}
    exported = [*_EXPORTED.finditer(source)]
    for each in exported:
        if not _is_function(each, source):
            names[stem if each["default"] else f"{stem}_{each['name'] or '*'}"] = None
    return [*names] if exported and not _EXPORTS.search(source) else [*names] or [stem]


def _is_function(exported: re.Match[str], source: str) -> bool:
    """Whether what a file exports is surely a function or a class."""
    if "function" in exported[0].split():
        return True
    at = exported.end()
    if exported["name"]:
        value = _VALUE.match(source, at)
        return value is not None and _is_function_at(value.end(), source)
    if exported["default"] and (named := _IDENTIFIER.match(source, at)):
        declared = re.search(rf"^(?:export\s+)?(?:const|let|var)\s+{named[1]}\b", source, re.MULTILINE)
        value = _VALUE.match(source, declared.end()) if declared else None
        if value is not None:
            return _is_function_at(value.end(), source)
        made = rf"^(?:export\s+)?(?:(?:async\s+)?function|class)\s+{named[1]}\b"
        return re.search(made, source, re.MULTILINE) is not None
    return bool(exported["default"]) and _is_function_at(at, source)


def _is_function_at(start: int, source: str) -> bool:
    """Whether the text from `start` on is a function or a class: by a word, or by an arrow behind its parameters."""
    if _FUNCTION.match(source, start):
        return True
    depth = 0
    for sign in re.finditer(r"[()]", source[start:] if source.startswith("(", start) else ""):
        depth += 1 if sign[0] == "(" else -1
        if depth == 0:
            return _ARROW.match(source, start + sign.end()) is not None
    return False


def _note_plugin(files: Files, module: LoadedModule) -> None:
    """Notes a plugin among the tools, of which opencode makes nothing."""
    source = files.source(module.path or "")
    exported = [*_EXPORTED.finditer(source.text)] if source else []
    is_plugin = any(each["default"] for each in exported) or (source and _OF_PLUGIN.search(source.text))
    if source and exported and is_plugin and not _names(module.name, source.text):
        message = (
            f"`{module.shown}` exports functions alone, so opencode makes no tool of it and loads no plugin"
        )
        files.note("LDO154", module.at, message, "move it to `.opencode/plugins` if it is a plugin")


def code_of(files: Files, documents: Sequence[Document]) -> OpencodeCode:
    """The code of a project with these settings; llmdo's own plugin is none."""
    terminal = files.named(TERMINAL) if files.tree.only else (*_OF_TERMINAL, *TERMINAL)
    settings = [*documents, *(each for path in terminal if (each := files.json(path)))]
    named = [module for document in settings for module in _named(files, document)]
    plugins = [*named, *_in_folders(files, PLUGINS)]
    by_file = {each.path or each.shown: each for each in plugins}
    tools = tuple(_in_folders(files, TOOLS))
    for tool in tools:
        _note_plugin(files, tool)
    return OpencodeCode(
        files,
        documents,
        tuple(each for each in by_file.values() if not _is_own(files, each)),
        tools,
    )


def _is_own(files: Files, module: LoadedModule) -> bool:
    source = files.source(module.path) if module.path else None
    return source is not None and is_own_plugin(source.text)


def _in_folders(files: Files, patterns: Iterable[str]) -> Iterator[LoadedModule]:
    for path in files.named(patterns):
        if source := files.source(path):
            name = PurePosixPath(path).stem
            yield LoadedModule(name, path, Place(Document(source, {}, dict), ()), path)


def _named(files: Files, document: Document) -> Iterator[LoadedModule]:
    """The plugins that settings name, by `plugin` or by its later name, each perhaps with options."""
    for key in ("plugin", "plugins"):
        for number, entry in enumerate(items(document.data.get(key))):
            spec = text(entry) or text(next(iter(items(entry)), None)) or text(table(entry).get("package"))
            module = _specified(files, spec, Place(document, (key, number))) if spec else None
            if module and not _is_lacking(files, module):
                yield module


def _is_lacking(files: Files, module: LoadedModule) -> bool:
    """Whether a plugin surely has no file, which is noted: opencode then goes on without it (watched with 1.18.33)."""
    settings = module.at.document.source.path
    is_of_terminal = PurePosixPath(settings).name in _OF_TERMINAL
    if module.path or not module.shown.startswith(".") or is_of_terminal or files.tree.only:
        return False
    folder = posixpath.dirname(settings)
    path = posixpath.normpath(posixpath.join(folder, module.shown))
    if (
        not lacks(files.tree, path)
        or files.tree.read(f"{path}/package.json")
        or not _BUILT.isdisjoint(path.split("/"))
    ):
        return False
    entry = _entry(files, posixpath.normpath(module.shown))
    hint = (
        f'write `"./{posixpath.relpath(entry, folder or ".")}"`'
        if entry and isinstance(module.at.data, str)
        else None
    )
    if entry and any(Glob(each).matches(entry) for each in PLUGINS):
        hint = f"{line_out(module.at)}: `{entry}` is loaded without it"
    files.note(
        "LDO250",
        module.at,
        f"there is no `{excerpt(path, MAX_NAME)}`, so opencode loads no such plugin",
        hint,
    )
    return True


def _specified(files: Files, spec: str, at: Place) -> LoadedModule:
    """The module that `spec` names: a package, or a file or a folder beside the settings."""
    plain = spec.removeprefix("file://")
    if plain == spec and not spec.startswith("."):
        name = spec[: spec.rfind("@")] if spec.rfind("@") > 0 else spec
        return LoadedModule(excerpt(name, MAX_NAME), spec, at, None)
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(at.document.source.path), plain))
    path = None if inside.startswith(("..", "/")) else _entry(files, inside)
    return LoadedModule(excerpt(PurePosixPath(plain).stem, MAX_NAME), spec, at, path)


def _entry(files: Files, path: str) -> str | None:
    """The file by which a module at a path of the project begins; None if there is none that can be read."""
    manifest = f"{path}/package.json"
    candidates = [path, *(f"{path}{ending}" for ending in _ENDINGS)]
    candidates += [f"{path[:-3]}{ending}" for ending in _ENDINGS if path.endswith(".js")]
    if files.tree.read(manifest) and (package := files.json(manifest)):
        server = table(package.data, "exports").get("./server")
        entries = (text(server), *texts(table(server).values()), text(package.data.get("main")))
        candidates += [posixpath.normpath(f"{path}/{entry}") for entry in entries if entry]
    candidates += [f"{path}/{name}" for name in _ENTRIES]
    for each in candidates:
        read = files.tree.read(each)
        if read and not read[1]:
            return each
    return None


def _commands(client: ClientEvents, document: Document, kind: str, route: tuple[str]) -> Iterator[Grant]:
    """The commands that settings give for files of a kind."""
    for name, each in table(document.data, *route).items():
        command = " ".join(texts(table(each).get("command")))
        if command and table(each).get("disabled") is not True:
            at = Place(document, (*route, name, "command"))
            yield client.command(f"{kind} {excerpt(name, MAX_NAME)}", command, at)


def _providers(client: ClientEvents, document: Document) -> Iterator[Grant]:
    """The packages of providers that opencode does not have itself, and the addresses of models."""
    for name, each in table(document.data, "provider").items():
        package, address = text(table(each).get("npm")), text(table(each, "options").get("baseURL"))
        shown = f"provider {excerpt(name, MAX_NAME)}"
        if package and not package.startswith(_BUNDLED):
            module = _specified(client.files, package, Place(document, ("provider", name, "npm")))
            yield client.module(shown, module.shown, module.at, module.path)
        if address:
            at = Place(document, ("provider", name, "options", "baseURL"))
            yield client.receiver(shown, address, at)
