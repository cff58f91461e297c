"""The edit that takes out the rules without which a tool brings no stranger's words, and keeps the tool."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, place
from llmdo.base.values import replace
from llmdo.foreign.edits import FlowEdit, leaves_milder, left_after
from llmdo.foreign.instead import ALL, LONGEST, key_around
from llmdo.foreign.legs import FlowLeg, grant_of, grants_of, leg_of, legs_of, rules_bring
from llmdo.policy.authority import Rule
from llmdo.policy.vocabulary import UNTRUSTED
from llmdo.reach.rows import Along

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.foreign import Foreign
    from llmdo.foreign.edits import Spot
    from llmdo.foreign.flows import Flow
    from llmdo.reach.rows import Row
    from llmdo.syntax.document import Place

_LOST = "where its session asks, a person is then asked about each such command"
_BY_RULES = "by "
"""The beginning of a condition under which rules alone still let something out where a session asks."""


def without_rules(project: Foreign, flow: Flow) -> FlowEdit | None:
    """The edit of settings by which nothing brings words any more, and no tool is lost; None if there is none.

    Where a rule, a mode that is set, or a session that never asks is what lets the way out go unasked, such commands
    do so as well.
    """
    source, _, way = legs_of(flow)
    given = grant_of(project, way)
    if given is None or given.rule_at or len(source.path) < 2:
        return None
    if given.condition and not given.condition.startswith(_BY_RULES):
        return None
    if not _rules(project, (source.path[-2].name, source.path[-1].name, source.tool)):
        return None
    bringing = (each for legs in flow.legs for each in legs.sources)
    spots = dict.fromkeys((each.worker, each.toolset, each.tool) for each in bringing)
    ruled = {spot: rules for spot in spots if (rules := _rules(project, spot))}
    by_line = {(at.location.path, at.route): at for at in chain.from_iterable(ruled.values())}
    edit = FlowEdit(_text(by_line.values()), frozenset(), of_source=True, silences=frozenset(ruled))
    is_enough = len(by_line) <= ALL and not left_after(flow, edit) and not leaves_milder(flow, edit)
    return edit if is_enough else None


def with_rule_of_words(project: Foreign, row: Row) -> Row:
    """A row about a stranger's words with the rule that alone brings them as its reason; any other as it is."""
    leg = FlowLeg("", row.path, row.tool, capability=UNTRUSTED)
    given = grant_of(project, leg) if row.capability.name == UNTRUSTED else None
    if (
        given is None
        or given.rule_at is None
        or row.decision != given.decision
        or not rules_bring(project, leg)
    ):
        return row
    rule = Rule(row.capability, given.decision, given.origin, given.rule_at)
    reasons = tuple(replace(reason, rule=rule) for reason in row.reasons)
    return row._replace(verdict=replace(row.verdict, reasons=reasons), way=Along(row.path))


def _rules(project: Foreign, spot: Spot) -> list[Place]:
    """The rules that alone have a tool bring words, though it is free anyway; none if it does so otherwise as well."""
    leg = leg_of(spot)
    grants = [
        each for each in grants_of(project, leg) if UNTRUSTED in {able.name for able in each.capabilities}
    ]
    if not rules_bring(project, leg) or not all(each.brought_by for each in grants):
        return []
    return [at for each in grants for at in each.brought_by]


def _text(rules: Iterable[Place]) -> str:
    """The edit in words, with the place of the first rule."""
    lists: dict[tuple[str, str], list[Place]] = {}
    for at in rules:
        lists.setdefault((at.location.path, key_around(at)), []).append(at)
    first = next(iter(lists.values()))[0].location
    taken = (
        f"{_names(each)} out of {key}{f' in `{path}`' if path != first.path else ''}"
        for (path, key), each in lists.items()
    )
    return f"take {', and '.join(taken)} ({place(first)}); {_LOST}"


def _names(rules: Iterable[Place]) -> str:
    return ", ".join(dict.fromkeys(f"`{excerpt(str(at.data), LONGEST)}`" for at in rules))
