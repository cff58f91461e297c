"""The functions of a workspace that judge cases, loaded for the time of judging."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from llmdo.base import topology
from llmdo.base.diagnostic import LlmdoError, joined
from llmdo.extensions.registry import part
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.python import Modules
from llmdo.workspace.modules import imports_of
from llmdo.workspace.references import python_file
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from llmdo.features.evaluation.evaluators import Context, Functions
    from llmdo.workspace.project import Project
    from llmdo.workspace.trust import Consent


@contextmanager
def loaded(project: Project, references: tuple[str, ...], consent: Consent) -> Iterator[Functions]:
    """The functions, by FILE.py:NAME; only code that the lock holds is executed for them.

    Raises:
        UntrustedError: The code is not trusted, and `consent` refuses it.
        LlmdoError: One differs from the lock, cannot be loaded, or is no function.
    """
    root, locked = project.workspace.root, project.locked.graph
    judges = locked.judges if locked else {}
    _require_locked(project, judges, references)
    if references:
        consent.require(project.graph, root)
    with closing(Root.open(root)) as files, Modules(root, files, judges) as modules:
        functions: dict[str, Callable[[Context], Any]] = {}
        for reference in references:
            function = modules.load(reference)
            if not callable(function):
                raise LlmdoError(
                    f"`{reference}` is not a function, so it cannot judge", hint="`def NAME(ctx): return ...`"
                )
            functions[reference] = function
        yield functions | own_evaluators(project)


def own_evaluators(project: Project) -> dict[str, Callable[[Context], Any]]:
    """The evaluators of the workspace's extensions, by their names.

    Raises:
        LlmdoError: One cannot be imported.
    """
    return {
        name: part(each.name, where) for each in project.extensions for name, where in each.evaluators.items()
    }


def _require_locked(project: Project, judges: Mapping[str, str], references: tuple[str, ...]) -> None:
    """Requires that the files of the functions, and all their imports, match the lock.

    Raises:
        LlmdoError: One does not.
    """
    differing = {path for path, source in project.graph.judges.items() if judges.get(path) != source}
    leading = topology.leading_to(imports_of(project.workspace.judges), differing)
    for reference in references:
        if python_file(reference) in leading:
            files = joined([f"`{path}`" for path in sorted(differing)], by=", ")
            raise LlmdoError(
                f"the judge `{reference}` is not executed: `{LOCK}` does not hold {files} as it is now",
                hint="read what changed; `llmdo lock` takes it in",
            )
