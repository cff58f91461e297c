"""3xx: the delegation graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo import topology
from llmdo.diagnostic import Related, finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.diagnostic import Diagnostic
    from llmdo.graph import Use
    from llmdo.project import Project


def delegation_cycle(project: Project) -> Iterator[Diagnostic]:
    """Workers delegate in a circle, and none of them says that it may.

    Such a run ends only when a limit stops it. Recursion is a legitimate pattern, so say that it is meant:
    with `recursive: true` in one worker of the circle its depth is bounded by `max-depth`. Otherwise remove an
    edge; the hint names one whose removal opens the circle.

    Fails: `planner` uses `critic` and `critic` uses `planner`.

        name: planner
        toolsets: [critic]

    Mended:

        name: planner
        recursive: true
        toolsets: [critic]
    """
    workers = project.graph.workers
    uses = {
        name: {use.name: use for use in worker.uses if use.name in workers}
        for name, worker in workers.items()
        if not worker.recursive
    }
    edges = {name: [used for used in found if used in uses] for name, found in uses.items()}
    for knot in topology.knots(edges):
        cycle = topology.shortest_cycle(edges, knot)
        steps = [(name, uses[name][other]) for name, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
        yield _cycle(steps, topology.opening_edge(edges, knot, cycle))


def _cycle(steps: list[tuple[str, Use]], opening: tuple[str, str] | None) -> Diagnostic:
    names = [name for name, _ in steps]
    (first, edge), *rest = steps
    if not rest:
        message = f"`{first}` delegates to itself"
        hint = "remove it, or say `recursive: true` in its header"
    else:
        message = f"delegation runs in a circle: {' > '.join([*names, first])}"
        hint = "say `recursive: true` in one of them, or remove an edge"
        if opening:
            hint = f"remove `{opening[1]}` from `{opening[0]}`, or say `recursive: true` in one of them"
    related = [Related(use.at.location, f"`{name}` delegates to `{use.name}`") for name, use in rest]
    return finding("LDO301", edge.at.location, message, hint=hint, related=related)
