"""TOML: data, places, and one finding for whatever is wrong."""

from __future__ import annotations

import re
import tomllib
from datetime import date, datetime, time
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.source import Source
from llmdo.syntax import toml
from llmdo.syntax.document import Document, Route
from tests.support.laws import tried

from .reading import facts_of, text_at


def parse(text: str) -> Document:
    return toml.parse(Source("llmdo.toml", text))


def problem(text: str) -> tuple[str, int, int, str]:
    """The one finding about `text`, which leaves no data."""
    document = parse(text)
    assert document.data == {}
    (only,) = facts_of(document.problems)
    return only


def hint(text: str) -> str | None:
    return parse(text).problems[0].hint


def place(text: str, *route: str | int) -> tuple[str, str]:
    """The text of key and value at `route`."""
    key, value = parse(text).index()[route]
    return text_at(text, key), text_at(text, value)


def test_an_empty_file_has_no_data_and_no_problem() -> None:
    document = parse("")
    assert (document.data, document.problems, document.index()) == ({}, (), {})


def test_places_are_found_once() -> None:
    document = parse("a = 1\n")
    assert document.index() is document.index()


def test_a_pair_has_the_place_of_its_key_and_of_its_value() -> None:
    assert place('name = "deck"  # why\n', "name") == ("name", '"deck"')


def test_the_key_of_a_table_is_the_last_part_of_its_header_and_its_value_the_header() -> None:
    text = "[toolsets.github]\nx = 1\n"
    assert place(text, "toolsets", "github") == ("github", "[toolsets.github]")
    assert place(text, "toolsets", "github", "x") == ("x", "1")


def test_an_implicit_table_stands_where_it_is_mentioned_first() -> None:
    index = parse("[a.b]\n[a.c]\n").index()
    assert index["a",][0].line == 1


def test_a_header_counts_more_than_an_earlier_mention() -> None:
    index = parse("[a.b]\n[a]\n").index()
    assert index["a",][0].line == 2


def test_arrays_of_tables_count_up_and_their_subtables_belong_to_the_last() -> None:
    text = "[[x]]\na = 1\n[x.y]\nb = 2\n[[x]]\na = 3\n[[x.z]]\nc = 4\n"
    assert place(text, "x", 0, "a") == ("a", "1")
    assert place(text, "x", 0, "y", "b") == ("b", "2")
    assert place(text, "x", 1, "a") == ("a", "3")
    assert place(text, "x", 1, "z", 0, "c") == ("c", "4")
    assert parse(text).index()["x",][0].line == 1
    assert parse(text).index()["x", 1][0].line == 5


def test_dotted_and_quoted_keys_have_a_place_for_each_part() -> None:
    text = "a . \"b.c\" . 'd' = { e.f = [1, { g = 2 }] }\n"
    assert place(text, "a") == ("a", "a")
    assert place(text, "a", "b.c")[0] == '"b.c"'
    assert place(text, "a", "b.c", "d")[0] == "'d'"
    assert place(text, "a", "b.c", "d", "e", "f", 1, "g") == ("g", "2")


def test_an_escape_in_a_quoted_key_is_read() -> None:
    assert place('"a\\u00e9\\"" = 1\n', 'aé"') == ('"a\\u00e9\\""', "1")


def test_columns_count_code_points() -> None:
    key, value = parse('"é🚀" = "ü"; b = 1'.replace(";", " #")).index()["é🚀",]
    assert (key.column, key.end_column, value.column, value.end_column) == (1, 5, 8, 11)


@pytest.mark.parametrize(
    "value",
    [
        '"""a\n"" b\\\n  c"""', '"""x"""""', "'''it''s\n'''", "'''x''''", "1979-05-27 07:32:00Z",
        "1979-05-27", "07:32:00.5", "0xff", "+1_000", "-inf", "[\n 1, # one ]\n 2,\n]",
        '{ a = "}", b = [] }', '"# no \\" comment"',
    ],
)  # fmt: skip
def test_every_kind_of_value_ends_where_it_ends(value: str) -> None:
    text = f"x = {value} # end\ny = 1\n"
    assert place(text, "x") == ("x", value)
    assert place(text, "y") == ("y", "1")


def test_places_hold_in_text_whose_line_ends_were_normalised() -> None:
    text = 'a = """\r\nx\r\n"""\r\n[t]\r\nb = 1\r\n'.replace("\r\n", "\n")
    assert place(text, "a") == ("a", '"""\nx\n"""')
    assert place(text, "t", "b") == ("b", "1")


# Problems


@pytest.mark.parametrize(
    ("text", "second", "first", "message"),
    [
        ("a = 1\nb = 2\na = 3\n", (3, 1), (1, 1), "`a` is given twice"),
        ("a.b = 1\na.b = 2", (2, 3), (1, 3), "`a.b` is given twice"),
        ("[t]\nx = 1\n[u]\n[t]\n", (4, 2), (1, 2), "`t` is given twice"),
        ("x = { a = 1, a = 2 }", (1, 14), (1, 7), "`x.a` is given twice"),
        ("[t]\nk = { z = 1 }\nk = { z = 1 }", (3, 1), (2, 1), "`t.k` is given twice"),
        ("[[x]]\n[x]\n", (2, 2), (1, 3), "`x` is given twice"),
        ("x = []\n[[x]]\n", (2, 3), (1, 1), "`x` is given twice"),
        ("a = 1\n[a.b]\n", (2, 2), (1, 1), "`a` is complete and takes no more keys"),
        ("a = {}\na.b = 1\n", (2, 1), (1, 1), "`a` is complete and takes no more keys"),
        ("[a.b]\n[a]\nb.c = 1\n", (3, 1), (1, 4), "`a.b` is complete and takes no more keys"),
        ("[[l]]\na = 1\n[[l]]\na = 1\na = 2\n", (5, 1), (4, 1), "`l.1.a` is given twice"),
    ],
)
def test_a_key_given_twice_is_refused_at_its_place_with_the_first(
    text: str, second: tuple[int, int], first: tuple[int, int], message: str
) -> None:
    assert problem(text) == ("LDO101", *second, message)
    (related,) = parse(text).problems[0].related
    assert related.at.span
    assert (related.at.span.line, related.at.span.column) == first


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("a = \n", (1, 5), "a value is missing here"),
        ("a =", (1, 4), "a value is missing here"),
        ("\n\na = foo\n", (3, 5), "this is not a value"),
        ("a\n", (1, 2), "`=` is missing after the key"),
        ("a: 1", (1, 2), "`=` is missing after the key"),
        ("a = 1 b = 2", (1, 7), "nothing but a comment may follow on this line"),
        ("[a\n", (1, 3), "`]` is missing after the name of the table"),
        ("[[a]\n", (1, 4), "`]]` is missing after the name of the table"),
        ("a = [1 2]", (1, 8), "`,` or `]` is missing in this array"),
        ("a = {b = 1\n}", (1, 11), "`,` or `}` is missing in this inline table"),
        ('a = "x\n', (1, 7), "a string is not closed on its line"),
        ('a = """x\n\n', (1, 9), "a string is never closed"),
        ("a = 'x", (1, 7), "a string is never closed"),
        ('a = "C:\\q"', (1, 10), "the `\\` in this string starts no escape that TOML has"),
        ('a = "\x01"', (1, 6), "the character `\\x01` is not allowed here"),
        ("a = 1\rb = 2", (1, 6), "a carriage return stands in the middle of a line"),
        ("= 1", (1, 1), "neither a key nor a table header starts like this"),
        ("a. = 1", (1, 4), "a key cannot start like this"),
        ("é = 1", (1, 1), "neither a key nor a table header starts like this"),
    ],
)
def test_invalid_syntax_is_one_plain_sentence_at_its_place(
    text: str, at: tuple[int, int], message: str
) -> None:
    assert problem(text) == ("LDO101", *at, message)
    text_at(text, parse(text).problems[0].at.span)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = foo", 'put text in quotes: `"foo"`'),
        ("a = True", "write `true`"),
        ("a = null", "TOML has no null: leave the key out"),
        ("a: 1", "TOML writes `key = value`"),
        ("a = {b = 1\n}", "an inline table stands on one line"),
        ('a = "C:\\q"', "write `\\\\`, or put the text in single quotes"),
    ],
)
def test_a_common_mistake_gets_a_hint(text: str, expected: str) -> None:
    assert hint(text) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\n<<<<<<< HEAD\nb = 1\n=======\nb = 2\n>>>>>>> other\n", 2),
        ("a = [\n<<<<<<< HEAD\n1,\n=======\n2,\n>>>>>>> other\n]\n", 2),
        ("a = 1\n=======\n", 2),
    ],
)
def test_merge_markers_are_named(text: str, line: int) -> None:
    assert problem(text) == ("LDO101", line, 1, "a merge conflict is left in this file")


def test_merge_markers_inside_text_are_text() -> None:
    assert parse('a = """\n<<<<<<< HEAD\n"""\n').problems == ()


NESTED = "tables and arrays are nested more than 32 levels deep"


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a = " + "[" * 33 + "]" * 33, 37),
        ("a = " + "[" * 900 + "]" * 900, 37),
        ("a = " + "[" * 100_000, 37),
        ("a = " + "{a = " * 400 + "1" + "}" * 400, 165),
        (".".join("a" * 33) + " = 1", 1),
        (".".join("a" * 10_000) + " = 1", 1),
        ("[" + ".".join("a" * 10_000) + "]", 2),
        ("[[" + " . ".join(['"a"'] * 33) + "]]", 3),
    ],
)
def test_deep_nesting_is_refused_where_it_goes_too_deep(text: str, column: int) -> None:
    assert problem(text) == ("LDO101", 1, column, NESTED)


def test_nesting_of_headers_and_dotted_keys_adds_up() -> None:
    text = "[" + ".".join("a" * 20) + "]\n" + ".".join("b" * 20) + " = 1\n"
    assert problem(text) == ("LDO101", 2, 25, NESTED)


@pytest.mark.parametrize("text", [".".join("a" * 32) + " = 1", "a = " + "[" * 32 + "]" * 32])
def test_32_levels_are_read(text: str) -> None:
    assert parse(text).problems == ()


def test_many_dots_outside_of_keys_are_no_nesting() -> None:
    dots = ".".join("a" * 50)
    text = f'a = "{dots}" # {dots}\nb = \'{dots}\'\nc = """\n{dots}"""\n'
    assert parse(text).data == {"a": dots, "b": dots, "c": dots}


@pytest.mark.parametrize(
    "digits", ["9" * 5_000, "9223372036854775808", "-9223372036854775809", "0x" + "f" * 17]
)
def test_an_integer_beyond_64_bits_is_refused_at_its_place(digits: str) -> None:
    code, line, _, message = problem(f"b = 1\na = [{digits}]")
    assert (code, line, message) == ("LDO101", 2, "an integer does not fit into 64 bits")


def test_the_largest_integers_are_read() -> None:
    assert parse("a = 9223372036854775807\nb = -9223372036854775808").problems == ()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "text",
    [
        'a = "' + '\\"' * 500_000, '"""' * 300_000, "'" * 999_999, "a." * 500_000, "[" * 1_000_000,
        "{" * 500_000 + "." * 40, '."\\' * 300_000, "\n" * 1_000_000, "\x00" * 1_000_000,
    ],
    ids=range(9),
)  # fmt: skip
@pytest.mark.timeout(10)
def test_a_hostile_megabyte_is_judged_in_time(text: str) -> None:
    assert len(parse(text).problems) <= 1


# Laws


class _Writer:
    """Writes data as TOML in ways that differ from value to value."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []

    def write(self, data: dict[str, Any]) -> str:
        self.table((), data)
        return "\n".join(self.lines) + self.random.choice(["", "\n", "\n# end"])

    def table(self, path: tuple[str, ...], data: dict[str, Any]) -> None:
        later = []
        for key, value in data.items():
            is_tables = isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
            if (isinstance(value, dict) or is_tables) and self.random.random() < 0.6:
                later.append((key, value))
            else:
                self.pair((key,), value)
        for key, value in later:
            inner = (*path, key)
            name = self.random.choice([".", " . "]).join(map(self.key, inner))
            for item in value if isinstance(value, list) else [value]:
                self.lines.append(f"[[{name}]]" if isinstance(value, list) else f"\t[ {name} ] # table")
                self.table(inner, item)

    def pair(self, path: tuple[str, ...], value: Any) -> None:
        if isinstance(value, dict) and value and self.random.random() < 0.5:
            for key, inner in value.items():
                self.pair((*path, key), inner)
            return
        name = self.random.choice([".", " .\t"]).join(map(self.key, path))
        gap = self.random.choice(["", " ", "\t"])
        self.lines.append(f"{gap}{name}{gap}={gap}{self.value(value)}{gap}{self.random.choice(['', '# é'])}")

    def key(self, key: str) -> str:
        forms = [self.basic(key)]
        if re.fullmatch(r"[A-Za-z0-9_-]+", key):
            forms.append(key)
        if key.isprintable() and "'" not in key:
            forms.append(f"'{key}'")
        return self.random.choice(forms)

    def value(self, value: Any, *, in_line: bool = False) -> str:
        if isinstance(value, dict):
            pairs = [f"{self.key(key)} = {self.value(inner, in_line=True)}" for key, inner in value.items()]
            return "{" + " , ".join(pairs) + "}"
        if isinstance(value, list):
            blank = " " if in_line else self.random.choice(["", "\n  # ]\n", " "])
            return (
                "[" + "".join(f"{blank}{self.value(item, in_line=in_line)}{blank}," for item in value) + "]"
            )
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, date | time):
            return value.isoformat()
        if isinstance(value, int) and value >= 0:
            return self.random.choice([str(value), hex(value), oct(value), f"+{value}"])
        return repr(value)

    def text(self, text: str) -> str:
        forms = [self.basic(text), '"""\n' + self.basic(text)[1:-1].replace("\\n", "\n") + '"""']
        if text.isprintable() and "'" not in text:
            forms += [f"'{text}'", f"'''{text}'''"]
        return self.random.choice(forms)

    def basic(self, text: str) -> str:
        return '"' + re.sub(r'[\x00-\x1f\x7f"\\]', self.escape, text) + '"'

    def escape(self, match: re.Match[str]) -> str:
        return {'"': '\\"', "\\": "\\\\", "\n": "\\n"}.get(match[0], f"\\u{ord(match[0]):04x}")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
keys = st.one_of(st.text("ab-_1é. \"'\\", max_size=4), texts)
scalars = st.one_of(
    texts, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False),
    st.dates(), st.datetimes(), st.times(),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(keys, inner, max_size=3),
        st.lists(st.dictionaries(keys, inner, max_size=3), max_size=3),
    ),
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
@given(st.dictionaries(keys, values, max_size=5), st.randoms(use_true_random=False))
def test_every_value_read_again_from_its_place_is_equal(data: dict[str, Any], random: Random) -> None:
    text = _Writer(random).write(data)
    document = parse(text)
    assert (document.data, document.problems) == (data, ())
    index = document.index()
    expected = routes(data)
    assert set(index) == set(expected)
    for route, value in expected.items():
        key, span = index[route]
        if isinstance(route[-1], str):
            assert tomllib.loads(f"{text_at(text, key)} = 1") == {route[-1]: 1}
        if not isinstance(value, dict | list):
            again = tomllib.loads(f"_ = {text_at(text, span)}")["_"]
            assert (again, type(again)) == (value, type(value))


@tried(50)
@given(st.text(st.sampled_from("ab.=[]{},\"'#\n\t \\1-é<>"), max_size=40))
def test_any_text_gives_data_with_places_or_one_finding_within_the_text(text: str) -> None:
    document = parse(text)
    if document.problems:
        (only,) = document.problems
        assert document.data == {}
        text_at(text, only.at.span)
        assert "(at " not in only.message
        assert "\n" not in only.message
    else:
        assert set(document.index()) == set(routes(document.data))


@tried(50)
@given(st.text(st.sampled_from("ab.=[]{}\n"), max_size=30).map(lambda text: "a = 1\n[b]\n" + text))
def test_a_duplicate_always_names_the_first(text: str) -> None:
    for finding in parse(text).problems:
        if finding.message.endswith("given twice"):
            (first,) = finding.related
            assert first.at.span
            assert finding.at.span
            assert (first.at.span.line, first.at.span.column) < (finding.at.span.line, finding.at.span.column)
        assert "overwrite" not in finding.message
        assert "annot declare" not in finding.message


def test_dates_are_data() -> None:
    assert parse("a = 1979-05-27T07:32:00").data == {"a": datetime(1979, 5, 27, 7, 32)}
