"""The extensions that are a part of this package: the present folders of `llmdo.features`.

Those that a workspace names are read with it, by `llmdo.workspace.extensions`.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.extensions.running import ExtensionCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType
    from typing import Any

    from llmdo.extensions.spec import Extension

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "features")  # noqa: PTH118, PTH120


def folders() -> tuple[str, ...]:
    """The names of the folders, sorted; nothing is imported."""
    try:
        names = os.listdir(_FOLDER)  # noqa: PTH208
    except FileNotFoundError:
        return ()
    return tuple(sorted(name for name in names if os.path.isfile(f"{_FOLDER}/{name}/__init__.py")))  # noqa: PTH113


@cache
def features() -> tuple[Extension, ...]:
    """The extensions, sorted by their names; those without one that they need are left out."""
    there: list[Extension] = [import_module(f"llmdo.features.{name}").EXTENSION for name in folders()]
    names = {each.name for each in there}
    return tuple(each for each in there if names.issuperset(each.needs))


def module_with(stated: Iterable[str | None], what: str) -> ModuleType:
    """The first module that is stated.

    Raises:
        LlmdoError: None is; the extension for `what` is not a part of this installation.
    """
    name = next(filter(None, stated), None)
    if name is None:
        raise LlmdoError(
            f"this installation of llmdo is without {what}", hint="install llmdo with all its features"
        )
    return import_module(name)


def part(extension: str, reference: str) -> Callable[..., Any]:
    """The function of an installed `extension` that `package.module:NAME` names.

    Raises:
        LlmdoError: There is none, or its module cannot be imported.
    """
    module, _, name = reference.partition(":")
    with ExtensionCode(f"`{reference}` of the extension `{extension}`", "cannot be imported"):
        function: Callable[..., Any] = getattr(import_module(module), name)
    return function
