"""Random questions with the product's answers, and the differences from the model's answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from llmdo.policy.authority import BUILT_IN, STRICTNESS, Authority, base_rules, decide
from llmdo.policy.vocabulary import (
    ONLY_BY_FULL_NAME,
    ONLY_READS,
    OUTSIDE_CEILINGS,
    ROOTS,
    WITHOUT_EFFECT,
    Decision,
)
from llmdo.reach import Analysis
from llmdo.reach.flows import ENTRY, FlowRow, after_strangers, labels_below
from llmdo.reach.rows import Row
from proof.model import cases, extracted

CHUNK = 20_000  # questions: what the model is asked at once stays small

Case = tuple[str, str]
"""A question for the model, and the product's answer."""


class Difference(NamedTuple):
    """A question that the product and the model answer differently."""

    question: str
    product: str
    model: str

    def __str__(self) -> str:
        return f"{self.question}\n  product: {self.product}\n  model:   {self.model}"


def decisions(seed: int) -> Iterator[Case]:
    """Random calls, and what `decide` says."""
    chance = Random(seed)
    while True:
        asked = cases.decision(chance)
        authority = Authority(
            base=base_rules(asked.manifest),
            default=asked.default,
            layers=asked.layers,
            ceilings=asked.ceilings,
            flows=asked.flows,
            reads=asked.reads,
        )
        decided = decide(asked.raised, asked.declared, authority, asked.carried).decision
        yield extracted.of_decision(asked), decided


def teams(seed: int) -> Iterator[Case]:
    """Random teams: the rows of their reach, the labels of their workers, and the effects after a stranger's words."""
    chance = Random(seed)
    while True:
        graph, policy = cases.team(chance)
        entry = graph.entries["e"]
        analysis = Analysis(graph, policy)
        labels = labels_below(analysis, entry)
        said = (
            _mildest(analysis.of(entry)),
            [
                f"{name}={','.join(sorted(map(extracted.shown, of)))}"
                for name, of in labels.items()
                if name != ENTRY
            ],
            _mildest(after_strangers(analysis, entry)),
        )
        yield extracted.of_team(graph, entry, policy), " | ".join(" ".join(sorted(part)) for part in said)


def vocabulary() -> Iterator[Case]:
    """The names that the law speaks of."""
    rules = [f"{rule.capability}={rule.decision}" for rule in BUILT_IN]
    groups = (rules, ONLY_BY_FULL_NAME, OUTSIDE_CEILINGS, ONLY_READS, WITHOUT_EFFECT, ROOTS)
    yield "vocabulary", " | ".join(" ".join(sorted(group)) for group in groups)


def _mildest(rows: Sequence[Row] | Sequence[FlowRow]) -> list[str]:
    """The rows as the model prints them, for which `fs.read` and `fs.read:**` are one."""
    mildest: dict[str, Decision] = {}
    for row in rows:
        capability = extracted.shown(row.capability)
        mildest[capability] = min(
            row.decision, mildest.get(capability, "blocked"), key=STRICTNESS.__getitem__
        )
    return [f"{capability}={decision}" for capability, decision in mildest.items()]


def differences(program: Path, asked: Iterator[Case], number: int) -> Iterator[Difference]:
    """Each of the first `number` questions on which they differ."""
    while number > 0 and (chunk := list(islice(asked, min(CHUNK, number)))):
        number -= len(chunk)
        answers = extracted.answers(program, [question for question, _ in chunk])
        for (question, expected), answer in zip(chunk, answers, strict=True):
            if answer != expected:
                yield Difference(question, expected, answer)
