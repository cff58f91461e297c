"""Worker files: the two parts, the YAML that a header may hold, and places in it."""

from __future__ import annotations

import re
from math import inf
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.source import Source
from llmdo.syntax import frontmatter
from llmdo.syntax.document import Document, Route
from llmdo.syntax.frontmatter import WorkerText
from llmdo.syntax.header import MAX_HEADER
from tests.support.laws import tried

from .reading import facts_of, text_at


def parse(text: str, path: str = "workers/pitch.worker") -> WorkerText:
    return frontmatter.parse(Source(path, text))


def header(yaml: str) -> Document:
    """The document of a worker whose header is `yaml`."""
    worker = parse(f"---\n{yaml}---\nbody\n")
    assert worker.body == "body\n"
    return worker.document


def value(yaml: str) -> object:
    """What `yaml` means as the value of a key."""
    document = header(f"k: {yaml}\n")
    assert document.problems == ()
    return document.data["k"]


def problem(yaml: str) -> tuple[str, int, int, str]:
    (only,) = facts_of(header(yaml).problems)
    return only


def hint(yaml: str) -> str | None:
    return header(yaml).problems[0].hint


# The two parts


def test_a_worker_is_a_header_and_the_unchanged_rest() -> None:
    worker = parse("---\nname: a\n---\n\n  You are.  \n---\nmore\n")
    assert worker.document.data == {"name": "a"}
    assert worker.document.problems == ()
    assert worker.body == "\n  You are.  \n---\nmore\n"


@pytest.mark.parametrize("text", ["---\n---\n", "---\n---", "---\n\n# only a comment\n---\n"])
def test_an_empty_header_is_no_problem(text: str) -> None:
    worker = parse(text)
    assert (worker.document.data, worker.document.problems, worker.body) == ({}, (), "")


def test_a_header_may_end_with_the_file() -> None:
    worker = parse("---\nname: a\n---")
    assert (worker.document.data, worker.body) == ({"name": "a"}, "")


@pytest.mark.parametrize("text", ["", "You are.\n", "# Title\n---\nand\n---\n", "----\nother: a\n---\n"])
def test_a_file_without_a_header_is_told_how_to_start(text: str) -> None:
    worker = parse(text)
    assert facts_of(worker.document.problems) == [("LDO109", 1, 1, "a worker starts with a header")]
    assert (
        worker.document.problems[0].hint
        == "start the file with the three lines `---`, `name: pitch` and `---`"
    )
    assert (worker.document.data, worker.body, worker.document.index()) == ({}, "", {})


@pytest.mark.parametrize("dashes", ["--", "----"])
def test_a_first_line_of_other_dashes_is_told_to_be_three(dashes: str) -> None:
    worker = parse(f"{dashes}\nname: a\n---\n")
    message = "a worker starts with a header, and this is not its `---`"
    assert facts_of(worker.document.problems) == [("LDO109", 1, 1, message)]
    assert worker.document.problems[0].hint == "write `---` as the first line"


@pytest.mark.parametrize(
    ("text", "late"),
    [
        ("# Title\n---\nname: a\n---\n", (1, {"name"})),
        ("\n<!-- a -->\n\n---\n# what\ntools: x\nother: y\n---\n", (2, {"tools", "other"})),
        ("----\nname: a\n---\n", (1, {"name"})),
        ("-- \nname: a\n---\n", (1, {"name"})),
        ("----\n# Title\n---\nname: a\n---\n", (1, {"name"})),
        ("----\nname: a\n", None),
        ("----\n---\nname: a\n---\n", (1, {"name"})),
        ("---\nname: a\n---\n", None),
        ("\n---\nname: a\n---\n", (1, {"name"})),
        (" \n\n---\nname: a\n---\n", (1, {"name"})),
        ("\n---\nother: a\n---\n", None),
        ("# Title\n---\nname: a\n", None),
        ("# Title\n---\nother: a\n---\n", None),
        ("# Title\n---\nSome text\nname: a\n---\n", None),
        ("# Title\n```\n---\nname: a\n---\n```\n", None),
        ("# Title\n---\n\n---\nname: a\n---\n", None),
        ("name: a\ntools:\n  - x\n---\nBody\n", (1, {"name", "tools"})),
        ("name: a\n\n# what\ntools: x\n---\nBody\n---\n", (1, {"name", "tools"})),
        ("name: a\nBody\n---\n", None),
        ("other: a\n---\nBody\n", None),
        ("name: a\nBody\n", None),
    ],
)
def test_a_header_below_something_else_is_known(text: str, late: tuple[int, set[str]] | None) -> None:
    header = frontmatter.late_header(Source("a.md", text))
    assert (header and header.above.span and (header.above.span.line, header.keys)) == late


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("\n\n---\nname: a\n---\nbody", 3, 1),
        ("  ---\nname: a\n---\nbody", 1, 3),
        ("--- \nname: a\n---\nbody", 1, 1),
        ("\t\n ---\t\nname: a\n---\nbody", 2, 2),
    ],
)
def test_blanks_around_the_first_line_never_turn_a_header_into_a_prompt(
    text: str, line: int, column: int
) -> None:
    worker = parse(text)
    message = "the `---` that opens the header is not alone at the very start of the file"
    assert facts_of(worker.document.problems) == [("LDO109", line, column, message)]
    assert worker.body == ""


@pytest.mark.parametrize(
    "text", ["---", "---\n", "---\nname: a\n", "---\nname: a\n ---\nbody", "---\nname: a\n----\n"]
)
def test_a_header_that_is_never_closed_is_not_a_prompt(text: str) -> None:
    worker = parse(text)
    assert facts_of(worker.document.problems) == [
        ("LDO109", 1, 1, "the header that starts here is never closed")
    ]
    assert worker.body == ""


def test_a_closing_line_with_blanks_is_pointed_at() -> None:
    (only,) = parse("---\nname: a\n--- \nbody\n").document.problems
    (related,) = only.related
    assert related.at.span
    assert related.at.span.line == 3


# Scalars


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("", None), ("~", None), ("null", None), ("NULL", None), ("true", True), ("False", False),
        ("0", 0), ("-12", -12), ("+1", 1), ("010", 10), ("0o17", 15), ("0x1F", 31), ("999999999999999999", 10**18 - 1),
        ("10_000_000", 10_000_000), ("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("-2e3", -2000.0), ("1.10", 1.1),
    ],
)  # fmt: skip
def test_plain_scalars_follow_the_yaml_1_2_core_schema(yaml: str, expected: object) -> None:
    assert value(yaml) == expected
    assert type(value(yaml)) is type(expected)


@pytest.mark.parametrize(
    "yaml",
    [
        "on", "off", "yes", "No", "nULL", "tRue", "12:30", "12:30:45", "2020-01-01", "1_000_", "_1", "0b1", "-0x1", "1.2.3",
        "+", ".", "..", "-.", "1e", "=", "fs.read:input/**", "anthropic:claude",
    ],
)  # fmt: skip
def test_every_other_plain_scalar_is_text(yaml: str) -> None:
    assert value(yaml) == yaml


@pytest.mark.parametrize("yaml", ["'1'", '"true"', "'~'", '"0x10"', "''", '".inf"'])
def test_quoted_scalars_are_text(yaml: str) -> None:
    assert value(yaml) == yaml[1:-1]


def test_block_scalars_are_text() -> None:
    assert header("a: |\n  1\n\n  x\nb: >-\n  true\n").data == {"a": "1\n\nx\n", "b": "true"}


def test_control_characters_behind_an_escape_are_data() -> None:
    assert value('"\\e[2J\\u202e"') == "\x1b[2J\u202e"


# What is refused


def test_a_duplicate_key_is_refused_at_its_place_with_the_first() -> None:
    document = header("name: a\ntoolsets:\n  calc: {}\n  calc: {x: 1}\nname: b\n")
    assert facts_of(document.problems) == [
        ("LDO101", 5, 3, "`calc` is given twice"),
        ("LDO101", 6, 1, "`name` is given twice"),
    ]
    firsts = [finding.related[0].at.span for finding in document.problems]
    assert [(span.line, span.column) for span in firsts if span] == [(4, 3), (2, 1)]
    assert document.data == {"name": "a", "toolsets": {"calc": {}}}


def test_keys_below_a_duplicate_do_not_take_the_places_of_the_first() -> None:
    document = header("a: {b: 1}\na: {b: 2, b: 3}\n")
    assert [facts[1:3] for facts in facts_of(document.problems)] == [(3, 1), (3, 11)]
    assert document.value("a", "b").span == header("a: {b: 1}\n").value("a", "b").span


@pytest.mark.parametrize(
    ("yaml", "column", "message"),
    [
        ("a: &x 1\n", 4, "an anchor is not allowed in a header"),
        ("a: &x {}\n", 4, "an anchor is not allowed in a header"),
        ("&x a: 1\n", 1, "an anchor is not allowed in a header"),
        ("a: *x\n", 4, "an alias is not allowed in a header"),
        ("a: [1, *x]\n", 8, "an alias is not allowed in a header"),
        ("*x : 1\n", 1, "an alias is not allowed in a header"),
        ("*x\n", 1, "an alias is not allowed in a header"),
        ("a: !!python/name:os.system 1\n", 4, "a tag is not allowed in a header"),
        ("a: ! x\n", 4, "a tag is not allowed in a header"),
        ("a: !t [1]\n", 4, "a tag is not allowed in a header"),
        ("<<: {a: 1}\n", 1, "a merge key is not allowed in a header"),
        ("1: a\n", 1, "the key `1` is not text"),
        ("true: a\n", 1, "the key `true` is not text"),
        ("~: a\n", 1, "the key `~` is not text"),
        (".nan: a\n", 1, "the key `.nan` is not text"),
        ("? \n: a\n", 2, "a key is missing here"),
        ("[a]: b\n", 1, "a key is a list or a mapping, not text"),
        ("a: {{ name }}\n", 5, "a key is a list or a mapping, not text"),
        ("a: .inf\n", 4, "only finite numbers are allowed in a header"),
        ("a: .NaN\n", 4, "only finite numbers are allowed in a header"),
        ("a: 1e999\n", 4, "only finite numbers are allowed in a header"),
        ("a: 1000000000000000000\n", 4, "an integer has more than 18 digits"),
        ("a: -1000000000000000000\n", 4, "an integer has more than 18 digits"),
        ("a: 0xffffffffffffffff\n", 4, "an integer has more than 18 digits"),
        ("a: " + "9" * 60_000 + "\n", 4, "an integer has more than 18 digits"),
        ("- a\n", 1, "a header is a mapping: lines of `key: value`, and this is a list"),
        ("text\n", 1, "a header is a mapping: lines of `key: value`, and this is text"),
        ("~\n", 1, "a header is a mapping: lines of `key: value`, and this is text"),
        ("%YAML 1.2\n--- \na: 1\n", 1, "a directive is not allowed in a header"),
        ("%TAG ! tag:x,2000:\n--- \na: 1\n", 1, "a directive is not allowed in a header"),
        ("--- \na: 1\n", 1, "a header is one YAML document and has no `---` of its own"),
    ],
)
def test_what_goes_beyond_plain_data_is_refused_at_its_place(yaml: str, column: int, message: str) -> None:
    document = header(yaml)
    assert facts_of(document.problems) == [("LDO101", 2, column, message)]
    text_at(document.source.text, document.problems[0].at.span)


def test_a_second_document_is_refused() -> None:
    assert problem("a: 1\n--- \nb: 2\n")[1] == 3


def test_reading_goes_on_after_what_is_refused() -> None:
    document = header("a: *x\nb: &y 1\nc: !t d\ne: 2\n")
    assert [facts[1] for facts in facts_of(document.problems)] == [2, 3, 4]
    assert document.data == {"b": 1, "c": "d", "e": 2}


@pytest.mark.parametrize("character", ["\r", "\x85", "\u2028", "\u2029", "\ufeff", "\x1b", "\x00", "\x7f"])
def test_characters_that_could_hide_a_key_are_refused_at_their_place(character: str) -> None:
    code, line, column, message = problem(f"é: 1\nab: x{character}may: 1\n")
    assert (code, line, column) == ("LDO101", 3, 6)
    assert message == f"the character U+{ord(character):04X} is not allowed in a header"


def test_sixteen_levels_are_read_and_no_more() -> None:
    assert header("a: " + "[" * 15 + "]" * 15 + "\n").problems == ()
    assert problem("a: " + "[" * 16 + "]" * 16 + "\n") == (
        "LDO101", 2, 19, "the header is nested more than 16 levels deep",
    )  # fmt: skip


@pytest.mark.parametrize(
    "yaml", ["a: " + "[" * 32_000, "- " * 32_000, "a: " + "{a: " * 15_000, "? " * 32_000]
)
@pytest.mark.timeout(5)
def test_a_bracket_bomb_ends_at_the_limit(yaml: str) -> None:
    assert len(header(f"{yaml}\n").problems) == 1


def test_five_thousand_events_are_read_and_no_more() -> None:
    # Five events open the stream, the document, the mapping and the list; four close them.
    assert header("a: [" + "1, " * 4_991 + "]\n").problems == ()
    assert problem("a: [" + "1, " * 4_992 + "]\n")[3] == "the header has too many keys and values"


def test_a_header_over_64_kib_is_refused_before_it_is_parsed() -> None:
    assert header("a: " + "x" * (MAX_HEADER - 4) + "\n").problems == ()
    for yaml in ("a: " + "x" * (MAX_HEADER - 3), "a: " + "é" * 32_800, "[" * 70_000):
        assert problem(f"{yaml}\n") == ("LDO101", 1, 1, "the header is larger than 64 KiB")


# Invalid YAML


@pytest.mark.parametrize(
    ("yaml", "at", "message"),
    [
        ("a: b: c\n", (2, 5), "a `:` before a blank is not allowed here"),
        ("a: 1\n b: 2\n", (3, 3), "a `:` before a blank is not allowed here"),
        ("a: @x\n", (2, 4), "text cannot start with `@`"),
        ("a: `x\n", (2, 4), "text cannot start with ```"),
        ("a: %x\n", (2, 4), "text cannot start with `%`"),
        ("a: *.md\n", (2, 4), "text cannot start with `*`"),
        ("a: [&]\n", (2, 5), "text cannot start with `&`"),
        ("a: ]\n", (2, 4), "text cannot start with `]`"),
        ("a:\n\tb: 1\n", (3, 1), "a tab is not allowed here"),
        ("a: [1, 2\n", (2, 4), "`,` or `]` is missing in a list"),
        ("a: {b: 1\nc: 2}\n", (3, 2), "`,` or `}` is missing in a mapping"),
        ("a: 'x\nb: 1\n", (2, 4), "the quotes that open here are never closed"),
        ("a: 1\nfoo\n", (3, 1), "`:` is missing after this key"),
        ("a: |\n  b\nfoo\n", (4, 1), "`:` is missing after this key"),
        ("a: |\n  b\nc d\n", (4, 1), "this line is not indented as the text above it"),
        ("a: >-  # text\n  b\n\nc d\ne: f\n", (5, 1), "this line is not indented as the text above it"),
        ("a: |\n  b\n*c* d\n", (4, 1), "this line is not indented as the text above it"),
        ("a:\n  - b: |\n      c\n    d e\n", (5, 5), "this line is not indented as the text above it"),
        ("a: |\n  b\nc: 1\nd e\n", (5, 1), "`:` is missing after this key"),
        ("a:\n  b: |\n    c\n  d: 1\ne f\n", (6, 1), "`:` is missing after this key"),
        ("a:  'b' c\n", (2, 7), "the quotes close here, and text follows"),
        ('a: "b\nc: "d"\n', (2, 4), "the quotes that open here are not closed on their line"),
        ("a:\n  - b\n  c: 1\n", (4, 3), "a new item, with `- `, is missing here"),
        ("a: - b\n", (2, 4), "a list cannot start on this line"),
        ("a: |x\n", (2, 5), "nothing but a comment may follow `|` and `>`"),
        ("a: [b] | [c]\n", (2, 6), "the list ends at this `]`, and text follows"),
        ("a: [b] [c]\n", (2, 6), "the list ends at this `]`, and text follows"),
        ("a: {b: 1} > c\n", (2, 9), "the mapping ends at this `}`, and text follows"),
        ("a: 'b' | c\n", (2, 6), "the quotes close here, and text follows"),
        ("a: b\n...\nc: d\n", (4, 1), "nothing may stand before or after the keys of a header"),
        (
            "a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x\n",
            (3, 1),
            "a merge conflict is left in this file",
        ),
    ],
)
def test_invalid_yaml_is_one_plain_sentence_at_its_place(
    yaml: str, at: tuple[int, int], message: str
) -> None:
    assert problem(yaml) == ("LDO101", *at, message)


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("description: note: x\n", "put the text in quotes if the `: ` is part of it"),
        (
            "a: b: c\n  d: 'e'\n  f \"g\"\nh: i\n",
            (
                'put the text, with the indented lines below it, in double quotes, with each of its own as `\\"`,'
                " if the `: ` is part of it"
            ),
        ),
        ("a: b: c\n  d \\q\nh: i\n", None),
        ("a:\n  b: c: d\n  e: f\n", "put the text in quotes if the `: ` is part of it"),
        ("a: 1\n b: 2\n", None),
        ("a: @x\n", "put it in quotes"),
        ("a: *.md\n", "put it in quotes"),
        ("a: *all\n", "put text that starts with `*` in quotes"),
        ("a:\n\tb: 1\n", "indent with spaces"),
        ("a: {{ name }}\n", "put text that starts with `[` or `{` in quotes"),
        ("1: a\n", 'put it in quotes: `"1"`'),
    ],
)
def test_a_common_mistake_gets_a_hint_and_no_other(yaml: str, expected: str | None) -> None:
    assert hint(yaml) == expected


def test_what_stands_before_invalid_yaml_is_data() -> None:
    assert header("name: a\nmodel: b\nfoo\n").data == {"name": "a", "model": "b"}


# Places


def test_places_count_the_first_line_and_code_points() -> None:
    text = '---\n"é🚀": [ü, {b: 🚀c}]  # x\n---\n'
    document = parse(text).document
    assert text_at(text, document.key("é🚀").span) == '"é🚀"'
    assert text_at(text, document.value("é🚀").span) == "[ü, {b: 🚀c}]"
    assert text_at(text, document.value("é🚀", 0).span) == "ü"
    assert text_at(text, document.key("é🚀", 1, "b").span) == "b"
    assert text_at(text, document.value("é🚀", 1, "b").span) == "🚀c"


def test_a_block_collection_ends_with_its_last_child() -> None:
    text = "---\na:\n  - x\n  - b: 1\n    c: [2]\n\n# why\nd: 1\n---\n"
    document = parse(text).document
    assert text_at(text, document.value("a").span) == "- x\n  - b: 1\n    c: [2]"
    assert text_at(text, document.value("a", 1).span) == "b: 1\n    c: [2]"


# Laws

_PRINTABLE = re.compile("[\x20-\x7e\xa1-\xff\u0100-\u1fff]")
_PLAIN = re.compile(r"[g-mo-su-zG-M][a-z./-]*(?: [a-z]+)*")


class _Writer:
    """Writes a header in ways that differ from value to value."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def block(self, data: dict[str, Any] | list[Any], indent: str) -> list[str]:
        lines = []
        items = data.items() if isinstance(data, dict) else ((None, item) for item in data)
        for key, inner in items:
            start = f"{indent}-" if key is None else f"{indent}{self.text(key)}:"
            if isinstance(inner, dict | list) and inner and self.random.random() < 0.6:
                lines += [f"{start} # é", *self.block(inner, indent + self.random.choice(["  ", "    "]))]
            else:
                lines.append(f"{start} {self.flow(inner, in_flow=False)}{self.random.choice(['', '  # x'])}")
        return lines

    def flow(self, value: Any, *, in_flow: bool = True) -> str:
        if isinstance(value, dict):
            pairs = [f"{self.text(key)}: {self.flow(inner)}" for key, inner in value.items()]
            return "{" + ", ".join(pairs) + "}"
        if isinstance(value, list):
            return "[" + " , ".join(map(self.flow, value)) + "]"
        if isinstance(value, str):
            return self.text(value)
        if value is None:
            return self.random.choice(["~", "null"] if in_flow else ["~", "Null", ""])
        if isinstance(value, bool):
            return self.random.choice([str(value), str(value).lower(), str(value).upper()])
        if isinstance(value, int) and value >= 0:
            return self.random.choice([str(value), f"+{value}", hex(value), oct(value)])
        return repr(value)

    def text(self, text: str) -> str:
        forms = [
            '"' + "".join(self.escape(character) for character in text) + '"',
            *(["'" + text.replace("'", "''") + "'"] if all(map(_PRINTABLE.match, text)) else []),
            *([text] if _PLAIN.fullmatch(text) else []),
        ]
        return self.random.choice(forms)

    def escape(self, character: str) -> str:
        if character in '"\\' or not _PRINTABLE.match(character):
            return f"\\U{ord(character):08x}"
        return character


texts = st.one_of(
    st.from_regex(_PLAIN, fullmatch=True), st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
)
scalars = st.one_of(
    texts,
    st.none(),
    st.booleans(),
    st.integers(-(10**14), 10**14),
    st.floats(-1e300, 1e300).filter(lambda x: x != inf),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=12,
)


def routes(value: Any, route: Route = ()) -> dict[Route, Any]:
    """Every route below a value, with what it leads to."""
    by_route: dict[Route, Any] = {route: value} if route else {}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in items:
        by_route |= routes(inner, (*route, part))
    return by_route


@tried(50)
@given(st.dictionaries(texts, values, max_size=5), st.randoms(use_true_random=False))
def test_every_value_read_again_from_its_place_is_equal(data: dict[str, Any], random: Random) -> None:
    lines = _Writer(random).block(data, "")
    text = "\n".join(["---", *lines, "---", "body"])
    document = parse(text).document
    assert document.problems == ()
    assert document.data == data
    index = document.index()
    expected = routes(data)
    assert set(index) == set(expected)
    for route, inner in expected.items():
        key, span = index[route]
        if isinstance(route[-1], str):
            assert header(f"{text_at(text, key)}: 1\n").data == {route[-1]: 1}
        if not isinstance(inner, dict | list):
            again = value(text_at(text, span))
            assert (again, type(again)) == (inner, type(inner))


@tried(50)
@given(st.text(st.sampled_from("ab1:-?,[]{}&*!|>'\"%@`#~<.\n\t \\é\r\x85\u2028\x00\ufeff"), max_size=40))
def test_any_header_gives_data_or_findings_within_the_text(yaml: str) -> None:
    text = f"---\n{yaml}\n---\nbody"
    document = parse(text).document
    assert isinstance(document.data, dict)
    for finding in document.problems:
        text_at(text, finding.at.span)
        assert "\n" not in finding.message
        assert "expected" not in finding.message
    if not document.problems:
        assert set(document.index()) == set(routes(document.data))


@tried(50)
@given(st.text(st.sampled_from("-a:\n \t"), max_size=20))
def test_any_file_without_a_whole_header_has_no_prompt(text: str) -> None:
    worker = parse(text)
    if any(finding.code == "LDO109" for finding in worker.document.problems):
        assert worker.body == ""
    else:
        assert text.startswith("---\n")
        assert text.endswith(worker.body)
