"""What a field of the graph says of its key in the lock is true: it is read, written back, and a change of it shows."""

from __future__ import annotations

import copy
from operator import eq
from typing import Any

import pytest

from llmdo.base.source import Source
from llmdo.base.values import fields
from llmdo.diff import diff
from llmdo.graph.described import Definition, Identity, Server
from llmdo.graph.keys import written_fields
from llmdo.graph.limits import Limits
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Acceptance, Notify, Schedule, Settings
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Attachments, Worker
from llmdo.workspace import lock
from llmdo.workspace.lock.layout import layout

DIGESTS = ["sha256:" + letter * 64 for letter in "ab"]

BASE: dict[str, Any] = {
    "version": 1,
    "revision": 1,
    "settings": {"name": "w", "built-in-rules": 1, "default": "blocked", "max-depth": 3},
    "rules": {},
    "paths": {},
    "model": {},
    "python-model": {},
    "schema-source": {},
    "module": {},
    "judge": {},
    "adopted": {},
    "entry": {"e": {"limits": {"requests": 9}}},
    "worker": {
        "w": {"path": "w.worker", "config": DIGESTS[0], "prompt": DIGESTS[0], "attachments": {"max": 9}}
    },
    "toolset": {
        "m": {
            "mcp": {"command": "serve"},
            "server": {"name": "served"},
            "tool": {"said": {"input": ["{}"]}},
        },
        "t": {
            "python": "t.py:t",
            "source": DIGESTS[0],
            "tool": {"made": {"digest": DIGESTS[0], "retry": "safe"}},
        },
    },
    "schedule": {"s": {"entry": "e", "cron": "* * * * *"}},
    "notify": {"url-env": "URL", "secret-env": "SECRET"},
    "accept": [{"code": "LDO510", "reason": "ours"}],
}
"""A lock with one item of every kind."""

TABLES: dict[type, tuple[str | int, ...]] = {
    Settings: ("settings",),
    Entry: ("entry", "e"),
    Limits: ("entry", "e", "limits"),
    Worker: ("worker", "w"),
    Attachments: ("worker", "w", "attachments"),
    Toolset: ("toolset", "t"),
    Server: ("toolset", "m", "mcp"),
    Identity: ("toolset", "m", "server"),
    Tool: ("toolset", "t", "tool", "made"),
    Definition: ("toolset", "m", "tool", "said"),
    Notify: ("notify",),
    Schedule: ("schedule", "s"),
    Acceptance: ("accept", 0),
}
"""Where the lock holds the values of each class."""

VALUES: dict[str, tuple[Any, Any]] = {
    "str": ("a text", "another"),
    "Text": ("a text", "another"),
    "Name": ("one-name", "another"),
    "bool": (True, None),
    "Toolset.keeps": (False, None),
    "Literal['sealed']": ("sealed", None),
    "dict[Text, list[Text]]": ({"a": ["to"]}, {"a": ["to", "cc"], "b": []}),
    "Positive": (3, 4),
    "Annotated[int, Ge(0)]": (3, 4),
    "Annotated[int, Ge(1)]": (3, 4),
    "Annotated[float, Gt(0)]": (1.5, 2.5),
    "Variable": ("A_WEBHOOK", "ANOTHER"),
    "Digest": (DIGESTS[1], "sha256:" + "c" * 64),
    "Path": ("a/b.worker", "c.worker"),
    "Prefix": ("a", "b"),
    "Attribute": ("a.py:name", "package.module:name"),
    "FileAttribute": ("a.py:name", "b.py:name"),
    "ToolName": ("a.tool", "b.tool"),
    "NameOfAgent": ("one-name", "claude/another one"),
    "TitleTemplate": ("{subject}", "mail {id}"),
    "FindingCode": ("LDO101", "LDO102"),
    "Decision": ("allowed", "blocked"),
    "Truncation": ("error", None),
    "Root": ("../site", "site"),
    "Retry": ("safe", "ask"),
    "ScopedCapability": ("fs.read:in/**", "net"),
    "Literal['require', 'off']": ("require", "off"),
    "list[str]": (["a", "b"], ["b"]),
    "list[Text]": (["a", "b"], ["b"]),
    "list[Name]": (["a", "b"], ["b"]),
    "dict[Text, list[str]]": ({"allow": ["Bash"]}, {"deny": ["Bash"]}),
    "dict[Text, dict[Text, list[ScopedCapability]]]": ({"hook": {"run": ["net"]}}, {"hook": {"run": ["fs"]}}),
    "dict[Text, Literal['anyone', 'perhaps anyone', 'those who may write', 'the owner']]": (
        {"push": "anyone"},
        {"push": "the owner"},
    ),
    "list[Callee]": (["a", "b.tool"], ["b"]),
    "list[ToolName]": (["a.tool", "b.tool"], ["b.tool"]),
    "CodeToolsets": ({"filesystem": {"read": ["in/**"]}}, {"calc": {"precision": 2}}),
    "dict[str, Digest]": ({"a.py": DIGESTS[1], "lib/": DIGESTS[1]}, {"a.py": "sha256:" + "c" * 64}),
    "list[Path]": (["a.py", "b.py"], ["b.py"]),
    "list[Suffix]": ([".md", ".pdf"], [".pdf"]),
    "list[ScopedCapability]": (["fs.read:in/**", "net"], ["net"]),
    "dict[ScopedCapability, Decision]": ({"net": "blocked"}, {"fs": "blocked", "net": "blocked"}),
    "Flows": ({"preset": "strict"}, {"data.untrusted & fs.read -> net": "blocked"}),
    "Limits": ({"requests": 3}, {"seconds": 1.5}),
    "ConversationLimits": ({"requests": 3}, {"seconds": 1.5}),
    "ModelSettings": ({"seed": 1, "temperature": 0.5}, {"seed": 2}),
    "AttachmentLimits": ({"max": 3}, {"suffixes": [".md"]}),
    "LockedServer": ({"url": "https://example.org"}, {"command": "other"}),
    "LockedIdentity": ({"name": "a"}, {"name": "b"}),
    "dict[str, LockedTool]": ({"a": {"retry": "ask"}}, {"b": {"hook": True}}),
}
"""Two values of each form that a key of the lock has, or of a field; None leaves the key out."""

UNWRITTEN = {
    Entry: {"name", "at", "may_at"},
    Worker: {"name", "at", "may_at", "uses"},
    Tool: {"name", "definition"},
    Toolset: {"name", "kind", "at"},
    Acceptance: {"at"},
    Settings: {"shared", "store", "keep_runs_days", "keep_batches_days"},
    Schedule: {"name", "at"},
}
"""Fields without a key of their own in the lock: places, names of tables, what follows, what has several keys, and what
is about machines."""

OF_OTHER_TOOLS = {(Entry, "declared")}
"""Fields that say something of the agents of other tools alone (`tests/foreign/test_adopting.py`)."""

KEYS = [
    pytest.param(cls, name, id=f"{cls.__name__}.{name}")
    for cls in TABLES
    for name, stated in written_fields(cls).items()
    if stated.lock and (cls, name) not in OF_OTHER_TOOLS
]


def with_value(route: tuple[str | int, ...], key: str, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(BASE)
    table: Any = data
    for step in route:
        table = table[step]
    table.pop(key, None)
    if value is not None:
        table[key] = value
    return data


def graph_of(data: dict[str, Any]) -> Graph:
    locked = lock.read(Source("llmdo.lock", layout(data)))
    assert locked.problems == ()
    assert locked.graph is not None
    return locked.graph


@pytest.mark.parametrize("cls", TABLES, ids=lambda cls: cls.__name__)
def test_every_field_has_a_key_in_the_lock_or_a_reason_to_have_none(cls: type) -> None:
    keyed = {name for name, stated in written_fields(cls).items() if stated.lock}
    assert {stated.name for stated in fields(cls)} - keyed == UNWRITTEN.get(cls, set())


@pytest.mark.parametrize(("cls", "name"), KEYS)
def test_a_field_is_what_the_lock_says_and_a_change_of_it_shows(cls: type, name: str) -> None:
    stated = written_fields(cls)[name]
    assert stated.lock is not None
    route, key = TABLES[cls], stated.lock.name
    data = [
        with_value(route, key, value)
        for value in VALUES.get(f"{cls.__name__}.{name}") or VALUES[stated.lock.form]
    ]
    before, after = map(graph_of, data)
    assert [lock.encode(graph) for graph in (before, after)] == data
    assert before != after
    place = (*(step for step in route if isinstance(step, str)), key)
    changes = diff(before, after).changes
    # An item of a list shows as its list, a table as the keys that differ in it.
    assert any(all(map(eq, change.route, place)) for change in changes)
    phrases = " ".join(phrase for item in lock.drift(before, after) for phrase in item.changes)
    assert phrases
    assert stated.drift in phrases
