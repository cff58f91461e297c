"""The checks that the extensions of a workspace bring, as if they were ours."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, excerpt
from llmdo.base.values import replace
from llmdo.extensions.registry import part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.extensions.spec import Extension, OwnCheck
    from llmdo.workspace.project import Project


def checks_of(extensions: Iterable[Extension]) -> Iterator[Callable[[Project], Iterator[Diagnostic]]]:
    """Each check of the extensions, whose findings have its code, its name and its severity."""
    for extension in extensions:
        for code, check in extension.checks.items():
            yield partial(_findings, code, check)


def _findings(code: str, check: OwnCheck, project: Project) -> Iterator[Diagnostic]:
    """What one check finds.

    Raises:
        LlmdoError: It cannot be imported, or fails.
    """
    try:
        for each in part(check.function)(project):
            yield replace(each, code=code, own_name=check.name, severity=check.severity)
    except LlmdoError:
        raise
    except Exception as error:
        what = excerpt(f"{type(error).__name__}: {error}", 200)
        raise LlmdoError(f"the check `{code}` of an extension failed: {what}") from error


def own_explanation(query: str, extensions: Iterable[Extension]) -> str | None:
    """What `llmdo explain` prints about a check of an extension; None where there is no such one."""
    import inspect  # slow to load, and only needed here

    for extension in extensions:
        for code, check in extension.checks.items():
            if query.upper() == code or query.lower() == check.name:
                text = inspect.getdoc(part(check.function)) or ""
                return f"{code} {check.name} ({check.severity}, of `{extension.name}`)\n\n{text}\n"
    return None
