"""Questions to a directed graph of names: strongly connected components, a shortest cycle, an edge that breaks it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


def strongly_connected_components(edges: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The strongly connected components that hold a cycle, each sorted, in the order of their first names.

    A name with an edge to itself is one. Tarjan's algorithm without recursion; linear.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    components: list[list[str]] = []
    for root in sorted(edges):
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, successors = work[-1]
            for successor in successors:
                if successor not in edges:
                    continue
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(edges[successor])))
                    break
                if successor in on_stack:
                    low[name] = min(low[name], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    components.extend(_component(name, stack, on_stack, edges))
    return sorted(components)


def _component(
    name: str, stack: list[str], on_stack: set[str], edges: Mapping[str, Sequence[str]]
) -> Iterator[list[str]]:
    members = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        members.append(member)
        if member == name:
            break
    if len(members) > 1 or name in edges[name]:
        yield sorted(members)


SEARCH_ALL = 300  # members: beyond it a shortest cycle through the first one has to do


def shortest_cycle(edges: Mapping[str, Sequence[str]], members: Sequence[str]) -> list[str]:
    """The names along a shortest cycle within `members`, a sorted strongly connected component; ties by name.

    In a component of more than `SEARCH_ALL` names it is the shortest cycle through the first of them.
    """
    inside = set(members)
    best: list[str] = []
    for start in members if len(members) <= SEARCH_ALL else members[:1]:
        cycle = _cycle_through(edges, start, inside)
        if cycle and (not best or len(cycle) < len(best)):
            best = cycle
        if len(best) == 1:
            break
    return best


def _cycle_through(edges: Mapping[str, Sequence[str]], start: str, inside: set[str]) -> list[str]:
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for successor in sorted(edges[name]):
            if successor == start:
                path = [name]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if successor in inside and successor not in came_from:
                came_from[successor] = name
                waiting.append(successor)
    return []


def opening_edge(
    edges: Mapping[str, Sequence[str]], members: Sequence[str], cycle: Sequence[str]
) -> tuple[str, str] | None:
    """The first edge of `cycle` without which its component has no cycle at all; None if no single one does."""
    inside = set(members)
    within = {name: [other for other in edges[name] if other in inside] for name in members}
    for name, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        rest = {**within, name: [successor for successor in within[name] if successor != other]}
        if not strongly_connected_components(rest):
            return name, other
    return None


def ends_first(edges: Mapping[str, Sequence[str]], skip: frozenset[str]) -> list[str]:
    """The names outside `skip`, which holds every cycle, each after all that it has an edge to."""
    order: list[str] = []
    seen = set(skip)
    for root in sorted(edges):
        if root in seen:
            continue
        seen.add(root)
        work = [(root, iter(edges[root]))]
        while work:
            name, successors = work[-1]
            for successor in successors:
                if successor not in seen and successor in edges:
                    seen.add(successor)
                    work.append((successor, iter(edges[successor])))
                    break
            else:
                work.pop()
                order.append(name)
    return order


def leading_to(edges: Mapping[str, Sequence[str]], names: Iterable[str]) -> set[str]:
    """The names from which edges lead to one of `names`, near or far, and these themselves."""
    callers: dict[str, list[str]] = {}
    for name, others in edges.items():
        for other in others:
            callers.setdefault(other, []).append(name)
    leading = set(names)
    waiting = list(leading)
    while waiting:
        new = set(callers.get(waiting.pop(), ())) - leading
        leading |= new
        waiting.extend(new)
    return leading


def gathered(edges: Mapping[str, Sequence[str]], own: Mapping[str, int]) -> Mapping[str, int]:
    """For each name its own set of bits and those of all names that its edges lead to, near and far."""
    bits_of = _gathered(edges, own)
    if all(
        bits_of[name] | bits_of[other] == bits_of[name] for name, others in edges.items() for other in others
    ):
        return bits_of
    # There are cycles: all names of one share what any of them has, so each is taken for one name.
    head = {name: component[0] for component in strongly_connected_components(edges) for name in component}
    joined_own: dict[str, int] = {}
    joined: dict[str, list[str]] = {}
    for name, others in edges.items():
        first = head.get(name, name)
        joined_own[first] = joined_own.get(first, 0) | own[name]
        joined.setdefault(first, []).extend(head.get(other, other) for other in others)
    bits_of = _gathered(joined, joined_own)
    return {name: bits_of[head.get(name, name)] for name in edges}


def _gathered(edges: Mapping[str, Sequence[str]], own: Mapping[str, int]) -> dict[str, int]:
    """The same for edges without circles, other than from a name to itself."""
    bits_of = dict(own)
    for name in ends_first(edges, frozenset()):
        bits = bits_of[name]
        for other in edges[name]:
            bits |= bits_of[other]
        bits_of[name] = bits
    return bits_of
