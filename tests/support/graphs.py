"""Random small graphs, made of values: for laws about reach, diffs and runs."""

from __future__ import annotations

from hypothesis import strategies as st

from llmdo.base.source import Source
from llmdo.graph.keys import Reference
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Settings
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Attachments, Use, Worker
from llmdo.policy.authority import Capability, Rule
from llmdo.syntax.document import Document, Place

NOWHERE = Place(Document(Source("nowhere", ""), {}, dict), ())

SCOPES = [None, "in/**", "in/a", "out/**", "**"]
CALLEES = [None, "**", "w0", "w1", "w2"]
NAMES = [
    "fs.read",
    "fs.read.protected",
    "fs.write",
    "fs.write.protected",
    "proc.exec",
    "proc.exec.read",
    "proc.exec.unlisted",
    "net.connect",
    "x.t.any",
]

FILES = [{"read": ["in/**"], "write": ["out/**"]}, {"read": ["**"], "write": ["out/**"]}, {"read": ["out/a"]}]

decisions = st.sampled_from(["allowed", "needs_approval", "blocked"])


@st.composite
def capabilities(draw: st.DrawFn, names: list[str] = NAMES) -> Capability:
    name = draw(st.sampled_from(names))
    if name == "agent.delegate":
        return Capability(name, draw(st.sampled_from(CALLEES)))
    return Capability(name, draw(st.sampled_from(SCOPES)) if name.startswith("fs") else None)


patterns = capabilities([*NAMES, "fs", "proc", "agent.delegate"])


def rules(origin: str) -> st.SearchStrategy[tuple[Rule, ...]]:
    rule_strategy = st.builds(Rule, patterns, decisions, st.just(origin))
    return st.lists(rule_strategy, max_size=2, unique_by=lambda rule: rule.capability).map(tuple)


ceilings = st.none() | st.lists(patterns, max_size=3).map(lambda chosen: tuple(sorted(set(chosen), key=str)))
tools = st.builds(
    Tool,
    name=st.just("tool"),
    capabilities=st.lists(capabilities(), min_size=1, max_size=2, unique=True).map(
        lambda chosen: tuple(sorted(chosen, key=str))
    ),
    hook=st.booleans(),
)


gates = st.builds(
    Rule,
    st.sampled_from(
        [Capability("net.connect"), *(Capability("agent.delegate", callee) for callee in CALLEES)]
    ),
    st.sampled_from(["needs_approval", "needs_approval", "blocked"]),
    st.just("worker"),
).map(lambda rule: (rule,))


@st.composite
def gated_graphs(draw: st.DrawFn) -> Graph:
    """Workers that call each other and have a tool in common, half of them behind a gate, some of which block."""
    names = [f"w{number}" for number in range(draw(st.integers(2, 5)))]
    tool = Tool(name="tool", capabilities=(Capability("net.connect"),))
    workers = {
        name: Worker(
            name=name,
            at=NOWHERE,
            path=f"{name}.worker",
            config="",
            prompt="",
            recursive=True,
            uses=tuple(
                Use(name=used, config={}, at=NOWHERE)
                for used in sorted(draw(st.sets(st.sampled_from([*names, "t0"]), min_size=1, max_size=3)))
            ),
            approvals=draw(st.just(()) | gates),
        )
        for name in names
    }
    return Graph(
        settings=Settings(name="g", built_in=1, default="needs_approval", max_depth=4),
        rules=(Rule(Capability("net.connect"), "allowed", "llmdo.toml"),),
        entries={"e": Entry(name="e", at=NOWHERE, worker=Reference("w0", NOWHERE))},
        workers=workers,
        toolsets={"t0": Toolset(name="t0", kind="python", at=NOWHERE, tools={"tool": tool})},
    )


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Up to four workers with any delegation between them, up to two toolsets, one entry."""
    count = draw(st.integers(1, 4))
    names = [f"w{number}" for number in range(count)]
    toolsets = {
        name: Toolset(name=name, kind="python", at=NOWHERE, tools={"tool": draw(tools)})
        for name in ["t0", "t1"][: draw(st.integers(0, 2))]
    }
    workers = {}
    for name in names:
        used = draw(st.lists(st.sampled_from([*names, *toolsets, "filesystem"]), max_size=3, unique=True))
        workers[name] = Worker(
            name=name,
            at=NOWHERE,
            path=f"{name}.worker",
            config="",
            prompt="",
            recursive=True,
            uses=tuple(
                Use(
                    name=toolset,
                    config=draw(st.sampled_from(FILES)) if toolset == "filesystem" else {},
                    at=NOWHERE,
                )
                for toolset in sorted(used)
            ),
            may=draw(ceilings),
            approvals=draw(rules(f"worker `{name}`")),
            attachments=draw(st.sampled_from([Attachments(), Attachments(max=0)])),
        )
    entry = Entry(
        name="e",
        at=NOWHERE,
        worker=Reference("w0", NOWHERE),
        may=draw(ceilings),
        approvals=draw(rules("entry `e`")),
    )
    return Graph(
        settings=Settings(name="g", built_in=3, default=draw(decisions), max_depth=draw(st.integers(0, 3))),
        rules=draw(rules("llmdo.toml")),
        paths=draw(st.sampled_from([{}, {"decks/": "in/"}, {".env": "in/a", "notes": ".git/x"}])),
        entries={"e": entry},
        workers=workers,
        toolsets=toolsets,
    )
