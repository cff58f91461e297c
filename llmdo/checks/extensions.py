"""The checks that the extensions of a workspace bring, as if they were ours."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import replace
from llmdo.extensions.registry import part
from llmdo.extensions.running import ExtensionCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.extensions.spec import Extension
    from llmdo.workspace.project import Project


def checks_of(extensions: Iterable[Extension]) -> Iterator[Callable[[Project], Iterator[Diagnostic]]]:
    """Each check of the extensions, whose findings have its code, its name and its severity."""
    for extension in extensions:
        for code in extension.checks:
            yield partial(_findings, extension, code)


def _findings(extension: Extension, code: str, project: Project) -> Iterator[Diagnostic]:
    """The findings of one check.

    Raises:
        LlmdoError: It cannot be imported, it fails, or one of them cannot be shown.
    """
    from llmdo.extensions.fitting import finding_fault  # slow to load, and only needed here

    check = extension.checks[code]
    what = f"the check `{code}` of the extension `{extension.name}`"
    function = part(extension.name, check.function)
    with ExtensionCode(what):
        left: Iterator[Diagnostic] = iter(function(project))
    while True:
        with ExtensionCode(what):
            each = next(left, _END)
            fault = None if each is _END else finding_fault(each, (code,))
        if each is _END:
            return
        if fault:
            raise LlmdoError(f"{what} has a finding that cannot be shown: {fault}")
        yield replace(each, own_name=check.name, severity=check.severity)


_END: Any = object()


def own_explanation(query: str, extensions: Iterable[Extension]) -> str | None:
    """What `llmdo explain` prints about a check of an extension; None where there is no such one."""
    import inspect  # slow to load, and only needed here

    for extension in extensions:
        for code, check in extension.checks.items():
            if query.upper() == code or query.lower() == check.name:
                function = part(extension.name, check.function)
                with ExtensionCode(f"the check `{code}` of the extension `{extension.name}`"):
                    text = str(inspect.getdoc(function) or "")
                return f"{code} {check.name} ({check.severity}, of `{extension.name}`)\n\n{text}\n"
    return None
