"""The schemas, what the judge accepts, and what it says."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from datetime import UTC, date, datetime, time
from functools import cache
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from llmdo import formats, resources
from llmdo.diagnostic import shown
from llmdo.schema import Format, Judged, accepts, judge
from llmdo.schema.generation import generate
from llmdo.source import Source, Span
from llmdo.syntax import frontmatter, toml
from llmdo.syntax.document import Document

FORMS: tuple[Format, ...] = get_args(Format)

TYPES = {
    "manifest": TypeAdapter(formats.ManifestFile),
    "worker": TypeAdapter(formats.WorkerHeader),
    "lock": TypeAdapter(formats.LockFile),
}

KEYWORDS = {
    "additionalProperties", "const", "description", "enum", "exclusiveMinimum", "items", "minItems", "minLength",
    "minimum", "pattern", "properties", "propertyNames", "required", "title", "type", "$ref",
    "$schema", "$comment", "definitions",
}  # fmt: skip
"""Every keyword that the judge has words for, or that judges nothing."""

MATCHING = {
    "a name (a letter": ["main", "A", "x" * 64, "pitch-evaluator_2"],
    "a path inside": ["a", "decks", "..a", ".x", "a b/ü", "x/...", "input/deck.txt"],
    "a path inside the workspace or": ["**", "a/**", "input/deck.txt", ".github/**"],
    "a capability": ["fs", "fs.read", "fs.read:input/**", "x.calc.cpu", "net:**"],
    "of the form FILE.py:NAME, inside the workspace": ["a.py:b", "x/y.py:_Z"],
    "of the form FILE.py:NAME, inside the workspace, or": ["package.module:name", "m:n", "tools/calc.py:calc"],
    "a digest": ["sha256:" + "0" * 64],
    "a code": ["LDO510"],
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

    def fit(part: dict[str, Any]) -> st.SearchStrategy[Any]:
        if "$ref" in part:
            return fit(whole["definitions"][part["$ref"].rpartition("/")[2]])
        kinds = part.get("type", "anything")
        return st.one_of([of_kind(kind, part) for kind in ([kinds] if isinstance(kinds, str) else kinds)])

    def of_kind(kind: str, part: dict[str, Any]) -> st.SearchStrategy[Any]:
        match kind:
            case "object":
                return table(part)
            case "array":
                return st.lists(fit(part["items"]), min_size=part.get("minItems", 0), max_size=3)
            case "string":
                return text(part)
            case "integer":
                least = part.get("const", part.get("minimum"))
                return st.just(least) if "const" in part else st.integers(least, least + 3)
            case "number":
                return st.sampled_from([1, 0.5, 2.0, 1e300])
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
        return st.from_regex(part["pattern"].replace("$", r"\Z"))

    def table(part: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        known = {key: fit(below) for key, below in part.get("properties", {}).items()}
        required = {key: known.pop(key) for key in part.get("required", ())}
        fixed = st.fixed_dictionaries(required, optional=known)
        if part.get("additionalProperties") is False:
            return fixed
        others = part["additionalProperties"]
        free = st.dictionaries(
            text(part.get("propertyNames", {})), fit(others if others is not True else {}), max_size=2
        )
        return st.builds(lambda chosen, known: chosen | known, free, fixed)

    return fit(whole)


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
                table[draw(st.sampled_from(["", f"{step}\n", f"{step}s", step[:-1], f"../{step}"]))] = table.pop(step)
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


thorough = settings(
    max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@pytest.mark.parametrize("form", FORMS)
@thorough
@given(data=st.data())
def test_the_schema_accepts_what_the_type_accepts_and_nothing_else(form: Format, data: st.DataObject) -> None:
    document = data.draw(documents(form))
    assert accepts(document, form) == fits_type(document, form)


@pytest.mark.parametrize("form", FORMS)
@settings(thorough, max_examples=300)
@given(data=st.data())
def test_what_is_left_of_a_document_fits_and_leads_to_the_same_places(form: Format, data: st.DataObject) -> None:
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
        left, first = value_at(judged.data, route), value_at(written, places[judged.document.index()[route][0].line])
        assert type(left) is type(first)
        assert isinstance(left, (dict, list)) or repr(left) == repr(first)


@pytest.mark.parametrize("form", FORMS)
def test_the_committed_schema_is_the_generated_one(form: Format) -> None:
    assert resources.read("schemas", f"{form}.json") == generate(form), "run `python -m llmdo.schema --write`"


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
    assert {part[keyword] for part in parts for keyword in ("minLength", "minItems") if keyword in part} <= {1}


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


def test_judging_loads_no_pydantic_and_importing_the_judge_no_jsonschema() -> None:
    script = (
        "import sys; import llmdo.schema as s; assert 'jsonschema' not in sys.modules;"
        "assert not s.accepts({}, 'worker'); print('pydantic' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


# What it says.


def judged(text: str, form: Format) -> Judged:
    if form == "worker":
        return judge(frontmatter.parse(Source("main.worker", text)).document, form)
    return judge(toml.parse(Source("llmdo.toml", text)), form)


def told(judged: Judged) -> list[str]:
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
    return told(judged(f'schema = 1\n[workspace]\nname = "w"\n{text}', "manifest"))


def of_header(text: str) -> list[str]:
    """What is told about a header that is sound up to line 2 and goes on with `text`."""
    return told(judged(f"---\nname: main\n{text}\n---\nPrompt.\n", "worker"))
