"""What is read without YAML is what YAML reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from llmdo.base.source import Source
from llmdo.syntax import frontmatter, plain
from llmdo.syntax import header as in_yaml
from tests.support.laws import share, tried

KEYS = [
    "name",
    "toolsets",
    "may",
    "fs.list",
    "null",
    "on",
    '"a b"',
    "'x'",
    "a",
    "b",
    '"a"',
    "x y",
    "<<",
    "1",
    "",
]
TEXTS = [
    "main", "on", "null", "true", "~", "1", "-1", "0o7", "010", "1_000", "1_0", "1.5", ".5", ".inf", ".nan",
    "12:30", "3 steps", "12 a: b", "1 a #b", "1 a # b", "0 x:", "1 e5", "1 000", "2001-12-14 a", "1_0 a", "9 'a'", "fs.read:input/**", "a: b", "a:", "a #b", "a#b", "a  b", "input/**", "**", "*x", "&x y", "!t x",
    "@x", "`x", '"quoted"', '"a\\n"', '"a" b', "'it''s'", "'x' # note", '"x"# note', "-", "- a", "?", "? a",
    "|", ">", "%x", "größe", "[]", "{}", "[a, b]", "[a, b,]", "[ a , \"b\" ]", "[a b, 1, -2, 1.5]",
    "[[a], {b: c}]", "{a: b, c: [d]}", "{a: b, a: c}", "{a}", "{a: }", "{a:b}", '{"a": b}', '{"a":b}',
    "{a : b}", "[a: b]", "[a", "[a]]", "[a] # note", "[a]#", "{a: {b: {}}}", "[.txt, .pdf]", "[.inf]",
    "[a/b, _c, -d]", "[a-b, a - b]", "[null, true]", "{null: a}", "{1: a}", "[a,b]", "[,]", "[\"a\",'b']",
    "---", "...", "<<<<<<< x", "\u00a0x", "\u2028", "\ufeff", "x\ty", "\x85", "🔴 x", "é: ü", "x # é",
]  # fmt: skip


FINE = [text for text in TEXTS if plain.read(f"a: {text}\n") is not None]


@st.composite
def lines(draw: st.DrawFn) -> str:
    """One line as somebody might write it, or nearly so."""
    indent = " " * draw(st.sampled_from([0, 0, 0, 0, 1, 2, 2, 2, 3, 4, 4]))
    text = draw(st.sampled_from(TEXTS) | st.text("ab:-#[]{},\"' .*/0_", max_size=8))
    key = draw(st.sampled_from(KEYS))
    shapes = ["{key}: {text}", "{key}: {text}", "{key}:", "{key}:", "- {text}", "-{text}", "{text}", ""]
    shape = draw(st.sampled_from(shapes))
    return (
        indent + shape.format(key=key, text=text) + draw(st.sampled_from(["", "", "", " ", " # note", "  "]))
    )


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """Lines that mostly fit together, with an odd one among them now and then."""
    written: list[str] = []
    indents = [0]
    waits = is_list = False
    for number in range(draw(st.integers(1, 9))):
        if waits:
            is_list = draw(st.booleans())
            if draw(st.integers(0, 3)):
                indents.append(
                    indents[-1] + draw(st.sampled_from([0, 1, 2, 2, 4] if is_list else [1, 2, 2, 4]))
                )
        elif draw(st.integers(0, 2)) == 0 and len(indents) > 1:
            indents.pop()
            is_list = False
        fits = draw(st.integers(0, 19)) > 0
        indent = " " * (indents[-1] if fits else draw(st.integers(0, 5)))
        text = draw(st.sampled_from(FINE if fits else TEXTS))
        key = f"k{number}" if fits else draw(st.sampled_from(KEYS))
        waits = not is_list and draw(st.integers(0, 2)) == 0
        line = f"- {text}" if is_list else f"{key}:" if waits else f"{key}: {text}"
        written.append(
            indent + line + draw(st.sampled_from(["", "", "", " ", "  # note", "\n", "\n # note"]))
        )
    return "\n".join(written) + "\n"


headers = st.lists(lines(), max_size=7).map("\n".join) | blocks() | blocks() | blocks()


def same(value: Any, other: Any) -> bool:
    """Whether two values are equal, their types and the order of their keys as well."""
    return repr(value) == repr(other)


def hold_against_yaml(header: str) -> bool:
    data = plain.read(header)
    if data is None:
        return False
    source = Source("main.worker", f"---\n{header}---\n")
    document = in_yaml.parse(source, header)
    assert document.problems == ()
    assert same(data, document.data)
    if header.endswith("\n") and "\n---\n" not in f"\n{header}":
        plainly = frontmatter.parse(source).document
        assert {key: plainly.key(key) for key in data} == {key: document.key(key) for key in data}
        assert {key: plainly.value(key) for key in data} == {key: document.value(key) for key in data}
    return True


@tried(500)
@given(headers)
@example("a:\n- b\n-  c\nd: e\n")
@example("a:\n  b:\n  - c\n  - d\n  e: 1_000\n\n# note\nf:\n")
@example("a: b\n# note\n  c\n")
def test_a_header_read_without_yaml_is_what_yaml_reads(header: str) -> None:
    hold_against_yaml(header)


EXAMPLES = Path(__file__).parent.parent.parent / "examples"
REAL = sorted(
    path.read_text(encoding="utf-8").partition("---\n")[2].partition("---\n")[0]
    for path in EXAMPLES.rglob("*.worker")
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A header of the examples with a few characters or lines put in, taken out, doubled or moved."""
    header = draw(st.sampled_from(REAL))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(header)))
        lines = header.split("\n")
        line = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["insert", "insert", "remove", "double", "move"])):
            case "insert":
                header = (
                    header[:at] + draw(st.text(" :-#'\"[]{},&*!|>%@`?~\t\nax1_.é", max_size=3)) + header[at:]
                )
            case "remove":
                header = header[:at] + header[at + draw(st.integers(1, 3)) :]
            case "double":
                header = "\n".join([*lines[:line], lines[line], *lines[line:]])
            case _:
                moved = lines.pop(line)
                lines.insert(draw(st.integers(0, len(lines))), moved)
                header = "\n".join(lines)
    return header.removesuffix("\n") + "\n"


def routes(value: Any, route: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The route of every key and item of a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in items:
        yield (*route, step)
        yield from routes(part, (*route, step))


@tried(500)
@given(damaged())
def test_a_damaged_header_is_read_as_yaml_reads_it_and_every_part_has_its_place(header: str) -> None:
    if hold_against_yaml(header):
        places = in_yaml.places(Source("main.worker", f"---\n{header}---\n"), header)
        assert set(routes(plain.read(header))) <= places.keys()


@pytest.mark.long
@pytest.mark.timeout(600)
@settings(max_examples=share(20_000))
@given(damaged())
def test_thousands_of_damaged_headers_are_read_as_yaml_reads_them(header: str) -> None:
    hold_against_yaml(header)


def test_most_headers_of_the_examples_need_no_yaml() -> None:
    assert sum(plain.read(header) is not None for header in REAL) > 0.8 * len(REAL) > 8


@pytest.mark.long
@pytest.mark.timeout(600)
@settings(max_examples=share(20_000))
@given(headers)
def test_thousands_of_headers_read_without_yaml_are_what_yaml_reads(header: str) -> None:
    hold_against_yaml(header)


@pytest.mark.long
@pytest.mark.timeout(600)
@settings(max_examples=share(20_000))
@given(st.text("ab:-#[]{},\"' \n.0", max_size=24))
def test_thousands_of_random_texts_read_without_yaml_are_what_yaml_reads(header: str) -> None:
    hold_against_yaml(header)


WRITTEN = [
    "name: main\ndescription: Scores one deck, from 1 to 10.\nmodel: openai:gpt-5\n",
    "name: main   # the first\n\n# a note\nentry: true\ncompatible_models: [\"openai:*\", 'anthropic:*']\n",
    'name: main\ntoolsets:\n  filesystem: { read: ["input/**"], write: [reports/**] }\n  calc: {}\n',
    "name: main\ntoolsets:\n- calc\n- shell\nmay:\n  - fs.read:input/**\n  - 'fs.list'\n",
    "name: main\napprovals: { fs.list: needs_approval }\nattachments: { max: 1, max-bytes: 10000, suffixes: [.txt] }\n",
    "name: main\ntoolsets:\n  filesystem:\n    read:\n      - input/**\n    write: []\n  calc:\nrecursive: true\n",
]


@pytest.mark.parametrize("header", WRITTEN)
def test_a_header_as_people_write_it_needs_no_yaml(header: str) -> None:
    assert hold_against_yaml(header)


@pytest.mark.parametrize(
    "header",
    [
        "", "# nothing\n", "name\n", "- a\n", "  name: x\n", "a: |\n  text\n", "a: b\n  c\n", "a: &x b\n",
        "a: *x\n", "<<: {}\n", "a: b\na: c\n", "a:\n   b: c\n  d: e\n", "a:\n\tb: c\n", "a: 0x1F\n",
        'a: "\\n"\n', "a:\n  - b: c\n", "a: {b: {c: }}\n",
    ],
)  # fmt: skip
def test_what_goes_beyond_plain_lines_is_left_to_yaml(header: str) -> None:
    assert plain.read(header) is None


def test_depth_and_length_are_left_to_yaml() -> None:
    assert plain.read("a: " + "[" * 8 + "]" * 8 + "\n") is not None
    assert plain.read("a: " + "[" * 9 + "]" * 9 + "\n") is None
    assert plain.read("".join(f"{'  ' * depth}a:\n" for depth in range(9))) is None
    assert plain.read("a: " + "x" * plain.MOST + "\n") is None
