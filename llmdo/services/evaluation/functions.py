"""The functions of a workspace that judge cases, loaded for as long as they do."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.python import Modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from llmdo.graph.resolved import Graph
    from llmdo.services.evaluation.evaluators import Context, Functions
    from llmdo.workspace.trust import Consent


@contextmanager
def loaded(graph: Graph, root: Path, references: tuple[str, ...], consent: Consent) -> Iterator[Functions]:
    """What each FILE.py:NAME names, from the files that `graph` had when the evaluation began, and from no others.

    Raises:
        UntrustedError: Nobody has answered for the code, and `consent` does not let it through.
        LlmdoError: One cannot be loaded, is no function, or is not what it was.
    """
    if references:
        consent.require(graph, root)
    with closing(Root.open(root)) as files, Modules(root, files, graph.judges) as modules:
        functions: dict[str, Callable[[Context], Any]] = {}
        for reference in references:
            function = modules.load(reference)
            if not callable(function):
                raise LlmdoError(
                    f"`{reference}` is not a function, so it cannot judge", hint="`def NAME(ctx): return ...`"
                )
            functions[reference] = function
        yield functions
