"""gh-aw: workflows of GitHub in Markdown. They run unattended, so all tools of one run without a question."""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding, place
from llmdo.base.parts import items, table
from llmdo.base.parts import text as words_of
from llmdo.base.values import dataclass, field
from llmdo.features.gh_aw import FILES
from llmdo.features.gh_aw.strangers import kept_out, starts_of
from llmdo.features.gh_aw.tools import (
    FIREWALL,
    grants_of,
    is_sandboxed,
    judge_tools,
    written_by_jobs,
)
from llmdo.foreign import compiled, reading
from llmdo.foreign.events import models_addresses
from llmdo.foreign.files import Files
from llmdo.foreign.team import Agent, Team
from llmdo.syntax.discovery import leaves
from llmdo.syntax.document import Place
from llmdo.syntax.globs import escape

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document

KEYS = frozenset(
    {
        "ambient-folders", "cache", "checkout", "concurrency", "container", "description", "emoji", "engine", "env",
        "environment", "features", "github-app", "github-token", "if", "import-schema", "imports", "intent", "jobs",
        "labels", "mcp-scripts", "mcp-servers", "metadata", "name", "network", "on", "permissions", "plugins",
        "post-steps", "pre-agent-steps", "pre-steps", "rate-limit", "redirect", "run-name", "runs-on", "runtimes",
        "safe-inputs", "safe-outputs", "sandbox", "secret-masking", "secrets", "services", "skills", "source", "steps",
        "strict", "timeout-minutes", "timeout_minutes", "tools", "tracker-id",
    }
)  # fmt: skip
_ALONE = frozenset(
    {"engine", "imports", "mcp-scripts", "on", "redirect", "safe-inputs", "safe-outputs", "tracker-id"}
)
"""The keys by which a workflow outside of its folder is known."""
_FOLDER = ".github/"
CACHE = ".github/aw/imports"
"""The folder of copies of what workflows import from elsewhere: `OWNER/REPOSITORY/COMMIT/PATH`, with `_` for `/`."""
STOPS = "stop-after"
"""The key of `on` with the time after which the workflow runs no more."""
_STOP_TIME = re.compile(r"^\s*(?:GH_AW_)?STOP_TIME[:=] ?\"([^\"\n]{1,60})\"", re.MULTILINE)
"""The line of a lock with that time."""
MOVED = "redirect"
"""The key of a file that only says where its workflow has moved to."""


def read(tree: Tree) -> Team:
    """The workflows of a repository."""
    files = Files(tree, "gh-aw")
    paths = files.find(FILES)
    reader = _WorkflowReader(files, frozenset(paths))
    agents = [agent for path in paths if (agent := reader.agent(path))]
    return Team(
        format="gh-aw",
        agents=tuple(agents),
        files=tuple(sorted({*filter(reader.is_its_own, paths), *reader.parts})),
        problems=tuple(dict.fromkeys(files.problems)),
        starts="allowed",
        max_depth=1,
    )


def _is_meant(path: str) -> bool:
    """Whether a file without a header is to be a workflow."""
    return path.startswith(_FOLDER) and PurePosixPath(path).stem.lower() != "readme"


@dataclass(slots=True)
class _WorkflowReader:
    """One reading of a repository: collects its problems."""

    files: Files
    paths: frozenset[str]
    parts: set[str] = field(default_factory=set)
    """The files that workflows import."""

    def agent(self, path: str) -> Agent | None:
        """The workflow at `path`, as an agent that nobody is asked about, or None."""
        text = self._header(path)
        if text is None:
            if _is_meant(path) and (source := self.files.source(path)):
                self.files.problems.append(reading.headless(source, self._without_header(path)))
            return None
        main, data = text.document, text.document.data
        self.files.problems.extend(main.problems)
        if not self._is_workflow(main):
            return None
        self._judge(main)
        name = data.get("name")
        at = Place(main, ("name" if isinstance(name, str) else "on",), of_key=True)
        parts = [main]
        for part in self._imported(main):
            self._judge(part)
            parts.append(part)
        return Agent(
            name=_name_of(path, self.paths),
            at=at,
            path=path,
            prompt=text.prompt,
            header=data,
            description=next(
                (words for key in ("description", "name") if isinstance(words := data.get(key), str)), None
            ),
            grants=tuple(grants_of(parts, text.prompt, at, self.files.looked_into, lock=self._lock(main))),
            events=tuple(models_addresses(_variables(main))),
            in_checkout=True,
            starts=tuple(starts_of(main)),
            condition=self._until(main),
            permissions=_stated(parts),
            sandbox=FIREWALL if is_sandboxed(main) else None,
        )

    def is_its_own(self, path: str) -> bool:
        """Whether a file is one of gh-aw: other programs have workflows in a folder at the root as well."""
        text = self._header(path)
        if text is None:
            return _is_meant(path)
        return path.startswith(_FOLDER) or not _ALONE.isdisjoint(text.document.data)

    def _header(self, path: str) -> reading.Text | None:
        source = self.files.source(path)
        return compiled.header_of(source, KEYS) if source else None

    def _without_header(self, path: str) -> str:
        """The end of a sentence about a file without a header."""
        lock = compiled.lock_of(path, self.files.tree)
        if lock is None:
            return ", so it is not a workflow"
        return f", so gh-aw does not compile it; GitHub still runs `{lock.path}`, which is read in its place"

    def _lock(self, main: Document) -> str:
        """The workflow that gh-aw made of a file; empty without one."""
        locked = self.files.tree.read(main.source.path.removesuffix(".md") + compiled.COMPILED)
        return locked[0].text if locked else ""

    def _until(self, main: Document) -> str:
        """The time at which a workflow stops itself, as the end of a sentence: by its lock, which has the date."""
        started = main.data.get("on")
        stated = started.get(STOPS) if isinstance(started, dict) else None
        if not stated:
            return ""
        path = main.source.path.removesuffix(".md") + compiled.COMPILED
        locked = self.files.tree.read(path)
        if locked and (stop := _STOP_TIME.search(locked[0].text)):
            line = locked[0].text.count("\n", 0, stop.start(1)) + 1
            return f"until {excerpt(stop[1])} UTC, when it stops itself ({path}:{line})"
        at = place(main.key("on", STOPS))
        return f"until it stops itself, by `{STOPS}: {excerpt(str(stated))}` ({at})"

    def _is_workflow(self, document: Document) -> bool:
        """Whether a file is started by itself: one without `on` is a part of others."""
        if compiled.STARTS in document.data:
            return True
        self._note_moved(document)
        return False

    def _note_moved(self, document: Document) -> None:
        if MOVED in document.data:
            message = f"this workflow has moved to `{excerpt(str(document.data[MOVED]))}`"
            self.files.problems.append(finding("LDO154", document.key(MOVED), message))

    def _imported(self, main: Document) -> Iterator[Document]:
        """The headers that a workflow takes its tools from besides; each once, and those that they import as well."""
        waiting = [main]
        seen = {main.source.path}
        while waiting:
            importing = waiting.pop()
            for number, entry in enumerate(items(importing.data.get("imports"))):
                name = entry.get("path", entry.get("uses")) if isinstance(entry, dict) else entry
                path, is_optional = _path_of(str(name), importing.source.path)
                if path in seen:
                    continue
                seen.add(path)
                copies = self._cached(path, main) if "@" in path else ()
                if copies and self._are_alike(copies):
                    path = copies[0]
                if not leaves(path) and self.files.source(path):
                    self.parts.add(path)
                    text = self._header(path)
                    if text is not None:  # else it is a part of the prompt, and adds no tools
                        self._note_moved(text.document)
                        self.files.problems.extend(text.document.problems)
                        waiting.append(text.document)
                        yield text.document
                elif not is_optional:
                    at = Place(importing, ("imports", number)).location
                    where = "is fetched from GitHub" if "@" in path else "is not among these files"
                    if len(copies) > 1:
                        where += f", and no lock says which of its {len(copies)} copies counts"
                    message = f"`{excerpt(str(name))}` {where}, so nothing is known of what it adds"
                    self.files.problems.append(finding("LDO250", at, message))

    def _cached(self, name: str, main: Document) -> Sequence[str]:
        """The copies that gh-aw keeps of `OWNER/REPOSITORY/PATH@REF`, by their commits; of several, those of the lock.

        Where the lock names none, each may be the one.
        """
        owner, repository, path = (*name.partition("@")[0].split("/", 2), "", "")[:3]
        file = path.replace("/", "_")
        pattern = f"{CACHE}/{escape(owner)}/{escape(repository)}/*/{escape(file)}"
        copies = self.files.find([pattern]) if file else ()
        locked = self.files.tree.read(main.source.path.removesuffix(".md") + compiled.COMPILED)
        return [copy for copy in copies if locked and copy in locked[0].text] or copies

    def _are_alike(self, copies: Sequence[str]) -> bool:
        """Whether all copies of a file say the same."""
        return len({source.text if (source := self.files.source(copy)) else None for copy in copies}) == 1

    def _judge(self, document: Document) -> None:
        judge_tools(self.files, document)
        self.files.misspelt_keys(document, KEYS)


def _stated(parts: Sequence[Document]) -> dict[str, tuple[str, ...]]:
    """The changes on GitHub that its own jobs may make, and those who do not start it: no row shows either."""
    lines = {"allow": tuple(written_by_jobs(parts)), "deny": tuple(kept_out(parts[0]))}
    return {word: each for word, each in lines.items() if each}


def _variables(main: Document) -> Iterator[tuple[str, str, Place]]:
    """The variables of the workflow and of its engine."""
    for route in (("env",), ("engine", "env")):
        for name, value in table(Place(main, route).data).items():
            yield name, words_of(value), Place(main, (*route, name))


def _name_of(path: str, paths: Container[str]) -> str:
    """The name of a workflow; that of its folder if a repository offers it to others as well as using it."""
    name = PurePosixPath(path).stem
    is_offered = path.startswith("workflows/") and f".github/{path}" in paths
    return f"workflows/{name}" if is_offered else name


def _path_of(name: str, importing: str) -> tuple[str, bool]:
    """The file that an import names, from the repository's root, and whether it may be missing."""
    file, _, _ = name.partition("#")
    is_optional = file.endswith("?")
    file = file.removesuffix("?")
    if file.startswith((".github/", "/")) or "@" in file:
        return posixpath.normpath(file.lstrip("/")), is_optional
    return posixpath.normpath(f"{importing.rpartition('/')[0]}/{file}").lstrip("/"), is_optional
