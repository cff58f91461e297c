"""The places in a text that is JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.source import Source, Span
from llmdo.foreign import reading
from llmdo.syntax import header
from llmdo.syntax.json_places import json_places
from llmdo.syntax.yaml_file import moved
from tests.support.laws import tried

_NAMES = st.text(st.sampled_from('ab "\\\n:,{}[]#é'), max_size=6)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | _NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=12,
)
_TEXTS = st.builds(
    lambda data, indent: json.dumps(data, indent=indent, ensure_ascii=indent == 1),
    st.dictionaries(_NAMES, _VALUES, max_size=4),
    st.sampled_from([None, 1, 2]),
)


@tried(50)
@given(_TEXTS)
def test_places_are_those_of_the_same_text_as_yaml(text: str) -> None:
    spans = moved(header.places(Source("a.json", text), text), -1)
    assert json_places(text).spans == dict(spans)
    assert json_places(text).repeated == ()


def test_of_a_repeated_key_the_last_one_has_a_place() -> None:
    text = '{"a": {"b": 1, "c": [1, 2]},\n "a": {"c": [3]}}'
    places = json_places(text)
    assert {*places.spans} == {("a",), ("a", "c"), ("a", "c", 0)}
    assert places.spans["a",][0] == Span(2, 2, 2, 5)
    assert [(each.name, each.at, each.holds_several) for each in places.repeated] == [
        ("a", Span(1, 2, 1, 5), True)
    ]


def test_what_lies_deep_has_the_place_of_what_is_around_it() -> None:
    text = '{"a": ' + "[" * 300 + "1" + "]" * 300 + "}"
    assert max(map(len, json_places(text).spans)) == 16


def test_a_file_with_a_repeated_key_has_places_and_the_last_value() -> None:
    text = '{\n  // why\n  "a": 1, "b": "x\\/y",\n  "a": 2,\n}\n'
    document = reading.json_with_comments(Source("a.json", text))
    assert document.data == {"a": 2, "b": "x/y"}
    assert document.key("a").span == Span(4, 3, 4, 6)
    assert [each.at.line for each in reading.repeated_keys(document)] == [3]
