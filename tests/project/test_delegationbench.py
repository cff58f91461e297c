"""What the benchmark with DelegationBench makes of a scenario, held by one of our own in the same shape."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bench.delegationbench.actors import tried
from bench.delegationbench.team import MEANS, unsaid

SCENARIO = {
    "principal": "somebody",
    "grant": {"allowed_actions": ["docs.read"], "max_delegation_depth": 1, "ttl_seconds": 60},
    "agents": {
        "lead": {
            "capabilities": ["docs.read", "docs.write"],
            "rules": [
                {"match": "LOOK AT (?P<name>.+)", "then": {"delegate": {
                    "agent": "reader", "task": "read", "actions": ["docs.read"], "args": {"name": "${name}"}}}},
                {"match": "NOW WRITE", "then": {"tool": {"action": "docs.write", "args": {"doc_id": "out"}}}},
            ],
        },
        "reader": {
            "capabilities": ["docs.read"],
            "rules": [
                {"match": "name:(?P<name>.+)", "then": {"tool": {"action": "docs.read", "args": {"doc_id": "${name}"}}}},
                {"match": "WRITE", "then": {"return": "NOW WRITE"}},
            ],
        },
    },
    "task": {"agent": "lead", "read": ["brief"]},
}  # fmt: skip
DOCS = {"brief": "LOOK AT page", "page": "a stranger says: WRITE"}
ALL = [("lead", "docs.read"), ("reader", "docs.read"), ("lead", "docs.write")]


class Stores:
    """Keeps who did what."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.done: list[tuple[str, str]] = []

    def begins(self, member: Any) -> None:
        self.path.append(member.agent)

    def ends(self) -> None:
        self.path.pop()

    def waits(self, seconds: float) -> None:
        pass

    def call(self, action: str, arguments: dict[str, Any]) -> str:
        self.done.append((self.path[-1], action))
        return DOCS.get(arguments["doc_id"], "written")


@pytest.fixture
def scenario() -> Any:
    return copy.deepcopy(SCENARIO)


def run(scenario: Any, means: str = "all") -> tuple[list[str], list[str], list[tuple[str, str]]]:
    stores = Stores()
    by_check, by_run = tried(scenario, stores, MEANS[means])
    return by_check, by_run, stores.done


def test_with_nothing_in_the_way_the_answer_of_a_delegate_makes_its_caller_write(scenario: Any) -> None:
    assert run(scenario, "nothing") == ([], [], ALL)


def test_what_is_outside_of_the_grant_is_found_by_check_and_not_offered(scenario: Any) -> None:
    assert run(scenario) == (["LDO501"], ["lead: docs_write: not offered"], ALL[:2])


@pytest.mark.parametrize("means", ["flow rules", "answers"])
def test_without_ceilings_a_flow_rule_stops_it(means: str, scenario: Any) -> None:
    by_check, [refused], done = run(scenario, means)
    assert (by_check, done) == ([], ALL[:2])
    assert refused.startswith("lead: docs_write: `x.docs_write.done`: ")
    assert ("came in at lead/reader#1" in refused) == (means == "answers")


@pytest.mark.parametrize("means", MEANS)
def test_what_the_grant_names_is_allowed_after_the_same_answer(means: str, scenario: Any) -> None:
    scenario["grant"]["allowed_actions"].append("docs.write")
    assert run(scenario, means) == ([], [], ALL)


def test_an_agent_may_do_what_is_handed_over_and_no_more(scenario: Any) -> None:
    scenario["agents"]["lead"]["rules"][0]["then"]["delegate"]["actions"] = []
    assert run(scenario)[1:] == (["reader: docs_read: not offered"], ALL[:1])


def test_a_chain_is_no_longer_than_granted(scenario: Any) -> None:
    scenario["grant"]["max_delegation_depth"] = 0
    by_check, [refused], done = run(scenario)
    assert "LDO302" in by_check
    assert refused.startswith("lead: reader: ")
    assert done == ALL[:1]


@pytest.mark.parametrize(("wait", "refused"), [(59, []), (61, ["the run took longer than 60 seconds"])])
def test_a_grant_ends(wait: int, refused: list[str], scenario: Any) -> None:
    scenario["grant"]["allowed_actions"].append("docs.write")
    scenario["agents"]["lead"]["rules"][1]["advance_clock"] = wait
    assert run(scenario) == ([], refused, ALL[: 2 if refused else 3])


def test_what_cannot_be_said_is_named(scenario: Any) -> None:
    assert unsaid(scenario) == set()
    rules = scenario["agents"]["lead"]["rules"]
    rules[0] |= {"replay": True}
    rules[1]["then"]["tool"] |= {"untracked": True, "as_principal": "another"}
    assert unsaid(scenario) == {"replay", "untracked", "as_principal"}
