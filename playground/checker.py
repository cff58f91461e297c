"""The checker: the part of llmdo that runs in a browser, with the two libraries that it imports, as one archive.

Nothing of it runs agents, starts programs or opens connections; `tests/playground` holds that by its imports.
"""

from __future__ import annotations

import io
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import llmdo
from llmdo.base import resources

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(llmdo.__file__).parent

PACKAGES = (
    "base",
    "extensions",
    "syntax",
    "policy",
    "graph",
    "reach",
    "workspace",
    "diff",
    "foreign",
    "checks",
)
"""Packages of llmdo that are in it as a whole."""

MODULES = (
    "__init__", "version",
    "toolsets/__init__", "toolsets/confinement", "toolsets/folders", "toolsets/paths", "toolsets/problems",
    "formats/__init__", "formats/schema/__init__", "formats/schema/acceptance", "formats/schema/validation",
    "formats/schema/wording",
    "services/__init__", "services/check", "services/diff", "services/foreign", "services/invalid", "services/lock",
    "services/locking", "services/own_teams", "services/reach", "services/relocking", "services/root",
    "services/soundness",
    *(f"render/{name}" for name in (
        "__init__", "amounts", "diff", "excerpt", "facts", "findings", "flows", "foreign", "formats", "graph",
        "markdown", "page", "reach", "reached", "report", "scan",
    )),
    "features/__init__", "features/page/__init__", "features/page/changes", "features/page/endpoints",
    "features/page/shapes", "features/page/team",
)  # fmt: skip
"""Modules of the other packages; the features with formats come whole as well."""

LIBRARIES = ("yaml", "pathspec", "jsonschema", "referencing", "jsonschema_specifications", "attr", "attrs")
"""The libraries, of which only Python and data are in it; those from `jsonschema` on tell the faults of a manifest."""

OWN = ("answers", "unpacking")
STAND_INS = ("rpds",)
"""Modules of the playground in the place of libraries that are no Python."""

DATE = (1980, 1, 1, 0, 0, 0)  # the first that archives know: the same bytes for everyone


def files() -> dict[str, bytes]:
    """The files of the archive, by their paths."""
    chosen = [path for name in (*PACKAGES, *_formats()) for path in sorted((PACKAGE / name).rglob("*.py"))]
    chosen += [PACKAGE / f"{name}.py" for name in MODULES]
    found = {f"llmdo/{path.relative_to(PACKAGE).as_posix()}": path.read_bytes() for path in chosen}
    schemas = resources.folder("schemas").glob("*.json")
    found |= {f"llmdo/data/schemas/{path.name}": path.read_bytes() for path in sorted(schemas)}
    here = Path(__file__).parent
    found["playground/__init__.py"] = b""
    found |= {f"playground/{name}.py": (here / f"{name}.py").read_bytes() for name in OWN}
    found |= {f"{name}.py": (here / f"{name}.py").read_bytes() for name in STAND_INS}
    for name in LIBRARIES:
        found |= {f"{name}/{path}": data for path, data in _library(_folder_of(name))}
    return found


def _library(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The Python and the data of a library, without its tests and what was compiled for a machine."""
    for path in sorted(folder.rglob("*")):
        within = path.relative_to(folder)
        is_left_out = path.suffix in (".so", ".pyc", ".pyd", ".pyi") or not {
            "tests",
            "benchmarks",
        }.isdisjoint(within.parts)
        if path.is_file() and not is_left_out:
            yield within.as_posix(), path.read_bytes()


def _formats() -> list[str]:
    """The folders of features with formats of other tools."""
    from llmdo.extensions.registry import features

    packages = {form.package for each in features() for form in each.formats.values()}
    return sorted(package.removeprefix("llmdo.").replace(".", "/") for package in packages)


def _folder_of(library: str) -> Path:
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(library)
    return Path(spec.origin).parent


def archive() -> bytes:
    """All files as a ZIP, the same bytes for the same files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files().items()):
            archive.writestr(zipfile.ZipInfo(path, DATE), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()
