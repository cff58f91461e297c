"""An extension that is an installed distribution of its own, outside every workspace that uses it.

Only the metadata of the named distribution is read, and nothing is imported before all other checks.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base import digest
from llmdo.base.diagnostic import CODES, LlmdoError, excerpt
from llmdo.base.values import dataclass, field, fields
from llmdo.extensions.registry import features
from llmdo.extensions.spec import Extension
from llmdo.policy.vocabulary import ROOTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

GROUP = "llmdo.extension"
"""The group of entry points; a distribution has one in it, whose value is an `Extension`."""

_CODE = re.compile(r"(?!LDO)[A-Z][A-Z0-9]{1,11}[0-9]{3}")
_WORDS = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_CAPABILITY = re.compile(r"[a-z][a-z0-9]*(?:\.[a-z0-9_-]+)+")
_FOR_EVERYBODY = frozenset({"name", "checks", "formats", "evaluators", "capabilities"})


@dataclass(frozen=True, slots=True)
class InstalledExtension:
    """A loaded distribution that extends llmdo."""

    distribution: str
    """As the workspace names it."""
    version: str
    digest: str
    """Of its files, as far as its record names them."""
    extension: Extension = field(compare=False)


class _File(NamedTuple):
    """A file of a distribution."""

    name: str
    """As the record has it, with slashes."""
    path: str


def load(distribution: str, outside: Iterable[Path]) -> InstalledExtension:
    """The extension of a distribution; none of its files lies in one of the folders `outside`.

    Raises:
        LlmdoError: There is no such distribution, or it is no usable extension.
    """
    try:
        there = metadata.distribution(distribution)
    except (metadata.PackageNotFoundError, ValueError):
        raise LlmdoError(
            f"the extension `{distribution}` is not installed", hint=f"install it: pip install {distribution}"
        ) from None
    folders = [*outside]
    listed = [_File(file.as_posix(), str(there.locate_file(file))) for file in there.files or ()]
    if any(
        _is_in(place, folder) for place in (str(there.locate_file("")), *_paths(listed)) for folder in folders
    ):
        raise LlmdoError(
            f"the extension `{distribution}` lies inside the workspace, which could then change it",
            hint="install it, and llmdo, in an environment outside the workspace",
        )
    points = there.entry_points.select(group=GROUP)
    if len(points) != 1:
        how_many = "no entry point" if not points else f"{len(points)} entry points"
        raise LlmdoError(f"the distribution `{distribution}` has {how_many} in the group `{GROUP}`")
    (point,) = points
    _require_own(distribution, point.module, listed)
    content = digest.of_data(
        [point.value, *([file.name, _digest(distribution, file)] for file in _executed(listed))]
    )
    value = _imported(distribution, point.load)
    if not isinstance(value, Extension):
        raise LlmdoError(
            f"the entry point `{point.value}` of `{distribution}` is no `Extension`",
            hint="it is a value of the class in `llmdo.extensions.spec`",
        )
    if fault := next(_faults(value), None):
        raise LlmdoError(f"the extension `{distribution}` cannot be used: {fault}")
    return InstalledExtension(distribution, there.version, content, value)


def require_apart(loaded: InstalledExtension, others: Iterable[InstalledExtension]) -> None:
    """Check that an extension adds no name of one of the `others`, or of a part of llmdo.

    Raises:
        LlmdoError: It does.
    """
    own = _named(loaded.extension)
    for other in (*(each.extension for each in others), *features()):
        if both := sorted(own & _named(other)):
            what, name = both[0]
            raise LlmdoError(
                f"the extension `{loaded.distribution}` cannot be used: its {what} `{name}` is there already, of "
                f"`{other.name}`"
            )


def _named(extension: Extension) -> set[tuple[str, str]]:
    """The additions of an extension, each with its kind."""
    return {
        *(("check", code) for code in extension.checks),
        *(("check", check.name) for check in extension.checks.values()),
        *(("format", name) for name in extension.formats),
        *(("evaluator", name) for name in extension.evaluators),
        *(("capability", name) for name in extension.capabilities),
    }


def _is_in(path: str, folder: Path) -> bool:
    """Whether a path lies in a folder, by its name or by its resolved links."""
    return any(
        f"{way(path)}{os.sep}".startswith(f"{way(folder).rstrip(os.sep)}{os.sep}")
        for way in (os.path.abspath, os.path.realpath)
    )


def _paths(listed: Iterable[_File]) -> Iterator[str]:
    return (file.path for file in listed)


def _require_own(distribution: str, module: str, listed: Iterable[_File]) -> None:
    """Check that the file executed first by an import of `module` belongs to the distribution.

    Raises:
        LlmdoError: It does not.
    """
    top = module.partition(".")[0]
    own = {os.path.realpath(file.path) for file in listed if file.name in (f"{top}.py", f"{top}/__init__.py")}
    loaded = sys.modules.get(top)
    spec = loaded.__spec__ if loaded else find_spec(top)  # which imports nothing, of what is in no package
    origin = spec.origin if spec else None
    if origin is None or os.path.realpath(origin) not in own:
        raise LlmdoError(
            f"the module `{top}` that the extension `{distribution}` names is not one of its own files",
            hint="install it anew, not in place: `pip install` without `-e`",
        )


def _executed(listed: Iterable[_File]) -> list[_File]:
    """The files that decide the behaviour of the extension, sorted.

    Files of its builder or installer, or made by Python, are left out: they differ between machines.
    """
    return sorted(
        file
        for file in listed
        if not file.name.endswith(".pyc")
        and not file.name.startswith("../")
        and not file.name.partition("/")[0].endswith(".dist-info")
    )


def _digest(distribution: str, file: _File) -> str:
    try:
        with open(file.path, "rb") as content:  # noqa: PTH123
            return digest.of_bytes(content.read())
    except OSError as error:
        raise LlmdoError(
            f"the extension `{distribution}` lacks its file `{file.name}`", hint="install it anew"
        ) from error


def _imported(distribution: str, load: Callable[[], object]) -> object:
    try:
        return load()
    except Exception as error:
        what = excerpt(f"{type(error).__name__}: {error}", 200)
        raise LlmdoError(f"the extension `{distribution}` cannot be imported: {what}") from error


def _faults(extension: Extension) -> Iterator[str]:
    """The faults of the value of an extension, as clauses."""
    for stated in fields(Extension):
        if stated.name not in _FOR_EVERYBODY and getattr(extension, stated.name):
            yield f"its `{stated.name}` is for parts of llmdo itself"
    taken = {name for name, _ in CODES.values()}
    for code, check in extension.checks.items():
        if not _CODE.fullmatch(code):
            yield f"`{excerpt(code)}` is not a code such as `ACME001`, which does not begin with `LDO`"
        elif not _WORDS.fullmatch(check.name) or check.name in taken:
            yield f"`{excerpt(check.name)}` is not a name for a check, or is that of one of llmdo"
    for name in extension.capabilities:
        if not _CAPABILITY.fullmatch(name) or name.partition(".")[0] in ROOTS:
            yield f"`{excerpt(name)}` is not a capability such as `acme.send`, or begins as one of llmdo does"
    for name in (*extension.formats, *extension.evaluators):
        if not _WORDS.fullmatch(name):
            yield f"`{excerpt(name)}` is not a name of lower-case words with `-` between them"
