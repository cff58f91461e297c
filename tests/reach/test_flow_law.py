"""Flows without a run: what files say, what reach works out of them, and what a change of them does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from time import process_time
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from llmdo.base.values import replace
from llmdo.diff import diff
from llmdo.graph.keys import Reference
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.toolkit import tools_of
from llmdo.policy.authority import Authority, Capability, Carried, FlowRule, decide, scopes_meet
from llmdo.policy.closed import MOST_PROBLEMS, closure_of, is_one_of
from llmdo.policy.composition import Layer
from llmdo.policy.flow import LabelledSource, Labelling, parse_flow, read_by, written_by
from llmdo.policy.vocabulary import WITHOUT_EFFECT
from llmdo.reach import Analysis
from llmdo.reach.flows import ENTRY, STRANGERS, after_strangers, labels_below
from llmdo.render.flows import legs
from llmdo.services import locking
from llmdo.syntax.models import schema_of
from llmdo.workspace import project
from tests.reach.test_reach import call_paths, delegations
from tests.support import building, commands
from tests.support.graphs import NOWHERE, gated_graphs, graphs
from tests.support.laws import tried

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["tools.py"]

[toolsets.tracker]
capabilities = { read_issues = ["data.untrusted"] }

[toolsets.publishing]
capabilities = { publish = ["x.publishing.publish"], look = ["x.publishing.look"] }
reads = ["x.publishing.look"]

[approvals.rules]
"x" = "allowed"
"fs.write" = "allowed"

[flows]
"data.untrusted -> x.publishing" = "needs_approval"

[entries.triage]
worker = "triage"
input = "go"
"""

TOOLS = """\
from pydantic_ai.toolsets import FunctionToolset

tracker = FunctionToolset(id="tracker")
publishing = FunctionToolset(id="publishing")

@tracker.tool_plain
def read_issues() -> str:
    return "issues"

@publishing.tool_plain
def publish(version: str) -> str:
    return "published"

@publishing.tool_plain
def look() -> str:
    return "seen"
"""

TYPES = """\
from enum import Enum
from typing import Annotated, Literal, Optional
from pydantic import BaseModel, ConfigDict, Field

class Kind(Enum):
    BILL = "bill"
    SPAM = "spam"

class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Kind

class Closed(BaseModel):
    kind: Literal["bill", "spam", "other"]
    is_urgent: bool
    pages: Annotated[int, Field(ge=0, le=63)]
    share: float = Field(default=0, ge=0, le=1, multiple_of=0.25)
    inner: Optional[Inner] = None
    kinds: list[Kind] = Field(max_length=3)

class Open(BaseModel):
    kind: str
"""


def workers(root: Path, **headers: str) -> None:
    for name, header in headers.items():
        (root / f"{name}.worker").write_text(f"---\nname: {name}\n{header}\n---\nDo.\n", encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {"llmdo.toml": MANIFEST, "tools.py": TOOLS, "types_of.py": TYPES}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    workers(
        tmp_path,
        triage="toolsets: [reader, releaser]",
        reader="toolsets: [tracker]",
        releaser="toolsets: [publishing]",
    )
    return tmp_path


def graph_of(root: Path) -> Graph:
    return locking.derive(project.read(root))


def after(root: Path) -> list[str]:
    """What the entry can do after a stranger's words."""
    read = project.read(root)
    rows = after_strangers(read.analysis, read.graph.entries["triage"])
    return [f"{row.capability} {row.decision}: {legs(row)}" for row in rows]


def header(root: Path, name: str, more: str) -> None:
    path = root / f"{name}.worker"
    path.write_text(
        path.read_text(encoding="utf-8").replace("\n---\nDo", f"\n{more}\n---\nDo"), encoding="utf-8"
    )


def manifest(root: Path, old: str, new: str) -> None:
    path = root / "llmdo.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


LEGS = "triage > reader > tracker (read_issues) => triage > releaser > publishing (publish)"


LEGS_IN_ONE = (
    "x.publishing.publish needs_approval: triage > reader > tracker (read_issues) => "
    "triage > reader > publishing (publish)"
)


def test_a_row_has_two_legs(root: Path) -> None:
    assert after(root) == [f"x.publishing.publish needs_approval: {LEGS}"]


def test_without_a_flow_rule_it_is_allowed(root: Path) -> None:
    manifest(root, '"data.untrusted -> x.publishing" = "needs_approval"', '"net -> x" = "blocked"')
    assert after(root) == [f"x.publishing.publish allowed: {LEGS}"]


@pytest.mark.parametrize("name", ["triage", "reader", "releaser"])
def test_a_rule_of_a_worker_is_about_its_own_calls(name: str, root: Path) -> None:
    manifest(root, '"data.untrusted -> x.publishing" = "needs_approval"', '"net -> x" = "blocked"')
    header(root, name, 'flows: { "data.untrusted -> x.publishing.publish": needs_approval }')
    decision = "needs_approval" if name == "releaser" else "allowed"
    assert after(root) == [f"x.publishing.publish {decision}: {LEGS}"]


def test_nothing_follows_a_closed_answer(root: Path) -> None:
    header(root, "reader", "schema_out_ref: types_of.py:Closed")
    assert after(root) == []


@pytest.mark.parametrize(
    "more", ["schema_out_ref: types_of.py:Open", "schema_out_ref: types_of.py:None", "output: sealed"]
)
def test_something_follows_an_open_or_a_sealed_one(more: str, root: Path) -> None:
    header(root, "reader", more)
    assert len(after(root)) == 1


def test_a_worker_that_reads_and_acts_needs_no_delegation_for_it(root: Path) -> None:
    workers(root, reader="toolsets: [tracker, publishing]\nschema_out_ref: types_of.py:Closed")
    assert after(root) == [LEGS_IN_ONE]


def test_a_shorter_way_that_asks_hides_none_that_does_not(root: Path) -> None:
    manifest(root, '"data.untrusted -> x.publishing" = "needs_approval"', '"net -> x" = "blocked"')
    workers(
        root,
        triage="toolsets: [reader, clerk, releaser]\napprovals: {'agent.delegate:releaser': needs_approval}",
        clerk="toolsets: [releaser]",
    )
    way = LEGS.replace("releaser", "clerk > releaser")
    assert after(root) == [f"x.publishing.publish allowed: {way}"]


def test_words_come_by_a_file_that_another_worker_wrote(root: Path) -> None:
    workers(
        root,
        reader="toolsets: { tracker: {}, filesystem: { write: ['notes/**'] } }\nschema_out_ref: types_of.py:Closed",
        releaser="toolsets: { publishing: {}, filesystem: { read: ['notes/**'] } }",
    )
    assert any("x.publishing.publish" in line for line in after(root))
    workers(root, releaser="toolsets: { publishing: {}, filesystem: { read: ['other/**'] } }")
    assert not any("x.publishing.publish" in line for line in after(root))


@pytest.mark.parametrize("read", ["**", "notes/a", "notes/sub/**"])
def test_words_come_by_a_file_of_a_wider_or_narrower_scope(read: str, root: Path) -> None:
    workers(
        root,
        reader="toolsets: { tracker: {}, filesystem: { write: ['notes/**'] } }\nschema_out_ref: types_of.py:Closed",
        releaser=f"toolsets: {{ publishing: {{}}, filesystem: {{ read: ['{read}'] }} }}",
    )
    assert any("x.publishing.publish" in line for line in after(root))


@pytest.mark.parametrize(("rule", "comes"), [("fs.read:notes/**", False), ("fs.read:notes/sub/**", True)])
def test_no_words_come_by_a_file_that_may_not_be_read(rule: str, comes: bool, root: Path) -> None:
    workers(
        root,
        reader="toolsets: { tracker: {}, filesystem: { write: ['notes/**'] } }\nschema_out_ref: types_of.py:Closed",
        releaser=(
            "toolsets: { publishing: {}, filesystem: {} }\n"
            f"approvals: {{ '{rule}': blocked, '{rule.replace('read', 'list')}': blocked }}"
        ),
    )
    assert any("x.publishing.publish" in line for line in after(root)) == comes


def test_names_of_files_that_strangers_wrote_are_words_of_theirs(root: Path) -> None:
    manifest(root, "[entries.triage]", '[sources]\n"fs.read:mail/**" = "data.untrusted"\n\n[entries.triage]')
    workers(root, triage="toolsets: [lister]", lister="toolsets: { publishing: {}, filesystem: {} }")
    assert any("x.publishing.publish" in line for line in after(root))
    header(root, "lister", "approvals: { fs.read: blocked }")
    assert any("x.publishing.publish" in line for line in after(root))
    workers(
        root,
        lister="toolsets: { publishing: {}, filesystem: {} }\napprovals: { fs.read: blocked, 'fs.list:mail/**': blocked }",
    )
    assert not any("x.publishing.publish" in line for line in after(root))


def test_words_come_by_a_toolset_that_keeps_them(root: Path) -> None:
    workers(root, reader="toolsets: [tracker, publishing]\nschema_out_ref: types_of.py:Closed")
    workers(root, reader="toolsets: [tracker, kept]\nschema_out_ref: types_of.py:Closed")
    tools = (
        TOOLS
        + '\nkept = FunctionToolset(id="kept")\n\n@kept.tool_plain\ndef put(text: str) -> str:\n    return text\n'
    )
    (root / "tools.py").write_text(tools, encoding="utf-8")
    manifest(
        root, "[toolsets.publishing]", "[toolsets.kept]\ncapabilities = { put = [] }\n\n[toolsets.publishing]"
    )
    workers(root, releaser="toolsets: [publishing, kept]")
    assert any("x.publishing.publish" in line for line in after(root))
    manifest(root, "capabilities = { put = [] }", "capabilities = { put = [] }\nkeeps = false")
    assert not any("x.publishing.publish" in line for line in after(root))


def test_words_come_by_instructions_of_a_toolset_that_is_blocked(root: Path) -> None:
    manifest(root, 'read_issues = ["data.untrusted"]', 'read_issues = ["data.untrusted", "x.tracker.read"]')
    manifest(root, '"fs.write" = "allowed"', '"fs.write" = "allowed"\n"x.tracker" = "blocked"')
    assert after(root) == [f"x.publishing.publish needs_approval: {LEGS}"]


def test_the_input_of_an_entry_brings_them_where_it_says_so(root: Path) -> None:
    workers(root, reader="")
    assert after(root) == []
    manifest(root, 'input = "go"', 'input = "go"\nuntrusted-input = true')
    assert after(root) == [
        "x.publishing.publish needs_approval: the input => triage > releaser > publishing (publish)"
    ]


def test_reach_prints_it_in_each_form(root: Path) -> None:
    assert LEGS in commands.llmdo(root, "reach").stdout
    assert LEGS in commands.llmdo(root, "reach", "--format", "markdown").stdout
    [entry] = json.loads(commands.llmdo(root, "reach", "--format", "json").stdout)["entries"]
    [row] = entry["after_strangers"]
    assert [hop["name"] for hop in row["source"]] == ["triage", "reader", "tracker"]
    assert [hop["name"] for hop in row["path"]] == ["triage", "releaser", "publishing"]
    assert (row["source_tool"], row["tool"]) == ("read_issues", "publish")


def test_the_graph_marks_both_legs_in_each_form(root: Path) -> None:
    drawn = [
        commands.llmdo(root, "reach", "--graph", "--to", "x.publishing.publish", "--format", form).stdout
        for form in ("text", "mermaid", "dot", "json")
    ]
    text, mermaid, dot, data = drawn
    assert (
        text
        == """\
entry triage
`-- triage  <-- in, out
    |-- reader  <-- in
    |   `-- [tracker]  <-- in (read_issues)
    |           allowed: data.untrusted
    `-- releaser  <-- out
        `-- [publishing]  <-- out (publish)
                allowed: x.publishing.look, x.publishing.publish

entry triage, after a stranger's words, x.publishing.publish: needs approval
  in: triage > reader > tracker (read_issues)
  out: triage > releaser > publishing (publish)
"""
    )
    arrows = [line.split('"')[0].strip() for line in mermaid.splitlines() if "->" in line or "=>" in line]
    assert [arrow.split()[1] for arrow in arrows] == ["-.->|", "==>|", "-.->|", "==>|", "-.->|", "==>|"]
    assert mermaid.count("stroke-dasharray") == dot.count("style=dotted") == 3
    assert dot.count("penwidth=3") == 6
    for legend in (mermaid, dot):
        assert "in (dotted): triage" in legend
        assert "out (thick): triage" in legend
    [marked] = json.loads(data)["marked"]
    [entry] = json.loads(commands.llmdo(root, "reach", "--format", "json").stdout)["entries"]
    assert marked == {"entry": "triage", **entry["after_strangers"][0]}


def test_a_leg_in_from_the_input_is_in_the_legend_alone(root: Path) -> None:
    workers(root, reader="")
    manifest(root, 'input = "go"', 'input = "go"\nuntrusted-input = true')
    text = commands.llmdo(root, "reach", "--graph", "--to", "x.publishing.publish").stdout
    assert "  in: the input\n  out: triage > releaser > publishing (publish)\n" in text
    assert "<-- in" not in text


def test_the_graph_marks_one_way_where_no_strangers_words_come_in(root: Path) -> None:
    text = commands.llmdo(root, "reach", "--graph", "--to", "data.untrusted").stdout
    assert "[tracker]  <-- way (read_issues)" in text
    assert text.endswith(
        "entry triage, data.untrusted: allowed\n  way: triage > reader > tracker (read_issues)\n"
    )
    done = commands.llmdo(root, "reach", "--graph", "--to", "proc.exec")
    assert "nothing that is drawn can reach `proc.exec`" in done.stderr
    assert "<--" not in done.stdout


def test_why_shows_both_legs_with_their_places_and_the_rule(root: Path) -> None:
    text = commands.llmdo(root, "reach", "triage", "x.publishing.publish").stdout
    assert "after a stranger's words, x.publishing.publish: needs_approval" in text
    assert "> tracker (read_issues)  reader.worker:3:12" in text
    assert 'because "data.untrusted -> x.publishing" = "needs_approval" (llmdo.toml)' in text
    assert "stranger" not in commands.llmdo(root, "reach", "triage", "data.untrusted").stdout


def test_a_suggestion_has_the_flow_rules_that_would_ask(root: Path) -> None:
    manifest(root, '"data.untrusted -> x.publishing" = "needs_approval"', "")
    line = 'flows = { "data.untrusted -> x.publishing.publish" = "needs_approval" }\n'
    assert line in commands.llmdo(root, "suggest", "triage").stdout
    manifest(root, 'input = "go"', f'input = "go"\n{line}')
    assert "flows" not in commands.llmdo(root, "suggest", "triage").stdout


CHANGES = [
    ('"data.untrusted -> x.publishing" = "needs_approval"', "", "widened"),
    (
        '"data.untrusted -> x.publishing" = "needs_approval"',
        '"data.untrusted -> x.publishing" = "blocked"',
        "narrowed",
    ),
    ("[flows]", '[flows]\npreset = "strict"', "narrowed"),
    ("[entries.triage]", '[sources]\n"fs.read" = "data.untrusted"\n\n[entries.triage]', "narrowed"),
    ('reads = ["x.publishing.look"]', "", "narrowed"),
    ('reads = ["x.publishing.look"]', 'reads = ["x.publishing.look"]\nkeeps = false', "widened"),
    ('reads = ["x.publishing.look"]', 'reads = ["x.publishing.look"]\ntargets = { publish = [] }', "widened"),
    ('input = "go"', 'input = "go"\nuntrusted-input = false', "widened"),
    ('input = "go"', 'input = "go"\nuntrusted-input = true', "narrowed"),
    ('input = "go"', 'input = "go"\nflows = { preset = "rule-of-two" }', "narrowed"),
    ('input = "go"', 'input = "go"\nflows = { max-bits = 8 }', "narrowed"),
    ("[flows]", "[flows]\nmax-bits = 8", "narrowed"),
]


@pytest.mark.parametrize("stated", ["manifest", "entry", "worker", "another worker", "nowhere"])
def test_a_flow_within_one_call_is_decided_where_nothing_was_read_before(stated: str, root: Path) -> None:
    manifest(root, '["x.publishing.publish"]', '["secret.read", "x.publishing.publish"]')
    rule = '"secret.read -> x.publishing.publish" = "blocked"'
    if stated == "manifest":
        manifest(root, "[flows]", f"[flows]\n{rule}")
    elif stated == "entry":
        manifest(root, 'input = "go"', f'input = "go"\nflows = {{ {rule} }}')
    elif stated != "nowhere":
        name = "releaser" if stated == "worker" else "reader"
        header(root, name, 'flows: { "secret.read -> x.publishing.publish": blocked }')
    read = project.read(root)
    rows = {str(row.capability): row.decision for row in read.analysis.of(read.graph.entries["triage"])}
    is_stated = stated in ("manifest", "entry", "worker")
    assert rows["x.publishing.publish"] == ("blocked" if is_stated else "needs_approval")


@pytest.mark.parametrize(("old", "new", "verdict"), CHANGES)
def test_a_change_of_flows_is_a_widening_or_none_and_back_the_other(
    old: str, new: str, verdict: str, root: Path
) -> None:
    before = graph_of(root)
    manifest(root, old, new)
    now = graph_of(root)
    other = {"widened": "narrowed", "narrowed": "widened"}
    assert (diff(before, now).verdict, diff(now, before).verdict) == (verdict, other[verdict])


def test_a_way_for_strangers_words_to_what_was_reached_before_is_a_fact_of_its_own(root: Path) -> None:
    manifest(root, '"data.untrusted -> x.publishing" = "needs_approval"', '"net -> x" = "blocked"')
    header(root, "reader", "schema_out_ref: types_of.py:Closed")
    before = graph_of(root)
    (root / "types_of.py").write_text(TYPES.replace("is_urgent: bool", "is_urgent: str"), encoding="utf-8")
    [change] = [change for change in diff(before, graph_of(root)).changes if change.route[0] == "entry"]
    assert change.route == ("entry", "triage", "after a stranger's words", "x.publishing.publish")
    assert (change.before, change.effect) == (None, "widens")
    assert change.after == "allowed: triage > reader > tracker => triage > releaser > publishing"


def test_an_answer_that_is_closed_no_more_is_a_widening(root: Path) -> None:
    header(root, "reader", "schema_out_ref: types_of.py:Closed")
    before = graph_of(root)
    (root / "types_of.py").write_text(TYPES.replace("is_urgent: bool", "is_urgent: str"), encoding="utf-8")
    effects = {change.route[-1]: change.effect for change in diff(before, graph_of(root)).changes}
    assert effects["closed"] == "widens"


FLOW = '"data.untrusted -> x.publishing" = "needs_approval"'


@pytest.mark.parametrize("most", [19, 18])
@pytest.mark.parametrize(
    "stated",
    [
        (FLOW, FLOW + "\nmax-bits = {most}"),
        ('input = "go"', 'input = "go"\nflows = {{ max-bits = {most} }}'),
        ("triage", "flows: {{ max-bits: {most} }}"),
    ],
)
def test_an_answer_of_more_bits_than_its_caller_admits_is_open(
    stated: tuple[str, str], most: int, root: Path
) -> None:
    header(root, "reader", "schema_out_ref: types_of.py:Closed")
    assert graph_of(root).workers["reader"].closed == 19
    old, new = stated[0], stated[1].format(most=most)
    if old == "triage":
        header(root, old, new)
    else:
        manifest(root, old, new)
    assert after(root) == ([] if most == 19 else [f"x.publishing.publish needs_approval: {LEGS}"])
    printed = commands.llmdo(root, "check").stdout
    assert ("it carries up to 19 bits, and `max-bits` admits 18" in printed) == (most == 18)


def test_the_bits_that_a_worker_admits_are_those_of_its_delegates(root: Path) -> None:
    header(root, "reader", "schema_out_ref: types_of.py:Closed\nflows: { max-bits: 0 }")
    assert after(root) == []


CHOOSING = """\
from typing import Annotated
from pydantic import BaseModel, Field

class Choice(BaseModel):
    folders: list[str] = Field(max_length=8)
    named: list[str] = Field(max_length=8, alias="names")
    endless: list[str]
    text: str

class Chosen(BaseModel):
    folder: Annotated[str, Field(json_schema_extra={"x-llmdo-one-of": "FIELD"})]
"""


@pytest.mark.parametrize(
    ("field", "is_closed"),
    [
        ("folders", True),
        ("names", True),
        ("named", False),
        ("endless", False),
        ("text", False),
        ("no", False),
    ],
)
def test_an_item_of_a_list_with_an_end_that_the_caller_gave_is_closed(
    field: str, is_closed: bool, root: Path
) -> None:
    text = CHOOSING.replace("FIELD", field)
    (root / "types_of.py").write_text(text, encoding="utf-8")
    header(root, "reader", "schema_in_ref: types_of.py:Choice\nschema_out_ref: types_of.py:Chosen")
    assert graph_of(root).workers["reader"].closed == (3 if is_closed else None)
    namespace: dict[str, Any] = {"__name__": "types_of"}
    exec(text, namespace)  # the very text that is read
    for name in ("Choice", "Chosen"):
        namespace[name].model_rebuild(_types_namespace=namespace)
    written = {name: namespace[name].model_json_schema(mode="serialization") for name in ("Choice", "Chosen")}
    real = closure_of(written["Chosen"], written["Choice"])
    assert (real.is_closed, real.bits, real.lists) == (
        (True, 3, frozenset({(field, 8)})) if is_closed else (False, 0, frozenset())
    )
    assert (after(root) == []) == is_closed


def test_of_a_list_that_strangers_may_have_written_no_item_is_closed(root: Path) -> None:
    (root / "types_of.py").write_text(CHOOSING.replace("FIELD", "folders"), encoding="utf-8")
    header(root, "reader", "schema_in_ref: types_of.py:Choice\nschema_out_ref: types_of.py:Chosen")
    workers(root, triage="toolsets: [sealed, reader, releaser]", sealed="toolsets: [tracker]\noutput: sealed")
    assert len(after(root)) == 1


def test_what_a_text_says_of_a_type_is_what_the_type_says(root: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "types_of"}
    exec(TYPES, namespace)  # the very text that is read
    namespace["Inner"].model_rebuild(_types_namespace=namespace)
    namespace["Closed"].model_rebuild(_types_namespace=namespace)
    for name, is_closed in (("Closed", True), ("Inner", True), ("Open", False)):
        read = closure_of(schema_of(TYPES, name))
        real = closure_of(namespace[name].model_json_schema(mode="serialization"))
        assert (read.is_closed, real.is_closed) == (is_closed, is_closed), name
        if is_closed:
            assert read.bits == real.bits
        else:
            assert [place for place, _ in read.problems] == [place for place, _ in real.problems]


@pytest.mark.parametrize(
    "field",
    [
        "a: str",
        "a: int",
        "a: float = Field(ge=0, le=1)",
        "a: object",
        "a: dict[str, bool]",
        "a: list[bool]",
        "a: list[int] = Field(max_length=4)",
        "a: Literal['a', 'b'] | str",
        "a: Unknown",
        "a: 'A'",
        "a: bytes",
        "a: datetime.date",
        "a: list[Annotated[int, Field(ge=0, le=9)]] = Field(max_length=100)",
        "a: list[Literal['a', 'b']] = Field(max_length=1000)",
        "model_config = ConfigDict(extra='allow')\n    a: bool",
        "a: bool\n    @computed_field\n    def b(self) -> str: ...",
        "a: bool\n    @model_serializer\n    def b(self): ...",
        "a: bool\n    def model_dump(self): ...",
        "a: bool\n    model_config: ClassVar[ConfigDict] = ConfigDict(extra='allow')",
        "a: Literal['a'] = Field(json_schema_extra={'type': 'string'})",
        "a: Annotated[Literal['a'], WithJsonSchema({'type': 'string'})]",
        "a: Annotated[bool, PlainSerializer(str, return_type=str)]",
        "a: Literal['a'] = F(json_schema_extra={'enum': []})",
        "a: Literal['a'] = OTHER",
        "a: int = Field(ge=0, le=9, **more)",
        "list = dict\n    a: list[bool] = Field(max_length=2)",
        "a: str = Field(json_schema_extra={'x-llmdo-one-of': 'a'})",
        "a: bool\n    _more: str = ''",
        "a: list[bool] = Field(max_length=-1)",
        "a: list[bool] = Field(max_length=10**400)",
        f"a: list[bool] = Field(max_length=1{'0' * 400})",
        f"a: int = Field(ge=0, le=1{'0' * 400})",
        "a: float = Field(ge=-1e308, le=1e308, multiple_of=1e-300)",
        "a: list[()]",
        "a: Optional[()]",
        "a: Annotated[()]",
        f"a: {'list[' * 3000}bool{']' * 3000}",
        f"a: {' | '.join(['bool'] * 3000)}",
    ],
)
def test_whatever_is_not_plainly_closed_is_open(field: str) -> None:
    assert not closure_of(schema_of(f"class A(BaseModel):\n    {field}\n", "A")).is_closed


@pytest.mark.parametrize(
    "text",
    [
        "bool = str\nclass A(BaseModel):\n    a: bool\n",
        "class A(Base):\n    a: bool\n",
        "class A(BaseModel):\n    a: bool\nclass A(BaseModel):\n    a: str\n",
        "@decorated\nclass A(BaseModel):\n    a: bool\n",
        "class A(BaseModel, metaclass=M):\n    a: bool\n",
        "class K(Enum):\n    a = f()\n    b: str = 'x'\nclass A(BaseModel):\n    a: K\n",
        "A = 1",
        "class A(",
        "from base import BaseModel\nclass A(BaseModel):\n    a: bool\n",
        "import base\nclass A(base.BaseModel):\n    a: bool\n",
        "from base import *\nclass A(BaseModel):\n    a: bool\n",
        "from base import Text as Literal\nclass A(BaseModel):\n    a: Literal['a']\n",
        "Literal = dict\nclass A(BaseModel):\n    a: Literal['a']\n",
        "def Field(**_): ...\nclass A(BaseModel):\n    a: int = Field(ge=0, le=9)\n",
        "class K(Mixin, Enum):\n    a = 'x'\nclass A(BaseModel):\n    a: K\n",
        "class K(Enum):\n    a = 'x'\n    _missing_ = anything\nclass A(BaseModel):\n    a: K\n",
        "class A(BaseModel):\n    a: bool\nA.model_config['extra'] = 'allow'\n",
    ],
)
def test_a_module_that_is_not_plain_closes_nothing(text: str) -> None:
    assert not closure_of(schema_of(text, "A")).is_closed


def test_a_type_of_many_that_each_name_the_next_twice_is_judged_at_once() -> None:
    classes = [f"class A{n}(BaseModel):\n    a: A{n + 1}\n    b: A{n + 1}\n" for n in range(24)]
    for last, is_closed in (("bool", False), ("Literal['only']", True), ("str", False)):
        text = "".join([*classes, f"class A24(BaseModel):\n    a: {last}\n"])
        began = process_time()
        closure = closure_of(schema_of(text, "A0"))
        assert closure.is_closed == is_closed
        assert len(closure.problems) <= MOST_PROBLEMS
        assert process_time() - began < 5, "not each of the 16 million places"


def test_a_type_of_very_many_that_each_name_the_next_is_open() -> None:
    classes = [f"class A{n}(BaseModel):\n    a: A{n + 1}\n" for n in range(5000)]
    assert not closure_of(
        schema_of("".join([*classes, "class A5000(BaseModel):\n    a: bool\n"]), "A0")
    ).is_closed


class _Listed(BaseModel):
    kind: Literal["a", "b", "c", "d"]
    pages: Annotated[int, Field(ge=1, le=8)]
    flags: list[bool] = Field(max_length=2)


def test_bits_are_those_of_all_values() -> None:
    # 2 for the kind, 3 for the pages, and for the list no more than 2 with one of three lengths
    assert 5 + 2 <= closure_of(_Listed.model_json_schema(mode="serialization")).bits < 5 + 2 + 2


class _Leaf(BaseModel):
    kind: Literal["a", "b"] = Field(alias="what")


class _Whole(BaseModel):
    leaf: _Leaf | None
    pages: Annotated[int, Field(ge=0, le=63)]
    share: Annotated[float, Field(ge=0, le=1, multiple_of=0.1)]
    kinds: list[Literal["a", 1, None]] = Field(max_length=2)
    pair: tuple[bool, Literal["a"]]
    far: Annotated[int, Field(ge=0, le=10**30)]


WHOLE: dict[str, Any] = {
    "leaf": {"what": "a"},
    "pages": 5,
    "share": 0.3,
    "kinds": ["a", None],
    "pair": [True, "a"],
    "far": 0,
}


def test_what_a_closed_type_lets_through_is_one_of_its_values() -> None:
    schema = _Whole.model_json_schema(mode="serialization")
    assert closure_of(schema).is_closed
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"leaf": None},
        {"pages": 0},
        {"share": 1},
        {"kinds": []},
        {"kinds": [1]},
        {"far": 10**30},
    )
    for change in changes:
        written = _Whole.model_validate(WHOLE | change).model_dump_json(by_alias=True)
        assert is_one_of(json.loads(written), schema), written


@pytest.mark.parametrize(
    "change",
    [
        {"leaf": {"what": "free text"}},
        {"leaf": {"what": "a", "more": "free text"}},
        {"leaf": "free text"},
        {"leaf": {}},
        {"pages": 64},
        {"pages": True},
        {"pages": 5.0},
        {"share": 0.30000000012},
        {"share": None},
        {"kinds": ["a", "a", "a"]},
        {"kinds": [True]},
        {"kinds": {"free text": 1}},
        {"pair": [True]},
        {"pair": [True, "a", "free text"]},
        {"pair": [True, "free text"]},
        {"far": 10**31},
        {"far": 10**4000},
        {"share": 1e300},
        {"share": float("nan")},
        {"share": float("inf")},
        {"more": "free text"},
    ],
)
def test_what_a_closed_type_does_not_list_is_none_of_its_values(change: dict[str, Any]) -> None:
    assert not is_one_of(WHOLE | change, _Whole.model_json_schema(mode="serialization"))


NAMES = (
    "data.untrusted",
    "fs.list",
    "fs.read",
    "fs.write",
    "net",
    "net.connect",
    "x.a.b",
    "proc.exec",
    "proc.exec.read",
)
SCOPES = (None, "**", "in/**", "in/a")
capabilities = st.builds(Capability, st.sampled_from(NAMES), st.sampled_from(SCOPES))


@st.composite
def flow_rules(draw: st.DrawFn) -> FlowRule:
    sources = draw(st.sets(capabilities, min_size=1, max_size=2))
    decision: Literal["needs_approval", "blocked"] = draw(st.sampled_from(["needs_approval", "blocked"]))
    return FlowRule(tuple(sorted(sources, key=str)), draw(capabilities), decision, "llmdo.toml")


def naive(raised: set[Capability], flows: list[FlowRule], carried: frozenset[Capability]) -> str:
    """What flow rules decide, by the sentence of the law."""
    strictest = "allowed"
    for flow in flows:
        has_all = all(
            source in carried
            or (source.name != "data.untrusted" and any(source.touches(each) for each in raised))
            for source in flow.sources
        )
        if has_all and any(flow.to.touches(each) for each in raised):
            strictest = max(strictest, flow.decision, key=["allowed", "needs_approval", "blocked"].index)
    return strictest


@tried(100)
@given(
    raised=st.sets(capabilities, min_size=1, max_size=3),
    flows=st.lists(flow_rules(), max_size=4),
    labels=st.sets(capabilities, max_size=3),
)
def test_flow_rules_decide_as_the_law_says_and_only_tighten(
    raised: set[Capability], flows: list[FlowRule], labels: set[Capability]
) -> None:
    labels |= {source for flow in flows[:2] for source in flow.sources[:1]}
    authority = Authority(base=(), default="allowed", flows=tuple(flows))
    carried = Carried(frozenset(labels), sends=True)
    assert decide(raised, raised, authority, carried).decision == naive(raised, flows, carried.labels)
    more = Carried(frozenset({*labels, Capability("data.untrusted")}), sends=True)
    order = ["allowed", "needs_approval", "blocked"].index
    assert order(decide(raised, raised, authority, more).decision) >= order(
        decide(raised, raised, authority, carried).decision
    )


@tried(100)
@given(
    labels=st.sets(capabilities, max_size=3), raised=st.sets(capabilities, max_size=3), source=capabilities
)
def test_a_label_is_carried_by_what_matches_it(
    labels: set[Capability], raised: set[Capability], source: Capability
) -> None:
    untrusted = Capability("data.untrusted")
    labelling = Labelling(tuple(labels), (LabelledSource(source, untrusted),))
    read = {*raised, *([Capability("fs.read")] if any(each.name == "proc.exec" for each in raised) else [])}
    read |= {untrusted} if any(source.touches(each) for each in read) else set()
    assert labelling.of(raised) == {label for label in labels if any(label.touches(each) for each in read)}


def test_what_strangers_words_are_said_to_hold_is_no_label_about_who_chose() -> None:
    untrusted, secret = Capability("data.untrusted"), Capability("secret.read")
    labelling = Labelling((untrusted, secret), (LabelledSource(untrusted, secret),))
    assert labelling.of((untrusted,)) == labelling.of_strange_input == {untrusted, secret}
    assert labelling.of_strangers == {untrusted}  # so a closed answer still carries the other


def test_a_family_reads_and_writes_what_is_below_it() -> None:
    family, unknown = Capability("fs", "out/**"), Capability("fs.write")
    assert written_by([unknown], [family]) == ("out/**",)
    assert written_by([family], [family]) == read_by([family]) == ("out/**",)


def test_a_flow_is_read_as_it_is_written() -> None:
    sources, to = parse_flow("fs.read:in/a b/** & data.untrusted -> net")
    assert ([str(each) for each in sources], str(to)) == (["data.untrusted", "fs.read:in/a b/**"], "net")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('"data.untrused -> net" = "blocked"', "`data.untrused` is not a capability"),
        ('"data.untrusted -> nte" = "blocked"', "`nte` is not a capability"),
        ('"data.untrusted -> net" = "allowed"', "not `needs_approval` or `blocked`"),
        ('"data.untrusted > net" = "blocked"', "nor of the form `FROM -> TO`"),
        ('"fs.read:a & b/** -> net" = "blocked"', "nor of the form `FROM -> TO`"),
        ('preset = "lax"', "not `rule-of-two` or `strict`"),
    ],
)
def test_a_mistake_in_a_flow_is_a_finding_at_its_place(table: str, message: str, root: Path) -> None:
    manifest(root, '"data.untrusted -> x.publishing" = "needs_approval"', table)
    done = commands.llmdo(root, "check")
    assert done.returncode == 1
    assert message in done.stdout
    assert "llmdo.toml:2" in done.stdout


def entered(graph: Graph, entry: Entry) -> tuple[set[str], set[Capability]]:
    """The workers that strangers' words reach, and the effects of these, by following each step that carries words."""
    analysis = Analysis(graph)
    labelling = Labelling((STRANGERS,), graph.sources)
    called = {path[-1] for path in call_paths(graph) if "blocked" not in delegations(graph, path)}
    steps: list[tuple[Any, Any]] = []
    waiting: list[Any] = []
    effects: dict[str, set[Capability]] = {ENTRY: set()}
    steps += [(ENTRY, "w0"), *([("w0", ENTRY)] if graph.workers["w0"].closed is None else [])]
    waiting += [ENTRY] if entry.untrusted_input else []
    for name in sorted(called):
        effects[name] = set()
        for use in graph.workers[name].uses:
            is_worker = use.name in graph.workers
            toolset = graph.toolsets.get(use.name)
            if use.name in called and "blocked" not in delegations(graph, (name, use.name)):
                steps.append((name, use.name))
                if graph.workers[use.name].closed is None:
                    steps.append((use.name, name))
            if toolset and toolset.keeps:
                steps += [(name, f"toolset {use.name}"), (f"toolset {use.name}", name)]
            for tool in tools_of(graph, graph.workers[name], use).values():
                if toolset and labelling.of(tool.capabilities):
                    waiting.append(name)
                for row, raised, declared in analysis.shapes.of_tool(tool, delegation=is_worker):
                    if decided(analysis, entry, name, raised, declared) == "blocked":
                        continue
                    effects[name].add(row)
                    waiting += [name] if labelling.of(raised) else []
                    files = [("read", scope) for scope in read_by(raised)]
                    files += [("written", scope) for scope in written_by(raised, declared)]
                    steps += [(name, file) if file[0] == "written" else (file, name) for file in files]
    written = [step[1] for step in steps if step[1][:1] == ("written",)]
    read = [step[0] for step in steps if step[0][:1] == ("read",)]
    steps += [(file, other) for file in written for other in read if scopes_meet(file[1], other[1])]
    reached: set[object] = set()
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.add(at)
            waiting += [target for origin, target in steps if origin == at]
    rows = {row for name, its in effects.items() if name in reached for row in its}
    return {*effects} & reached, {
        row for row in rows if (WITHOUT_EFFECT | analysis.base.reads).isdisjoint(row.names)
    }


def decided(
    analysis: Analysis,
    entry: Entry,
    name: str,
    raised: Iterable[Capability],
    declared: Iterable[Capability] | None = None,
) -> str:
    """The decision about a call of a worker, under its own rules and those of the entry."""
    authority = analysis.authority(Layer.of_entry(entry), (Layer.of_worker(analysis.graph.workers[name]),))
    return decide(raised, raised if declared is None else declared, authority).decision


KITS = {
    "in": ["net.connect"],
    "fetch": ["net.connect", "fs.write:in/**"],
    "read": ["fs.read:in/a"],
    "act": ["x.t.act"],
}


@st.composite
def stars(draw: st.DrawFn) -> Graph:
    """A worker with three delegates, which have files and a toolset in common."""
    kits = [building.toolset(name, f"{name}.py:kit", tool=raised) for name, raised in KITS.items()]
    some = st.lists(st.sampled_from([*KITS]), max_size=2, unique=True)
    below = [f"w{number}" for number in range(1, 4)]
    workers = [
        building.worker("w0", *below, *draw(some)),
        *(building.worker(name, *draw(some)) for name in below),
    ]
    graph = building.graph(*workers, *kits, approvals=dict.fromkeys(("net", "fs", "x"), "allowed"))
    return replace(
        graph, entries={"e": replace(graph.entries["go"], name="e", worker=Reference("w0", NOWHERE))}
    )


def test_a_conversation_carries_what_its_journal_says_and_what_nobody_looked_for() -> None:
    read, secret = Capability("fs.read"), Capability("secret.read")
    sources = (LabelledSource(Capability("net.connect"), STRANGERS),)
    before = Labelling((STRANGERS, read), sources)
    assert before.carried_in(before.record_of({read})) == {read}
    assert before.carried_in(before.record_of(())) == set()
    assert Labelling((STRANGERS, read, secret), sources).carried_in(before.record_of(())) == {secret}
    assert Labelling((STRANGERS, read)).carried_in(before.record_of(())) == {STRANGERS, read}
    assert before.carried_in(None) == {STRANGERS, read}


@st.composite
def spreading(draw: st.DrawFn) -> Graph:
    """A graph without ceilings, some of whose workers answer closed, and toolsets keep their input."""
    graph = draw(graphs() | gated_graphs() | stars())
    workers = {
        name: replace(worker, may=None, closed=draw(st.sampled_from([None, 1, 1])))
        for name, worker in graph.workers.items()
    }
    toolsets = {name: replace(kit, keeps=draw(st.booleans())) for name, kit in graph.toolsets.items()}
    entry = replace(graph.entries["e"], may=None, untrusted_input=draw(st.sampled_from([None, None, True])))
    sources = (LabelledSource(Capability("net.connect"), STRANGERS),)
    return replace(graph, workers=workers, toolsets=toolsets, entries={"e": entry}, sources=sources)


@tried(150)
@given(spreading())
def test_what_follows_strangers_words_is_exactly_what_following_each_step_finds(graph: Graph) -> None:
    entry = graph.entries["e"]
    analysis = Analysis(graph)
    reached = {name for name, labels in labels_below(analysis, entry).items() if STRANGERS in labels}
    effects = {row.capability for row in after_strangers(analysis, entry)}
    assert (reached, effects) == entered(graph, entry)
