"""The extracted model: its program, and the questions that it takes, one a line."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.toolkit import tools_of
from llmdo.graph.worker import Worker
from llmdo.policy.authority import MOST_BITS, Capability, Carried, Ceiling, FlowRule, Rule
from llmdo.policy.composition import Base
from llmdo.policy.vocabulary import Decision

FOLDER = Path(__file__).parents[1] / "coq"
Item = TypeVar("Item")


@dataclass(frozen=True)
class Question:
    """One call and everything that decides about it."""

    manifest: tuple[Rule, ...]
    default: Decision
    layers: tuple[Rule, ...]
    ceilings: tuple[Ceiling, ...]
    flows: tuple[FlowRule, ...]
    reads: frozenset[str]
    declared: tuple[Capability, ...]
    raised: tuple[Capability, ...]
    carried: Carried


def built(folder: Path = FOLDER) -> Path:
    """The program of the model in `folder`; its proofs are checked first.

    Raises:
        CalledProcessError: A proof does not hold, or the program cannot be made.
    """
    subprocess.run(["make", "--silent", "-C", str(folder), "build/model"], check=True)
    return folder / "build" / "model"


def answers(program: Path, questions: Iterable[str]) -> list[str]:
    """The model's answer to each question."""
    text = "\n".join(questions) + "\n"
    done = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def shown(capability: Capability) -> str:
    """A capability as the model prints it: without a scope if it is everywhere."""
    return capability.name if capability.is_everywhere else str(capability)


def of_decision(question: Question) -> str:
    """The line that asks for the decision over one call."""
    return " ".join(
        [
            "decide",
            _list(question.manifest, _rule),
            question.default,
            _list(question.layers, _rule),
            _list([ceiling.capabilities for ceiling in question.ceilings], _capabilities),
            _list(question.flows, _flow),
            _list(sorted(question.reads), str),
            _capabilities(question.declared),
            _capabilities(question.raised),
            _capabilities(sorted(question.carried.labels, key=str)),
            _flag(question.carried.sends),
        ]
    )


def of_team(graph: Graph, entry: Entry, policy: tuple[Rule, ...]) -> str:
    """The line that asks for the reach of `entry` and of labels; what tools declare is as the product says it."""
    base = Base.of(graph, policy)
    return " ".join(
        [
            "team",
            _flag(bool(entry.untrusted_input)),
            _list(graph.rules, _rule),
            base.default,
            _list(base.tightening, _rule),
            _list(base.flows, _flow),
            _list(sorted(base.reads), str),
            str(base.max_bits),
            _list(graph.sources, lambda source: f"{source.capability} {source.label}"),
            str(graph.settings.max_depth),
            _layer(entry),
            _list([start.name for start in entry.starts], str),
            _list(tuple(graph.workers.values()), lambda worker: _worker(graph, worker)),
        ]
    )


def _worker(graph: Graph, worker: Worker) -> str:
    closed = "open" if worker.closed is None else str(worker.closed)
    answers = "sealed" if worker.output == "sealed" else closed
    return f"{worker.name} {_layer(worker)} {answers} {_list([*_tools(graph, worker)], str)}"


def _tools(graph: Graph, worker: Worker) -> Iterator[str]:
    for use in worker.uses:
        toolset = graph.toolsets.get(use.name)
        keeper = use.name if toolset is not None and toolset.keeps else "-"
        for tool in tools_of(graph, worker, use).values():
            kind = f"calls {use.name}" if use.name in graph.workers else "any" if tool.hook else "all"
            yield f"{kind} {_flag(toolset is not None)} {keeper} {_capabilities(tool.capabilities)}"


def _layer(governed: Entry | Worker) -> str:
    ceilings = [] if governed.may is None else [governed.may]
    own = _list(governed.approvals, _rule)
    bits = MOST_BITS if governed.flows.max_bits is None else governed.flows.max_bits
    return f"{own} {_list(ceilings, _capabilities)} {_list(governed.flows.all, _flow)} {bits}"


def _rule(rule: Rule) -> str:
    return f"{rule.capability} {rule.decision}"


def _flow(flow: FlowRule) -> str:
    words = [
        _capabilities(flow.sources),
        str(flow.to),
        flow.decision,
        _flag(flow.is_preset),
        _flag(flow.if_sent),
    ]
    return " ".join(words)


def _capabilities(capabilities: Sequence[Capability]) -> str:
    return _list(capabilities, str)


def _flag(value: bool) -> str:  # noqa: FBT001  # one bit of a line
    return "1" if value else "0"


def _list(items: Sequence[Item], said: Callable[[Item], str]) -> str:
    return " ".join([str(len(items)), *map(said, items)])
