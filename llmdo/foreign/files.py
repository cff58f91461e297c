"""The files read so far in one reading of a project, and the findings about them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, excerpt, finding, nearest
from llmdo.base.parts import table
from llmdo.base.source import Source
from llmdo.base.values import dataclass, field
from llmdo.foreign import reading
from llmdo.foreign.meaning import NO_MEANINGS, meant_tool
from llmdo.foreign.strict_json import strict_json, tolerant_json
from llmdo.foreign.tree import few, undecoded
from llmdo.syntax.document import Document, Place
from llmdo.syntax.globs import Glob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.json_places import RepeatedKey


def json_at(tree: Tree, path: str) -> Document | None:
    """The JSON file at `path`; None if it cannot be read, which is another reader's to note."""
    source, problems = tree.read(path) or (None, ())
    return None if source is None or problems else reading.json_with_comments(source)


MOST_PLACES = 3  # further places below a finding
_ONE_OUT = "take one of the two out"
COUNTS = ", and that alone counts"
_OF_SERVERS = (".*/*mcp*.json", "*mcp*.json", "**/*mcp*.json")
"""Files by whose names it is likely that they declare MCP servers, of whatever tool."""
_MOST_OF_SERVERS = 50
_OF_A_PERSON = "it may come from a person's own configuration"


def renaming(
    at: Place, before: str, after: str | None, words: str = "did you mean `{}`?", counts: str = ""
) -> str | None:
    """The hint to write the name `after` for `before` in the text at a place; None without a name.

    Where that name is in the same table or list already, it is to take this one out; `counts` says what holds then.
    """
    if after is None:
        return None
    return surplus(after, counts) if is_there(at, before, after) else words.format(after)


def surplus(name: str, counts: str = COUNTS) -> str:
    """The hint for what says the same as a name that is there."""
    return f"take this out: `{name}` is there already{counts}"


def unknown_to(product: str, name: str) -> str:
    """The sentence about a name that a product does not know there."""
    return f"{product} does not know `{excerpt(name)}`, so it does nothing"


def line_out(at: Place) -> str:
    """The change that takes out what is at a place: of JSON with the comma before it, if it is the last of several."""
    *route, step = at.route or ("",)
    around = at._replace(route=tuple(route)).data
    if not at.location.path.endswith((".json", ".jsonc")) or not isinstance(around, dict | list):
        return "take this line out"
    name = f"the key `{step}`" if isinstance(around, dict) else "this item"
    is_last = next(reversed(around)) == step if isinstance(around, dict) else step == len(around) - 1
    comma = ", and the comma before it" if is_last and len(around) > 1 else ""
    return f"take {name} out{comma}"


def is_there(at: Place, before: str, after: str) -> bool:
    """Whether the table or list at a place would have a name twice if `after` were written for `before`."""
    *route, step = at.route or ("",)
    around = at._replace(route=tuple(route)).data
    if at.of_key:
        return isinstance(around, dict) and after in around
    if isinstance(step, int) and isinstance(around, list):
        return isinstance(at.data, str) and at.data.replace(before, after) in around
    text = around if isinstance(around, str) else at.data  # a list may stand in a text
    listed = [each.strip() for each in text.split(",")] if isinstance(text, str) else []
    return any(before in each and each.replace(before, after) in listed for each in listed)


def folder_place(folder: str) -> Place:
    """The place of an agent that no file declares: the folder of its tool."""
    return Place(Document(Source(folder, ""), {}, dict), ())


def _about(code: str, message: str, hint: str | None, places: Sequence[Place]) -> Diagnostic:
    """The finding about places in several files at once."""
    files = f", which {len(places)} files name" if len(places) > 1 else ""
    related = [Related(place.location, "and here") for place in places[1 : MOST_PLACES + 1]]
    return finding(code, places[0].location, message + files, hint=hint, related=related)


_OF_LINKS = ("which llmdo does not follow", "which llmdo does not follow, so it was not read")
"""The ends of messages about a link."""


@dataclass(slots=True)
class Files:
    """One reading of a project: gives out each file once, and collects their paths and problems."""

    tree: Tree
    product: str
    """The tool that the format belongs to, as messages name it."""
    problems: list[Diagnostic] = field(default_factory=list)
    cuts_headers: bool = False
    """Whether the tool ends a header at the first `---`, also within a line."""
    has_strict_json: bool = False
    """Whether the tool ignores a file of JSON with a comment or a comma too many."""
    may_refuse_repeated: bool = False
    """Whether the tool may ignore a file of JSON for a key that is given twice; else the last one counts."""
    takes_commas: bool = True
    """Whether a tool that takes comments in JSON takes a comma too many as well."""
    _sources: dict[str, Source | None] = field(default_factory=dict)
    """Every file that is there; None for one that cannot be read."""
    _documents: dict[str, Document] = field(default_factory=dict)
    _alike: dict[tuple[str, str, str | None], dict[str, Place]] = field(default_factory=dict)
    """The places that `note_together` has noted, by what it notes about them and by their files."""
    _declared: dict[str, list[str]] | None = None
    """The files with a usual name that declare servers, by the servers' names; None before anybody asks."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files so far, sorted."""
        return tuple(sorted(self._sources))

    def find(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """The paths that the globs name; unreadable ones are noted."""
        paths, problems = few(*self.tree.find(patterns))
        self.problems.extend(problems)
        return paths

    def named(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """The same; a file given alone counts only if the globs name it."""
        if (only := self.tree.only) is None:
            return self.find(patterns)
        return (only,) if any(Glob(pattern).matches(only) for pattern in patterns) else ()

    def source(self, path: str) -> Source | None:
        """The file at `path`; None if there is none, or it cannot be read, which is noted."""
        if path not in self._sources:
            read = self.tree.read(path)
            if read is None:
                return None
            source, problems = read
            self.problems.extend(problems)
            self._sources[path] = None if problems else source
        return self._sources[path]

    def looked_into(self, path: str) -> Source | None:
        """The file at `path`, if there is one that is worth a look; that it is no text is noted."""
        source, problems = self.tree.read(path) or (None, ())
        self.problems.extend(each for each in undecoded(problems) if each not in self.problems)
        return None if problems else source

    def is_link(self, path: str) -> bool:
        """Whether nothing was read at a path as it, or a folder above it, is a link."""
        refused = {each.at.path for each in self.problems if each.message.endswith(_OF_LINKS)}
        parts = path.split("/")
        return any("/".join(parts[:number]) in refused for number in range(1, len(parts) + 1))

    def json(self, path: str) -> Document | None:
        """The JSON file at `path`, as far as it could be read; None if there is none."""
        is_new = path not in self._documents
        if self.has_strict_json:
            document = self._document(path, lambda source: strict_json(source, self.product))
        else:
            takes = self.takes_commas
            document = self._document(
                path, lambda source: tolerant_json(source, self.product, takes_commas=takes)
            )
        if document and is_new:
            repeated = reading.repeated_keys(document)
            self.problems.extend(self._repeated(document.source, key) for key in repeated)
        return document

    def _repeated(self, source: Source, key: RepeatedKey) -> Diagnostic:
        """The finding about a key that its table has again."""
        last = [Related(source.location(key.last), "given again here")]
        name = excerpt(key.name)
        if self.may_refuse_repeated:
            message = f"`{name}` is given twice, for which {self.product} may ignore the whole file: the last was read"
            return finding("LDO150", source.location(key.at), message, hint=_ONE_OUT, related=last)
        message = f"`{name}` is given again, and the last counts, so this does nothing"
        hint = (
            f"{_ONE_OUT}, and write what should hold of it into the other" if key.holds_several else _ONE_OUT
        )
        return finding("LDO151", source.location(key.at), message, hint=hint, related=last)

    def yaml(self, path: str) -> Document | None:
        """The YAML file at `path`, as far as it could be read; None if there is none."""
        return self._document(path, reading.yaml)

    def header(self, path: str, keys: Iterable[str]) -> reading.Text | None:
        """The file at `path` with a header of these `keys`; None without one. Guesses are not noted."""
        source = self._as_read(path)
        return reading.text(source, keys) if source else None

    def _as_read(self, path: str) -> Source | None:
        """The file at `path`, with its header as the tool ends it; what it loses by that is noted once."""
        source = self.source(path)
        if source is None or not self.cuts_headers or not (cut := reading.cut(source)):
            return source
        read, at = cut
        if at is None:
            return read
        message = f"{self.product} ends the header at this `---`, so what follows is no part of it"
        lost = finding("LDO151", source.location(at), message, hint=reading.uncut(source, at))
        if lost not in self.problems:
            self.problems.append(lost)
        return read

    def text(self, path: str, keys: Iterable[str]) -> reading.Text | None:
        """The file at `path` with a header of these `keys`; None without one, which is noted."""
        text = self.header(path, keys)
        if text:
            self.problems.extend(text.document.problems)
        elif source := self.source(path):
            self.problems.append(reading.headless(source, f", so {self.product} loads no agent from it"))
        return text

    def text_or_prompt(self, path: str, keys: Iterable[str]) -> reading.Text | None:
        """The file at `path`; without a header, a prompt alone. None if it cannot be read."""
        source = self._as_read(path)
        if source is None:
            return None
        text = reading.text(source, keys) or reading.prompt_alone(source)
        self.problems.extend(text.document.problems)
        return text

    def texts(self, document: Document, *route: str) -> Iterator[tuple[str, Place]]:
        """The texts in the list at `route`, each with its place; any other value is noted."""
        value: object = document.data
        for step in route:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return
        if not isinstance(value, list):
            message = f"`{route[-1]}` is not a list, so {self.product} ignores it"
            self.note("LDO151", Place(document, route), message)
            return
        for number, item in enumerate(value):
            if isinstance(item, str):
                yield item, Place(document, (*route, number))

    def note(self, code: str, place: Place, message: str, hint: str | None = None) -> None:
        """Notes a finding about the value at `place`."""
        self.problems.append(finding(code, place.location, message, hint=hint))

    def note_together(self, code: str, place: Place, message: str, hint: str | None) -> None:
        """Notes the same about several files as one finding, at the first place in each."""
        places = self._alike.setdefault((code, message, hint), {})
        path = place.document.source.path
        if path in places:
            return
        before = _about(code, message, hint, [*places.values()]) if places else None
        places[path] = place
        each = _about(code, message, hint, [*places.values()])
        if before in self.problems:
            self.problems[self.problems.index(before)] = each
        else:
            self.problems.append(each)

    def unknown_key(self, place: Place, name: str, known: Iterable[str], hint: str | None = None) -> None:
        """Notes a name that the format does not know there."""
        message = unknown_to(self.product, name)
        meant = renaming(place, name, nearest(name, known), counts=COUNTS)
        self.note("LDO151", place, message, hint or meant)

    def misspelt_keys(
        self,
        document: Document,
        known: Iterable[str],
        *route: str | int,
        fits: Callable[[str, object], bool] = lambda _key, _value: True,
    ) -> None:
        """Notes the keys of the table at `route` that are certainly misspelt keys of the format.

        `fits`: whether a value may be that of a known key; one that is not is somebody's own.
        """
        known = frozenset(known)
        table = Place(document, route).data
        for key, value in table.items() if isinstance(table, dict) else ():
            if isinstance(key, str) and (meant := reading.misspelt(key, known)) and fits(meant, value):
                self.unknown_key(Place(document, (*route, key), of_key=True), key, known)

    def unknown_server(
        self,
        place: Place,
        name: str,
        known: Iterable[str],
        lacking: str = "",
        hint: str | None = None,
        *,
        otherwise: str = "",
    ) -> None:
        """Notes an MCP server that no file of the tool declares, or not the file that `lacking` names.

        `otherwise`: the hint where no name is like it, if the server cannot be a person's own.
        """
        if not lacking:
            lacking = self._undeclared
            other = self._declaring(name)
            hint = hint or (
                f"`{excerpt(other)}` does, which {self.product} does not read here" if other else None
            )
        message = f"{lacking} `{excerpt(name)}`"
        hint = hint or renaming(place, name, nearest(name, known)) or otherwise or _OF_A_PERSON
        self.note_together("LDO250", place, message, hint)

    def names_server(self, place: Place, name: str) -> None:
        """Counts one more file that names a server, if it was noted that no file declares that."""
        message = f"{self._undeclared} `{excerpt(name)}`"
        if noted := next((each for each in self._alike if each[1] == message), None):
            self.note_together(noted[0], place, message, noted[2])

    @property
    def _undeclared(self) -> str:
        """The beginning of what is noted about a server that no file declares."""
        return f"no file of this project that {self.product} reads declares the MCP server"

    def _declaring(self, server: str) -> str | None:
        """A file that declares a server, and that is not read: it has a usual form, but is none of the tool's."""
        if self._declared is None:
            self._declared = {}
            for path in self.tree.find(_OF_SERVERS)[0][:_MOST_OF_SERVERS]:
                document = json_at(self.tree, path)
                data = document.data if document else {}
                for name in (*table(data, "mcpServers"), *table(data, "servers")):
                    self._declared.setdefault(name, []).append(path)
        return next((path for path in self._declared.get(server, ()) if path not in self._sources), None)

    def unknown_tool(
        self,
        place: Place,
        name: str,
        known: Iterable[str],
        by_meaning: Mapping[str, str] = NO_MEANINGS,
        *,
        version: str = "",
    ) -> None:
        """Notes a tool that the format does not have; `by_meaning` are those that it has, by what they do.

        `version`: that of the product whose tools are known, if another one may have more; a name that means
        one of these is none of its.
        """
        meant = meant_tool(name, known, by_meaning)
        message = f"{self.product} has no tool `{excerpt(name)}`"
        if version and meant is None:
            message = f"`{excerpt(name)}` is none of the tools that llmdo knows of {self.product} {version}"
        self.note("LDO250", place, message, renaming(place, name, meant))

    def unknown_agent(self, place: Place, name: str, known: Iterable[str]) -> None:
        """Notes an agent that is not in the project."""
        self.lacking_agent(place, f"there is no agent `{excerpt(name)}` in this project", name, known)

    def lacking_agent(self, place: Place, message: str, name: str, known: Iterable[str]) -> None:
        """Notes an agent that is not there, with the file of that name, if it was noted that it is not loaded."""
        own = name.rpartition(":")[2]
        named = re.compile(rf"(?:.*/)?agents?/(?:.*/)?{re.escape(own)}(?:\.agent)?\.(?:md|json|toml)")
        unread = (each.at.path for each in self.problems if each.code == "LDO152")
        if path := next(filter(named.fullmatch, unread), None):
            self.note("LDO250", place, f"{message}: `{path}` is not loaded")
        else:
            self.note("LDO250", place, message, renaming(place, name, nearest(name, known)))

    def _document(self, path: str, parse: Callable[[Source], Document]) -> Document | None:
        source = self.source(path)
        if source is None:
            return None
        if path not in self._documents:
            self._documents[path] = parse(source)
            self.problems.extend(self._documents[path].problems)
        return self._documents[path]
