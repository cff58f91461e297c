"""References `{file:PATH}` in opencode's settings, by which it does not start if one of the files is not there.

Watched with 1.18.33: it fills them in before it reads the JSON, so one in a key or behind a comma counts as well, and
one in a line that begins with `//` does not. A path begins at the folder of the settings; blanks are part of it.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, excerpt, finding
from llmdo.features.opencode.schema import NO_START
from llmdo.foreign.files import MOST_PLACES
from llmdo.foreign.team import MAX_NAME
from llmdo.syntax.discovery import ignored_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document, Place

_REFERENCE = re.compile(r"\{file:(?P<path>[^}{\n]+)\}")
"""A reference without another one in it, such as that to a variable."""
_ELSEWHERE = ("~", "/", "..")
"""The beginnings of paths of which the project says nothing."""
_MANY = 1_000
"""References of one file: nobody writes more."""
_OF_A_PERSON = ("mcp", "provider")
"""The tables with keys and tokens, whose files a person may keep out of the project."""


def refusal(
    tree: Tree, document: Document, is_made: Callable[[str], bool] = lambda _path: False
) -> Diagnostic | None:
    """The finding about settings with which opencode does not start; None if nothing says so.

    `is_made`: whether the file at a path may be made before opencode starts.
    """
    source, folder = document.source, posixpath.dirname(document.source.path)
    lacking = [each for each in _lacking(tree, source.text, folder, document.data) if not is_made(each[1])]
    places = [source.location(source.span_between(*each.span())) for each, _ in lacking]
    return _refused(tree, folder, lacking, places) if lacking else None


def refusal_of_text(
    tree: Tree,
    document: Document,
    text: str,
    folder: str,
    is_made: Callable[[str], bool],
    spot: Callable[[str], Place],
) -> Diagnostic | None:
    """The finding about settings that are a text of another file, with paths from a folder; None without one.

    `spot` gives the place of words of the text.
    """
    lacking = [each for each in _lacking(tree, text, folder, document.data) if not is_made(each[1])]
    places = [*dict.fromkeys(spot(each[0]).location for each, _ in lacking)]
    return _refused(tree, folder, lacking, places) if lacking else None


def _refused(
    tree: Tree, folder: str, lacking: Sequence[tuple[re.Match[str], str]], places: Sequence[Location]
) -> Diagnostic:
    """The finding about references whose files are not there."""
    first, path = lacking[0]
    rest = len({each for _, each in lacking}) - 1
    more = f", and {rest} more {'is' if rest == 1 else 'are'} missing" if rest else ""
    message = f"there is no `{excerpt(path, MAX_NAME)}`{more}, {NO_START}"
    at, *others = places
    related = [Related(other, "and here") for other in others[:MOST_PLACES]]
    return finding("LDO153", at, message, hint=_hint(tree, folder, first["path"]), related=related)


def _lacking(
    tree: Tree, text: str, folder: str, data: Mapping[str, object]
) -> Iterator[tuple[re.Match[str], str]]:
    """The references of settings whose file is not there, each with its path from the root of the project."""
    private = {word for key in _OF_A_PERSON for word in _references_in(data.get(key))}
    for each in islice(_REFERENCE.finditer(text), _MANY):
        start = text.rfind("\n", 0, each.start()) + 1
        if text[start : each.start()].lstrip().startswith("//") or each[0] in private:
            continue
        path = posixpath.normpath(posixpath.join(folder, each["path"]))
        if each["path"].startswith(_ELSEWHERE[:2]) or path.startswith(_ELSEWHERE) or "\\" in path:
            continue
        if lacks(tree, path):
            yield each, path


def lacks(tree: Tree, path: str) -> bool:
    """Whether a project surely has no file at a path, which git does not ignore either."""
    if path.startswith(_ELSEWHERE) or tree.read(path) is not None:
        return False
    source, problems = tree.read(".gitignore") or (None, ())
    return source is None or bool(problems) or not _ignoring(source.text)(path)


@lru_cache(maxsize=4)
def _ignoring(lines: str) -> Callable[[str], bool]:
    """Whether git keeps a path out of the project by these lines; somebody may have it all the same."""
    return ignored_by(lines.split("\n"))


def _references_in(value: object) -> Iterator[str]:
    """The references in all texts of a value."""
    if isinstance(value, str):
        yield from (each[0] for each in _REFERENCE.finditer(value))
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _references_in(each)


def _hint(tree: Tree, folder: str, path: str) -> str | None:
    """The path of the file that was meant, if it was written from the root of the project, or with blanks around it."""
    for meant in (posixpath.normpath(path.strip()), posixpath.normpath(posixpath.join(folder, path.strip()))):
        if not meant.startswith(_ELSEWHERE) and tree.read(meant) is not None:
            return f"write `{{file:{posixpath.relpath(meant, folder or '.')}}}`"
    return None
