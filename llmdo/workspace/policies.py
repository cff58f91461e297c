"""The policies that a manifest extends, read as data: files of the workspace, and files of installed packages.

A package is found without importing it. A fault of a policy is a finding with its place, in the policy or in the file
that names it; until it is fixed, nothing runs.
"""

from __future__ import annotations

import os
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base import digest, parts
from llmdo.base.diagnostic import finding
from llmdo.base.values import dataclass, field
from llmdo.formats.schema import judge
from llmdo.graph.keys import ValueOrigin, rules
from llmdo.graph.settings import PACKAGE, SharedPolicy
from llmdo.syntax import discovery, toml
from llmdo.syntax.document import Place
from llmdo.workspace.personal import unknown_capabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from importlib.metadata import Distribution

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.syntax.document import Document
    from llmdo.workspace.installed import InstalledExtension

    ReadSource = Callable[[str], tuple[Source, tuple[Diagnostic, ...]]]
    """The text of a file of the workspace, or why it has none."""

MAX_POLICIES = 50
EXTENDS = ("policy", "extends")


@dataclass(slots=True)
class PolicyReader:
    """One reading of all policies of a workspace: each is read once, whoever extends it."""

    root: Path
    source_of: ReadSource
    problems: list[Diagnostic]
    families: frozenset[str] = frozenset()
    """The capabilities that extensions bring."""
    policies: dict[str, SharedPolicy] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    """The policies being read, each extended by the one before."""
    asks_packages: bool = False
    """Whether the result depends on installed packages."""

    def extend(self, document: Document, route: tuple[str, ...], folder: str) -> None:
        """Reads the policies in the list at `route`; `folder` is that of the file, ending in a slash, or empty."""
        above = parts.table(document.data, *route[:-1])
        for number, text in enumerate(parts.texts(above.get(route[-1]))):
            at = Place(document, (*route, number))
            name = text if text.startswith(PACKAGE) else f"{folder}{text}"
            self.asks_packages |= text.startswith(PACKAGE)
            if _is_odd(text.removeprefix(PACKAGE)):
                self._report(
                    "LDO107", at, f"`{text}` is not a path below the folder of the file that names it"
                )
            elif name in self.open:
                way = " > ".join(f"`{each}`" for each in (*self.open[self.open.index(name) :], name))
                self._report("LDO103", at, f"`{name}` extends itself: {way}")
            elif name not in self.policies and len(self.policies) + len(self.open) < MAX_POLICIES:
                self._read(name, at)
            elif name not in self.policies:
                self._report("LDO103", at, f"more than {MAX_POLICIES} policies are extended")

    def _read(self, name: str, at: Place) -> None:
        source, problems = self._source(name, at)
        self.problems.extend(problems)
        if source is None or problems:
            return
        document = toml.parse(source)
        self.problems.extend(document.problems)
        if document.problems:
            return
        judged = judge(document, "policy")
        self.problems.extend(judged.problems or unknown_capabilities(document, self.families))
        if "extensions" in document.data:
            at_key = document.key("extensions")
            self.problems.append(finding("LDO102", at_key, "`extensions` is for a person's own policy"))
        document = judged.document
        self.open.append(name)
        self.extend(document, ("extends",), name[: name.rfind("/") + 1])
        self.open.pop()
        stated = parts.table(document.data, "approvals")
        self.policies[name] = SharedPolicy(
            name=name,
            digest=digest.of_text(source.text),
            rules=rules(parts.table(stated, "rules"), ValueOrigin(document, ("approvals", "rules"), name)),
            approve_all=stated.get("approve-all", True) is True,
            requires_trust=document.data.get("trust") == "required",
        )

    def _source(self, name: str, at: Place) -> tuple[Source | None, tuple[Diagnostic, ...]]:
        if not name.startswith(PACKAGE):
            if refused := discovery.exists(self.root, name):
                self._report(refused.code, at, f"`{name}` {refused.reason}")
                return None, ()
            return self.source_of(name)
        package, _, path = name.removeprefix(PACKAGE).partition("/")
        folders = list(_folders(package, self.root))
        if not folders:
            self._report("LDO106", at, f"there is no package `{package}` for `{name}`", "is it installed?")
            return None, ()
        for folder in folders:
            content = discovery.read(folder, path)
            if not isinstance(content, discovery.RefusedPath):
                return discovery.decode(name, content)
        self._report("LDO106", at, f"`{path}` is not a file of the installed package `{package}`")
        return None, ()

    def _report(self, code: str, at: Place, message: str, hint: str | None = None) -> None:
        self.problems.append(finding(code, at.location, message, hint=hint))


def read_policies(
    root: Path,
    document: Document,
    source_of: ReadSource,
    problems: list[Diagnostic],
    extensions: Iterable[InstalledExtension] = (),
) -> tuple[tuple[SharedPolicy, ...], bool]:
    """The policies that a manifest extends, by name, and whether they depend on packages. Notes problems."""
    families = frozenset(name for each in extensions for name in each.extension.capabilities)
    reader = PolicyReader(root, source_of, problems, families)
    reader.extend(document, EXTENDS, "")
    return tuple(policy for _, policy in sorted(reader.policies.items())), reader.asks_packages


def _is_odd(path: str) -> bool:
    """Whether this is no path below a folder, such as `../x` or `/x`."""
    names = path.split("/")
    return any(name in ("", ".", "..") for name in names) or "\\" in path or "\0" in path


def _folders(package: str, root: Path) -> Iterator[Path]:
    """The folders of an installed package, from the metadata of distributions; nothing is imported.

    Packages in the current folder or the workspace do not count as installed, whatever `sys.path` says.
    """
    from importlib import metadata  # as slow as all of a small check

    if not package.isidentifier():
        return
    libraries = [entry for entry in sys.path if _is_library(entry, root)]
    alike = metadata.distributions(name=package, path=libraries)
    folders = (
        folder
        for distribution in chain(alike, metadata.distributions(path=libraries))
        for folder in _folders_in(distribution, package)
    )
    yield from (folder for folder in dict.fromkeys(folders) if _is_installed(str(folder), root))


def _is_library(entry: str, root: Path) -> bool:
    """Whether an entry of `sys.path` may hold installed packages."""
    try:
        is_here = os.path.realpath(entry) == os.path.realpath(Path.cwd())
    except OSError:
        return False  # somebody removed the current folder
    return bool(entry) and not is_here and _is_installed(entry, root)


def _folders_in(distribution: Distribution, package: str) -> Iterator[Path]:
    """The folders of a package from one distribution, by its files or by its in-place installation."""
    import json
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    folder = Path(os.path.realpath(str(distribution.locate_file(package))))
    if folder.is_dir() and _brings(distribution, package):
        yield folder
    try:
        direct = json.loads(distribution.read_text("direct_url.json") or "{}")
        source = urlsplit(direct["url"]) if direct["dir_info"].get("editable") is True else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    if source is not None and source.scheme == "file":
        top = Path(url2pathname(source.path))
        for folder in (top / package, top / "src" / package):
            if folder.is_dir():
                yield Path(os.path.realpath(folder))


def _brings(distribution: Distribution, package: str) -> bool:
    """Whether files of a distribution lie in that package; without a list of files, whether it says so."""
    if (files := distribution.files) is not None:
        return any(len(file.parts) > 1 and file.parts[0] == package for file in files)
    return package in (distribution.read_text("top_level.txt") or "").split()


def _is_installed(folder: str, root: Path) -> bool:
    """Whether a folder is outside the workspace, or among the interpreter's own packages in it."""
    import sysconfig

    real, top = os.path.realpath(folder), os.path.realpath(root)
    if not f"{real}{os.sep}".startswith(f"{top.rstrip(os.sep)}{os.sep}"):
        return True
    libraries = {os.path.realpath(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}
    return any(real.startswith(f"{library}{os.sep}") for library in libraries if library != top)
