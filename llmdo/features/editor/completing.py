"""Completion: keys and their meaning, names, capabilities and scopes."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from llmdo.base import resources
from llmdo.base.codes import CODES
from llmdo.graph import builtin, toolkit
from llmdo.policy.vocabulary import VOCABULARY
from llmdo.syntax import discovery
from llmdo.syntax.frontmatter import FENCE
from llmdo.workspace.root import MANIFEST, WORKER_ENDINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.workspace.project import Project

_HEADER = re.compile(r"^\s*\[\[?([^\[\]#]+)\]\]?")
_PARTS = re.compile(r'"([^"]*)"|\'([^\']*)\'|([A-Za-z0-9_-]+)')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|\'[^\']*\'?|[\[\]{},=:]|[^\s\[\]{},=:"\']+|\s+')
_WORD = re.compile(r"[A-Za-z0-9_.:/*+-]*\Z")
_YAML_KEY = re.compile(r"^( *)(?:- +)?([A-Za-z0-9_./:-]+|\"[^\"]*\"|'[^']*')\s*:(?:\s|$)")
_STATEMENT = re.compile(r"""\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_.-])+\s*=""")
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
MOST_LINES = 200  # above the cursor, of one value


class Cursor(NamedTuple):
    """The place of the cursor."""

    route: tuple[str, ...]
    """The keys to it, including that of the value being typed."""
    is_key: bool
    """Whether a key is typed, in the table at `route`."""
    word: str
    """The text before the cursor."""
    quote: str
    """The quotes around it."""
    in_list: bool = False


def in_manifest(lines: Sequence[str], line: int, column: int) -> Cursor | None:
    """The cursor at a place in `llmdo.toml`, both from 1; None in a comment."""
    before = lines[line - 1][: column - 1]
    table: tuple[str, ...] = ()
    if re.match(r"^\s*\[", before) and "]" not in before and "=" not in before:
        return Cursor(_names(before.replace("[", ""))[:-1], is_key=True, word=_word(before), quote="")
    for above in reversed(lines[: line - 1]):
        if match := _HEADER.match(above):
            table = _names(match[1])
            break
    above = _unfinished(lines[max(line - 1 - MOST_LINES, 0) : line - 1], table)
    return _within(f"{above}{before}", table, "=")


def in_header(lines: Sequence[str], line: int, column: int) -> Cursor | None:
    """The cursor at a place in the header of a worker file; None outside of it, and in a comment."""
    if not lines or lines[0] != FENCE or line < 2 or FENCE in lines[1 : line - 1]:
        return None
    before = lines[line - 1][: column - 1]
    indentation = len(before) - len(before.lstrip(" "))
    is_item = before.lstrip(" ").startswith("-")
    route: list[str] = []
    least = indentation + (1 if is_item else 0)
    for above in reversed(lines[1 : line - 1]):
        match = _YAML_KEY.match(above)
        if match and len(match[1]) < least:
            route.insert(0, match[2].strip("\"'"))
            least = len(match[1])
    text = before.lstrip(" ")
    cursor = _within(text.removeprefix("-").lstrip(" ") if is_item else text, tuple(route), ":")
    if cursor and is_item and cursor.route == tuple(route):
        return cursor._replace(is_key=False, in_list=True)
    return cursor


def _names(text: str) -> tuple[str, ...]:
    names = [
        next((part for part in match.groups() if part is not None), "") for match in _PARTS.finditer(text)
    ]
    return (*names, "") if text.rstrip().endswith(".") or not names else tuple(names)


def _word(text: str) -> str:
    match = _WORD.search(text)
    return match[0] if match else ""


def _unfinished(lines: Sequence[str], table: tuple[str, ...]) -> str:
    """The last statement of these lines of TOML, if its value has open brackets."""
    for number in range(len(lines) - 1, -1, -1):
        if _HEADER.match(lines[number]):
            break
        if _STATEMENT.match(lines[number]):
            text = "".join(f"{line}\n" for line in lines[number:])
            statement = _read(_COMMENT.sub("", text), table, "=")
            return text if statement.is_open else ""
    return ""


def _within(text: str, table: tuple[str, ...], equals: str) -> Cursor | None:
    """The cursor at the end of a statement in a table; None in a comment."""
    *above, last = _COMMENT.sub("", text).split("\n") if "\n" in text else [text]
    if _COMMENT.search(last):
        return None
    return _read("\n".join([*above, last]), table, equals).cursor


def _read(text: str, table: tuple[str, ...], equals: str) -> _Statement:
    statement = _Statement(table, equals)
    for match in _TOKEN.finditer(text):
        statement.take(match[0])
    return statement


class _Statement:
    """Keys, values and brackets typed so far."""

    def __init__(self, table: tuple[str, ...], equals: str) -> None:
        self._equals = equals
        self._open = [("{", table)]
        self._key: tuple[str, ...] = ()
        self._before = ""
        """The text of the key or value being typed."""
        self._raw = ""
        """The same with its quotes."""
        self._in_value = False
        self._quote = ""

    def take(self, part: str) -> None:
        """Takes the next part of the text."""
        bracket, _ = self._open[-1]
        self._quote = ""
        if part in ("[", "{") and self._in_value:
            self._open.append((part, self._route))
            self._begin(in_value=part == "[")
        elif part in ("]", "}") and len(self._open) > 1:
            self._open.pop()
            self._begin(in_value=True)
        elif part == "," and len(self._open) > 1:
            self._begin(in_value=bracket == "[")
        elif part == self._equals and bracket == "{" and not self._in_value:
            self._key = _names(self._raw) if self._equals == "=" else (self._before,)
            self._before, self._in_value = "", True
        elif part.isspace():
            self._before = "" if self._in_value or "\n" in part else self._before
        elif part[0] in "\"'":
            self._raw += part
            self._quote = part[0] if len(part) == 1 or part[-1] != part[0] else ""
            self._before = part.strip("\"'")
        else:
            self._raw += part
            self._before += part

    @property
    def is_open(self) -> bool:
        """Whether it continues on the next line."""
        return len(self._open) > 1

    @property
    def cursor(self) -> Cursor:
        """The cursor after all parts."""
        bracket, route = self._open[-1]
        is_value = self._in_value and bracket == "{"
        return Cursor(
            self._route if is_value else route,
            not self._in_value,
            self._before if self._quote else _word(self._before),
            self._quote,
            bracket == "[",
        )

    @property
    def _route(self) -> tuple[str, ...]:
        return (*self._open[-1][1], *self._key)

    def _begin(self, *, in_value: bool) -> None:
        self._key, self._before, self._raw, self._in_value = (), "", "", in_value


if TYPE_CHECKING:
    Schema = Mapping[str, Any]
    Form = Literal["manifest", "worker"]


DEEPEST_FOLDER = 2
MOST_FOLDERS = 200


class Completion(NamedTuple):
    """One proposal."""

    label: str
    kind: Literal["key", "worker", "toolset", "capability", "scope", "value"]
    detail: str = ""
    text: str = ""
    """The inserted text, if it is not the label."""


class Completions(NamedTuple):
    """The proposals for the characters before the cursor."""

    replaced: int
    """The number of characters before the cursor that each of them replaces."""
    items: tuple[Completion, ...]


NOTHING = Completions(0, ())


def completions(project: Project, path: str, lines: Sequence[str], line: int, column: int) -> Completions:
    """The proposals at a place of a file, line and column from 1."""
    form: Form
    if path == MANIFEST:
        form, cursor = "manifest", in_manifest(lines, line, column)
    elif path.endswith(WORKER_ENDINGS):
        form, cursor = "worker", in_header(lines, line, column)
    else:
        return NOTHING
    if cursor is None:
        return NOTHING
    items = _keys(project, form, cursor) if cursor.is_key else _values(project, form, cursor)
    return Completions(len(cursor.word), tuple(_quoted(each, form, cursor) for each in items))


def _quoted(item: Completion, form: Form, cursor: Cursor) -> Completion:
    """The proposal with the quotes that its place needs."""
    is_bare = item.label.replace("_", "").replace("-", "").isalnum()
    if cursor.quote or item.text or (form == "worker" and not _needs_quotes(item.label)):
        return item
    if is_bare and (cursor.is_key or form == "worker"):
        return item
    return item._replace(text=json.dumps(item.label))


def _needs_quotes(text: str) -> bool:
    return any(sign in text for sign in "*:#{}[],&!|>%@`'\"")


def _keys(project: Project, form: Form, cursor: Cursor) -> Iterator[Completion]:
    schema = _schema_at(form, cursor.route)
    for name, part in sorted(schema.get("properties", {}).items()):
        yield Completion(
            name, "key", str(_resolved(form, part).get("description") or part.get("description", ""))
        )
    if "capability" in str(schema.get("propertyNames", {}).get("title", "")):
        yield from _capabilities(project, cursor.word)
    elif cursor.route == ("toolsets",) and form == "worker":
        yield from _usable(project)
    elif cursor.route == ("entries",):
        yield from (Completion(name, "value") for name in project.graph.entries)


def _values(project: Project, form: Form, cursor: Cursor) -> Iterator[Completion]:
    schema = _schema_at(form, cursor.route)
    part = _resolved(form, schema["items"]) if "items" in schema else schema
    last = cursor.route[-1] if cursor.route else ""
    graph = project.graph
    if words := part.get("enum"):
        yield from (Completion(str(word), "value") for word in words)
    elif part.get("type") == "boolean":
        yield from (Completion(word, "value", text=word) for word in ("true", "false"))
    elif "capability" in str(part.get("title", "")):
        yield from _capabilities(project, cursor.word)
    elif last == "toolsets" and form == "worker":
        yield from _usable(project)
    elif last == "model":
        yield from (Completion(alias, "value", ", ".join(chain)) for alias, chain in graph.models.items())
    elif last in ("worker", "calls"):
        yield from _workers(project)
        if last == "calls":
            yield from _tools(project)
    elif last == "tool":
        yield from _tools(project)
    elif last == "entry":
        yield from (Completion(name, "value") for name in graph.entries)
    elif last in ("code", "select", "ignore"):
        yield from (Completion(code, "value", name) for code, (name, _) in CODES.items())


def _workers(project: Project) -> Iterator[Completion]:
    for name, worker in project.graph.workers.items():
        yield Completion(name, "worker", worker.description or "")


def _usable(project: Project) -> Iterator[Completion]:
    """The names that a worker may list among its toolsets."""
    yield from _workers(project)
    for name in sorted({*project.graph.toolsets, *builtin.NAMES}):
        toolset = project.graph.toolsets.get(name)
        yield Completion(name, "toolset", (toolset.python or "MCP server") if toolset else "built in")


def _tools(project: Project) -> Iterator[Completion]:
    for name, toolset in project.graph.toolsets.items():
        for tool in toolset.tools:
            yield Completion(f"{name}.{tool}", "value", "a tool")


def _capabilities(project: Project, word: str) -> Iterator[Completion]:
    name, colon, _ = word.partition(":")
    if colon:
        for scope in sorted(_scopes(project)):
            yield Completion(f"{name}:{scope}", "scope")
        return
    for known in sorted(toolkit.known_capabilities(project.graph)):
        yield Completion(known, "capability", VOCABULARY.get(known, ""))


def _scopes(project: Project) -> set[str]:
    """The scopes that the workspace names, those of its path map, and its folders."""
    named = {str(capability.scope) for capability in project.analysis.written if capability.scope is not None}
    targets = {f"{target}**" if target.endswith("/") else target for target in project.graph.paths.values()}
    return {*named, *targets, *_folders(project), "**"}


def _folders(project: Project) -> Iterator[str]:
    root = project.workspace.root
    waiting = [""]
    count = 0
    while waiting:
        folder = waiting.pop()
        for name in discovery.names(root, folder):
            path = f"{folder}/{name}" if folder else name
            count += 1
            if count > MOST_FOLDERS:
                return
            if name.startswith(".") or (root / path).is_symlink() or not (root / path).is_dir():
                continue
            yield f"{path}/**"
            if path.count("/") + 1 < DEEPEST_FOLDER:
                waiting.append(path)


@cache
def _schema(form: Form) -> Schema:
    schema: Schema = json.loads(resources.read("schemas", f"{form}.json"))
    return schema


def _resolved(form: Form, part: Schema) -> Schema:
    reference = part.get("$ref")
    if not isinstance(reference, str):
        return part
    resolved: Schema = _schema(form)["definitions"][reference.removeprefix("#/definitions/")]
    return resolved


def _schema_at(form: Form, route: Sequence[str]) -> Schema:
    """The schema at a route; empty if the format says nothing of it."""
    at: Schema = _schema(form)
    for key in route:
        at = _resolved(form, at["items"]) if "items" in at and "properties" not in at else at
        part = at.get("properties", {}).get(key)
        if part is None and isinstance(at.get("additionalProperties"), dict):
            part = at["additionalProperties"]
        if not part:
            return {}
        at = _resolved(form, part)
    return _resolved(form, at["items"]) if at.get("type") == "array" and "$ref" in at.get("items", {}) else at


def about_key(path: str, lines: Sequence[str], line: int, column: int) -> str | None:
    """The description of the key that ends at a place; None if there is no key, or no description."""
    is_manifest = path == MANIFEST
    if not is_manifest and not path.endswith(WORKER_ENDINGS):
        return None
    cursor = (in_manifest if is_manifest else in_header)(lines, line, column)
    if cursor is None or not cursor.is_key or not cursor.word:
        return None
    table = _schema_at("manifest" if is_manifest else "worker", cursor.route)
    description = table.get("properties", {}).get(cursor.word, {}).get("description")
    return f"`{cursor.word}`: {description}" if description else None
