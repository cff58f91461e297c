"""Python that belongs to a workspace: loading an attribute of a file or a package, and finding the toolsets in it."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from hashlib import sha256
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pydantic_ai.toolsets import AbstractToolset

from llmdo.diagnostic import LlmdoError, did_you_mean
from llmdo.source import Location, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import TypeIs

    from llmdo.toolsets.confinement import Root

MAX_MODULE = 4 * 1024 * 1024  # bytes: more is data, not code
MAX_SHOWN = 300  # characters of an exception's own message


class Modules:
    """The Python modules of one workspace that one run, or one inspection, has loaded."""

    def __init__(self, root: Path, files: Root) -> None:
        """`files` is the opened `root`, through which alone a file is read."""
        self._root = root.absolute()
        self._files = files
        self._loaded: dict[str, ModuleType] = {}

    @property
    def root(self) -> Path:
        """The folder of the workspace."""
        return self._root

    def load(self, reference: str) -> object:
        """What `FILE.py:NAME` or `package.module:NAME` names.

        Raises:
            LlmdoError: There is no such module or attribute, or the import raised.
        """
        place, _, name = reference.rpartition(":")
        module = self.module(place)
        try:
            return getattr(module, name)
        except AttributeError:
            raise LlmdoError(
                f"`{place}` has no attribute `{name}`", hint=did_you_mean(name, vars(module)), at=_at(place)
            ) from None

    def module(self, place: str) -> ModuleType:
        """The module in the file `place`, where that ends in `.py`, else the package module of that name.

        Imported at most once. It can import whatever the interpreter can, and after that what lies in the
        workspace, which therefore shadows nothing.

        Raises:
            LlmdoError: There is no such module, or the import raised.
        """
        if place not in self._loaded:
            _come_last_of_all_but_workspaces(str(self._root))
            work = self._from_file if place.endswith(".py") else importlib.import_module
            self._loaded[place] = _imported(place, work)
        return self._loaded[place]

    def text(self, path: str) -> str:
        """The text of a Python file of the workspace."""
        return self._files.read(path, MAX_MODULE).decode("utf-8-sig")

    def _from_file(self, path: str) -> ModuleType:
        content = self._files.read(path, MAX_MODULE)
        file = str(self._root / path)
        code = compile(content, file, "exec", dont_inherit=True)
        module = ModuleType(_private_name(self._root, path))
        module.__file__ = file
        module.__package__ = ".".join(PurePosixPath(path).parent.parts)  # for `from . import sibling`
        sys.modules[module.__name__] = module  # dataclasses and pydantic look there for a class's module
        try:
            exec(code, vars(module))  # noqa: S102  # to run the workspace's code is what `lock` and `run` are for
        except BaseException:
            sys.modules.pop(module.__name__, None)
            raise
        return module


def toolsets_in(module: ModuleType) -> dict[str, object]:
    """The toolsets that a module offers, by attribute: instances wherever made, and classes that it defines."""
    return {
        name: value
        for name, value in sorted(vars(module).items())
        if not name.startswith("_")
        and (isinstance(value, AbstractToolset) or (is_toolset_class(value) and _defined_in(value, module)))
    }


def is_toolset_class(value: object) -> TypeIs[type[AbstractToolset[Any]]]:
    """Whether `value` is a class of toolsets that can be made."""
    return isinstance(value, type) and issubclass(value, AbstractToolset) and not inspect.isabstract(value)


def sentence_of(error: BaseException) -> str:
    """The type of an exception and what it says, on one line."""
    said = " ".join(str(error).split())
    if len(said) > MAX_SHOWN:
        said = said[:MAX_SHOWN] + "..."
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _defined_in(value: object, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__


def _imported(place: str, work: Callable[[str], ModuleType]) -> ModuleType:
    try:
        return work(place)
    except (LlmdoError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        raise LlmdoError(
            f"importing `{place}` called sys.exit({error.code!r})",
            hint='put what only a script does under `if __name__ == "__main__":`',
            at=_at(place, error),
        ) from error
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{place}.".startswith(f"{error.name}."):
            raise LlmdoError(f"there is no module `{error.name}`", hint="is it installed?") from error
        raise LlmdoError(f"importing `{place}` raised {sentence_of(error)}", at=_at(place, error)) from error


def _at(place: str, error: BaseException | None = None) -> Location | None:
    """The line of the workspace file `place` at which `error` came up; None for a package."""
    if not place.endswith(".py"):
        return None
    trace = traceback.extract_tb(error.__traceback__ if error else None)
    frames = [(frame.filename, frame.lineno) for frame in trace]
    if isinstance(error, SyntaxError):
        frames.append((error.filename or "", error.lineno))
    lines = [line for file, line in frames if file.replace("\\", "/").endswith(f"/{place}")]
    if not lines or lines[-1] is None:
        return Location(place)
    return Location(place, Span(lines[-1], 1, lines[-1] + 1, 1))


class _Searched(str):
    """An entry of `sys.path` that is a workspace's folder, put there by us."""

    __slots__ = ()


def _come_last_of_all_but_workspaces(root: str) -> None:
    """Lets imports find the workspace at `root` last, but before every other workspace of this process.

    What was imported from another one, by a name that this one has as well, is forgotten: it is imported anew, each
    time from the right folder. Whoever imported it before keeps what it has.
    """
    searched = [path for path in sys.path if isinstance(path, _Searched)]
    if searched[:1] == [root]:
        return
    usual = [path for path in sys.path if not isinstance(path, _Searched)]
    others = [path for path in searched if path != root]
    sys.path[:] = [*usual, *([] if root in usual else [_Searched(root)]), *others]
    theirs = frozenset(others)
    for name, module in [*sys.modules.items()]:
        above = [*_folders_above(getattr(module, "__file__", None) or "")]
        if root not in above and not theirs.isdisjoint(above) and _has_module(root, name.partition(".")[0]):
            del sys.modules[name]


def _folders_above(file: str) -> Iterator[str]:
    """Every folder that `file` is in, looked up rather than compared: a process may have known a thousand roots."""
    end = file.rfind(os.sep)
    while end > 0:
        yield file[:end]
        end = file.rfind(os.sep, 0, end)


def _has_module(root: str, name: str) -> bool:
    return Path(root, name).is_dir() or Path(root, f"{name}.py").is_file()


def _private_name(root: Path, path: str) -> str:
    """A module name that is nobody's: two workspaces in one process do not meet."""
    digest = sha256(f"{root}\0{path}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"_llmdo_workspace_{digest}_{PurePosixPath(path).stem}"
