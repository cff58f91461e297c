"""The schemas, what the judge accepts, and what it says."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from datetime import UTC, date, datetime, time
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from pydantic import TypeAdapter, ValidationError

from llmdo.base import resources
from llmdo.base.diagnostic import excerpt
from llmdo.base.source import Source, Span
from llmdo.formats.documents import ManifestFile, PolicyFile
from llmdo.formats.evaluation import EvalFile
from llmdo.formats.fields import Matches
from llmdo.formats.locked import LockFile
from llmdo.formats.schema import Format, Judged, accepts, judge
from llmdo.formats.schema.generation import generate
from llmdo.formats.schema.validation import faults
from llmdo.formats.script import ScriptFile
from llmdo.formats.team import TeamFile
from llmdo.formats.worker import WorkerHeader
from llmdo.syntax import frontmatter, toml
from llmdo.syntax.document import Document
from tests.support.laws import share, tried

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS: tuple[Format, ...] = get_args(Format)

TYPES = {
    "manifest": TypeAdapter(ManifestFile),
    "worker": TypeAdapter(WorkerHeader),
    "team": TypeAdapter(TeamFile),
    "lock": TypeAdapter(LockFile),
    "policy": TypeAdapter(PolicyFile),
    "eval": TypeAdapter(EvalFile),
    "script": TypeAdapter(ScriptFile),
}

KEYWORDS = {
    "additionalProperties", "const", "description", "enum", "exclusiveMinimum", "items", "minItems", "minLength",
    "minimum", "pattern", "properties", "propertyNames", "required", "title", "type", "$ref",
    "$schema", "$comment", "definitions",
}  # fmt: skip
"""Every keyword that the judge has words for, or that judges nothing."""

MATCHING = {
    "the name of a case": ["a", "Deck 2.b", "x" * 64],
    "the name of a tool, TOOLSET.TOOL": ["*", "read_file", "filesystem.read_file"],
    "`allowed`, `needs": ["allowed", "needs_approval", "blocked"],
    "the name of a worker, or a tool": ["main", "filesystem.read_file"],
    "a name (a letter": ["main", "A", "x" * 64, "pitch-evaluator_2"],
    "a name (a letter, then up to 63 letters, digits, `_` and `-`), nor": [
        "main",
        "tools/calc.py:Calculator",
        "tools.calc:Calculator",
        "tools.calc.Calculator",
    ],
    "a path inside": ["a", "decks", "..a", ".x", "a b/ü", "x/...", "input/deck.txt"],
    "a path inside the workspace or": ["**", "a/**", "input/deck.txt", ".github/**"],
    "a capability": ["fs", "fs.read", "fs.read:input/**", "x.calc.cpu", "net:**"],
    "of the form FILE.py:NAME, inside the workspace": ["a.py:b", "x/y.py:_Z"],
    "of the form FILE.py:NAME, inside the workspace, or": [
        "package.module:name",
        "m:n",
        "tools/calc.py:calc",
    ],
    "a digest": ["sha256:" + "0" * 64],
    "a code": ["LDO510"],
    "a range of versions": [">=0.1", ">=0.1,<2"],
    "a file name ending": [".pdf"],
}
"""What a text may be, by how its meaning begins; the longest beginning counts."""

ODD = [
    None, True, False, 0, 1, 2, -1, 5.0, 1.0, 0.5, float("inf"), float("nan"), 10**400,
    datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1), time(12, 30),
    "", "x", "a b", "a\n", "\n", "5", "allowed", "fs.read", "fs.read\n", "fs.read:/etc", "../x", "/x", "~/x", "a/../b",
    "C:\\x", "a\\b", "*.py", "m.py:f\n", "sha256:" + "0" * 64 + "\n", "\u202ex", "x" * 65, "ü",
    [], {}, [[]], [None], ["x"], ["x", "a\n"], {"x": {}}, {"x": None}, {"filesystem": {"read": ["../x"]}}, [{}],
]  # fmt: skip


def schema(form: Format) -> dict[str, Any]:
    return json.loads(resources.read("schemas", f"{form}.json"))


def tables(part: Any, where: str = "#"):
    """Every part of a schema that is a schema itself, with a name for it."""
    yield where, part
    for key in ("properties", "definitions"):
        for name, below in part.get(key, {}).items():
            yield from tables(below, f"{where}/{name}")
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(part.get(key), dict):
            yield from tables(part[key], f"{where}/{key}")


@cache
def fitting(form: Format) -> st.SearchStrategy[Any]:
    """Documents that fit the schema."""
    whole = schema(form)
    return fit(whole, whole["definitions"])


def fit(part: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that fit a part of a schema."""
    if "$ref" in part:
        return fit(definitions[part["$ref"].rpartition("/")[2]], definitions)
    kinds = part.get("type", "anything")
    return st.one_of(
        [fit_as(kind, part, definitions) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    )


def fit_as(kind: str, part: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    match kind:
        case "object":
            return table(part, definitions)
        case "array":
            return st.lists(fit(part["items"], definitions), min_size=part.get("minItems", 0), max_size=2)
        case "string":
            return text(part)
        case "integer":
            least = part.get("const", part.get("minimum"))
            return st.just(least) if "const" in part else st.integers(least, least + 3)
        case "number":
            most = part.get("maximum", 1e300)
            return st.sampled_from([number for number in (1, 0.5, 2.0, 1e300) if number <= most])
        case "boolean":
            return st.booleans()
    return st.sampled_from(ODD)


def text(part: dict[str, Any]) -> st.SearchStrategy[str]:
    if "enum" in part:
        return st.sampled_from(part["enum"])
    if "pattern" not in part:
        return st.sampled_from(["x", "some text", "*", "ü\n"])
    starts = [start for start in MATCHING if part["title"].startswith(start)]
    if starts:
        return st.sampled_from(MATCHING[max(starts, key=len)])
    return st.from_regex(part["pattern"], fullmatch=True)


def table(part: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    known = {key: fit(below, definitions) for key, below in part.get("properties", {}).items()}
    required = {key: known.pop(key) for key in part.get("required", ())}
    fixed = st.fixed_dictionaries(required, optional=known)
    others = part["additionalProperties"]
    if others is False:
        return fixed
    values = fit({} if others is True else others, definitions)
    free = st.dictionaries(text(part.get("propertyNames", {})), values, max_size=2)
    return st.builds(lambda chosen, known: chosen | known, free, fixed)


def routes(value: Any, above: tuple[Any, ...] = ()):
    """The route of every value in data."""
    yield above
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in items:
        yield from routes(below, (*above, step))


def value_at(data: Any, route: tuple[Any, ...]) -> Any:
    for step in route:
        data = data[step]
    return data


@st.composite
def documents(draw: st.DrawFn, form: Format) -> dict[str, Any]:
    """Data that fits, or nearly does."""
    data = copy.deepcopy(draw(fitting(form)))
    for _ in range(draw(st.integers(0, 2))):
        places = [route for route in routes(data) if route]
        *above, step = draw(st.sampled_from(places)) if places else ("x",)
        table = value_at(data, tuple(above))
        odd = copy.deepcopy(draw(st.sampled_from(ODD)))
        match draw(st.sampled_from(["replace", "remove", "add", "respell"])):
            case "remove" if step in table or isinstance(step, int):
                del table[step]
            case "respell" if isinstance(table, dict) and step in table:
                table[draw(st.sampled_from(["", f"{step}\n", f"{step}s", step[:-1], f"../{step}"]))] = (
                    table.pop(step)
                )
            case "add" if isinstance(table, dict):
                table[draw(st.sampled_from(["x", "name", "worker", "a b", "\u202e"]))] = odd
            case "add":
                table.append(odd)
            case _:
                table[step] = odd
    return data


def fits_type(data: Any, form: Format) -> bool:
    try:
        TYPES[form].validate_python(data)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("form", FORMS)
@tried(300)
@given(data=st.data())
def test_the_schema_accepts_what_the_type_accepts_and_nothing_else(form: Format, data: st.DataObject) -> None:
    document = data.draw(documents(form))
    assert accepts(document, form) == fits_type(document, form)


@pytest.mark.parametrize("form", FORMS)
@tried(150)
@given(data=st.data())
def test_a_document_is_accepted_exactly_where_no_fault_is_found(form: Format, data: st.DataObject) -> None:
    document = data.draw(documents(form))
    assert accepts(document, form) == (not list(faults(document, form)))


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=share(3_000))
@given(data=st.data())
def test_many_documents_are_accepted_exactly_where_no_fault_is_found(
    form: Format, data: st.DataObject
) -> None:
    document = data.draw(documents(form))
    assert accepts(document, form) == (not list(faults(document, form)))


@pytest.mark.parametrize("form", FORMS)
@tried(100)
@given(data=st.data())
def test_what_is_left_of_a_document_fits_and_leads_to_the_same_places(
    form: Format, data: st.DataObject
) -> None:
    written = data.draw(documents(form))
    before = copy.deepcopy(written)
    places = list(routes(written))
    index = {route: (Span(line, 1, line, 2),) * 2 for line, route in enumerate(places)}
    judged = judge(Document(Source("x", ""), written, lambda: index), form)

    assert repr(written) == repr(before), "the judge changes nothing in place"
    assert (not judged.problems) == accepts(written, form)
    if judged.data is None:
        return
    assert accepts(judged.data, form)
    assert fits_type(judged.data, form)
    for route in routes(judged.data):
        left, first = (
            value_at(judged.data, route),
            value_at(written, places[judged.document.index()[route][0].line]),
        )
        assert type(left) is type(first)
        assert isinstance(left, (dict, list)) or repr(left) == repr(first)


PATTERNS = sorted(
    {part["pattern"] for form in FORMS for _, part in tables(schema(form)) if "pattern" in part}
)


@tried(200)
@given(
    written=st.text(
        st.sampled_from("aZ0_-./~*:,>= \\[\n\x00\x7fé\u202e") | st.characters(exclude_categories=["Cs"]),
        max_size=8,
    )
)
def test_a_pattern_matches_the_same_texts_in_both(written: str) -> None:
    for pattern, of_type in zip(PATTERNS, pattern_types(), strict=True):
        assert (re.fullmatch(pattern, written) is not None) == of_type(written), pattern


@cache
def pattern_types() -> list[Callable[[str], bool]]:
    """For each pattern, whether pydantic finds that a text matches it."""
    adapters = [TypeAdapter(Annotated[str, Matches(pattern, "")]) for pattern in PATTERNS]

    def matches(adapter: TypeAdapter[str], written: str) -> bool:
        try:
            adapter.validate_python(written)
        except ValidationError:
            return False
        return True

    return [partial(matches, adapter) for adapter in adapters]


@pytest.mark.parametrize("form", FORMS)
def test_the_committed_schema_is_the_generated_one(form: Format) -> None:
    assert resources.read("schemas", f"{form}.json") == generate(form), (
        "run `python -m llmdo.formats.schema --write`"
    )
    Draft7Validator.check_schema(schema(form))


@pytest.mark.parametrize("form", FORMS)
def test_every_key_of_a_schema_is_described(form: Format) -> None:
    silent = [
        f"{where}/{key}"
        for where, part in tables(schema(form))
        for key, below in part.get("properties", {}).items()
        if not below.get("description")
    ]
    assert silent == []


@pytest.mark.parametrize("form", FORMS)
def test_the_judge_has_words_for_every_keyword_of_a_schema(form: Format) -> None:
    parts = [part for _, part in tables(schema(form))]
    assert {keyword for part in parts for keyword in part} <= KEYWORDS
    assert all("title" in part for part in parts if "pattern" in part)
    assert {part[keyword] for part in parts for keyword in ("minLength", "minItems") if keyword in part} <= {
        1
    }


@pytest.mark.parametrize("form", FORMS)
def test_every_pattern_is_anchored_at_both_ends(form: Format) -> None:
    patterns = {part["pattern"] for _, part in tables(schema(form)) if "pattern" in part}
    assert patterns
    assert all(pattern.startswith("^") and pattern.endswith("$") for pattern in patterns)


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_closed_unless_its_keys_are_the_users(form: Format) -> None:
    for where, part in tables(schema(form)):
        if part.get("type") == "object" or "properties" in part:
            assert "additionalProperties" in part, where


def test_accepting_and_refusing_load_neither_pydantic_nor_jsonschema() -> None:
    script = (
        "import sys; import llmdo.formats.schema as s; assert not s.accepts({}, 'worker');"
        "assert s.accepts({'name': 'a'}, 'worker'); print({'pydantic', 'jsonschema'} & {*sys.modules})"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


# What it says.


def judged(text: str, form: Format) -> Judged:
    if form == "worker":
        return judge(frontmatter.parse(Source("main.worker", text)).document, form)
    return judge(toml.parse(Source("llmdo.toml", text)), form)


def lines_of(judged: Judged) -> list[str]:
    """Each finding on a line: its place, its code, its sentence and, in brackets, its hint."""
    lines = []
    for problem in sorted(judged.problems, key=lambda problem: problem.order):
        span = problem.at.span
        place = f"{span.line}:{span.column}" if span else "-"
        hint = f" ({problem.hint})" if problem.hint else ""
        lines.append(f"{place} {problem.code} {problem.message}{hint}")
    return lines


def of_manifest(text: str) -> list[str]:
    """What is told about a manifest that is sound up to line 3 and goes on with `text`."""
    return lines_of(judged(f'schema = 1\n[workspace]\nname = "w"\n{text}', "manifest"))


def of_header(text: str) -> list[str]:
    """What is told about a header that is sound up to line 2 and goes on with `text`."""
    return lines_of(judged(f"---\nname: main\n{text}\n---\nPrompt.\n", "worker"))


def test_a_sound_document_is_its_own_data() -> None:
    sound = judged('schema = 1\n[workspace]\nname = "w"\n[tool.x]\ny = [1, {}]\n', "manifest")
    assert sound.problems == ()
    assert sound.data is sound.document.data


def test_an_unknown_key_is_shown_with_the_key_that_it_resembles() -> None:
    assert of_manifest("max-dept = 3\n") == [
        "4:1 LDO102 unknown key `max-dept` in `[workspace]` (did you mean `max-depth`?)"
    ]
    assert of_manifest("[entires.x]\n") == [
        "4:2 LDO102 unknown key `entires` at the top level (did you mean `entries`?)"
    ]
    assert of_manifest("[entries.nightly]\nfunctoin = 'a.py:b'\n") == [
        "5:1 LDO102 unknown key `functoin` in `[entries.nightly]` (did you mean `function`?)"
    ]
    assert of_header("toolset: [x]") == [
        "3:1 LDO102 unknown key `toolset` in the header (did you mean `toolsets`?)"
    ]
    assert of_header("toolsets:\n  filesystem: {reed: []}") == [
        "4:16 LDO102 unknown key `reed` in `toolsets.filesystem` (did you mean `read`?)"
    ]


def test_an_unknown_key_like_no_other_is_shown_with_the_few_that_are_known() -> None:
    assert of_manifest("[approvals]\nmode = 1\n") == [
        "5:1 LDO102 unknown key `mode` in `[approvals]` (known here: `default`, `rules`)"
    ]
    assert of_header("zzz: 1") == ["3:1 LDO102 unknown key `zzz` in the header"]


def test_a_misspelt_required_key_is_one_finding() -> None:
    assert lines_of(judged('schema = 1\n[workspace]\nnmae = "w"\n', "manifest")) == [
        "3:1 LDO102 unknown key `nmae` in `[workspace]`, where `name` is missing (did you mean `name`?)"
    ]
    assert lines_of(judged("schema = 1\n[workspace]\nother = 1\n", "manifest")) == [
        '2:2 LDO104 missing key `name` in `[workspace]` (add `name = "..."`)',
        "3:1 LDO102 unknown key `other` in `[workspace]`",
    ]


def test_a_missing_key_is_shown_at_its_table() -> None:
    assert lines_of(judged("", "manifest")) == [
        "- LDO104 missing key `schema` at the top level (add `schema = 1`)",
        "- LDO104 missing key `workspace` at the top level (add `[workspace]`)",
    ]
    assert lines_of(judged("---\nentry: true\n---\nPrompt.\n", "worker")) == [
        '- LDO104 missing key `name` in the header (add `name: "..."`)'
    ]
    assert of_manifest('[[check.accept]]\ncode = "LDO510"\n') == [
        '4:9 LDO104 missing key `reason` in `[[check.accept]]` (add `reason = "..."`)'
    ]


def test_a_value_of_the_wrong_type_is_shown_with_the_right_one() -> None:
    assert of_manifest('max-depth = "five"\n') == ['4:13 LDO103 `max-depth` is "five", not a whole number']
    assert of_manifest("max-depth = 5.0\n") == ["4:13 LDO103 `max-depth` is 5.0, not a whole number"]
    assert of_manifest("max-depth = true\n") == ["4:13 LDO103 `max-depth` is true, not a whole number"]
    assert of_manifest("[entries.x.limits]\nseconds = inf\n") == [
        "5:11 LDO103 `seconds` is inf, not a finite number"
    ]
    assert of_manifest("model = 2026-01-01\n") == [
        "4:9 LDO103 `model` is 2026-01-01, not text (put quotes around it)"
    ]
    assert of_manifest("[entries]\nx = []\n") == ["5:5 LDO103 `x` is a list, not a table"]
    assert of_header("entry: 'yes'") == ['3:8 LDO103 `entry` is "yes", not true or false']
    assert of_header("description:") == ["3:13 LDO103 `description` is empty, not text"]
    assert of_header("attachments: 5") == ["3:14 LDO103 `attachments` is 5, not a mapping"]


def test_an_item_of_the_wrong_type_is_shown_at_its_own_place() -> None:
    assert of_manifest("workers = ['*.worker', 5, {}]\n") == [
        "4:24 LDO103 an item of `workers` is 5, not text (put quotes around it)",
        "4:27 LDO103 an item of `workers` is a table, not text",
    ]


def test_a_value_that_may_have_several_types_is_shown_with_all_of_them() -> None:
    assert of_manifest("[models]\nfast = 5\n") == [
        "5:8 LDO103 `fast` is 5, not text or a list of texts (put quotes around it)"
    ]
    assert of_header("toolsets: 5") == ["3:11 LDO103 `toolsets` is 5, not a mapping or a list of texts"]
    assert of_header("toolsets: calc") == [
        '3:11 LDO103 `toolsets` is "calc", not a mapping or a list of texts (put brackets around it)'
    ]


def test_a_fault_inside_a_value_of_several_types_is_shown_by_the_type_that_it_has() -> None:
    assert of_header("toolsets: [calc, a b]") == [
        (
            "3:18 LDO103 `a b` is not a name (a letter, then up to 63 letters, digits, `_` and `-`), nor the path of a "
            "class inside the workspace (FILE.py:CLASS or package.module.CLASS)"
        )
    ]
    assert of_header("toolsets: {calc: [x]}") == ["3:18 LDO103 `calc` is a list, not a mapping"]
    assert of_manifest("[models]\nfast = []\n") == ["5:8 LDO103 `fast` is empty"]


def test_a_word_that_is_not_in_the_list_is_shown_with_the_nearest_that_is() -> None:
    assert of_manifest('[approvals]\ndefault = "alowed"\n') == [
        '5:11 LDO103 `default` is "alowed", not `allowed`, `needs_approval` or `blocked` (did you mean `allowed`?)'
    ]
    assert of_manifest("[approvals]\ndefault = 5\n") == [
        "5:11 LDO103 `default` is 5, not text (put quotes around it)"
    ]


def test_a_value_outside_its_limits_is_shown_with_the_limit() -> None:
    assert of_manifest("max-depth = -1\n") == ["4:13 LDO103 `max-depth` is -1, less than 0"]
    assert of_manifest("[entries.x.limits]\ncost-usd = 0\n") == [
        "5:12 LDO103 `cost-usd` is 0, not more than 0"
    ]
    assert of_manifest('workers = [""]\n') == ["4:12 LDO103 an item of `workers` is empty"]
    assert of_header("model: ''") == ["3:8 LDO103 `model` is empty"]
    assert lines_of(judged('schema = 2\n[workspace]\nname = "w"\n', "manifest")) == [
        "1:10 LDO103 `schema` is 2, not 1"
    ]


def test_a_text_that_does_not_match_is_shown_with_what_it_should_be() -> None:
    assert lines_of(judged('schema = 1\n[workspace]\nname = "a b"\n', "manifest")) == [
        "3:8 LDO103 `a b` is not a name (a letter, then up to 63 letters, digits, `_` and `-`)"
    ]
    assert lines_of(judged('schema = 1\n[workspace]\nname = "w\\n"\n', "manifest")) == [
        "3:8 LDO103 `w\\u{a}` is not a name (a letter, then up to 63 letters, digits, `_` and `-`)"
    ]
    assert lines_of(judged('schema = 1\n[workspace]\nname = ""\n', "manifest")) == [
        "3:8 LDO103 `name` is empty"
    ]


def test_a_key_that_does_not_match_is_shown_at_the_key() -> None:
    assert of_manifest('[approvals.rules]\n"FS.read" = "allowed"\n') == [
        "5:1 LDO103 `FS.read` is not a capability, perhaps with `:path` or `:folder/**` inside the workspace"
    ]
    assert of_manifest('[models]\n"" = "m"\n') == ["5:1 LDO103 a key of `models` is empty"]
    assert of_manifest('[approvals.rules]\n"FS" = "alowed"\n') == [
        "5:1 LDO103 `FS` is not a capability, perhaps with `:path` or `:folder/**` inside the workspace",
        '5:8 LDO103 `FS` is "alowed", not `allowed`, `needs_approval` or `blocked` (did you mean `allowed`?)',
    ]


BELOW = "(a path starts in the folder of `llmdo.toml` and stays below it)"


@pytest.mark.parametrize("path", ["../x", "a/../b", "/etc/passwd", "~/x", "C:/x", "C:\\x", "..", "x/.."])
def test_a_path_that_leaves_the_workspace_is_shown_as_that(path: str) -> None:
    assert of_manifest(f"[paths]\nalias = '{path}'\n") == [
        f"5:9 LDO107 `{path}` leaves the workspace {BELOW}"
    ]
    assert of_manifest(f"[paths]\n'{path}' = 'x'\n") == [f"5:1 LDO107 `{path}` leaves the workspace {BELOW}"]
    assert of_header(f"may: ['fs.read:{path}']") == [
        f"3:7 LDO107 `fs.read:{path}` leaves the workspace {BELOW}"
    ]
    assert of_header(f"schema_in_ref: '{path}/a.py:M'") == [
        f"3:16 LDO107 `{path}/a.py:M` leaves the workspace {BELOW}"
    ]


def test_a_path_with_backslashes_is_refused_with_the_right_ones() -> None:
    assert of_header("toolsets: {filesystem: {read: ['a\\b']}}") == [
        "3:32 LDO107 `a\\b` leaves the workspace (write `/` between the parts of a path)"
    ]


def test_a_path_that_is_only_misspelt_does_not_leave_the_workspace() -> None:
    assert of_header("toolsets: {filesystem: {read: ['a//b', 'x/*.txt']}}") == [
        "3:32 LDO103 `a//b` is not a path inside the workspace or `folder/**`",
        "3:40 LDO103 `x/*.txt` is not a path inside the workspace or `folder/**`",
    ]
    assert of_header("name2: x\nschema_in_ref: ../x") == [
        "3:1 LDO102 unknown key `name2` in the header (did you mean `name`?)",
        f"4:16 LDO107 `../x` leaves the workspace {BELOW}",
    ]


def test_a_long_or_invisible_text_is_shown_short_and_visible() -> None:
    assert of_manifest(f"{'x' * 200} = 1\n")[0].startswith(
        f"4:1 LDO102 unknown key `{'x' * 39}…` in `[workspace]`"
    )
    assert excerpt("a\u202eb\x1b[0m\u200b ü") == "a\\u{202e}b\\u{1b}[0m\\u{200b} ü"
    assert excerpt("x" * 40) == "x" * 40


def test_one_fault_does_not_hide_the_next() -> None:
    text = """
    max-depth = "x"
    [entries.a]
    function = "a b"
    limits = { requests = 0, seconds = 1 }
    [entries.b]
    worker = 5
    [[check.accept]]
    code = "LDO510"
    [[check.accept]]
    code = "LDO510"
    reason = "known"
    """
    whole = judged(f'schema = 1\n[workspace]\nname = "w"\n{text}', "manifest")
    assert len(whole.problems) == 5
    assert whole.data == {
        "schema": 1,
        "workspace": {"name": "w"},
        "entries": {"a": {"limits": {"seconds": 1}}, "b": {}},
        "check": {"accept": [{"code": "LDO510", "reason": "known"}]},
    }
    moved = whole.document.value("check", "accept", 0, "reason")
    assert moved.span is not None
    assert moved.span.line == 15


def test_nothing_is_left_where_the_top_cannot_stand() -> None:
    assert judged("schema = 1\n", "manifest").data is None
    assert judged("schema = 1\n[workspace]\n", "manifest").data is None
    assert judged("---\nname: a b\n---\nPrompt.\n", "worker").data is None
    assert judged("---\nname: a\nmodel: 5\n---\nPrompt.\n", "worker").data == {"name": "a"}
