"""An extension that is an installed distribution of its own, outside every workspace that uses it.

Only the metadata of the named distribution is read, and nothing is imported before all other checks.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError, excerpt
from llmdo.base.values import dataclass, field
from llmdo.extensions.registry import features
from llmdo.extensions.running import ExtensionCode, reason_of
from llmdo.extensions.spec import Extension
from llmdo.workspace.extension_faults import REFERENCE, faults, modules_of, plain_copy
from llmdo.workspace.extension_files import ANEW, DistributionFile, digests, files_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

GROUP = "llmdo.extension"
"""The group of entry points; a distribution has one in it, whose value is an `Extension`."""

_VERSION = re.compile(r"[!-~]{1,100}")


@dataclass(frozen=True, slots=True)
class InstalledExtension:
    """A loaded distribution that extends llmdo."""

    distribution: str
    """As the workspace names it."""
    version: str
    digest: str
    """Of its files: those of its record, and all others in its packages."""
    extension: Extension = field(compare=False)


class _Described(NamedTuple):
    """The metadata of a distribution, as far as an extension needs it."""

    place: str
    version: str
    points: tuple[metadata.EntryPoint, ...]
    files: tuple[DistributionFile, ...]


def load(distribution: str, outside: Iterable[Path]) -> InstalledExtension:
    """The extension of a distribution; none of its files lies in one of the folders `outside`.

    Raises:
        LlmdoError: There is no such distribution, or it is no usable extension.
    """
    described = _described(distribution)
    folders = [*outside]
    paths = [described.place, *(file.path for file in described.files)]
    if any(_is_in(path, folder) for path in paths for folder in folders):
        raise LlmdoError(
            f"the extension `{distribution}` lies inside the workspace, which could then change it",
            hint="install it, and llmdo, in an environment outside the workspace",
        )
    point = _point(distribution, described.points)
    _require_own(distribution, point.module, described.files)
    with _refusing(distribution):
        content = digest.of_data([point.value, *digests(described.files)])
    with ExtensionCode(f"the extension `{distribution}`", "cannot be imported"):
        value = point.load()
    if type(value) is not Extension:
        raise LlmdoError(
            f"the entry point `{point.value}` of `{distribution}` is no `Extension`",
            hint="it is a value of the class in `llmdo.extensions.spec`",
        )
    with ExtensionCode(f"the extension `{distribution}`", "cannot be used"):
        plain = plain_copy(value)
        fault = next(faults(plain), None)
    if fault:
        raise LlmdoError(f"the extension `{distribution}` cannot be used: its {fault}")
    for module in sorted(modules_of(plain)):
        _require_own(distribution, module, described.files)
    return InstalledExtension(distribution, described.version, content, plain)


def _described(distribution: str) -> _Described:
    """The metadata of a distribution, of which every file may be written wrongly.

    Raises:
        LlmdoError: There is no such distribution, or its metadata cannot be read.
    """
    try:
        there = metadata.distribution(distribution)
    except (metadata.PackageNotFoundError, ValueError):
        raise LlmdoError(
            f"the extension `{distribution}` is not installed", hint=f"install it: pip install {distribution}"
        ) from None
    with _refusing(distribution):
        try:
            place, points = str(there.locate_file("")), (*there.entry_points.select(group=GROUP),)
            files = files_of(there)
            version: object = there.metadata["Version"]
        except LlmdoError:
            raise
        except Exception as error:
            raise LlmdoError(f"its metadata cannot be read: {reason_of(error)}", hint=ANEW) from error
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            raise LlmdoError("its metadata states no version", hint=ANEW)
    return _Described(place, version, points, files)


def _point(distribution: str, points: Sequence[metadata.EntryPoint]) -> metadata.EntryPoint:
    """The one entry point of the group.

    Raises:
        LlmdoError: There is none, there are several, or it names nothing.
    """
    if len(points) != 1:
        how_many = "no entry point" if not points else f"{len(points)} entry points"
        raise LlmdoError(f"the distribution `{distribution}` has {how_many} in the group `{GROUP}`")
    if not REFERENCE.fullmatch(points[0].value):
        raise LlmdoError(
            f"the entry point `{excerpt(points[0].value)}` of `{distribution}` does not name an `Extension`",
            hint=f'it is written `NAME = "package.module:NAME"` under `[project.entry-points."{GROUP}"]`',
        )
    return points[0]


@contextmanager
def _refusing(distribution: str) -> Iterator[None]:
    """Says of which extension a refusal is."""
    try:
        yield
    except LlmdoError as refused:
        raise LlmdoError(
            f"the extension `{distribution}` cannot be used: {refused.message}", hint=refused.hint
        ) from refused


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
        ("name", extension.name),
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


def _require_own(distribution: str, module: str, files: Iterable[DistributionFile]) -> None:
    """Check that the file executed first by an import of `module` belongs to the distribution.

    Raises:
        LlmdoError: It does not.
    """
    top = module.partition(".")[0]
    own = {os.path.realpath(file.path) for file in files if file.name in (f"{top}.py", f"{top}/__init__.py")}
    try:
        spec = find_spec(top)  # which imports nothing, of what is in no package
    except (ImportError, ValueError):  # it is `__main__`, or is made by code
        spec = None
    origin = spec.origin if spec else None
    if origin is None or os.path.realpath(origin) not in own:
        raise LlmdoError(
            f"the module `{top}` that the extension `{distribution}` names is not one of its own files",
            hint="install it again, not in place: `pip install` without `-e`",
        )
