"""Python of a workspace: loading an attribute of a file or a package, and finding its toolsets."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from copy import deepcopy
from hashlib import sha256
from pathlib import PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING, Self

from pydantic_ai.toolsets import AbstractToolset

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.source import Location, Span
from llmdo.toolsets.finder import SourceLoader, WorkspaceFinder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from typing_extensions import TypeIs

    from llmdo.toolsets.confinement import Root

MAX_SHOWN = 300  # characters of an exception's own message

_WITHOUT_CONTEXT = "tools that take context must be annotated with RunContext"
_PLAIN = "a function without a context is made a tool by `@TOOLSET.tool_plain`"


class Modules:
    """The loaded Python modules of one workspace, for one run or one inspection; a context that ends with it."""

    def __init__(self, root: Path, files: Root, code: Mapping[str, str]) -> None:
        """`code` maps each importable file to the digest of its text.

        Files are read only through `files`, the opened `root`.
        """
        self._root = root.absolute()
        self._finder = WorkspaceFinder(root, files, code)
        self._loaded: dict[str, ModuleType] = {}

    def __enter__(self) -> Self:
        self._finder.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._finder.close()

    @property
    def root(self) -> Path:
        """The folder of the workspace."""
        return self._root

    def load(self, reference: str) -> object:
        """The attribute named by `FILE.py:NAME` or `package.module:NAME`.

        Raises:
            LlmdoError: There is no such module or attribute, or the import raised.
        """
        origin, _, name = reference.rpartition(":")
        module = self.module(origin)
        try:
            return getattr(module, name)
        except AttributeError:
            raise LlmdoError(
                f"`{origin}` has no attribute `{name}`", hint=did_you_mean(name, vars(module)), at=_at(origin)
            ) from None

    def module(self, origin: str) -> ModuleType:
        """The module in the file `origin`, if that ends in `.py`, else the package module of that name.

        Imported at most once. It can import the interpreter's modules, and after them files of the workspace, which
        therefore shadow nothing.

        Raises:
            LlmdoError: There is no such module, the import raised, or it imports a forbidden file.
        """
        if origin not in self._loaded:
            work = self._from_file if origin.endswith(".py") else importlib.import_module
            with self._finder.importing():
                self._loaded[origin] = _imported(self._root, origin, work)
        return self._loaded[origin]

    def imported_outside(self, reference: str) -> object:
        """The attribute `FILE.py:NAME` as the program itself imported the file, if it did."""
        path, _, name = reference.rpartition(":")
        file = os.path.realpath(self._root / path)
        modules: list[object] = [*sys.modules.values()]  # code puts other things there as well
        for module in modules:
            held = vars(module) if isinstance(module, ModuleType) else {}
            its = held.get("__file__")
            if not isinstance(its, str) or isinstance(held.get("__loader__"), SourceLoader):
                continue
            if its.endswith(PurePosixPath(path).name) and os.path.realpath(its) == file:
                return held.get(name)
        return None

    def text(self, path: str) -> str:
        """The text of a Python file of the workspace."""
        return self._finder.source(path)

    def _from_file(self, path: str) -> ModuleType:
        if (known := self._finder.made_of(path)) is not None:
            return known
        name = _private_name(self._root, path)
        loader = self._finder.loader(name, path)
        code = loader.get_code(name)
        module = ModuleType(name)
        module.__file__ = loader.path
        module.__loader__ = loader
        module.__package__ = ".".join(PurePosixPath(path).parent.parts)  # for `from . import sibling`
        sys.modules[name] = module  # dataclasses and pydantic look there for a class's module
        try:
            with self._finder.making(path, module):
                exec(code, vars(module))  # noqa: S102  # to run the workspace's code is what `lock` and `run` are for
        except BaseException:
            sys.modules.pop(name, None)
            raise
        return module


def toolsets_in(module: ModuleType) -> dict[str, object]:
    """The toolsets of a module, by attribute: instances wherever made, and classes that it defines."""
    return {
        name: value
        for name, value in sorted(vars(module).items())
        if not name.startswith("_")
        and (isinstance(value, AbstractToolset) or (is_toolset_class(value) and _defined_in(value, module)))
    }


def is_toolset_class(value: object) -> TypeIs[type[AbstractToolset[object]]]:
    """Whether `value` is a class of toolsets that can be made."""
    return isinstance(value, type) and issubclass(value, AbstractToolset) and not inspect.isabstract(value)


def sentence_of(error: BaseException) -> str:
    """The type of an exception and its message, on one line."""
    words = " ".join(str(error).split())
    if len(words) > MAX_SHOWN:
        words = words[:MAX_SHOWN] + "..."
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _defined_in(value: object, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__


def _imported(root: Path, origin: str, work: Callable[[str], ModuleType]) -> ModuleType:
    try:
        return work(origin)
    except KeyboardInterrupt:
        raise
    except LlmdoError as error:
        error.at = error.at or _raised_at(root, origin, error)
        raise
    except SystemExit as error:
        raise LlmdoError(
            f"importing `{origin}` called sys.exit({error.code!r})",
            hint='put what only a script does under `if __name__ == "__main__":`',
            at=_raised_at(root, origin, error),
        ) from error
    except BaseException as error:
        if (
            isinstance(error, ModuleNotFoundError)
            and error.name
            and f"{origin}.".startswith(f"{error.name}.")
        ):
            raise LlmdoError(f"there is no module `{error.name}`", hint="is it installed?") from error
        raise LlmdoError(
            f"importing `{origin}` raised {sentence_of(error)}",
            hint=_PLAIN if _WITHOUT_CONTEXT in str(error) else None,
            at=_raised_at(root, origin, error),
        ) from error


def _at(origin: str) -> Location | None:
    """The workspace file `origin`; None for a package."""
    return Location(origin) if origin.endswith(".py") else None


def _raised_at(root: Path, origin: str, error: BaseException) -> Location | None:
    """The line of the workspace file `origin` at which `error` came up; the whole file if there is none.

    A file of a library may have the same name, and an exception may name any line it likes.
    """
    if not origin.endswith(".py"):
        return None
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        frames.append((error.filename or "", error.lineno))
    ours = str(root / origin)
    lines = [line for file, line in frames if line and file == ours]
    if not lines or lines[-1] > len((root / origin).read_bytes().splitlines()):
        return Location(origin)
    return Location(origin, Span(lines[-1], 1, lines[-1] + 1, 1))


def _private_name(root: Path, path: str) -> str:
    """A unique module name, so that two workspaces in one process do not collide."""
    digest = sha256(f"{root}\0{path}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"_llmdo_workspace_{digest}_{PurePosixPath(path).stem}"


CONFIGURE = "configure"
"""The optional class method by which a class takes its configuration whole."""


def require_fit(made_of: type[AbstractToolset[object]], config: Mapping[str, object]) -> None:
    """Checks that a class accepts this configuration, as far as that shows without making it.

    Raises:
        TypeError: It does not accept it, or its `configure` is no class method.
    """
    if configure := _configure_of(made_of):
        inspect.signature(configure).bind(config)
    else:
        inspect.signature(made_of).bind(**config)


def made_with(
    made_of: type[AbstractToolset[object]], config: Mapping[str, object]
) -> AbstractToolset[object]:
    """A new toolset of a class, with a copy of the configuration: whole, or as keyword arguments.

    Raises:
        Exception: Whatever its code raises; LlmdoError if that returns no toolset.
    """
    arguments = {key: deepcopy(value) for key, value in config.items()}
    configure = _configure_of(made_of)
    if configure is None:
        return made_of(**arguments)
    toolset = configure(arguments)
    if not isinstance(toolset, AbstractToolset):
        raise LlmdoError(
            f"`configure` of `{made_of.__name__}` returned no toolset, but {type(toolset).__name__}"
        )
    return toolset


def _configure_of(made_of: type[AbstractToolset[object]]) -> Callable[[Mapping[str, object]], object] | None:
    """The class method `configure` of a class, if any.

    Raises:
        TypeError: It is something else.
    """
    stated = inspect.getattr_static(made_of, CONFIGURE, None)
    if stated is None:
        return None
    if not isinstance(stated, classmethod | staticmethod):
        raise TypeError("`configure` is not a class method: write `@classmethod` above it")
    configure: Callable[[Mapping[str, object]], object] = getattr(made_of, CONFIGURE)
    return configure
