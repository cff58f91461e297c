"""Random decisions and random teams, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from llmdo.base.source import Source
from llmdo.base.values import Json
from llmdo.graph.keys import Reference, ValueOrigin, flows, labelled_sources
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Settings
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Attachments, Use, Worker
from llmdo.policy.authority import Capability, Carried, Ceiling, FlowRule, Rule
from llmdo.policy.flow import PRESETS, Flows
from llmdo.policy.vocabulary import ONLY_READS, VOCABULARY, Decision
from llmdo.syntax.document import Document, Place
from proof.model.extracted import Question

Item = TypeVar("Item")

NOWHERE = Place(Document(Source("nowhere", ""), {}, dict), ())
MANIFEST = ValueOrigin(NOWHERE.document, (), "llmdo.toml")

DECISIONS: tuple[Decision, ...] = ("allowed", "needs_approval", "blocked")
STRICTER: tuple[Decision, ...] = ("needs_approval", "blocked")
PATHS = ("a", "a/b", "a/b/c", "b", "ab", "a/bc")
SCOPES = (None, "**", *PATHS, *(f"{path}/**" for path in PATHS))
LEAVES = (*VOCABULARY, "x.t.any", "x.tt.any", "ext.do")
NAMES = (*LEAVES, "agent", "capability", "data", "ext", "fs", "proc", "net", "x", "x.t")

# Of teams.
TEAM_SCOPES = (None, "in/**", "in/a", "out/**", "**")
CALLEES = (None, "**", "w0", "w1", "w2")
DECLARED = ("fs.read", "fs.read.protected", "fs.write", "fs.write.protected", "proc.exec", "proc.exec.read",
            "proc.exec.unlisted", "net.connect", "data.untrusted", "x.t.any", "x.t", "x.t", "fs")  # fmt: skip
PATTERNS = (*DECLARED, "fs", "proc", "agent.delegate", "agent.delegate", "fs.write.code", "x.t.any.more")
FILES: tuple[dict[str, Json], ...] = (
    {"read": ["in/**"], "write": ["out/**"]},
    {"read": ["**"], "write": ["out/**"]},
    {"read": ["out/**", "in/a"], "write": ["out/a"]},
    {},
)
FROMS = ("data.untrusted", "fs.read", "fs.read:in/**", "x.t", "proc.exec", "net", "data")
TOS = ("fs.write", "fs.write:out/**", "net", "x", "proc.exec", "agent.delegate", "fs.read", "fs")
SOURCES = ("fs.read:in/**", "fs.list", "x.t.any", "net.connect", "data.untrusted")
LABELS = ("data.untrusted", "data.untrusted", "fs.read", "x.t")


def decision(chance: Random) -> Question:
    """A call, and rules, ceilings and flow rules about it."""

    def capability(names: tuple[str, ...] = NAMES) -> Capability:
        return Capability(chance.choice(names), chance.choice(SCOPES))

    def rule() -> Rule:
        return Rule(capability(), chance.choice(DECISIONS), "")

    def flow() -> FlowRule:
        # A label is a FROM as it is written; with `**` it would be another one, though a call that has either has both.
        drawn = [capability((*NAMES, *["data.untrusted"] * 9)) for _ in range(chance.randint(1, 2))]
        sources = {Capability(each.name) if each.is_everywhere else each for each in drawn}
        preset, sent = chance.random() < 0.2, chance.random() < 0.2
        kept = tuple(sorted(sources, key=str))
        return FlowRule(kept, capability(), chance.choice(STRICTER), "", is_preset=preset, if_sent=sent)

    presets = [
        each
        for preset in chance.choice([(), (), *((name,) for name in PRESETS)])
        for each in Flows(preset).all
    ]
    stated = (*presets, *_several(chance, flow, 2))
    labels = [source for each in stated for source in each.sources]
    raised = _several(chance, lambda: capability(LEAVES), 3)
    declared = (
        [capability() for _ in range(chance.randint(0, 2))]
        if chance.random() < 0.2
        else map(Capability, NAMES)
    )
    return Question(
        manifest=_several(chance, rule, 4),
        default=chance.choice(DECISIONS),
        layers=_several(chance, rule, 2),
        ceilings=_several(chance, lambda: Ceiling(_several(chance, capability, 4), ""), 1),
        flows=stated,
        reads=frozenset({*ONLY_READS, *chance.choice([(), ("x.t",)])}),
        declared=tuple(declared),
        raised=raised,
        carried=Carried(
            frozenset(chance.sample(labels, chance.randint(0, len(labels)))), sends=chance.random() < 0.7
        ),
    )


@dataclass(frozen=True)
class _Words:
    """The few names and scopes of one team, so that its rules, ceilings and tools meet."""

    declared: tuple[str, ...]
    patterns: tuple[str, ...]
    scopes: tuple[str | None, ...]

    @classmethod
    def of(cls, chance: Random) -> _Words:
        """Some words."""
        declared = chance.sample(DECLARED, chance.randint(1, 5))
        return cls(
            tuple(declared),
            (*declared, *chance.sample(PATTERNS, chance.randint(1, 5))),
            tuple(chance.sample(TEAM_SCOPES, chance.randint(1, 5))),
        )


def team(chance: Random) -> tuple[Graph, tuple[Rule, ...]]:
    """Up to four workers with any delegation between them, and the rules of a person."""
    words = _Words.of(chance)
    names = [f"w{number}" for number in range(chance.randint(1, 4))]
    toolsets = {name: _toolset(chance, words, name) for name in ("t0", "t1")[: chance.randint(0, 2)]}
    usable = [*names, *toolsets, "filesystem"]
    workers = {name: _worker(chance, words, name, usable) for name in names}
    entry = Entry(
        name="e",
        at=NOWHERE,
        worker=Reference("w0", NOWHERE),
        may=_ceiling(chance, words),
        approvals=_rules(chance, words, "entry `e`"),
        flows=_flows(chance),
        untrusted_input=chance.choice([None, None, True, False]),
    )
    graph = Graph(
        settings=Settings(
            name="g", built_in=3, default=chance.choice(DECISIONS), max_depth=chance.randint(0, 3)
        ),
        rules=_rules(chance, words, "llmdo.toml"),
        paths=chance.choice([{}, {"decks/": "in/"}, {".env": "in/a", "notes": ".git/x"}]),
        flows=_flows(chance),
        sources=labelled_sources(
            {each: chance.choice(LABELS) for each in chance.sample(SOURCES, chance.choice([0, 0, 1, 2]))},
            MANIFEST,
        ),
        entries={"e": entry},
        workers=workers,
        toolsets=toolsets,
    )
    return graph, _rules(chance, words, "policy.toml") if chance.random() < 0.2 else ()


def _worker(chance: Random, words: _Words, name: str, usable: list[str]) -> Worker:
    used = chance.sample(usable, min(chance.randint(0, 3), len(usable)))
    config = chance.choice(FILES)
    return Worker(
        name=name,
        at=NOWHERE,
        path=f"{name}.worker",
        config="",
        prompt="",
        recursive=True,
        uses=tuple(
            Use(name=each, config=config if each == "filesystem" else {}, at=NOWHERE) for each in sorted(used)
        ),
        may=_ceiling(chance, words),
        approvals=_rules(chance, words, f"worker `{name}`"),
        flows=_flows(chance),
        attachments=chance.choice([Attachments(), Attachments(max=0)]),
        closed=chance.choice([None, None, 0, 1, 40]),
        output=chance.choice([None, None, None, "sealed"]),
    )


def _toolset(chance: Random, words: _Words, name: str) -> Toolset:
    tools = {}
    for tool in ("a", "b")[: chance.randint(1, 2)]:
        capabilities = {_capability(chance, words, words.declared) for _ in range(chance.randint(1, 2))}
        declared = tuple(sorted(capabilities, key=str))
        tools[tool] = Tool(name=tool, capabilities=declared, hook=chance.random() < 0.5)
    return Toolset(name=name, kind="python", at=NOWHERE, tools=tools, keeps=chance.random() < 0.5)


def _capability(chance: Random, words: _Words, names: tuple[str, ...]) -> Capability:
    name = chance.choice(names)
    if name == "agent.delegate":
        return Capability(name, chance.choice(CALLEES))
    return Capability(name, chance.choice(words.scopes) if name.startswith(("fs", "x")) else None)


def _ceiling(chance: Random, words: _Words) -> tuple[Capability, ...] | None:
    if chance.random() < 0.6:
        return None
    return tuple(
        sorted({_capability(chance, words, words.patterns) for _ in range(chance.randint(0, 3))}, key=str)
    )


def _rules(chance: Random, words: _Words, origin: str) -> tuple[Rule, ...]:
    stated = {
        _capability(chance, words, words.patterns): chance.choice(DECISIONS)
        for _ in range(chance.randint(0, 2))
    }
    return tuple(Rule(capability, decision, origin) for capability, decision in stated.items())


def _flows(chance: Random) -> Flows:
    if chance.random() < 0.7:
        return Flows()
    table = {}
    for _ in range(chance.randint(0, 2)):
        sources = " & ".join(sorted(chance.sample(FROMS, chance.randint(1, 2))))
        table[f"{sources} -> {chance.choice(TOS)}"] = chance.choice(STRICTER)
    return replace(
        flows(table, MANIFEST),
        preset=chance.choice([None, None, *PRESETS]),
        max_bits=chance.choice([None, None, 0, 1, 39]),
    )


def _several(chance: Random, one: Callable[[], Item], most: int) -> tuple[Item, ...]:
    return tuple(one() for _ in range(chance.randint(0, most)))
